/* SPDX-License-Identifier: BSD-3-Clause */
/* move: what one process moves between its memory and a file
 *
 * A stretch of a view's stream and the memory that it goes to or comes from.
 * Runs are taken from the view's loops as they are needed. Many short ones are
 * written at once, with what is between them (sieve.h), or without (scatter.h).
 */
#ifndef WEFT_MOVE_H
#define WEFT_MOVE_H

#include "dt/type.h"
#include "io/view.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct weft_file;

/* Gaps up to this are read with what is around them: that costs less than
 * another call. */
enum { WEFT_MOVE_GAP_MAX = 4096 };

struct weft_move {
	struct weft_file *file;
	struct weft_view *view; /* a reference of the owner's */
	bool is_write;
	bool is_background; /* of all members, while their programs compute */
	int64_t at, len;    /* of the stream */
	void *buf;
	int64_t count;
	struct weft_type *type;
	/* bytes of memory, also after an error; what of native data was moved
	 * before is not moved again */
	int64_t n_moved;
};

/* All of it. Blocks, without any lock. */
int weft_move_all(struct weft_move *m);

/* Whether it is one run of memory, and runs of the file are moved one by one,
 * of so many bytes on average. */
bool weft_move_is_per_run(const struct weft_move *m, int64_t *run_len_out);

/* Bytes [skip, skip + len) of what is not converted; *moved_out of them were. A
 * read moves less than len only where the file ends. */
int weft_move_part(const struct weft_move *m, int64_t skip, int64_t len,
	int64_t *moved_out);

/* A stretch of the file to or from other memory; likewise. One that is written
 * is locked (range.h), */
int weft_move_range(const struct weft_move *m, char *buf, int64_t place,
	int64_t len, int64_t *moved_out);
/* or was before. */
int weft_move_unlocked(const struct weft_move *m, char *buf, int64_t place,
	int64_t len, int64_t *moved_out);

/* Where its memory begins if that is one run, otherwise NULL. */
static inline char *weft_move_contig_buf(const struct weft_move *m)
{
	return weft_type_is_run(m->type, m->count)
		       ? (char *)((uintptr_t)m->buf +
				  (uintptr_t)m->type->true_lb)
		       : NULL;
}

/* Writes runs, each a place and a length, rising, that lie in memory as in the
 * file: buf is what lies at base, and may be used up. At most as many as of
 * weft_scatter_write. *end_out is the place up to which all was written. */
int weft_move_write_runs(const struct weft_move *m, char *buf, int64_t base,
	const struct iovec *runs, size_t n, int64_t *end_out);

#endif
