/* SPDX-License-Identifier: BSD-3-Clause */
/* move: transfers between the memory of one process and the file */
#include "io/move.h"

#include "base/bits.h"
#include "base/err.h"
#include "dt/pack.h"
#include "io/file.h"
#include "io/range.h"
#include "io/scatter.h"
#include "io/sieve.h"
#include "io/stat.h"
#include "io/syscall.h"
#include "io/uring.h"

#include <stdlib.h>
#include <string.h>

enum {
	STAGE = 4 << 20, /* bytes packed or converted at once */
	RUNS = WEFT_SCATTER_MAX,
	/* Runs are scattered (scatter.h) if there are at least SCATTER_MIN, and
	 * they begin at most SCATTER_STRIDE bytes apart on average. With fewer
	 * runs in a page, mapping the page costs more than write calls. */
	SCATTER_MIN = 32,
	SCATTER_STRIDE = 1024,
};

/* ---- between a buffer and the stream ---- */

int weft_move_unlocked(const struct weft_move *m, char *buf, int64_t place,
	int64_t len, int64_t *moved)
{
	struct weft_syscall_move move = { .fd = m->file->fd,
		.is_write = m->is_write,
		.name = m->file->name,
		.buf = buf,
		.len = (size_t)len,
		.at = place };
	uint64_t since = weft_stat_now(m->file);
	size_t n;
	int err = weft_syscall_move(&move, &n);

	weft_stat_call(m->file, since);
	*moved = (int64_t)n;
	return err;
}

static bool can_scatter(
	const struct weft_move *m, const struct iovec *runs, size_t n)
{
	struct weft_file *file = m->file;

	if (!m->is_write || n < SCATTER_MIN ||
		file->hints.write_sieve == WEFT_FILE_DISABLE ||
		!atomic_load_explicit(
			&file->can_store_runs, memory_order_relaxed) ||
		!weft_range_is_local(file))
		return false;
	for (size_t i = 1; i < n; i++)
		if (weft_view_run_begin(&runs[i]) <
			weft_view_run_end(&runs[i - 1]))
			return false;
	return weft_view_run_begin(&runs[n - 1]) -
		       weft_view_run_begin(&runs[0]) <=
	       (int64_t)n * SCATTER_STRIDE;
}

/* Writes runs through the page cache (scatter.h). Returns the number of runs
 * that were written. The caller writes the others individually, which reports
 * an error. */
static size_t write_scattered(const struct weft_move *m, char *buf,
	const struct iovec *runs, size_t n, int64_t *moved)
{
	const struct iovec *last = &runs[n - 1];
	struct weft_file *file = m->file;
	int64_t before = 0, some;
	uint64_t since;
	size_t done;
	bool works;

	for (size_t i = 0; i < n - 1; i++)
		before += (int64_t)runs[i].iov_len;
	/* written first, because scatter.h cannot extend the file to the end of
	 * the last run */
	if (weft_move_unlocked(m, buf + before, weft_view_run_begin(last),
		    (int64_t)last->iov_len, &some) ||
		some < (int64_t)last->iov_len)
		return 0;
	since = weft_stat_now(file);
	done = weft_scatter_write(file->fd, buf, runs, n - 1, &works);
	weft_stat_call(file, since);
	if (!works)
		atomic_store_explicit(
			&file->can_store_runs, false, memory_order_relaxed);
	if (done == n - 1)
		done = n;
	for (size_t i = 0; i < done; i++)
		*moved += (int64_t)runs[i].iov_len;
	return done;
}

/* Moves the runs. A read stops at the end of the file. For a write, the caller
 * has locked the range if necessary. */
static int move_view_runs_under_lock(const struct weft_move *m, char *buf,
	const struct iovec *runs, size_t n, int64_t *moved)
{
	size_t done = 0;
	int err = 0;

	*moved = 0;
	if (can_scatter(m, runs, n))
		done = write_scattered(m, buf, runs, n, moved);
	for (size_t i = done; i < n && !err; i++) {
		int64_t wanted = (int64_t)runs[i].iov_len, some;

		err = weft_move_unlocked(m, buf + *moved,
			weft_view_run_begin(&runs[i]), wanted, &some);
		*moved += some;
		if (some < wanted)
			break;
	}
	return err;
}

