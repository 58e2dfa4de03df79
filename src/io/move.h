/* SPDX-License-Identifier: BSD-3-Clause */
/* move: transfers between the memory of one process and the file
 *
 * A move connects a part of the view's stream with a buffer. Runs are computed
 * from the view as they are needed. Many short runs are moved together, with
 * the gaps between them (sieve.h) or without (scatter.h). */
#ifndef WEFT_MOVE_H
#define WEFT_MOVE_H

#include "dt/type.h"
#include "io/view.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct weft_file;

/* In bytes. A shorter gap between two runs is read together with the runs,
 * because that is cheaper than another call. */
enum { WEFT_MOVE_GAP_MAX = 4096 };

struct weft_move {
	struct weft_file *file;
	struct weft_view *view; /* the owner holds a reference */
	bool is_write;
	bool is_background; /* a collective access in a thread of the pool */
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
 * separate call. *run_len_out is the average length of the runs. */
bool weft_move_is_per_run(const struct weft_move *m, int64_t *run_len_out);

/* Moves bytes [skip, skip + len) of native data. The first *moved_out bytes
 * were moved. A read moves less than len only at the end of the file. */
int weft_move_part(const struct weft_move *m, int64_t skip, int64_t len,
	int64_t *moved_out);

/* Transfers a contiguous range of the file to or from buf, with the same
 * results as weft_move_part(). A write locks the range (range.h). */
int weft_move_range(const struct weft_move *m, char *buf, int64_t place,
	int64_t len, int64_t *moved_out);
/* As weft_move_range(), for a caller that has locked the range. */
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

/* Writes n runs, WEFT_SCATTER_MAX at most, whose byte offsets rise. buf is the
 * image of the file from offset base on and may be overwritten. *end_out is the
 * offset up to which all runs were written. */
int weft_move_write_runs(const struct weft_move *m, char *buf, int64_t base,
	const struct iovec *runs, size_t n, int64_t *end_out);

#endif
