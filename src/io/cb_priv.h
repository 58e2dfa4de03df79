/* SPDX-License-Identifier: BSD-3-Clause */
/* cb_priv: declarations for the files of collective buffering */
#ifndef WEFT_CB_PRIV_H
#define WEFT_CB_PRIV_H

#include "io/cb.h"
#include "io/cb_cache.h"
#include "io/file_priv.h"

/* Slots of a buffer: the aggregator moves one while members fill the other. */
enum { WEFT_CB_SLOTS = 2 };

/* The state of an aggregator in a write, as its members know it. */
struct weft_cb_state {
	/* by slot: members also send the runs of their data, because the
	 * aggregator expects holes */
	bool needs_runs[WEFT_CB_SLOTS];
};

/* Collective buffering of a file. The fields from n_aggs to maps, except
 * `mine`, are the same at all members. */
struct weft_cb {
	int n_aggs;
	int32_t *aggs; /* ranks of the aggregators */
	int mine;      /* index of this process in aggs, or -1 */
	int64_t len;   /* bytes of a slot */
	int64_t block; /* preferred block of the file system, bytes */
	int64_t unit;  /* domains begin at multiples of unit */
	int32_t *node; /* by rank: the lowest rank on its node */
	bool *maps; /* by rank: the member has mapped all buffers of its node */
	char **mapped; /* by aggregator: address of its buffer here, or NULL */
	struct weft_cb_buffer *buffers; /* by aggregator, if shared */
	char *private_buf;		/* of this aggregator, if not shared */
	struct weft_cb_state *states;	/* by aggregator */
	bool has_failed; /* a member may not have completed an exchange */
};

/* The description of a member's access that all members receive. */
struct weft_cb_member {
	int64_t err_code;   /* code of the member's error, or 0 */
	int64_t first, end; /* range in the file */
	int64_t len;	    /* bytes of data */
	int64_t run_len;    /* average run in bytes; 0: no data, or byte offsets
			       are not monotone */
};

/* A buffered access. */
struct weft_cb_plan {
	struct weft_cb *cb;
	struct weft_move *m;
	const struct weft_cb_member *members;
	int64_t first, end; /* range of all members */
	int64_t base;	    /* begin of the first domain */
	int64_t domain;	    /* bytes of a domain */
	int64_t n_rounds;
	bool has_holes; /* the members have less data than the range has bytes,
			   so it has holes */
};

/* Sums over the accesses of all members. */
struct weft_cb_sums {
	int64_t first, end; /* range in the file */
	int64_t len, n_runs;
	bool is_monotone; /* the byte offsets of each member rise */
};

/* The range that an aggregator moves in a round. */
struct weft_cb_window {
	int64_t base;	    /* byte offset of the begin of the slot */
	int64_t first, end; /* the part of the window inside the range of all
			       members */
	char *slot;	    /* NULL: not mapped here */
	int i;		    /* index of the slot */
};

/* Sets aggs and n_aggs from cb->node and the hints: the first member of each
 * node, then the second of each, and so on. n_aggs is 0 if out of memory. Sets
 * mine to -1. */
void weft_cb_plan_aggregators(
	struct weft_cb *cb, int32_t size, const struct weft_file_hints *hints);

/* Adds the descriptions of all members. first and end are the range that
 * contains all accesses. */
struct weft_cb_sums weft_cb_plan_sum(
	const struct weft_cb_member *members, int32_t size);

/* True if the access should use collective buffering. block is the preferred
 * block of the file system in bytes. size is the number of members. */
bool weft_cb_plan_is_used(const struct weft_cb_sums *all,
	enum weft_file_choice choice, bool is_write, int64_t block,
	int32_t size);

/* Sets the range, the domains and the rounds of a plan from plan->cb. */
void weft_cb_plan_domains(
	struct weft_cb_plan *plan, const struct weft_cb_sums *all);

/* Sets *w to the window of an aggregator in a round. False if the aggregator
 * has no window in this round. */
bool weft_cb_plan_window(const struct weft_cb_plan *plan, int agg,
	int64_t round, struct weft_cb_window *w);

/* Executes the plan. Adds the bytes of this process that were moved to
 * m->n_moved. 0 or an error of this process. */
int weft_cb_exchange(const struct weft_cb_plan *plan);

#endif
