/* SPDX-License-Identifier: BSD-3-Clause */
/* leader: checks the data that leaders of an intercommunicator exchange */
#include "comm/leader.h"

#include "base/err.h"
#include "transport/foreign.h"

#include <stdlib.h>

/* The most processes of a side, if this process has peers in other jobs. */
enum { LIMIT = 1 << 20 };

uint32_t weft_leader_limit(void)
{
	return atomic_load(&weft_proc.has_foreign) ? LIMIT
						   : weft_proc.facts.size;
}

int weft_leader_check(const struct weft_leader *leader, size_t len)
{
	if (len == sizeof(*leader) && leader->ctx &&
		leader->ctx % WEFT_CTX_OFFSET_END == 0 && leader->n_runs &&
		leader->n_runs <= weft_leader_limit() &&
		leader->has_vcis <= 1 && leader->is_near <= 1)
		return 0;
	return weft_err_set(WEFT_ERR_PROTO,
		"the leader of the other side sent a malformed description of "
		"its side (%zu bytes)",
		len);
}

/* True if all processes of a run are in this job. */
static bool is_inside(const struct weft_run *run)
{
	int64_t size = weft_proc.facts.size;
	int64_t last = (uint32_t)run->first, span = size;

	if (!weft_proc_is_member(run->first) || !run->n || run->n > size)
		return false;
	if (run->n > 1)
		span = (size - 1) / (run->n - 1);
	if (run->stride > span || run->stride < -span)
		return false;
	last += run->stride * (run->n - 1);
	return last >= 0 && last < size;
}

/* Marks the processes of a run in `seen`, by rank. False if a process is marked
 * already. */
static bool leader_mark(const struct weft_run *run, uint8_t *seen)
{
	uint32_t rank = (uint32_t)run->first;

	for (uint32_t i = 0; i < run->n; i++) {
		if (seen[rank / 8] >> rank % 8 & 1)
			return false;
		seen[rank / 8] |= (uint8_t)(1 << rank % 8);
		rank += (uint32_t)run->stride;
	}
	return true;
}

static int malformed_side(void)
{
	return weft_err_set(WEFT_ERR_PROTO,
		"the other side has a process that is not in this job, or that "
		"is listed twice");
}

/* Checks a run. The size of another job is unknown here. So ranks of another
 * job must only fit into 31 bits. */
static bool leader_is_sane(const struct weft_run *run)
{
	int64_t last = (uint32_t)run->first;

	if (!weft_foreign_is(run->first))
		return is_inside(run);
	if (!run->n || run->n > LIMIT || run->stride > LIMIT ||
		run->stride < -LIMIT)
		return false;
	last += run->stride * (run->n - 1);
	return (uint32_t)run->first <= INT32_MAX && last >= 0 &&
	       last <= INT32_MAX;
}

static void leader_expand(const struct weft_run *run, uint64_t *procs)
{
	for (uint32_t i = 0; i < run->n; i++)
		procs[i] = run->first + (uint64_t)run->stride * i;
}

/* Creates a group that may have processes of other jobs. Lists every process,
 * so that weft_group_create() finds duplicates. */
static int foreign_group(const struct weft_run *runs, uint32_t n_runs,
	struct weft_group **group_out)
{
	uint64_t *procs;
	uint32_t n = 0;
	int err;

	for (uint32_t i = 0; i < n_runs; i++) {
		if (!leader_is_sane(&runs[i]) || runs[i].n > LIMIT - n)
			return malformed_side();
		n += runs[i].n;
	}
	procs = calloc(n, sizeof(*procs));
	if (!procs)
		return WEFT_ERR_NOMEM;
	n = 0;
	for (uint32_t i = 0; i < n_runs; i++) {
		leader_expand(&runs[i], procs + n);
		n += runs[i].n;
	}
	err = weft_group_create(procs, n, group_out);
	free(procs);
	return err == WEFT_ERR_RANK ? malformed_side() : err;
}

int weft_leader_group(const struct weft_run *runs, uint32_t n_runs,
	struct weft_group **group_out)
{
	bool is_good = true;
	uint8_t *seen;

	if (atomic_load(&weft_proc.has_foreign))
		return foreign_group(runs, n_runs, group_out);
	seen = calloc(1, weft_proc.facts.size / 8 + 1);
	if (!seen)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; is_good && i < n_runs; i++)
		is_good = is_inside(&runs[i]) && leader_mark(&runs[i], seen);
	free(seen);
	if (!is_good)
		return malformed_side();
	return weft_group_create_runs(runs, n_runs, group_out);
}
