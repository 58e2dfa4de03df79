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
 * then the VCIs of the members. */
struct weft_leader {
	uint64_t ctx; /* the first of two context ids that the side provides */
	uint32_t n_runs;
	uint32_t has_vcis; /* all members have dedicated VCIs */
};
static_assert(sizeof(struct weft_leader) == 16, "wire layout");

/* Checks a received description of len bytes. Returns 0 or WEFT_ERR_PROTO. */
int weft_leader_check(const struct weft_leader *leader, size_t len);

/* The largest number of processes in a group of an intercommunicator. */
uint32_t weft_leader_limit(void);

/* Creates the group of these runs. Each process must appear once, and be a
 * process of this job. Processes of other jobs are permitted if this process
 * accepts messages of other jobs. WEFT_ERR_PROTO: the runs are malformed.
 * WEFT_ERR_NOMEM.
 */
int weft_leader_group(const struct weft_run *runs, uint32_t n_runs,
	struct weft_group **group_out);

#endif
