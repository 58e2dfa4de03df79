/* SPDX-License-Identifier: BSD-3-Clause */
/* cb_priv: what the two files of collective buffering share */
#ifndef WEFT_CB_PRIV_H
#define WEFT_CB_PRIV_H

#include "io/cb.h"
#include "io/cb_cache.h"
#include "io/file_priv.h"

enum { WEFT_CB_SLOTS = 2 }; /* buffers: one moves while the other fills */

/* What is known of an aggregator's buffers, in a write, by all who fill them.
 */
struct weft_cb_state {
	bool needs_runs[WEFT_CB_SLOTS]; /* there may be holes */
};

/* Who does what for a file; the same at all members but for the mappings. */
struct weft_cb {
	int n_aggs;
	int32_t *aggs; /* their ranks */
	int mine;      /* which of these is this process; -1: none */
	int64_t len;   /* of a buffer */
	int64_t block; /* what the file system likes */
	int64_t unit;  /* domains begin at multiples of it */
	int32_t *node; /* by rank: the lowest rank on its node */
	bool *maps;    /* by rank: has mapped all of its node's buffers */
	char **mapped; /* by aggregator: its buffers here, or NULL */
	struct weft_cb_buffer *buffers; /* where these are shared */
	char *private_buf; /* an aggregator's, where nothing can be */
	struct weft_cb_state *states; /* by aggregator */
	bool has_failed;	      /* an exchange did not end as it should */
};

/* What a member says of its access. */
struct weft_cb_member {
	int64_t err_code; /* of its error, or 0 */
	int64_t first, end;
	int64_t len;	 /* bytes */
	int64_t run_len; /* of an average run; 0: places may go back */
};

/* An access that goes through the buffers. */
struct weft_cb_plan {
	struct weft_cb *cb;
	struct weft_move *m;
	const struct weft_cb_member *members;
	int64_t first, end; /* of all */
	int64_t base;	    /* the first domain begins there */
	int64_t domain;	    /* bytes of each */
	int64_t n_rounds;
	bool has_holes; /* there are bytes of nobody's */
};

/* Carries it out. 0, or this process's own error; m->n_moved is what was. */
int weft_cb_exchange(const struct weft_cb_plan *plan);

#endif
