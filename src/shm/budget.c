/* SPDX-License-Identifier: BSD-3-Clause */
/* budget: limits the memory of the buffers that a VCI writes */
#include "shm/budget.h"

#include "base/bits.h"
#include "shm/ring.h"

#include <sys/mman.h>
#include <unistd.h>

enum { TRIES = 8 }; /* rings that one call examines, at most */

void weft_budget_init(struct weft_budget *budget, size_t limit)
{
	budget->limit = limit;
	budget->used = 0;
	weft_list_init(&budget->open);
}

void weft_budget_join(struct weft_budget *budget, struct weft_ring_tx *tx)
{
	if (tx->is_reserved)
		return;
	tx->budget = budget;
	tx->n_occupied = 0;
	tx->open_len = 0;
}

/* Subtracts the buffer from its budget. n_occupied is above 0. */
static void budget_subtract(struct weft_ring_tx *tx)
{
	weft_list_remove(&tx->link);
	tx->budget->used -= tx->n_occupied;
	tx->n_occupied = 0;
	tx->open_len = 0;
}

void weft_budget_leave(struct weft_ring_tx *tx)
{
	if (!tx->budget)
		return;
	if (tx->n_occupied)
		budget_subtract(tx);
	tx->budget = NULL;
	tx->n_occupied = tx->buf_len;
	tx->open_len = tx->buf_len;
}

/* True if the reader has read all messages of the ring. */
static bool budget_is_idle(const struct weft_ring_tx *tx)
{
	/* pairs with the release in weft_ring_publish: the reader has finished
	 * with all payloads before their memory is returned */
	return atomic_load_explicit(&tx->ring->n_read, memory_order_acquire) ==
	       tx->n;
}

/* Returns the memory of an idle buffer to the kernel. The reader does not
 * access the buffer before the next payload, which is at the start of the
 * buffer. */
static void budget_return(struct weft_ring_tx *tx)
{
	if (madvise(tx->buf, tx->buf_map_len, MADV_REMOVE))
		weft_budget_leave(tx); /* for example after mlockall() */
	else
		budget_subtract(tx);
}

/* Examines rings in turn, and returns idle buffers until the limit is met. */
static void budget_shrink(struct weft_budget *budget)
{
	for (int i = 0; i < TRIES && budget->used > budget->limit; i++) {
		struct weft_link *link = weft_list_pop_front(&budget->open);
		struct weft_ring_tx *tx;

		if (!link)
			return;
		weft_list_push_back(&budget->open, link);
		tx = weft_container_of(link, struct weft_ring_tx, link);
		if (budget_is_idle(tx))
			budget_return(tx);
	}
}

void weft_ring_open_to(struct weft_ring_tx *tx, uint64_t end)
{
	struct weft_budget *budget = tx->budget;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = weft_min(weft_round_up(end, page), tx->buf_len);

	len = weft_max(len, tx->n_occupied);
	weft_list_remove(&tx->link);
	budget->used += len - tx->n_occupied;
	tx->n_occupied = len;
	budget_shrink(budget);
	weft_list_push_back(&budget->open, &tx->link);
	/* While the limit is exceeded, each payload in the buffer calls this
	 * function. */
	tx->open_len = budget->used > budget->limit ? 0 : len;
}
