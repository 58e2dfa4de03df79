/* SPDX-License-Identifier: BSD-3-Clause */
/* view: the bytes of a file that a process accesses */
#include "io/view.h"

#include "base/err.h"
#include "dt/pack.h"

#include <stdlib.h>

enum { VIEW_RUNS = 64, PAGE = 4096 };

/* Checks an etype or a filetype as the standard requires. */
static int view_check_type(
	const struct weft_type *type, const char *name, bool is_writable)
{
	bool is_disjoint = true, is_monotone;

	if (type->true_lb < 0 && type->size)
		return weft_err_set(WEFT_ERR_IO,
			"%s begins %lld bytes before disp", name,
			-(long long)type->true_lb);
	is_monotone = weft_type_is_monotone(type, &is_disjoint);
	if (!is_monotone || (!is_disjoint && is_writable))
		return weft_err_set(WEFT_ERR_IO, "%s has %s", name,
			is_monotone
				? "parts that overlap, in a file that may be "
				  "written"
				: "a displacement below the one before it");
	return 0;
}

static int view_check(const struct weft_view_config *config)
{
	const struct weft_type *filetype = config->filetype;
	int64_t unit = config->etype->size;
	int err;

	if (config->disp < 0)
		return weft_err_set(WEFT_ERR_ARG,
			"disp is %lld, must be at least 0",
			(long long)config->disp);
	if (unit ? filetype->size % unit : filetype->size)
		return weft_err_set(WEFT_ERR_ARG,
			"filetype has %lld bytes, which is not a multiple of "
			"the etype's %lld",
			(long long)filetype->size, (long long)unit);
	err = view_check_type(config->etype, "etype", config->is_writable);
	return err ? err
		   : view_check_type(filetype, "filetype", config->is_writable);
}

int weft_view_make(
	const struct weft_view_config *config, struct weft_view **view_out)
{
	struct weft_view *view;
	int err = view_check(config);

	if (err)
		return err;
	view = calloc(1, sizeof(*view));
	if (!view)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a view");
	atomic_init(&view->refs, 1);
	view->disp = config->disp;
	view->rep = config->rep;
	err = weft_datarep_size(config->rep, config->etype, &view->etype_size);
	if (!err)
		err = weft_datarep_layout(
			config->rep, config->filetype, &view->tile);
	if (!err)
		weft_type_is_monotone(view->tile, &view->is_disjoint);
	view->etype = weft_type_get(config->etype);
	view->filetype = weft_type_get(config->filetype);
	if (err)
		weft_view_put(view);
	else
		*view_out = view;
	return err;
}

struct weft_view *weft_view_get(struct weft_view *view)
{
	atomic_fetch_add_explicit(&view->refs, 1, memory_order_relaxed);
	return view;
}

void weft_view_put(struct weft_view *view)
{
	/* release: the accesses of this holder happen before the free. acquire:
	 * the last holder frees after the accesses of all others. */
	if (!view || atomic_fetch_sub_explicit(
			     &view->refs, 1, memory_order_acq_rel) > 1)
		return;
	weft_type_put(view->etype);
	weft_type_put(view->filetype);
	weft_type_put(view->tile);
	free(view);
}

size_t weft_view_runs(const struct weft_view *view, int64_t at, int64_t len,
	struct iovec *iov, size_t n_iov, int64_t *len_out)
{
	const void *begin = (const void *)(uintptr_t)view->disp;
	size_t n, bytes;
	int64_t items;

	*len_out = 0;
	if (len <= 0 || view->tile->size == 0)
		return 0;
	items = (at + len - 1) / view->tile->size + 1;
	weft_type_iov(
		view->tile, items, begin, (size_t)at, iov, n_iov, &n, &bytes);
	if ((int64_t)bytes > len) {
		size_t over = bytes - (size_t)len;

		while (iov[n - 1].iov_len <= over)
			over -= iov[--n].iov_len;
		iov[n - 1].iov_len -= over;
		bytes = (size_t)len;
	}
	*len_out = (int64_t)bytes;
	return n;
}

struct weft_view_sample weft_view_sample(
	const struct weft_view *view, int64_t at, int64_t len)
{
	struct weft_view_sample sample = { .fills_pages = true };
	struct iovec runs[VIEW_RUNS];

	sample.n = (int64_t)weft_view_runs(
		view, at, len, runs, VIEW_RUNS, &sample.len);
	for (int64_t i = 0; i < sample.n; i++)
		if (weft_view_run_begin(&runs[i]) % PAGE ||
			runs[i].iov_len % PAGE)
			sample.fills_pages = false;
	if (sample.n) {
		sample.begin = weft_view_run_begin(&runs[0]);
		sample.first_end = weft_view_run_end(&runs[0]);
		sample.last_begin = weft_view_run_begin(&runs[sample.n - 1]);
		sample.gaps = weft_view_run_end(&runs[sample.n - 1]) -
			      sample.begin - sample.len;
	}
	return sample;
}

int64_t weft_view_byte_offset(const struct weft_view *view, int64_t at)
{
	struct iovec run = { 0 };
	int64_t len;

	if (weft_view_is_contig(view))
		return view->disp + view->tile->true_lb + at;
	if (!weft_view_runs(view, at, 1, &run, 1, &len))
		return view->disp;
	return weft_view_run_begin(&run);
}

bool weft_view_is_monotone(
	const struct weft_view *view, int64_t at, int64_t len)
{
	const struct weft_type *tile = view->tile;

	if (weft_view_is_contig(view) || len <= 0)
		return true;
	return view->is_disjoint &&
	       (tile->extent >= tile->true_extent ||
		       at / tile->size == (at + len - 1) / tile->size);
}

int64_t weft_view_find(
	const struct weft_view *view, int64_t at, int64_t len, int64_t place)
{
	int64_t low = at, high = at + len;

	while (low < high) {
		int64_t mid = low + (high - low) / 2;

		if (weft_view_byte_offset(view, mid) < place)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns the number of bytes of tile number `tile` whose byte offset is below
 * `place`. */
static int64_t tile_bytes_before(
	const struct weft_view *view, int64_t tile, int64_t place)
{
	struct iovec runs[VIEW_RUNS];
	int64_t size = view->tile->size, sum = 0, some;

	for (int64_t done = 0; done < size; done += some) {
		size_t n = weft_view_runs(view, tile * size + done, size - done,
			runs, VIEW_RUNS, &some);

		for (size_t i = 0; i < n; i++) {
			int64_t from = weft_view_run_begin(&runs[i]);
			int64_t end = weft_view_run_end(&runs[i]);

			if (from < place)
				sum += (end < place ? end : place) - from;
		}
	}
	return sum;
}

int64_t weft_view_bytes_before(const struct weft_view *view, int64_t place)
{
	const struct weft_type *tile = view->tile;
	int64_t rest = place - view->disp - tile->true_lb, k = 0, sum;

	if (rest <= 0 || tile->size == 0)
		return 0;
	if (weft_view_is_contig(view))
		return rest;
	if (tile->extent > 0 && rest >= tile->true_extent)
		k = (rest - tile->true_extent) / tile->extent + 1;
	sum = k * tile->size;
	for (; k * tile->extent < rest; k++) {
		sum += tile_bytes_before(view, k, place);
		if (tile->extent <= 0)
			break;
	}
	return sum;
}
