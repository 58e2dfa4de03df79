/* SPDX-License-Identifier: BSD-3-Clause */
/* leader: checks the data that leaders of an intercommunicator exchange
 *
 * The data comes from another process and is checked before use. */
#ifndef WEFT_LEADER_H
#define WEFT_LEADER_H

#include "core/group.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* A leader sends this description of its group, then the runs of the group,
 * then the cards of the members' dedicated VCIs, if they have such VCIs. */
struct weft_leader {
	uint64_t ctx;	   /* the first of two context ids of the side */
	uint32_t n_runs;   /* of the group (struct weft_run) */
	uint16_t has_vcis; /* 1 if all members have dedicated VCIs, or 0 */
	uint16_t is_near;  /* 1 if all members and the other leader are on the
			    * leader's host, or 0 */
};
static_assert(sizeof(struct weft_leader) == 16, "wire layout");

/* Checks a received description of len bytes. 0 or a described WEFT_ERR_PROTO.
 */
int weft_leader_check(const struct weft_leader *leader, size_t len);

/* The most processes that a group of an intercommunicator can have. */
uint32_t weft_leader_limit(void);

/* Creates the group of these runs. Each process must appear once. It must be a
 * process of this job, unless this process accepts messages of other jobs. 0 or
 * WEFT_ERR_NOMEM. WEFT_ERR_PROTO: the runs are malformed. */
int weft_leader_group(const struct weft_run *runs, uint32_t n_runs,
	struct weft_group **group_out);

#endif
