/* SPDX-License-Identifier: BSD-3-Clause */
/* budget: limits the memory of the buffers that a VCI writes
 *
 * The buffer of a ring occupies memory when its writer writes payloads there.
 * The writer counts this memory. If the buffers of a VCI occupy more than its
 * limit, the writer returns buffers to the kernel, those first that have been
 * occupied for the longest time. It returns a buffer only if the reader has
 * read all messages of the ring. So the limit is exceeded only by messages that
 * other processes have not read yet. */
#ifndef WEFT_BUDGET_H
#define WEFT_BUDGET_H

#include "base/list.h"

#include <stddef.h>

struct weft_ring_tx;

/* In the VCI, whose lock guards it. */
struct weft_budget {
	size_t limit;	       /* bytes */
	size_t used;	       /* n_occupied of all rings of the list */
	struct weft_link open; /* the rings with n_occupied above 0 */
};

void weft_budget_init(struct weft_budget *budget, size_t limit);

/* Counts the buffer of an attached ring, which has not been written yet, in
 * this budget. Both must live until weft_budget_leave(). No effect if the
 * memory of the segment was allocated in advance: it must stay allocated. */
void weft_budget_join(struct weft_budget *budget, struct weft_ring_tx *tx);

/* The buffer is no longer counted, and is not returned any more. A ring that is
 * in no budget is accepted. */
void weft_budget_leave(struct weft_ring_tx *tx);

#endif
