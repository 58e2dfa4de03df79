/* SPDX-License-Identifier: BSD-3-Clause */
/* singleton: one process without a manager; the reference for the meaning of
 * each call */
#ifndef WEFT_SINGLETON_H
#define WEFT_SINGLETON_H

#include "boot/boot.h"

/* As weft_boot_open, without reading the environment. */
int weft_singleton_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out);

#endif
