/* SPDX-License-Identifier: BSD-3-Clause */
/* move: transfers between the memory of one process and the file
 *
 * A move connects a part of the view's stream with a buffer. Runs are computed
 * from the view as they are needed. Many short runs are transferred together,
 * either with the gaps between them (sieve.h) or without (scatter.h). */
#ifndef WEFT_MOVE_H
#define WEFT_MOVE_H

#include "dt/type.h"
#include "io/view.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct weft_file;

/* In bytes. If the gaps between runs are not longer on average, they are read
 * together with the runs, because that is cheaper than further calls. */
enum { WEFT_MOVE_GAP_MAX = 4096 };

struct weft_move {
	struct weft_file *file;
	struct weft_view *view; /* the owner holds a reference */
	bool is_write;
	bool is_background; /* a thread of the pool moves a collective access */
	int64_t at, len;    /* stream bytes */
	void *buf;
	int64_t count;
	struct weft_type *type;
	/* bytes of memory that were moved, also after an error; a later move of
	 * native data continues after them */
	int64_t n_moved;
};

/* Transfers all data of the move. Blocks; no lock is held. */
int weft_move_all(struct weft_move *m);

/* True if the memory is contiguous and each run of the file is transferred by a
 * separate call. Sets *run_len_out to the average length of the runs. */
bool weft_move_is_per_run(const struct weft_move *m, int64_t *run_len_out);

/* Moves bytes [skip, skip + len) of native data. Sets *moved_out to the number
 * of bytes that were moved, from `skip` on, also after an error. Without an
 * error, a read moves less than len only at the end of the file. */
int weft_move_part(const struct weft_move *m, int64_t skip, int64_t len,
	int64_t *moved_out);

/* Transfers the range of the file at byte offset `place` to or from buf, with
 * the same results as weft_move_part(). A write locks the range if necessary
 * (range.h). */
int weft_move_range(const struct weft_move *m, char *buf, int64_t place,
	int64_t len, int64_t *moved_out);
/* As weft_move_range(), for a caller that has locked the range or needs no
 * lock. */
int weft_move_unlocked(const struct weft_move *m, char *buf, int64_t place,
	int64_t len, int64_t *moved_out);

/* The address of the data in memory if it is contiguous, otherwise NULL. */
static inline char *weft_move_contig_buf(const struct weft_move *m)
{
	return weft_type_is_run(m->type, m->count)
		       ? (char *)((uintptr_t)m->buf +
				  (uintptr_t)m->type->true_lb)
		       : NULL;
}

/* Writes n runs, WEFT_SCATTER_MAX at most, at rising byte offsets. buf is an
 * image of the file from byte offset base on and may be overwritten. Sets
 * *end_out to the byte offset up to which all runs were written. */
int weft_move_write_runs(const struct weft_move *m, char *buf, int64_t base,
	const struct iovec *runs, size_t n, int64_t *end_out);

#endif
