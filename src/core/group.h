/* SPDX-License-Identifier: BSD-3-Clause */
/* group: an ordered set of processes
 *
 * A 64-bit number identifies a process: the upper half is the number of its
 * job, the lower half its rank there. A group stores runs (first, stride,
 * count) in canonical form: each run is as long as possible, from the first
 * member on. So a job of a million processes is one run, the process of a rank
 * is found in O(log runs), and equal member lists have equal runs. The members
 * of a group never change. Groups are reference counted. */
#ifndef WEFT_GROUP_H
#define WEFT_GROUP_H

#include "base/handle.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct weft_session;

struct weft_run {
	uint64_t first;
	int64_t stride; /* never 0; 1 if the run has one process */
	uint32_t n;
	uint32_t rank; /* group rank of first */
};

/* The weft_group_ functions below create a group. The last weft_group_put()
 * destroys the group. */
struct weft_group {
	struct weft_obj obj;
	atomic_uint refs;
	uint32_t size;
	uint32_t n_runs;
	int32_t my_rank; /* WEFT_UNDEFINED if this process is not a member */
	struct weft_run *runs;
	struct weft_session *session; /* the session it was derived from; NULL:
					 the World Model or no session. May
					 dangle: dereferenced only while
					 session_handle is live */
	uint64_t session_handle;      /* stale once the session has ended */
	/* private to group.c */
	struct weft_group_index
		*_Atomic index; /* built on use if there are many runs */
};

enum {
	WEFT_UNDEFINED = -32766,
	WEFT_ANY_SOURCE = -1,
	WEFT_ANY_TAG = -2,
	WEFT_PROC_NULL = -3,
	WEFT_ROOT = -4,
};

enum weft_compare {
	WEFT_IDENT = 0,
	WEFT_CONGRUENT = 1,
	WEFT_SIMILAR = 2,
	WEFT_UNEQUAL = 3,
};

extern struct weft_table weft_groups;

/* The group without members. weft_group_get() and weft_group_put() ignore it.
 */
extern struct weft_group weft_group_empty;

/* Builds a group from members in order. 0, WEFT_ERR_NOMEM, or WEFT_ERR_RANK
 * when a process appears twice. The caller owns one reference. */
int weft_group_create(
	const uint64_t *procs, uint32_t n, struct weft_group **group_out);

/* Builds a group of n consecutive processes from first on; O(1). */
int weft_group_create_range(
	uint64_t first, uint32_t n, struct weft_group **group_out);

/* Builds a group from the runs of another process, which are checked:
 * WEFT_ERR_PROTO when they are malformed. */
int weft_group_create_runs(const struct weft_run *runs, uint32_t n_runs,
	struct weft_group **group_out);

/* The ranks first, first + stride, ... */
struct weft_rank_range {
	uint32_t first;
	int32_t stride; /* not 0 */
	uint32_t n;	/* at least 1 */
};

/* Builds a group of members of another group. The caller has checked that the
 * ranks are below its size, and that no rank appears twice. The time grows with
 * the number of ranges and of runs only. 0 or WEFT_ERR_NOMEM. */
int weft_group_create_ranges(const struct weft_group *from,
	const struct weft_rank_range *ranges, uint32_t n_ranges,
	struct weft_group **group_out);

struct weft_group *weft_group_get(struct weft_group *group);
void weft_group_put(struct weft_group *group); /* NULL is accepted */

/* Creates a group with the same members in the same order. */
int weft_group_dup(
	const struct weft_group *group, struct weft_group **group_out);

/* Returns the process at a rank, which must be below size. */
uint64_t weft_group_proc(const struct weft_group *group, uint32_t rank);

/* Returns the rank of a process of the run, or WEFT_UNDEFINED. */
int32_t weft_run_rank_of(const struct weft_run *run, uint64_t proc);

/* Returns the rank of a process, or WEFT_UNDEFINED. */
int32_t weft_group_rank_of(const struct weft_group *group, uint64_t proc);

/* Returns WEFT_IDENT, WEFT_SIMILAR or WEFT_UNEQUAL. */
enum weft_compare weft_group_compare(
	const struct weft_group *a, const struct weft_group *b);

/* Set operations. The members of the result have the order that MPI requires of
 * MPI_Group_union and the like. The caller owns a reference of the result. The
 * result without members is weft_group_empty. */
int weft_group_union(const struct weft_group *a, const struct weft_group *b,
	struct weft_group **group_out);
int weft_group_intersection(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **group_out);
int weft_group_difference(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **group_out);
int weft_group_incl(const struct weft_group *group, const int *ranks,
	uint32_t n, struct weft_group **group_out);
int weft_group_excl(const struct weft_group *group, const int *ranks,
	uint32_t n, struct weft_group **group_out);

/* A 128-bit digest of the ordered member list. Equal lists have equal digests.
 */
void weft_group_digest(const struct weft_group *group, uint64_t digest_out[2]);

/* True if all members are of the job of this process. Any thread. */
bool weft_group_is_one_job(const struct weft_group *group);

#endif
