/* SPDX-License-Identifier: BSD-3-Clause */
/* sieve: data sieving: moves short runs together with the gaps between them */
#include "io/sieve.h"

#include "base/bits.h"
#include "dt/pack.h"
#include "io/file.h"
#include "io/range.h"
#include "io/syscall.h"

#include <stdlib.h>
#include <string.h>

enum {
	RUNS_MIN = 8,		  /* fewer runs are moved individually */
	RUN_MAX = 16 << 10,	  /* longest average run of a write, bytes */
	RUN_MAX_READ = 8 << 10,	  /* longest average run of a read, bytes */
	RUN_MAX_CACHED = 8 << 10, /* longest average run of a write of whole
				     pages to a disk, bytes */
};

/* Stream bytes [at, at + len), which lie in [first, end) of the file. */
struct sieve_range {
	int64_t at, len;
	int64_t first, end;
};

/* True if the runs fill whole pages and should be written individually. Sieving
 * saves calls, but copies the gaps twice. Gaps that must be read from a disk
 * cost more than the calls.
 *
 * Beyond the end of the file, sieving is faster if other processes write the
 * gaps later, because sieving has then created the pages. */
static bool should_write_per_run(const struct weft_move *m,
	const struct weft_view_sample *sample, int64_t end)
{
	bool is_long = weft_range_fs(m->file) != WEFT_SYSCALL_FS_LOCAL ||
		       sample->len / sample->n > RUN_MAX_CACHED;

	if (!sample->fills_pages)
		return false;
	if (weft_syscall_page(m->file->fd, end - 1) == WEFT_SYSCALL_PAST_EOF)
		return is_long && m->file->comm->size == 1;
	return is_long || weft_syscall_page(m->file->fd, sample->first_end) ==
				  WEFT_SYSCALL_NOT_CACHED;
}

static bool should_sieve_write(
	const struct weft_move *m, int64_t at, int64_t len)
{
	enum weft_file_choice choice = m->file->hints.write_sieve;
	int64_t gap_max = WEFT_MOVE_GAP_MAX;
	struct weft_view_sample sample;

	if (choice == WEFT_FILE_DISABLE ||
		!weft_view_is_monotone(m->view, at, len))
		return false;
	sample = weft_view_sample(m->view, at, len);
	if (sample.n < 2 || choice == WEFT_FILE_ENABLE)
		return sample.n >= 2;
	/* a write call is more expensive on a disk's file system */
	if (weft_range_fs(m->file) == WEFT_SYSCALL_FS_LOCAL)
		gap_max = weft_max64(gap_max, sample.len / sample.n);
	return sample.n >= RUNS_MIN && sample.len / sample.n <= RUN_MAX &&
	       sample.gaps / (sample.n - 1) <= gap_max &&
	       !should_write_per_run(m, &sample,
		       weft_view_byte_offset(m->view, at + len - 1) + 1);
}

/* True if the range should be read with its gaps. The decision depends on the
 * average run of a sample and the average gap of the range. */
static bool should_sieve_read(
	const struct weft_move *m, const struct sieve_range *s)
{
	struct weft_view_sample sample =
		weft_view_sample(m->view, s->at, s->len);
	int64_t run, gaps = s->end - s->first - s->len;

	if (sample.n < 2 || m->file->hints.read_sieve == WEFT_FILE_ENABLE)
		return sample.n >= 2;
	run = sample.len / sample.n;
	return sample.n >= RUNS_MIN && run <= RUN_MAX_READ &&
	       gaps / weft_max64(s->len / run - 1, 1) <= WEFT_MOVE_GAP_MAX;
}

/* The first part of stream bytes [at, at + len) that fits into one buffer. The
 * part ends in the file at a multiple of the buffer's size, or with the access.
 * With equal hints, these multiples are the same in all processes, so each
 * process waits for at most one lock of another process.
 *
 * A range to write that begins or ends in a gap near such a multiple is
 * extended to the multiple, because the file system uses large folios for
 * aligned writes. */
static struct sieve_range sieve_range_of(
	const struct weft_move *m, int64_t at, int64_t len)
{
	const struct weft_file_hints *hints = &m->file->hints;
	int64_t max =
		m->is_write ? hints->write_sieve_max : hints->read_sieve_max;
	struct sieve_range s = { .at = at, .len = len };
	int64_t begin, limit;

	s.first = weft_view_byte_offset(m->view, at);
	s.end = weft_view_byte_offset(m->view, at + len - 1) + 1;
	begin = s.first - s.first % max;
	if (m->is_write && at > m->at && s.first - begin <= RUN_MAX)
		s.first = begin;
	if (__builtin_add_overflow(begin, max, &limit) || s.end <= limit)
		return s;
	s.len = weft_view_find(m->view, at, len, limit) - at;
	s.end = weft_view_byte_offset(m->view, at + s.len - 1) + 1;
	if (m->is_write && limit - s.end <= RUN_MAX)
		s.end = limit;
	return s;
}

