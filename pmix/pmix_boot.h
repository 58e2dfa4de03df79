/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_boot: boot.h implemented with PMIx */
#ifndef WEFT_PMIX_BOOT_H
#define WEFT_PMIX_BOOT_H

#include "boot/boot.h"

/* As weft_boot_open, with the PMIx server that the environment names.
 *
 * close with clean == 0 keeps the connection open, so that the server detects
 * its end when the process exits. The memory is not freed, because PMIx's
 * thread continues. After a clean close, PMIx can be opened again. */
int weft_pmix_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out);

#endif
