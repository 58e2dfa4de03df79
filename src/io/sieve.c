/* SPDX-License-Identifier: BSD-3-Clause */
/* sieve: read, patch, write */
#include "io/sieve.h"

#include "base/bits.h"
#include "dt/pack.h"
#include "io/file.h"
#include "io/range.h"
#include "io/stat.h"

#include <stdlib.h>
#include <string.h>

enum {
	SAMPLE = 64,	    /* runs looked at to know what they are like */
	RUNS_MIN = 8,	    /* fewer are written as well one by one, */
	RUN_MAX = 16 << 10, /* and so are longer ones */
};

/* Bytes [at, at + len) of the stream are in [first, end) of the file. */
struct stretch {
	int64_t at, len;
	int64_t first, end;
};

static int64_t run_begin(const struct iovec *run)
{
	return (int64_t)(uintptr_t)run->iov_base;
}

static bool sieve_pays(const struct weft_move *m, int64_t at, int64_t len)
{
	enum weft_file_choice choice = m->file->hints.write_sieve;
	struct iovec runs[SAMPLE];
	int64_t some = 0, n, gaps, gap_max = WEFT_MOVE_GAP_MAX;

	if (choice == WEFT_FILE_DISABLE ||
		!weft_view_is_monotone(m->view, at, len))
		return false;
	n = (int64_t)weft_view_runs(m->view, at, len, runs, SAMPLE, &some);
	if (n < 2 || choice == WEFT_FILE_ENABLE)
		return n >= 2;
	gaps = run_begin(&runs[n - 1]) + (int64_t)runs[n - 1].iov_len -
	       run_begin(&runs[0]) - some;
	/* the file system of a disk has more to do for each run */
	if (weft_range_where(m->file) == WEFT_SYSCALL_DISK)
		gap_max = weft_max64(gap_max, some / n);
	return n >= RUNS_MIN && some / n <= RUN_MAX &&
	       gaps / (n - 1) <= gap_max;
}

/* The first of them up to a multiple of what is written at once, where others'
 * end as well, so that they wait for one of ours at most. */
static struct stretch sieve_stretch(
	const struct weft_move *m, int64_t at, int64_t len)
{
	int64_t max = m->file->hints.write_sieve_max, limit;
	struct stretch s = { .at = at };

	s.first = weft_view_place(m->view, at);
	if (__builtin_add_overflow(s.first - s.first % max, max, &limit))
		limit = INT64_MAX;
	s.len = weft_view_find(m->view, at, len, limit) - at;
	s.end = weft_view_place(m->view, at + s.len - 1) + 1;
	return s;
}

/* The runs come to their places in what begins at s->first. */
static void patch(const struct weft_move *m, const struct stretch *s,
	const char *buf, char *aside)
{
	const struct weft_type *tile = m->view->tile;
	/* where the stretch would begin if it held the file from the
	 * displacement on */
	void *base = (void *)((uintptr_t)aside +
			      (uintptr_t)(m->view->disp - s->first));

	weft_unpack(tile, (s->at + s->len - 1) / tile->size + 1, base,
		(size_t)s->at, buf, (size_t)s->len);
}

/* Nobody else writes there. False where it cannot be read: one by one, runs may
 * be written all the same. */
static bool sieve_move(const struct weft_move *m, const struct stretch *s,
	const char *buf, char *aside, int64_t *moved, int *err)
{
	int64_t span = s->end - s->first, got, there;
	struct weft_move reading = *m;

	reading.is_write = false;
	if (weft_move_piece(&reading, aside, s->first, span, &got))
		return false;
	memset(aside + got, 0, (size_t)(span - got));
	weft_stat_add(m->file->stat, WEFT_STAT_AROUND, span - s->len);
	patch(m, s, buf, aside);
	*err = weft_move_piece(m, aside, s->first, span, &there);
	*moved = *err ? weft_view_find(
				m->view, s->at, s->len, s->first + there) -
				 s->at
		      : s->len;
	return true;
}

int weft_sieve_write(const struct weft_move *m, const char *buf, int64_t at,
	int64_t len, char **aside, int64_t *tried, int64_t *moved)
{
	struct weft_file *file = m->file;
	bool is_taken = false;
	struct stretch s;
	int err = 0;

	*tried = *moved = 0;
	if (!weft_range_is_local(file) || !sieve_pays(m, at, len))
		return 0;
	s = sieve_stretch(m, at, len);
	if (!*aside)
		*aside = malloc((size_t)weft_min64(
			weft_view_place(m->view, at + len - 1) + 1 - s.first,
			file->hints.write_sieve_max));
	if (!*aside || s.len < 1 ||
		weft_range_take(
			file, WEFT_RANGE_ALONE, s.first, s.end, &is_taken) ||
		!is_taken)
		return 0;
	if (sieve_move(m, &s, buf, *aside, moved, &err))
		*tried = s.len;
	weft_range_drop(file, s.first, s.end);
	return err;
}
