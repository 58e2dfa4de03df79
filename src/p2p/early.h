/* SPDX-License-Identifier: BSD-3-Clause */
/* early: memory for the data of messages that came before their receive
 *
 * Who is sent to by one that runs ahead takes and gives such memory at the rate
 * of the messages. C libraries give it back to the kernel each time, once it is
 * some 100 KiB, and the next message then meets fresh pages. So what was given
 * is kept, in lists of powers of two, up to WEFT_EARLY_KEPT bytes together. */
#ifndef WEFT_EARLY_H
#define WEFT_EARLY_H

#include <stddef.h>

enum {
	WEFT_EARLY_LEN_MAX = 1 << 17, /* longer ones are not kept */
	WEFT_EARLY_LISTS = 18,
	WEFT_EARLY_KEPT = 4 << 20,
};

struct weft_early_block;

/* Of a VCI, whose lock guards it; all 0 at first. */
struct weft_early {
	struct weft_early_block *kept[WEFT_EARLY_LISTS];
	size_t n_kept; /* bytes */
};

/* Memory for len bytes, not 0; NULL without any. It goes back with the same
 * length. */
void *weft_early_take(struct weft_early *early, size_t len);
void weft_early_give(struct weft_early *early, void *data, size_t len);

/* Frees what is kept. */
void weft_early_drop(struct weft_early *early);

#endif
