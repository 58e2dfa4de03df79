/* SPDX-License-Identifier: BSD-3-Clause */
/* wait: the calls of this process that wait, registered */
#ifndef WEFT_WAIT_H
#define WEFT_WAIT_H

#include "base/list.h"

#include <stdint.h>

enum { WEFT_WAIT_TEXT = 160 };

/* A call that waits. Zeroed before; what it is, and all else, is guarded by the
 * registry's lock. */
struct weft_wait {
	struct weft_link link;
	uint64_t epoch; /* of this process's waits; not 0 */
	uint64_t begun_ns;
	char text[WEFT_WAIT_TEXT]; /* "in MPI_Recv from rank 3" */
};

/* Registers a wait that began at this time. */
void weft_wait_begin(
	struct weft_wait *wait, const char *text, uint64_t begun_ns);
void weft_wait_end(struct weft_wait *wait);

/* Says anew what it is. */
void weft_wait_describe(struct weft_wait *wait, const char *text);

/* The registry's lock, taken under any lane's and held for moments, and with it
 * held the waits in the order that they began; the first with NULL. */
void weft_wait_lock(void);
void weft_wait_unlock(void);
struct weft_wait *weft_wait_next(const struct weft_wait *after);

#endif
