/* SPDX-License-Identifier: BSD-3-Clause */
/* stall: a wait that speaks up when it takes long */
#ifndef WEFT_STALL_H
#define WEFT_STALL_H

#include "base/clock.h"
#include "base/knob.h"
#include "core/lane.h"
#include "core/progress.h"

#include <stdbool.h>

/* Zeroed before the first round. */
struct weft_stall {
	uint64_t deadline_ns; /* of the next word; 0: not started */
	uint64_t start_ns;
	uint32_t n_rounds;
};

/* One round of progress of a wait loop. True when it is time to say what is
 * waited for: after WEFT_STALL_WARN seconds, then at twice that, and so on.
 * Lane's lock held. */
static inline bool weft_stall_round(
	struct weft_lane *lane, struct weft_stall *stall)
{
	uint64_t now;

	weft_progress_wait(lane);
	if (++stall->n_rounds % 64 || !weft_knobs.stall_warn)
		return false;
	now = weft_now_ns();
	if (!stall->deadline_ns) {
		stall->start_ns = now;
		stall->deadline_ns =
			now + (uint64_t)weft_knobs.stall_warn * WEFT_NS_PER_S;
		return false;
	}
	if (now < stall->deadline_ns)
		return false;
	stall->deadline_ns = now + (now - stall->start_ns);
	return true;
}

static inline unsigned weft_stall_seconds(const struct weft_stall *stall)
{
	return (unsigned)((weft_now_ns() - stall->start_ns) / WEFT_NS_PER_S);
}

#endif
