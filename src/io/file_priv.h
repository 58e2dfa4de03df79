/* SPDX-License-Identifier: BSD-3-Clause */
/* file_priv: declarations for the source files of this room */
#ifndef WEFT_FILE_PRIV_H
#define WEFT_FILE_PRIV_H

#include "coll/coll.h"
#include "io/file.h"

/* --- agreement (file_agree.c) -------------------------------------------- */

/* Collective. Returns err if it is not 0. Otherwise, returns the error of
 * another member; its description names the rank and has the text of the rank's
 * error. */
int weft_file_agree(struct weft_file *file, int err);

enum { WEFT_FILE_SAME_MAX = 2, WEFT_FILE_LEAST_MAX = 8 };

/* Numbers that must be the same at all members, each with its name, and numbers
 * that are replaced by the lowest value of all members. */
struct weft_file_agreement {
	int n_same, n_least;
	int64_t same[WEFT_FILE_SAME_MAX];
	const char *names[WEFT_FILE_SAME_MAX];
	int64_t *least[WEFT_FILE_LEAST_MAX];
};

/* As weft_file_agree(), and agrees on numbers. The description of
 * WEFT_ERR_NOT_SAME names a number that differs. */
int weft_file_agree_on(
	struct weft_file *file, int err, const struct weft_file_agreement *on);

/* Collective: a WEFT_COLL_ALLGATHER, WEFT_COLL_ALLREDUCE or WEFT_COLL_SCAN of
 * n numbers of each member; an allgather ignores op. */
int weft_file_numbers(struct weft_file *file, enum weft_coll_kind kind,
	enum weft_redop_builtin op, int n, const int64_t *mine, int64_t *all);

/* An allgather of n numbers of each member. is_background is the field of
 * struct weft_move: true if a thread of the pool calls. */
int weft_file_gather(struct weft_file *file, bool is_background, int n,
	const int64_t *mine, int64_t *all);

/* weft_file_err_encode() encodes an error and the rank of this process as one
 * number; 0: no error. The lowest number of all members becomes the error of
 * all. weft_file_err_decode() decodes this number and describes the error. If
 * this process has an error of its own, err, it returns err with the text `why`
 * instead. */
int64_t weft_file_err_encode(const struct weft_file *file, int err);
int weft_file_err_decode(
	const struct weft_file *file, int err, const char *why, int64_t code);

/* --- nonblocking accesses (file.c, transfer.c) --------------------------- */

/* Waits until all nonblocking accesses are complete. With colls_only, waits
 * until the agreement of each nonblocking collective access has started. `call`
 * is the MPI procedure, for messages. */
void weft_file_drain(struct weft_file *file, bool colls_only, const char *call);

/* Returns the request for which weft_file_drain() waits next, or NULL. The
 * caller gets a reference of the request. VCI's lock held. */
struct weft_req *weft_file_pending_locked(
	struct weft_file *file, bool colls_only);

/* --- split collectives (transfer.c) --------------------------------------- */

/* Waits for the pending split collective, if any, and drops it. */
void weft_file_finish_split(struct weft_file *file);
/* Drops a split collective that is complete. VCI's lock held. */
void weft_file_drop_split_locked(struct weft_file *file);

/* --- the shared pointer (pointer.c) -------------------------------------- */

/* Starts the replies of rank 0 to requests. No effect at other members. */
void weft_file_pointer_open(struct weft_file *file);
/* Stops the replies of rank 0. The stop is complete when pointer.recv is NULL.
 * VCI's lock held. */
void weft_file_pointer_close_locked(struct weft_file *file);

/* Adds `by` to the shared pointer. Sets *old_out to its former value. */
int weft_file_pointer_fetch_add(
	struct weft_file *file, int64_t by, int64_t *old_out);
/* Sets the shared pointer. Called at rank 0 only. */
void weft_file_pointer_set(struct weft_file *file, int64_t value);

/* Collective. Advances the shared pointer by the sum of n over all members.
 * Sets *at_out to the begin of the n etypes of this process, in the order of
 * ranks. */
int weft_file_pointer_ordered(
	struct weft_file *file, int64_t n, int64_t *at_out);

#endif
