/* SPDX-License-Identifier: BSD-3-Clause */
/* cb_priv: declarations for the files of collective buffering */
#ifndef WEFT_CB_PRIV_H
#define WEFT_CB_PRIV_H

#include "io/cb.h"
#include "io/cb_cache.h"
#include "io/file_priv.h"

/* Slots of a buffer: the file system moves one while members fill the other. */
enum { WEFT_CB_SLOTS = 2 };

/* The state of an aggregator in a write, as its members know it. */
struct weft_cb_state {
	bool needs_runs[WEFT_CB_SLOTS]; /* holes are expected */
};

/* Collective buffering of a file; the same at all members but for the mappings.
 */
struct weft_cb {
	int n_aggs;
	int32_t *aggs; /* ranks of the aggregators */
	int mine;      /* index of this process among these, or -1 */
	int64_t len;   /* bytes of a slot */
	int64_t block; /* preferred block of the file system, bytes */
	int64_t unit;  /* domains begin at multiples of it */
	int32_t *node; /* by rank: the lowest rank on its node */
	bool *maps;    /* by rank: has mapped all buffers of its node */
	char **mapped; /* by aggregator: address of its buffer here, or NULL */
	struct weft_cb_buffer *buffers; /* by aggregator, if shared */
	char *private_buf;		/* of this aggregator, if not shared */
	struct weft_cb_state *states;	/* by aggregator */
	bool has_failed;		/* an exchange ended with an error */
};

/* The description of a member's access that all members get. */
struct weft_cb_member {
	int64_t err_code;   /* of its error, or 0 */
	int64_t first, end; /* range in the file */
	int64_t len;	    /* bytes of data */
	int64_t run_len;    /* average run; 0: byte offsets are not monotone */
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
	bool has_holes; /* the range has bytes that no member accesses */
};

/* Executes the plan. 0 or an error of this process; sets m->n_moved. */
int weft_cb_exchange(const struct weft_cb_plan *plan);

#endif
