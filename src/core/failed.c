/* SPDX-License-Identifier: BSD-3-Clause */
/* failed: processes known to have failed */
#include "core/failed.h"

#include "base/lock.h"
#include "transport/proc.h"

#include <stdlib.h>

/* The lock `spin` guards it; n may be read without it. */
static struct {
	struct weft_spin spin;
	uint64_t *procs;
	atomic_uint n;
} failed;

void weft_failed_event(const struct weft_boot_event *event)
{
	uint64_t *procs;
	uint32_t n;

	if (event->kind != WEFT_BOOT_PEER_DIED)
		return;
	weft_spin_acquire(&failed.spin);
	n = atomic_load_explicit(&failed.n, memory_order_relaxed);
	procs = realloc(failed.procs, (n + 1) * sizeof(*procs));
	if (procs) {
		failed.procs = procs;
		procs[n] =
			(weft_proc.proc & ~(uint64_t)UINT32_MAX) | event->rank;
		atomic_store_explicit(&failed.n, n + 1, memory_order_relaxed);
	}
	weft_spin_release(&failed.spin);
}

int32_t weft_failed_first(const struct weft_group *group)
{
	int32_t rank = WEFT_UNDEFINED;

	weft_spin_acquire(&failed.spin);
	for (uint32_t i = 0; i < failed.n && rank == WEFT_UNDEFINED; i++)
		rank = weft_group_rank_of(group, failed.procs[i]);
	weft_spin_release(&failed.spin);
	return rank;
}

bool weft_failed_is(uint64_t proc)
{
	bool is_failed = false;

	if (!atomic_load_explicit(&failed.n, memory_order_relaxed))
		return false;
	weft_spin_acquire(&failed.spin);
	for (uint32_t i = 0; i < failed.n && !is_failed; i++)
		is_failed = failed.procs[i] == proc;
	weft_spin_release(&failed.spin);
	return is_failed;
}

bool weft_failed_in(const struct weft_group *group)
{
	return atomic_load_explicit(&failed.n, memory_order_relaxed) &&
	       weft_failed_first(group) != WEFT_UNDEFINED;
}
