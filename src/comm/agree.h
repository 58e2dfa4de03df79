/* SPDX-License-Identifier: BSD-3-Clause */
/* agree: one round of agreement on a communicator's control context
 *
 * Every member contributes a record of len bytes. The members send the records
 * up a binomial tree to rank 0, which adds one word. Rank 0 sends the word and
 * all records down the tree. On an intercommunicator, rank 0 of each group
 * first exchanges word and records with rank 0 of the other group. So every
 * member has the words and the records of both groups. All collective steps of
 * communicators are such rounds: creation (the word is a context id), split
 * (the records are colors and keys), disconnect (no records: a barrier).
 *
 * A round does not block. Rounds of one communicator match in order. The caller
 * owns the struct, which must exist until `done` is called. `done` is called
 * exactly once, with the VCI's lock held, possibly from within
 * weft_agree_start().
 */
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
	/* set by the caller, which zeroes the other fields */
	struct weft_comm *comm;
	const void *mine;	  /* own record; read by weft_agree_start() */
	size_t len;		  /* bytes of a record */
	bool is_down_only;	  /* the word is only sent down; len is 0 */
	weft_agree_word_fn *word; /* called at rank 0; NULL: the word is 0 */
	weft_agree_done_fn *done;
	void *arg; /* the caller's */

	/* result, valid in done; tables are NULL when len is 0 */
	int err;
	uint64_t words[2]; /* of the local group, of the remote group */
	char *records;	   /* of the local group, by rank */
	char *remote_records;

	/* below: only agree.c */
	struct weft_comm *tree; /* the intracommunicator of the tree */
	int32_t tag;
	int step;
	uint32_t n_waiting;
	char *buf; /* words, records, remote records */
	size_t buf_len;
};

/* Starts a round. `done` receives every error, in err. VCI's lock held. */
void weft_agree_start(struct weft_agree *agree);

/* Takes part in a round with an error. The members that wait for this member
 * return the error. Does not call `done`; the struct may be freed on return.
 * VCI's lock held. */
void weft_agree_fail(struct weft_agree *agree, int err);

/* Lists the ranks above this rank in the tree. A round with is_down_only waits
 * only for these ranks. On an intercommunicator, the list also has rank 0 of
 * the remote group, as `size`. ranks has space for 33. Returns the number of
 * ranks. */
uint32_t weft_agree_above(const struct weft_comm *comm, int32_t *ranks);

/* Returns the records of the local group, which the caller frees with free().
 * Frees the other results. */
void *weft_agree_take(struct weft_agree *agree);

/* Frees the results. VCI's lock held. */
void weft_agree_fini(struct weft_agree *agree);

#endif