/* As move_view_runs_under_lock(), but locks the range of the runs for a write.
 */
static int move_view_runs(const struct weft_move *m, char *buf,
	const struct iovec *runs, size_t n, int64_t *moved)
{
	int64_t first = INT64_MAX, end = 0;
	bool is_locked = false;
	int err = 0;

	*moved = 0;
	for (size_t i = 0; i < n && m->is_write; i++) {
		first = weft_min64(first, weft_view_run_begin(&runs[i]));
		end = weft_max64(end, weft_view_run_end(&runs[i]));
	}
	if (first < end)
		err = weft_range_lock(
			m->file, WEFT_RANGE_SHARED, first, end, &is_locked);
	if (!err)
		err = move_view_runs_under_lock(m, buf, runs, n, moved);
	if (is_locked)
		weft_range_unlock(m->file, first, end);
	return err;
}

int weft_move_range(const struct weft_move *m, char *buf, int64_t place,
	int64_t len, int64_t *moved)
{
	bool is_locked = false;
	int err = 0;

	*moved = 0;
	if (m->is_write && len)
		err = weft_range_lock(m->file, WEFT_RANGE_SHARED, place,
			place + len, &is_locked);
	if (!err)
		err = weft_move_unlocked(m, buf, place, len, moved);
	if (is_locked)
		weft_range_unlock(m->file, place, place + len);
	return err;
}

static int write_runs_under_lock(const struct weft_move *m, char *buf,
	int64_t base, const struct iovec *runs, size_t n, int64_t *end_out)
{
	bool is_one = can_scatter(m, runs, n);
	int64_t len = 0, moved;
	int err = 0;

	*end_out = weft_view_run_begin(&runs[0]);
	for (size_t i = 0; i < n && !err; i++) {
		char *from = buf + (weft_view_run_begin(&runs[i]) - base);

		if (is_one) {
			memmove(buf + len, from, runs[i].iov_len);
			len += (int64_t)runs[i].iov_len;
		} else {
			err = weft_move_unlocked(m, from,
				weft_view_run_begin(&runs[i]),
				(int64_t)runs[i].iov_len, &moved);
			*end_out = weft_view_run_begin(&runs[i]) + moved;
		}
	}
	if (!is_one)
		return err;
	err = move_view_runs_under_lock(m, buf, runs, n, &moved);
	for (size_t i = 0; i < n && moved > 0; i++) {
		*end_out = weft_view_run_begin(&runs[i]) +
			   weft_min64(moved, (int64_t)runs[i].iov_len);
		moved -= (int64_t)runs[i].iov_len;
	}
	return err;
}

int weft_move_write_runs(const struct weft_move *m, char *buf, int64_t base,
	const struct iovec *runs, size_t n, int64_t *end_out)
{
	int64_t first = weft_view_run_begin(&runs[0]);
	int64_t end = weft_view_run_end(&runs[n - 1]);
	bool is_locked;
	int err = weft_range_lock(
		m->file, WEFT_RANGE_SHARED, first, end, &is_locked);

	*end_out = first;
	if (!err)
		err = write_runs_under_lock(m, buf, base, runs, n, end_out);
	if (is_locked)
		weft_range_unlock(m->file, first, end);
	return err;
}

/* Moves the first *tried of stream bytes [at, at + len); buf is contiguous. */
static int move_some(const struct weft_move *m, char *buf, int64_t at,
	int64_t len, int64_t *tried, int64_t *moved)
{
	struct iovec runs[RUNS];
	size_t n = weft_view_runs(m->view, at, len, runs, RUNS, tried);

	return move_view_runs(m, buf, runs, n, moved);
}

/* Moves all stream bytes [at, at + len); buf is contiguous. */
static int move_stream(const struct weft_move *m, char *buf, int64_t at,
	int64_t len, int64_t *moved)
{
	char *sieve_buf = NULL;
	int err = 0;

	if (weft_view_is_contig(m->view))
		return weft_move_range(
			m, buf, weft_view_byte_offset(m->view, at), len, moved);
	*moved = 0;
	while (*moved < len && !err) {
		int64_t left = len - *moved, tried = 0, some = 0;

		if (m->is_write)
			err = weft_sieve_write(m, buf + *moved, at + *moved,
				left, &sieve_buf, &tried, &some);
		else
			err = weft_sieve_read(m, buf + *moved, at + *moved,
				left, &sieve_buf, &tried, &some);
		if (!tried)
			err = move_some(m, buf + *moved, at + *moved, left,
				&tried, &some);
		*moved += some;
		if (some < tried || !tried)
			break;
	}
	free(sieve_buf);
	return err;
}

