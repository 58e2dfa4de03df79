/* SPDX-License-Identifier: BSD-3-Clause */
/* vci_core: the state of core in a VCI: communicators and spare requests */
#include "core/vci_core.h"

#include "base/err.h"

#include <stdlib.h>

int weft_vci_core_open(struct weft_vci *vci)
{
	vci->core = calloc(1, sizeof(*vci->core));
	return vci->core ? 0 : WEFT_ERR_NOMEM;
}

void weft_vci_core_close(struct weft_vci *vci)
{
	if (!vci->core)
		return;
	weft_map_fini(&vci->core->comms);
	weft_map_fini(&vci->core->broken);
	free(vci->core);
	vci->core = NULL;
}
