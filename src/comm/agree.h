/* SPDX-License-Identifier: BSD-3-Clause */
/* agree: one round of agreement on a communicator's control context
 *
 * Every member contributes a record of len bytes. Records travel up a binomial
 * tree to rank 0, which adds one word; word and records travel down again. On
 * an intercommunicator the two ranks 0 exchange word and records before these
 * travel down, so that every member gets both sides. All collective steps of
 * communicators are such rounds: creation (the word is a context id), split
 * (the records are colours and keys), disconnect (no records: a barrier).
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

/* Called at rank 0 once all records have arrived: returns the word to send
 * down. */
typedef uint64_t weft_agree_word_fn(struct weft_agree *agree);

struct weft_agree {
	/* set by the caller; the rest is zero */
	struct weft_comm *comm;
	const void *mine; /* len bytes, read by the start */
	size_t len;
	bool is_down_only;	  /* the word only travels down; len is 0 */
	weft_agree_word_fn *word; /* NULL: the word is 0 */
	weft_agree_done_fn *done;
	void *arg; /* the caller's */

	/* result, valid in done; tables are NULL when len is 0 */
	int err;
	uint64_t words[2]; /* of the own side, of the other side */
	char *records;	   /* of the own side, by rank */
	char *remote_records;

	/* below: only agree.c */
	struct weft_comm *tree; /* the intracommunicator it runs on */
	int32_t tag;
	int step;
	uint32_t n_waiting;
	char *buf; /* words, records, remote records */
	size_t buf_len;
};

/* Starts a round. After an error, done is never called. VCI's lock held. */
int weft_agree_start(struct weft_agree *agree);

/* Takes part in a round only with this error, which the members that wait for
 * this one get. done is not called; the part is over on return. VCI's lock
 * held. */
void weft_agree_fail(struct weft_agree *agree, int err);

/* The ranks above this one in the tree, which a round without records waits
 * for; of an intercommunicator also the other side's rank 0, as size + 0. ranks
 * has space for 33. Returns how many. */
uint32_t weft_agree_above(const struct weft_comm *comm, int32_t *ranks);

/* The records of the own side instead of the results; the caller calls free().
 */
void *weft_agree_take(struct weft_agree *agree);

/* Frees the results. VCI's lock held. */
void weft_agree_fini(struct weft_agree *agree);

#endif
