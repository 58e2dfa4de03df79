/* SPDX-License-Identifier: BSD-3-Clause */
/* file_priv: what the files of this room share */
#ifndef WEFT_FILE_PRIV_H
#define WEFT_FILE_PRIV_H

#include "coll/coll.h"
#include "io/file.h"

/* --- agreement (file_agree.c) -------------------------------------------- */

/* Collective: everybody's error to everybody, this process's own first. Who has
 * none is told in which words another has one, and where. */
int weft_file_agree(struct weft_file *file, int err);

enum { WEFT_FILE_SAME_MAX = 2, WEFT_FILE_LEAST_MAX = 8 };

/* Numbers that must not differ between members, each with its name, and others
 * of which all get the least. */
struct weft_file_agreement {
	int n_same, n_least;
	int64_t same[WEFT_FILE_SAME_MAX];
	const char *names[WEFT_FILE_SAME_MAX];
	int64_t *least[WEFT_FILE_LEAST_MAX];
};

/* The same of err, and all of that; WEFT_ERR_NOT_SAME says what differs. */
int weft_file_agree_on(
	struct weft_file *file, int err, const struct weft_file_agreement *on);

/* Collective, a WEFT_COLL_ALLGATHER, WEFT_COLL_ALLREDUCE or WEFT_COLL_SCAN of
 * n numbers of each member; op is passed over where the kind has none. */
int weft_file_numbers(struct weft_file *file, enum weft_coll_kind kind,
	enum weft_redop_builtin op, int n, const int64_t *mine, int64_t *all);

/* An allgather of n numbers of each, by whoever moves data. */
int weft_file_gather(struct weft_file *file, bool is_background, int n,
	const int64_t *mine, int64_t *all);

/* An error as one number, of which the least is everybody's; and back,
 * described. */
int64_t weft_file_err_encode(const struct weft_file *file, int err);
int weft_file_err_decode(
	const struct weft_file *file, int err, const char *why, int64_t code);

/* --- what was begun (file.c) -----------------------------------------------
 */

/* Waits until it is done; with colls_only until no collective waits for its
 * turn to be agreed on. call is what the program is in. */
void weft_file_drain(struct weft_file *file, bool colls_only, const char *call);

/* What the first of them waits for, with a reference of the caller's, or NULL.
 * VCI's lock held; transfer.c. */
struct weft_req *weft_file_pending_locked(
	struct weft_file *file, bool colls_only);

/* --- split collectives (transfer.c) --------------------------------------- */

/* Waits for one that was begun and drops it. */
void weft_file_finish_split(struct weft_file *file);
/* Drops one that is done. VCI's lock held. */
void weft_file_drop_split_locked(struct weft_file *file);

/* --- the shared pointer (pointer.c) -------------------------------------- */

/* Rank 0 serves it from now on. */
void weft_file_pointer_open(struct weft_file *file);
/* And no more; it is over when pointer.recv is NULL. VCI's lock held. */
void weft_file_pointer_close_locked(struct weft_file *file);

/* Adds to it; *old_out is what it was. */
int weft_file_pointer_fetch_add(
	struct weft_file *file, int64_t by, int64_t *old_out);
/* Rank 0 only. */
void weft_file_pointer_set(struct weft_file *file, int64_t value);

/* Collective: this process's n etypes in the order of ranks. *at_out is where
 * they begin. */
int weft_file_pointer_ordered(
	struct weft_file *file, int64_t n, int64_t *at_out);

#endif
