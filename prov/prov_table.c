/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_table: the entries, in order of preference */
#include "prov/prov_all.h"

#include "base/counter.h"

#include <assert.h>

const struct weft_prov *const weft_prov_table[] = {
	&weft_prov_cxi,
	&weft_prov_verbs,
	&weft_prov_tcp,
	&weft_prov_sockets,
	&weft_prov_shm,
	NULL,
};

/* The NULL at the end stands for weft_prov_other. */
static_assert(sizeof(weft_prov_table) / sizeof(weft_prov_table[0]) <=
		      WEFT_COUNTER_FABRICS,
	"the counters have a place for each fabric");

/* The entry of any other provider that the user names. libfabric's own values
 * are used. */
const struct weft_prov weft_prov_other = {
	.name = "other",
	.note = "the user named it",
	.use = WEFT_PROV_ON_DEMAND,
	.wants_hmem = true,
};
