/* SPDX-License-Identifier: BSD-3-Clause */
/* gone: processes known to have ended before their time */
#include "session/gone.h"

#include "core/proc.h"

#include <stdlib.h>

/* Guarded by the lane's lock. */
static struct {
	uint64_t *procs;
	uint32_t n;
} gone;

void weft_gone_event(const struct weft_boot_event *event)
{
	uint64_t *procs;

	if (event->kind != WEFT_BOOT_PEER_DIED)
		return;
	procs = realloc(gone.procs, (gone.n + 1) * sizeof(*procs));
	if (!procs)
		return;
	gone.procs = procs;
	gone.procs[gone.n++] =
		(weft_proc.proc & ~(uint64_t)UINT32_MAX) | event->rank;
}

int32_t weft_gone_first(const struct weft_group *group)
{
	for (uint32_t i = 0; i < gone.n; i++) {
		int32_t rank = weft_group_rank_of(group, gone.procs[i]);

		if (rank != WEFT_UNDEFINED)
			return rank;
	}
	return WEFT_UNDEFINED;
}

bool weft_gone_in(const struct weft_group *group)
{
	return gone.n && weft_gone_first(group) != WEFT_UNDEFINED;
}
