/* SPDX-License-Identifier: BSD-3-Clause */
/* agree: one round of agreement on a communicator's control context
 *
 * Every member contributes a record of len bytes. The members send the records
 * up a binomial tree to rank 0, which adds one word. Rank 0 sends the word and
 * all records down the tree. On an intercommunicator, rank 0 of each group
 * first exchanges word and records with rank 0 of the other group. So every
 * member receives the words and the records of both groups. Examples are a
 * duplicate (the word is a context id) and a disconnect (no records: a
 * barrier).
 *
 * A round with a table sends no records down. Rank 0 makes a table from the
 * records, and each member sends its children the parts that they need. An
 * example is a split: the records are colors and keys, and the table lists the
 * members of each color.
 *
 * A round does not block. Rounds of one communicator match in order. The caller
 * owns the struct, which must exist until `done` is called. `done` is called
 * exactly once, with the VCI's lock held, possibly from within
 * weft_agree_start(). */
#ifndef WEFT_AGREE_H
#define WEFT_AGREE_H

#include "core/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_agree;

typedef void weft_agree_done_fn(struct weft_agree *agree);

/* Returns the word to send down. Called at rank 0 when all records have
 * arrived. */
typedef uint64_t weft_agree_word_fn(struct weft_agree *agree);

/* Starts to determine the word. Called at rank 0 when all records have arrived,
 * unless the round has failed. The round continues when weft_agree_answer() is
 * called, possibly from within this function. */
typedef void weft_agree_later_fn(struct weft_agree *agree);

/* Makes the table from a->records and a->remote_records, in a->table. The table
 * has at most table_max bytes. Called at rank 0. 0 or an error, which all
 * members then receive. */
typedef int weft_agree_table_fn(struct weft_agree *agree, size_t *len_out);

/* Copies the part of the table for the ranks from first to end - 1 to part,
 * which has space for the whole table. NULL: only computes the length. Returns
 * the length. */
typedef size_t weft_agree_part_fn(const struct weft_agree *agree,
	uint32_t first, uint32_t end, char *part);

struct weft_agree {
	/* set by the caller, which zeroes the other fields */
	struct weft_comm *comm;
	const void *mine;	  /* record of this member, which
				     weft_agree_start() reads */
	size_t len;		  /* bytes of a record */
	bool is_down_only;	  /* no message is sent up the tree; len is 0 */
	weft_agree_word_fn *word; /* called at rank 0; NULL: the word is 0 */
	weft_agree_later_fn *later;	 /* NULL, or called instead of `word` */
	weft_agree_table_fn *make_table; /* NULL: no table. Not with later */
	weft_agree_part_fn *part;
	size_t table_max; /* the most bytes of the table */
	weft_agree_done_fn *done;
	void *arg; /* for the caller's use */

	/* result, valid in `done`; the records are NULL if len is 0 or the
	 * round has a table */
	int err;
	uint64_t words[2]; /* 0: of the local group; 1: of the remote group */
	char *table;	   /* the part for this member and its children */
	size_t table_len;
	char *records; /* of the local group, by rank */
	char *remote_records;

	/* below: only agree.c */
	struct weft_comm *tree; /* the intracommunicator of the tree */
	int32_t tag;
	int step;
	uint32_t n_waiting;
	char *buf; /* words; then records and remote records, or the length of
		      the table and the table */
	size_t buf_len;	  /* of the first message down the tree */
	char *up;	  /* with a table: the records of this member's subtree,
			     and the remote records */
	int64_t recv_len; /* bytes of the last received message */
	char *parts;	  /* the words and a part of the table, for each child
			     that does not need the whole table */
};

/* Starts a round. `done` finds any error in agree->err. VCI's lock held. */
void weft_agree_start(struct weft_agree *agree);

/* Continues a round at rank 0 after `later` was called, with the word or an
 * error. VCI's lock held. */
void weft_agree_answer(struct weft_agree *agree, uint64_t word, int err);

/* Contributes an error to a round, instead of weft_agree_start(). The round
 * fails with this error at all members that wait for this member. Does not call
 * `done`; the struct may be freed on return. VCI's lock held. */
void weft_agree_fail(struct weft_agree *agree, int err);

/* Writes the ancestors of this rank in the tree to ranks, which has space for
 * 33. A round with is_down_only waits only for these ranks. On an
 * intercommunicator, they include rank 0 of the remote group, as `size`.
 * Returns the number of ranks. */
uint32_t weft_agree_above(const struct weft_comm *comm, int32_t *ranks);

/* True if a round sends a message between this rank and member i, directly.
 * Remote members of an intercommunicator follow the local ones. */
bool weft_agree_is_near(const struct weft_comm *comm, uint32_t i);

/* Returns the records of the local group, which the caller frees with free().
 * The other results are invalid afterwards. */
void *weft_agree_take(struct weft_agree *agree);

/* Frees the results. VCI's lock held. */
void weft_agree_fini(struct weft_agree *agree);

#endif