/* ---- between memory and the stream ---- */

/* Noncontiguous memory is packed into a staging buffer, STAGE bytes at a time.
 */
static int move_packed(
	const struct weft_move *m, int64_t skip, int64_t len, int64_t *moved)
{
	int64_t piece = weft_min64(len, STAGE), some = 0, wanted;
	char *stage = malloc((size_t)piece);
	int err = stage ? 0
			: weft_err_set(WEFT_ERR_NOMEM,
				  "no memory for %lld bytes", (long long)piece);

	while (!err && *moved < len) {
		size_t at = (size_t)(skip + *moved);

		wanted = weft_min64(piece, len - *moved);
		if (m->is_write)
			weft_pack(m->type, m->count, m->buf, at, stage,
				(size_t)wanted);
		err = move_stream(
			m, stage, m->at + skip + *moved, wanted, &some);
		if (!m->is_write)
			weft_unpack(m->type, m->count, m->buf, at, stage,
				(size_t)some);
		*moved += some;
		if (some < wanted)
			break;
	}
	free(stage);
	return err;
}

int weft_move_part(
	const struct weft_move *m, int64_t skip, int64_t len, int64_t *moved)
{
	char *run = weft_move_contig_buf(m);

	*moved = 0;
	return run ? move_stream(m, run + skip, m->at + skip, len, moved)
		   : move_packed(m, skip, len, moved);
}

/* Converts and moves some items, each of which has `size` bytes in the file.
 * *is_over is true if not all could be moved. */
static int convert_items(struct weft_move *m, struct weft_datarep_move *move,
	int64_t size, bool *is_over)
{
	const struct weft_datarep *rep = m->view->rep;
	int64_t at = m->at + move->first * size, some = 0, memory;
	int err = m->is_write ? weft_datarep_write(rep, move) : 0;

	if (!err)
		err = move_stream(m, move->data, at, move->count * size, &some);
	if (!m->is_write && some) {
		int rc = weft_datarep_read(rep, move, some);

		err = err ? err : rc;
	}
	*is_over = some < move->count * size;
	if (!weft_datarep_in_memory(rep, m->type, some, &memory))
		m->n_moved += memory;
	return err;
}

/* Converts and moves data in another representation, in whole items. */
static int move_converted(struct weft_move *m)
{
	struct weft_datarep_move move = { .type = m->type, .buf = m->buf };
	int64_t size = m->len / m->count;
	int64_t n = size < STAGE ? STAGE / size : 1;
	bool is_over = false;
	int err = 0;

	n = weft_min64(n, m->count);
	move.data = calloc((size_t)n, (size_t)size);
	if (!move.data)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for %lld bytes",
			(long long)(n * size));
	for (; move.first < m->count && !err && !is_over; move.first += n) {
		move.count = weft_min64(n, m->count - move.first);
		err = convert_items(m, &move, size, &is_over);
	}
	free(move.data);
	return err;
}

int weft_move_all(struct weft_move *m)
{
	int64_t before;
	int err;

	if (m->view->rep->kind != WEFT_DATAREP_NATIVE)
		return move_converted(m);
	if (!weft_view_is_contig(m->view))
		weft_uring_move(m);
	before = m->n_moved;
	err = weft_move_part(m, before, m->len - before, &m->n_moved);
	m->n_moved += before;
	return err;
}

bool weft_move_is_per_run(const struct weft_move *m, int64_t *run_len_out)
{
	struct weft_view_sample sample;

	*run_len_out = m->len;
	if (!weft_move_contig_buf(m) || weft_view_is_contig(m->view))
		return weft_move_contig_buf(m) != NULL;
	sample = weft_view_sample(m->view, m->at, m->len);
	if (sample.n < 2)
		return sample.n == 1;
	*run_len_out = sample.len / sample.n;
	return sample.gaps / (sample.n - 1) > WEFT_MOVE_GAP_MAX &&
	       (m->is_write || m->file->hints.read_sieve != WEFT_FILE_ENABLE);
}
