/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_lock: a lock as a queue of PEs
 *
 * The lock has two words:
 * - `last` is used at one PE, which the lock's address selects. Its value is
 *   the PE that joined the queue last, plus 1; 0: the lock is free.
 * - `node` is used at each PE. A PE that joins sets bit 0 of its node, and the
 *   PE before it clears the bit. The other bits are the PE's successor in the
 *   queue, plus 1.
 *
 * A PE that joins writes its number to the node of the PE before it, and waits
 * on its own node. So a waiting PE sends no messages. All updates are atomic
 * operations, so that local and remote PEs update a word in the same way. */
#include "shmem_priv.h"

#include "base/log.h"

#include <stdio.h>

struct queue_lock {
	uint32_t last;
	uint32_t node;
};

_Static_assert(
	sizeof(struct queue_lock) == sizeof(long), "queue_lock fills a long");

enum { WAITS = 1 };

/* Returns the PE whose `last` is used. Locks are distributed over the PEs. */
static uint32_t shmem_lock_owner_of(const long *lock)
{
	size_t at = (size_t)((const char *)lock - weft_rma.heap.base);

	if (at >= weft_rma.heap.len)
		at = (size_t)((const char *)lock - weft_rma.data.base);
	return (uint32_t)(at / sizeof(long) % weft_rma.n_pes);
}

static uint32_t shmem_lock_swap(
	const char *fn, uint32_t *word, uint32_t value, uint32_t pe)
{
	const struct weft_amo amo = { WEFT_AMO_SWAP, 4, value, 0 };
	uint64_t was = 0;

	weft_shmem_ok(
		fn, weft_rma_amo_fetch(weft_rma.ctx, word, &amo, &was, pe));
	return (uint32_t)was;
}

static uint32_t swap_if(const char *fn, uint32_t *word, uint32_t cond,
	uint32_t value, uint32_t pe)
{
	const struct weft_amo amo = { WEFT_AMO_CSWAP, 4, value, cond };
	uint64_t was = 0;

	weft_shmem_ok(
		fn, weft_rma_amo_fetch(weft_rma.ctx, word, &amo, &was, pe));
	return (uint32_t)was;
}

/* Adds to a word that another PE polls, and waits until the add is complete. */
static void shmem_lock_add(
	const char *fn, uint32_t *word, uint32_t value, uint32_t pe)
{
	const struct weft_amo amo = { WEFT_AMO_ADD, 4, value, 0 };
	uint64_t was = 0;

	weft_shmem_ok(
		fn, weft_rma_amo_fetch(weft_rma.ctx, word, &amo, &was, pe));
}

static struct queue_lock *open_lock(const char *fn, long *lock)
{
	weft_shmem_check_open(fn);
	weft_shmem_check_sym(fn, "lock", lock, sizeof(*lock));
	return (struct queue_lock *)(void *)lock;
}

/* Runs one round of a wait until another PE writes to this PE's node. */
static void shmem_lock_relax(
	const char *fn, const long *lock, struct weft_rma_wait *wait)
{
	int news = weft_rma_wait_round(wait);
	char awaited[32] = "the next PE to join the queue", failed[80];

	if (weft_likely(!news))
		return;
	if (wait->from)
		snprintf(awaited, sizeof(awaited), "PE %u to release it",
			wait->from - 1);
	weft_rma_pe_failed(failed, sizeof(failed));
	if (news < 0)
		weft_shmem_fatal(fn, "waits at lock %p for %s; failed: %s",
			(const void *)lock, awaited, failed);
	weft_log_warn("SHMEM-STALL",
		"%s: waiting at lock %p for %s%s%s (WEFT_STALL_WARN)", fn,
		(const void *)lock, awaited, *failed ? "; failed: " : "",
		failed);
}

static uint32_t node_now(const struct queue_lock *q)
{
	return __atomic_load_n(&q->node, __ATOMIC_ACQUIRE);
}

void pshmem_set_lock(long *lock)
{
	static const char fn[] = "shmem_set_lock";
	struct queue_lock *q = open_lock(fn, lock);
	struct weft_rma_wait wait = { .fn = fn };
	uint32_t me = weft_rma.my_pe + 1;
	uint32_t before;

	shmem_lock_swap(fn, &q->node, WAITS, weft_rma.my_pe);
	before = shmem_lock_swap(fn, &q->last, me, shmem_lock_owner_of(lock));
	if (!before)
		return;
	shmem_lock_add(fn, &q->node, me << 1, before - 1);
	wait.from = before;
	while (node_now(q) & WAITS)
		shmem_lock_relax(fn, lock, &wait);
}

int pshmem_test_lock(long *lock)
{
	static const char fn[] = "shmem_test_lock";
	struct queue_lock *q = open_lock(fn, lock);
	uint32_t me = weft_rma.my_pe + 1;

	/* This PE may hold the lock. Its node then links to the next PE and
	 * must not be reset, so test `last` first. */
	if (swap_if(fn, &q->last, 0, 0, shmem_lock_owner_of(lock))) {
		weft_rma_relax(0);
		return 1;
	}
	shmem_lock_swap(fn, &q->node, WAITS, weft_rma.my_pe);
	return swap_if(fn, &q->last, 0, me, shmem_lock_owner_of(lock)) != 0;
}

void pshmem_clear_lock(long *lock)
{
	static const char fn[] = "shmem_clear_lock";
	struct queue_lock *q = open_lock(fn, lock);
	struct weft_rma_wait wait = { .fn = fn };
	uint32_t me = weft_rma.my_pe + 1;
	uint32_t last;

	weft_shmem_ok(fn, weft_rma_quiet(weft_rma.ctx));
	if (!(node_now(q) >> 1)) {
		last = swap_if(fn, &q->last, me, 0, shmem_lock_owner_of(lock));
		if (last == me)
			return;
		if (!last)
			weft_shmem_fatal(fn, "the lock is not set");
	}
	/* a PE has joined, and will write its number to this PE's node */
	while (!(node_now(q) >> 1))
		shmem_lock_relax(fn, lock, &wait);
	shmem_lock_add(fn, &q->node, (uint32_t)-WAITS, (node_now(q) >> 1) - 1);
}

#include "api_shmem_lock.h"
