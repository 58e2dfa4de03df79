/* SPDX-License-Identifier: BSD-3-Clause */
/* gdr: copies short data through mappings of CUDA memory (GDRCopy)
 *
 * The library libgdrapi.so.2, with its kernel module, maps pages of device
 * memory for the CPU. A copy of a few bytes then takes up to 2 us; the driver
 * takes 7 us. Mapping a page takes as long as hundreds of copies, so
 * only pages with many copies are mapped. Any thread may call these functions,
 * and none acquires a VCI's lock. */
#ifndef WEFT_GDR_H
#define WEFT_GDR_H

#include "dev/dev.h"

/* Copies len bytes between device memory at `where` and host memory. False:
 * nothing was copied, and the driver must copy. */
bool weft_gdr_copy(const struct weft_dev_where *where, void *dev, void *host,
	size_t len, bool is_to_host);

/* Removes all mappings. No copy is under way. */
void weft_gdr_close(void);

#endif
