/* SPDX-License-Identifier: BSD-3-Clause */
/* members: members of a window, and which memory an access addresses */
#include "win/win_priv.h"

#include "base/bits.h"
#include "base/err.h"
#include "core/comm.h"
#include "core/vci_core.h"
#include "dev/dev.h"
#include "win/node_memory.h"

#include <stdio.h>
#include <stdlib.h>

static struct weft_win_target *target_new(struct weft_win *win, uint32_t rank)
{
	struct weft_win_target *target = calloc(1, sizeof(*target));

	if (!target)
		return NULL;
	target->method = WEFT_WIN_BY_AM;
	target->is_me = (int32_t)rank == win->comm->rank;
	target->is_known = win->is_uniform;
	target->size = win->size;
	target->disp_unit = win->disp_unit;
	weft_am_open(&target->am, &win->am, rank);
	return target;
}

/* win->spin held, because several threads may make the first access to a
 * member. */
static struct weft_win_target *target_make(struct weft_win *win, uint32_t rank)
{
	struct weft_win_target **page = win->targets[rank / WEFT_WIN_PAGE];
	struct weft_win_target *target;

	if (!page) {
		page = calloc(WEFT_WIN_PAGE, sizeof(*page));
		__atomic_store_n(&win->targets[rank / WEFT_WIN_PAGE], page,
			__ATOMIC_RELEASE);
	}
	if (!page)
		return NULL;
	target = page[rank % WEFT_WIN_PAGE];
	if (!target) {
		target = target_new(win, rank);
		__atomic_store_n(
			&page[rank % WEFT_WIN_PAGE], target, __ATOMIC_RELEASE);
	}
	return target;
}

struct weft_win *weft_win_of(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head)
{
	struct weft_comm *comm = weft_vci_core_comm(vci, head->ctx);

	if (!comm || !comm->win || head->src >= (uint32_t)comm->size ||
		weft_comm_peer(comm, head->src) != peer)
		return NULL;
	return comm->win;
}

struct weft_win_target *weft_win_target_of(struct weft_win *win, uint32_t rank)
{
	struct weft_win_target *target = weft_win_target_at(win, rank);

	if (weft_likely(target))
		return target;
	weft_spin_acquire(&win->spin);
	target = target_make(win, rank);
	weft_spin_release(&win->spin);
	if (!target)
		weft_err_set(WEFT_ERR_NOMEM,
			"no memory for the record of rank %u of a window",
			rank);
	return target;
}

void weft_win_targets_free(struct weft_win *win)
{
	uint32_t n = (uint32_t)win->comm_size;

	for (uint32_t page = 0; win->targets && page * WEFT_WIN_PAGE < n;
		page++) {
		for (uint32_t i = 0; win->targets[page] && i < WEFT_WIN_PAGE;
			i++) {
			if (win->targets[page][i]) {
				free(win->targets[page][i]->remote);
				free(win->targets[page][i]->am.queue);
			}
			free(win->targets[page][i]);
		}
		free(win->targets[page]);
	}
	free(win->targets);
}

int weft_win_of_target(const struct weft_win *win,
	const struct weft_win_target *target, int err)
{
	char why[160];

	if (weft_likely(!err))
		return 0;
	snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
	return weft_err_set(err, "rank %u of window \"%s\": %s",
		target->am.rank, win->name, why);
}

/* --- the range of an access ----------------------------------------------- */

static __attribute__((cold)) int out_of_range(
	const struct weft_win_target *target,
	const struct weft_win_access *access)
{
	return weft_err_set(WEFT_ERR_RMA_RANGE,
		"displacement %lld (units of %lld bytes) with %lld items of "
		"%s, "
		"%lld bytes, is outside the %zu bytes that rank %u exposes",
		(long long)access->disp, (long long)target->disp_unit,
		(long long)access->count,
		access->type->name[0] ? access->type->name : "a datatype",
		(long long)(access->count * access->type->size), target->size,
		target->am.rank);
}

int weft_win_target_range(const struct weft_win_target *target,
	const struct weft_win_access *access, int64_t *at_out)
{
	int64_t at, first, len, start;

	/* pairs with the release store in win_rma.c, which publishes size and
	 * disp_unit */
	if (!__atomic_load_n(&target->is_known, __ATOMIC_ACQUIRE)) {
		/* the target checks the range */
		*at_out = 0;
		return 0;
	}
	if (__builtin_mul_overflow(access->disp, target->disp_unit, &at))
		return out_of_range(target, access);
	*at_out = at;
	if (!access->count || !access->type->size)
		return 0;
	if (weft_unlikely(!weft_type_span(
				  access->type, access->count, &first, &len) ||
			  __builtin_add_overflow(at, first, &start) ||
			  start < 0 || (uint64_t)len > target->size ||
			  (uint64_t)start > target->size - (uint64_t)len))
		return out_of_range(target, access);
	return 0;
}

