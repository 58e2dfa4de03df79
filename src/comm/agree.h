/* SPDX-License-Identifier: BSD-3-Clause */
/* agree: one round of agreement on a communicator's control context
 *
 * Every member contributes a record of len bytes. Records travel up a binomial
 * tree to rank 0, which adds one word. The word and all records travel down
 * again. On an intercommunicator, the two ranks 0 exchange words and records
 * first, so that every member gets those of both sides. All collective steps of
 * communicators are such rounds: creation (the word is a context id), split
 * (the records are colours and keys), disconnect (no records: a barrier).
 *
 * A round does not block; rounds of one communicator match in order. The caller
 * owns the struct and keeps it until `done` is called. That happens exactly
 * once, with the VCI's lock held, possibly from within weft_agree_start(). */
#ifndef WEFT_AGREE_H
#define WEFT_AGREE_H

#include "core/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_agree;

typedef void weft_agree_done_fn(struct weft_agree *agree);

/* Returns the word to send down. Called at rank 0 once all records have
 * arrived.
 */
typedef uint64_t weft_agree_word_fn(struct weft_agree *agree);

struct weft_agree {
	/* set by the caller; the rest is zero */
	struct weft_comm *comm;
	const void *mine; /* len bytes, read by weft_agree_start() */
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

/* Starts a round. If it returns an error, done is never called. VCI's lock
 * held.
 */
int weft_agree_start(struct weft_agree *agree);

/* Takes part in a round with an error, which the members that wait for this one
 * return. Does not call done; the struct may be freed on return. VCI's lock
 * held. */
void weft_agree_fail(struct weft_agree *agree, int err);

/* Lists the ranks above this one in the tree, for which a round without records
 * waits. For an intercommunicator, the list also has the other side's rank 0,
 * as `size`. ranks has space for 33. Returns the number of ranks. */
uint32_t weft_agree_above(const struct weft_comm *comm, int32_t *ranks);

/* Returns the records of the own side, which the caller frees with free(). The
 * other results are freed. */
void *weft_agree_take(struct weft_agree *agree);

/* Frees the results. VCI's lock held. */
void weft_agree_fini(struct weft_agree *agree);

#endif
