/* SPDX-License-Identifier: BSD-3-Clause */
/* win_dev: device memory of this process in a window
 *
 * The driver copies the bytes of a put or get. An update copies the elements to
 * host memory, updates them there, and copies them back. Meanwhile the caller
 * holds the VCI's lock. Only this process changes the memory, for all origins,
 * so the lock makes each update atomic. */
#include "win/win_priv.h"

#include "base/err.h"
#include "dev/pinned.h"
#include "dt/pack.h"

#include <stdlib.h>
#include <string.h>

/* Runs in device memory, and the same runs in host memory. */
struct device_runs {
	struct weft_dev_where where;
	char *place;
	size_t n;
	size_t len;	  /* bytes of a run */
	ptrdiff_t stride; /* bytes from run to run in device memory */
	size_t step;	  /* and in host memory */
};

static int read_runs(const struct device_runs *r, char *to)
{
	const struct weft_dev_rows rows = { to, r->place, r->n, r->len,
		(ptrdiff_t)r->step, r->stride };

	return weft_dev_copy_rows(&r->where, &rows, true);
}

static int write_runs(const struct device_runs *r, const char *from)
{
	const struct weft_dev_rows rows = { r->place, from, r->n, r->len,
		r->stride, (ptrdiff_t)r->step };

	return weft_dev_copy_rows(&r->where, &rows, false);
}

/* Updates a copy of the elements. The stripes that weft_win_update_series()
 * locks are those of the copy, which need no lock. */
static int update_copy(
	const struct device_runs *r, const struct weft_win_update *update)
{
	struct weft_win_hold hold = { .stripes = weft_win_my_stripes() };
	char *copy = weft_pinned_alloc(&r->where, r->n * r->step);
	int err = copy ? read_runs(r, copy) : weft_win_no_memory();

	if (!err) {
		weft_win_update_series(update, copy, (uintptr_t)copy,
			(int64_t)r->n, (int64_t)r->step, &hold);
		weft_win_hold_drop(&hold);
		if (update->in)
			err = write_runs(r, copy);
	}
	weft_pinned_free(copy);
	return err;
}

/* Each access asks the driver again. If the program has freed the memory, the
 * driver might take its address for host memory, and the copy would crash. */
static int find(const char *place, struct weft_dev_where *where_out)
{
	return weft_dev_find(place, where_out)
		       ? 0
		       : weft_err_set(WEFT_ERR_BUFFER,
				 "the window's device memory at %p was freed; "
				 "free the window, or detach the memory, first",
				 (const void *)place);
}

int weft_win_dev_runs(const struct weft_win_update *update, char *place,
	int64_t n_runs, int64_t stride)
{
	struct device_runs r = { .place = place,
		.n = (size_t)n_runs,
		.len = (size_t)update->n,
		.stride = stride,
		.step = (size_t)update->n };
	int err;

	if (!r.n || !r.len)
		return 0;
	err = find(place, &r.where);
	if (err)
		return err;
	if (!update->op)
		return update->in ? write_runs(&r, update->in)
				  : read_runs(&r, update->old);
	/* the last element may end before its extent */
	r.step = (size_t)(update->n * update->basic->extent);
	r.len = r.step -
		(size_t)(update->basic->extent - update->basic->true_extent);
	return update_copy(&r, update);
}

int weft_win_dev_swap(const struct weft_type *type, const void *compare,
	const void *value, void *old, char *place)
{
	size_t len = (size_t)type->size;
	struct device_runs r = {
		.place = place, .n = 1, .len = len, .step = len
	};
	int err = find(place, &r.where);

	if (!err)
		err = read_runs(&r, old);
	if (!err && !memcmp(old, compare, len))
		err = write_runs(&r, value);
	return err;
}

/* --- an access of this process to its own memory -------------------------- */

struct own_move {
	char *place;
	char *data; /* of the whole access, contiguous */
	bool is_put;
};

static int move_runs(void *arg, struct weft_wire_am *rec)
{
	const struct own_move *m = arg;
	char *data = m->data + rec->pos;
	const struct weft_win_update bytes = {
		.n = (int64_t)rec->n, .in = m->is_put ? data : NULL, .old = data
	};

	return weft_win_dev_runs(
		&bytes, m->place + rec->at, (int64_t)rec->n_runs, rec->stride);
}

int weft_win_dev_move(
	const struct weft_win_access *access, char *place, bool is_put)
{
	const struct weft_win_buf *here = &access->origin;
	size_t len = weft_min((size_t)(here->type->size * here->count),
		(size_t)(access->type->size * access->count));
	struct own_move m = {
		.place = place, .data = malloc(len + 1), .is_put = is_put
	};
	int err = m.data ? 0 : weft_win_no_memory();

	if (!err && is_put)
		weft_pack(here->type, here->count, here->buf, 0, m.data, len);
	if (!err)
		err = weft_win_each_run(access, move_runs, &m);
	if (!err && !is_put)
		weft_unpack(here->type, here->count, here->buf, 0, m.data, len);
	free(m.data);
	return err;
}
