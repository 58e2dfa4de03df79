/* SPDX-License-Identifier: BSD-3-Clause */
/* agree: one round of agreement on a communicator's control context
 *
 * Every member contributes a record of len bytes; they travel up a binomial
 * tree to rank 0, which adds one word; word and records travel down again. On
 * an intercommunicator the two ranks 0 swap what they have before it travels
 * down, so everybody learns both sides. Everything collective about
 * communicators is one such round: creation (the word is a context id), split
 * (the records are colours and keys), leaving (nothing to say: a barrier).
 *
 * Non-blocking; rounds of one communicator are matched by their order. The
 * caller owns the struct and keeps it until `done` is called, which happens
 * exactly once, with the VCI's lock held, perhaps from within the start. */
#ifndef WEFT_AGREE_H
#define WEFT_AGREE_H

#include "core/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_agree;

typedef void weft_agree_done_fn(struct weft_agree *agree);

/* At rank 0, when the records have come up: the word to send down. */
typedef uint64_t weft_agree_word_fn(struct weft_agree *agree);

struct weft_agree {
	/* set by the caller; the rest zero */
	struct weft_comm *comm;
	const void *mine; /* len bytes, read by the start */
	size_t len;
	bool is_down_only;	  /* nobody needs to be heard, len is 0 */
	weft_agree_word_fn *word; /* NULL: the word is 0 */
	weft_agree_done_fn *done;
	void *arg; /* the caller's */

	/* result, valid in done; tables are NULL when len is 0 */
	int err;
	uint64_t words[2]; /* of my side, of the other side */
	char *records;	   /* of my side, by rank */
	char *remote_records;

	/* below: only agree.c */
	struct weft_comm *tree; /* the intracommunicator it runs on */
	int32_t tag;
	int step;
	uint32_t n_waiting;
	char *buf; /* words, records, remote records */
	size_t buf_len;
};

/* Starts a round. An error means that done was not and will not be called.
 * VCI's lock held. */
int weft_agree_start(struct weft_agree *agree);

/* Has no more part in a round than this error: those who wait for this member
 * hear of it. done is not called; it is over on return. VCI's lock held. */
void weft_agree_fail(struct weft_agree *agree, int err);

/* The ranks above this one in the tree, which a round without records waits
 * for; of an intercommunicator also the other side's first, as size + 0. There
 * is room for 33. Returns how many. */
uint32_t weft_agree_above(const struct weft_comm *comm, int32_t *ranks);

/* The records of my side, to be freed with free(), instead of the results. */
void *weft_agree_take(struct weft_agree *agree);

/* Frees the results. VCI's lock held. */
void weft_agree_fini(struct weft_agree *agree);

#endif