/* --- memory of this process ---------------------------------------- */

struct attached {
	struct weft_interval range; /* one byte if size is 0 */
	size_t size;
	bool is_dev; /* device memory */
};

static struct attached *attached_in(
	const struct weft_win *win, uintptr_t start, uintptr_t end)
{
	struct weft_interval *range =
		weft_interval_find(&win->attached, start, end);

	return range ? weft_container_of(range, struct attached, range) : NULL;
}

static bool is_attached(
	const struct weft_win *win, uint64_t address, uint64_t len)
{
	/* adjacent memory may have been attached in several calls */
	while (len) {
		const struct attached *a =
			attached_in(win, address, address + 1);
		uint64_t left = a ? a->range.start + a->size - address : 0;

		if (!left || len <= left)
			return left;
		len -= left;
		address += left;
	}
	return true;
}

char *weft_win_place(
	const struct weft_win *win, int64_t disp, int64_t at, uint64_t len)
{
	int64_t start;

	if (__builtin_mul_overflow(disp, win->disp_unit, &start) ||
		__builtin_add_overflow(start, at, &start))
		goto outside;
	if (win->flavor == WEFT_WIN_DYNAMIC) {
		if (is_attached(win, (uint64_t)start, len))
			return (char *)(uintptr_t)start;
		weft_err_set(WEFT_ERR_RMA_RANGE,
			"%llu bytes at address 0x%llx are not attached at rank "
			"%d",
			(unsigned long long)len, (unsigned long long)start,
			win->comm->rank);
		return NULL;
	}
	if (start >= 0 && len <= win->size &&
		(uint64_t)start <= win->size - len)
		return (char *)win->base + start;
outside:
	weft_err_set(WEFT_ERR_RMA_RANGE,
		"displacement %lld (units of %lld bytes) and %lld bytes, with "
		"%llu bytes, is outside the %zu bytes that rank %d exposes",
		(long long)disp, (long long)win->disp_unit, (long long)at,
		(unsigned long long)len, win->size, win->comm->rank);
	return NULL;
}

bool weft_win_is_device(const struct weft_win *win, const char *place)
{
	uintptr_t at = (uintptr_t)place;
	const struct attached *a;

	if (win->flavor != WEFT_WIN_DYNAMIC)
		return win->is_dev;
	a = attached_in(win, at, at + 1);
	return a && a->is_dev;
}

static int not_dynamic(const struct weft_win *win)
{
	return win->flavor == WEFT_WIN_DYNAMIC
		       ? 0
		       : weft_err_set(WEFT_ERR_RMA_FLAVOR,
				 "memory is attached to windows of "
				 "MPI_Win_create_dynamic only");
}

static int attach_locked(struct weft_win *win, char *base, size_t size)
{
	uintptr_t start = (uintptr_t)base, end = start + weft_max(size, 1);
	struct attached *a = attached_in(win, start, end);
	struct weft_dev_where where;
	int err;

	if (a)
		return weft_err_set(WEFT_ERR_RMA_ATTACH,
			"%zu bytes at %p overlap the %zu bytes at %p "
			"that are attached already",
			size, (void *)base, a->size, (void *)a->range.start);
	a = calloc(1, sizeof(*a));
	if (!a)
		return weft_err_set(
			WEFT_ERR_NOMEM, "no memory to attach memory");
	*a = (struct attached){ .range = { start, end }, .size = size };
	a->is_dev = win->comm->may_dev && weft_dev_find(base, &where);
	err = weft_interval_add(&win->attached, &a->range);
	if (err)
		free(a);
	return err;
}

static void attached_remove(struct weft_win *win, struct attached *a)
{
	weft_interval_remove(&win->attached, &a->range);
	free(a);
}

void weft_win_detach_all(struct weft_win *win)
{
	struct attached *a;

	while ((a = attached_in(win, 0, UINTPTR_MAX)) != NULL)
		attached_remove(win, a);
}

int weft_win_attach(struct weft_win *win, void *base, size_t size)
{
	int err = not_dynamic(win);

	if (err)
		return err;
	weft_vci_lock(win->comm->vci);
	err = attach_locked(win, base, size);
	weft_vci_unlock(win->comm->vci);
	return err;
}

int weft_win_detach(struct weft_win *win, const void *base)
{
	uintptr_t start = (uintptr_t)base;
	int err = not_dynamic(win);
	struct attached *a;

	if (err)
		return err;
	weft_vci_lock(win->comm->vci);
	a = attached_in(win, start, start + 1);
	if (a && a->range.start == start)
		attached_remove(win, a);
	else
		err = weft_err_set(WEFT_ERR_RMA_ATTACH,
			"no attached memory begins at %p", base);
	weft_vci_unlock(win->comm->vci);
	return err;
}
