/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_stall: collectives that take long say so
 *
 * A thread notes what it goes to wait in; whoever waits long calls look() by
 * the way of core/progress.c, and the note is spoken out once. */
#include "shmem_priv.h"

#include "base/clock.h"
#include "base/knob.h"
#include "base/log.h"
#include "core/progress.h"

struct waiting {
	const char *fn; /* NULL: in nothing that is told */
	uint64_t since; /* 0: not looked at yet */
	bool has_said;
};

static _Thread_local struct waiting waiting;

static void look(void)
{
	struct waiting *w = &waiting;
	uint64_t now, limit = (uint64_t)weft_knobs.stall_warn * WEFT_NS_PER_S;
	char gone[80];

	if (!w->fn || w->has_said || !limit)
		return;
	now = weft_now_ns();
	if (!w->since)
		w->since = now;
	if (now - w->since < limit)
		return;
	w->has_said = true;
	weft_rma_gone(gone, sizeof(gone));
	weft_warn("SHMEM-STALL",
		"%s: waiting since %u s for other PEs to come%s%s "
		"(WEFT_STALL_WARN)",
		w->fn, (unsigned)((now - w->since) / WEFT_NS_PER_S),
		*gone ? "; gone: " : "", gone);
}

void weft_shmem_waits_in(const char *fn)
{
	waiting = (struct waiting){ .fn = fn };
}

void weft_shmem_stall_open(void)
{
	weft_progress_on_wait(look);
}