static void sieve_buf_make(const struct weft_move *m,
	const struct sieve_range *s, int64_t at, int64_t len, int64_t max,
	char **sieve_buf)
{
	int64_t all =
		weft_view_byte_offset(m->view, at + len - 1) + 1 - s->first;

	if (!*sieve_buf)
		*sieve_buf = malloc((size_t)weft_min64(all, max));
}

/* The address in the buffer that corresponds to the view's displacement. The
 * buffer holds the file from s->first on. */
static void *tile_origin(const struct weft_move *m, const struct sieve_range *s,
	const char *sieve_buf)
{
	return (void *)((uintptr_t)sieve_buf +
			(uintptr_t)(m->view->disp - s->first));
}

static int64_t tiles_to_end(
	const struct weft_move *m, const struct sieve_range *s)
{
	return (s->at + s->len - 1) / m->view->tile->size + 1;
}

/* Reads the locked range into sieve_buf, copies the runs from buf into
 * sieve_buf, and writes the range back. False if the range cannot be read; the
 * caller then writes the runs individually. */
static bool sieve_move(const struct weft_move *m, const struct sieve_range *s,
	const char *buf, char *sieve_buf, int64_t *moved, int *err)
{
	int64_t span = s->end - s->first, got, there;
	struct weft_move reading = *m;

	reading.is_write = false;
	if (weft_move_unlocked(&reading, sieve_buf, s->first, span, &got))
		return false;
	memset(sieve_buf + got, 0, (size_t)(span - got));
	weft_counter_add(&m->file->counters.file_gaps_written, span - s->len);
	weft_unpack(m->view->tile, tiles_to_end(m, s),
		tile_origin(m, s, sieve_buf), (size_t)s->at, buf,
		(size_t)s->len);
	*err = weft_move_unlocked(m, sieve_buf, s->first, span, &there);
	*moved = *err ? weft_view_find(
				m->view, s->at, s->len, s->first + there) -
				 s->at
		      : s->len;
	return true;
}

int weft_sieve_write(const struct weft_move *m, const char *buf, int64_t at,
	int64_t len, char **sieve_buf, int64_t *tried, int64_t *moved)
{
	struct weft_file *file = m->file;
	bool is_locked = false;
	struct sieve_range s;
	int err = 0;

	*tried = *moved = 0;
	if (!weft_range_is_local(file) || !should_sieve_write(m, at, len))
		return 0;
	s = sieve_range_of(m, at, len);
	sieve_buf_make(m, &s, at, len, file->hints.write_sieve_max, sieve_buf);
	if (!*sieve_buf || s.len < 1 ||
		weft_range_lock(file, WEFT_RANGE_EXCLUSIVE, s.first, s.end,
			&is_locked) ||
		!is_locked)
		return 0;
	if (sieve_move(m, &s, buf, *sieve_buf, moved, &err))
		*tried = s.len;
	weft_range_unlock(file, s.first, s.end);
	return err;
}

int weft_sieve_read(const struct weft_move *m, char *buf, int64_t at,
	int64_t len, char **sieve_buf, int64_t *tried, int64_t *moved)
{
	const struct weft_file_hints *hints = &m->file->hints;
	struct sieve_range s;
	int64_t got;
	int err;

	*tried = *moved = 0;
	if (hints->read_sieve == WEFT_FILE_DISABLE ||
		!weft_view_is_monotone(m->view, at, len))
		return 0;
	s = sieve_range_of(m, at, len);
	if (s.len < 1 || !should_sieve_read(m, &s))
		return 0;
	sieve_buf_make(m, &s, at, len, hints->read_sieve_max, sieve_buf);
	if (!*sieve_buf)
		return 0;
	err = weft_move_unlocked(m, *sieve_buf, s.first, s.end - s.first, &got);
	*tried = *moved = s.len;
	if (got < s.end - s.first)
		*moved = weft_view_find(m->view, at, s.len, s.first + got) - at;
	weft_pack(m->view->tile, tiles_to_end(m, &s),
		tile_origin(m, &s, *sieve_buf), (size_t)at, buf,
		(size_t)*moved);
	weft_counter_add(&m->file->counters.file_gaps_read, got - *moved);
	return err;
}
