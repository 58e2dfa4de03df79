/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_boot: the boot table for PMIx */
#ifndef WEFT_PMIX_BOOT_H
#define WEFT_PMIX_BOOT_H

#include "boot/boot.h"

/*
 * As weft_boot_open, with the PMIx server named in the environment.
 *
 * close with clean == 0 leaves the connection as it is, for the server to
 * see it break at process exit; the memory stays, since PMIx's thread goes
 * on.  PMIx can be opened again after a clean close.
 */
int weft_pmix_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out);

#endif
