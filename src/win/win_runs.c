/* SPDX-License-Identifier: BSD-3-Clause */
/* win_runs: the target's runs of bytes or elements, as records describe them
 *
 * Runs of equal length at equal distances form one record. For example, a
 * column of a matrix is one record with its data. */
#include "win/win_priv.h"

#include "dt/pack.h"

enum {
	RUNS = 64,
	SHORT_RUN = 1024, /* bytes; longer runs have a record each */
};

/* The state of a division into records: consecutive runs of equal length at
 * equal distances are joined. */
struct runs {
	weft_win_run_fn *fn;
	void *arg;
	uint64_t unit;		 /* bytes of an element, or 1 */
	uint64_t done, total;	 /* units added so far, and units of all runs */
	struct weft_wire_am rec; /* joined runs that fn has not received yet;
				    n_runs 0: none */
	int64_t disp;
	int err;
};

static int runs_emit(struct runs *runs)
{
	struct weft_wire_am rec = runs->rec;

	runs->rec.n_runs = 0;
	return rec.n_runs ? runs->fn(runs->arg, &rec) : 0;
}

/* Adds a run to rec. False: rec is empty, the run is longer than SHORT_RUN, its
 * length or distance differs from that of the runs in rec, or rec would become
 * too long. */
static bool runs_join(struct runs *runs, int64_t at, uint64_t n)
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

static void runs_add(struct runs *runs, int64_t at, uint64_t n)
{
	if (!runs_join(runs, at, n)) {
		runs->err = runs_emit(runs);
		runs->rec = (struct weft_wire_am){ .disp = runs->disp,
			.at = at,
			.n = n,
			.pos = runs->done * runs->unit,
			.n_runs = 1 };
	}
	runs->done += n;
}

static int runs_end(struct runs *runs)
{
	return runs->err ? runs->err : runs_emit(runs);
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

/* Adds equally spaced runs without a loop over them. False if the type's runs
 * are not equally spaced, are longer than SHORT_RUN, are contiguous, or split
 * elements. */
static bool runs_add_series(
	struct runs *runs, const struct weft_win_access *access)
{
	uint64_t max = WEFT_WIRE_AM_RUNS_MAX / runs->unit, n;
	struct weft_series series;

	if (!weft_type_series(access->type, access->count, &series) ||
		series.len > SHORT_RUN || series.stride == series.len ||
		(uint64_t)series.len % runs->unit)
		return false;
	n = (uint64_t)series.len / runs->unit;
	while (runs->done < runs->total && !runs->err) {
		uint64_t left = runs->total - runs->done;
		struct weft_wire_am *rec = &runs->rec;

		*rec = (struct weft_wire_am){ .disp = runs->disp,
			.at = series.at,
			.n = weft_min(n, left),
			.n_runs = weft_max(weft_min(left, max) / n, 1),
			.pos = runs->done * runs->unit };
		rec->stride = rec->n_runs > 1 ? series.stride : 0;
		runs->done += rec->n * rec->n_runs;
		series.at += series.stride * (int64_t)rec->n_runs;
		runs->err = runs_emit(runs);
	}
	return true;
}

int weft_win_each_run(
	const struct weft_win_access *access, weft_win_run_fn *fn, void *arg)
{
	const struct weft_win_buf *here = &access->origin;
	size_t max = weft_type_is_run(here->type, here->count)
			     ? SIZE_MAX
			     : WEFT_WIRE_AM_RUNS_MAX;
	/* the shorter side, origin or target, determines the length */
	struct runs all = { .fn = fn,
		.arg = arg,
		.unit = 1,
		.total = weft_min((size_t)(here->type->size * here->count),
			(size_t)(access->type->size * access->count)),
		.disp = access->disp };

	if (runs_add_series(&all, access))
		return all.err;
	while (all.done < all.total && !all.err) {
		struct iovec runs[RUNS];
		size_t n, bytes;

		weft_type_iov(access->type, access->count, NULL, all.done, runs,
			RUNS, &n, &bytes);
		for (size_t i = 0; i < n && !all.err; i++) {
			size_t left =
				weft_min(runs[i].iov_len, all.total - all.done);
			int64_t at = (int64_t)(intptr_t)runs[i].iov_base;

			for (size_t len; left && !all.err; left -= len) {
				len = weft_min(left, max);
				runs_add(&all, at, len);
				at += (int64_t)len;
			}
		}
	}
	return runs_end(&all);
}

static int runs_visit(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n)
{
	struct runs *all = arg;
	uint64_t most = weft_min((uint64_t)n, all->total - all->done);

	(void)basic;
	if (most)
		runs_add(all, disp, most);
	return all->err || all->done == all->total;
}

int weft_win_each_element(const struct weft_win_access *access,
	const struct weft_type *basic, int64_t n, weft_win_run_fn *fn,
	void *arg)
{
	const struct weft_type *type = access->type;
	struct runs all = { .fn = fn,
		.arg = arg,
		.unit = (uint64_t)basic->extent,
		.total = (uint64_t)n,
		.disp = access->disp };

	if (type == basic || weft_win_is_array(type, basic))
		runs_visit(&all, basic, type->true_lb, n);
	else if (basic->size != basic->extent || !runs_add_series(&all, access))
		weft_type_visit(type, access->count, runs_visit, &all);
	return runs_end(&all);
}
