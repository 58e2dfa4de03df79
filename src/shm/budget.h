/* SPDX-License-Identifier: BSD-3-Clause */
/* budget: limits the memory of the buffers that a VCI writes
 *
 * The buffer of a ring occupies memory once its writer has written payloads
 * there. The writer counts this memory. If the buffers that a VCI writes occupy
 * more than the VCI's limit, the writer examines some of its rings, in turn. It
 * returns the buffer of a ring to the kernel if the reader has read all
 * messages of the ring. So, apart from a short delay, only messages that other
 * processes have not read yet exceed the limit. */
#ifndef WEFT_BUDGET_H
#define WEFT_BUDGET_H

#include "base/list.h"

#include <stddef.h>

struct weft_ring_tx;

/* A member of the VCI, whose lock guards the struct. */
struct weft_budget {
	size_t limit; /* bytes */
	size_t used;  /* the sum of n_occupied of all rings in `open` */
	struct weft_link open; /* the rings with n_occupied above 0 */
};

void weft_budget_init(struct weft_budget *budget, size_t limit);

/* Adds an attached ring to the budget, which counts the ring's buffer from now
 * on. The buffer has not been written yet. The budget and tx must exist until
 * weft_budget_leave(). No effect if the memory of the segment was allocated in
 * advance, because that memory must stay allocated. */
void weft_budget_join(struct weft_budget *budget, struct weft_ring_tx *tx);

/* Removes the ring from its budget. Its buffer is no longer counted, and is not
 * returned to the kernel any more. A ring that is in no budget is accepted. */
void weft_budget_leave(struct weft_ring_tx *tx);

#endif
