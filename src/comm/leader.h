/* SPDX-License-Identifier: BSD-3-Clause */
/* leader: what one side of an intercommunicator hears of the other
 *
 * The leader over there is another process: what it sends is checked before
 * anything is made of it. */
#ifndef WEFT_LEADER_H
#define WEFT_LEADER_H

#include "core/group.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* What a leader tells of its side; its runs follow, then its members' VCIs. */
struct weft_leader {
	uint64_t ctx; /* two ids */
	uint32_t n_runs;
	uint32_t has_vcis; /* all members are on VCIs of their own */
};
static_assert(sizeof(struct weft_leader) == 16, "wire layout");

/* Is this, of which len bytes came, what a leader can have sent? 0 or
 * WEFT_ERR_PROTO. */
int weft_leader_check(const struct weft_leader *leader, size_t len);

/* How many processes a side may have. */
uint32_t weft_leader_limit(void);

/* The group of these runs: processes of this job, or of others once these may
 * be met, each once. WEFT_ERR_PROTO when they are not, WEFT_ERR_NOMEM. */
int weft_leader_group(const struct weft_run *runs, uint32_t n_runs,
	struct weft_group **group_out);

#endif
