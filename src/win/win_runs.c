/* SPDX-License-Identifier: BSD-3-Clause */
/* win_runs: the target's runs of bytes or elements, as records describe them
 *
 * Runs of one length at one distance are one record: a column of a matrix is
 * one record and its data. */
#include "win/win_priv.h"

#include "dt/pack.h"

enum {
	RUNS = 64,
	SHORT_RUN = 1024, /* bytes: longer ones are worth a record each */
};

static int runs_emit(struct weft_win_runs *runs)
{
	struct weft_wire_am rec = runs->rec;

	runs->rec.n_runs = 0;
	return rec.n_runs ? runs->fn(runs->arg, &rec) : 0;
}

/* It is as long, and as far behind the last as that behind the one before. */
static bool runs_join(struct weft_win_runs *runs, int64_t at, uint64_t n)
{
	struct weft_wire_am *rec = &runs->rec;
	uint64_t len = n * runs->unit;
	int64_t stride;

	if (!rec->n_runs || n != rec->n || len > SHORT_RUN ||
		(rec->n_runs + 1) * len > WEFT_WIRE_AM_RUNS_MAX)
		return false;
	if (rec->n_runs == 1)
		stride = at - rec->at;
	else if (at == rec->at + rec->stride * (int64_t)rec->n_runs)
		stride = rec->stride;
	else
		return false;
	rec->stride = stride;
	rec->n_runs++;
	return true;
}

int weft_win_runs_add(
	struct weft_win_runs *runs, int64_t at, uint64_t n, uint64_t pos)
{
	int err;

	if (runs_join(runs, at, n))
		return 0;
	err = runs_emit(runs);
	runs->rec = (struct weft_wire_am){
		.disp = runs->disp, .at = at, .n = n, .pos = pos, .n_runs = 1
	};
	return err;
}

int weft_win_runs_end(struct weft_win_runs *runs, int err)
{
	return err ? err : runs_emit(runs);
}

bool weft_win_runs_cut(struct weft_wire_am *rest, uint64_t unit, uint64_t max,
	struct weft_wire_am *part)
{
	*part = *rest;
	if (!rest->n_runs)
		return false;
	if (rest->n_runs == 1) {
		part->n = weft_min(rest->n, max);
		rest->n -= part->n;
		rest->n_runs = rest->n > 0;
		rest->at += (int64_t)(part->n * unit);
	} else {
		part->n_runs =
			weft_min(rest->n_runs, weft_max(max / rest->n, 1));
		rest->n_runs -= part->n_runs;
		rest->at += rest->stride * (int64_t)part->n_runs;
	}
	rest->pos += part->n * part->n_runs * unit;
	return true;
}

/* Runs at one distance, without a loop over them. */
static int each_of_series(struct weft_win_runs *all,
	const struct weft_series *series, size_t total)
{
	size_t len = (size_t)series->len, pos = 0;
	int64_t at = series->at;
	int err = 0;

	while (pos < total && !err) {
		struct weft_wire_am rec = {
			.disp = all->disp,
			.at = at,
			.n = weft_min(len, total - pos),
			.n_runs = weft_min(total - pos,
					  (size_t)WEFT_WIRE_AM_RUNS_MAX) /
				  len,
			.pos = pos,
			.stride = series->stride,
		};

		if (rec.n_runs < 2) {
			rec.n_runs = 1;
			rec.stride = 0;
		}
		pos += rec.n * rec.n_runs;
		at += series->stride * (int64_t)rec.n_runs;
		err = all->fn(all->arg, &rec);
	}
	return err;
}

int weft_win_each_run(
	const struct weft_win_access *access, weft_win_run_fn *fn, void *arg)
{
	const struct weft_win_buf *here = &access->origin;
	size_t max = weft_type_is_run(here->type, here->count)
			     ? SIZE_MAX
			     : WEFT_WIRE_AM_RUNS_MAX;
	size_t mine = (size_t)(here->type->size * here->count);
	size_t its = (size_t)(access->type->size * access->count);
	/* a put may fill less than there is, a get likewise */
	size_t total = weft_min(mine, its), pos = 0;
	struct weft_win_runs all = {
		.fn = fn, .arg = arg, .unit = 1, .disp = access->disp
	};
	struct weft_series series;
	int err = 0;

	if (weft_type_series(access->type, access->count, &series) &&
		series.len <= SHORT_RUN && series.stride != series.len)
		return each_of_series(&all, &series, total);
	while (pos < total && !err) {
		struct iovec runs[RUNS];
		size_t n, bytes;

		weft_type_iov(access->type, access->count, NULL, pos, runs,
			RUNS, &n, &bytes);
		for (size_t i = 0; i < n && pos < total && !err; i++) {
			size_t left = weft_min(runs[i].iov_len, total - pos);
			int64_t at = (int64_t)(intptr_t)runs[i].iov_base;

			while (left && !err) {
				size_t len = weft_min(left, max);

				err = weft_win_runs_add(&all, at, len, pos);
				at += (int64_t)len;
				pos += len;
				left -= len;
			}
		}
	}
	return weft_win_runs_end(&all, err);
}
