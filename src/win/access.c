/* SPDX-License-Identifier: BSD-3-Clause */
/* access: put, get and accumulate
 *
 * Mapped memory is copied or updated directly. For other memory of a process of
 * this node, the kernel copies long puts and gets. All other accesses are
 * active messages or RDMA (win_origin.c). */
#include "win/win_priv.h"

#include "base/err.h"
#include "base/word.h"
#include "core/comm.h"
#include "core/req.h"
#include "dt/pack.h"
#include "shm/copy.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

/* --- the address of an access -------------------------------------- */

static inline struct weft_win_target *access_target(
	struct weft_win *win, const struct weft_win_access *access, int *err)
{
	struct weft_win_target *target =
		weft_win_target_of(win, (uint32_t)access->rank);

	*err = target ? 0 : WEFT_ERR_NOMEM;
	if (weft_likely(target) && weft_unlikely(!__atomic_load_n(
					   &target->is_open, __ATOMIC_ACQUIRE)))
		*err = weft_win_target_open(win, target);
	return target;
}

/* Returns the target and the address of an access in the most frequent case: an
 * open epoch, mapped memory, and a target type without holes. Returns NULL in
 * all other cases, which the slow paths handle. */
static inline struct weft_win_target *fast_place(struct weft_win *win,
	const struct weft_win_access *access, char **place_out)
{
	struct weft_win_target *target =
		weft_win_target_at(win, (uint32_t)access->rank);
	const struct weft_type *type = access->type;
	uint64_t len = (uint64_t)(type->size * access->count);
	int64_t at;

	if (weft_unlikely(!target) ||
		weft_unlikely(
			!__atomic_load_n(&target->is_open, __ATOMIC_ACQUIRE)) ||
		weft_unlikely(target->method != WEFT_WIN_MAPPED) ||
		weft_unlikely(!type->is_contig) ||
		weft_unlikely(__builtin_mul_overflow(
			access->disp, target->disp_unit, &at)))
		return NULL;
	at += type->true_lb;
	if (weft_unlikely(len > target->size) ||
		weft_unlikely((uint64_t)at > target->size - len))
		return NULL;
	*place_out = target->base + at;
	return target;
}

/* Request-based operations such as MPI_Rput need a passive epoch. */
static int check_passive(const struct weft_win *win)
{
	return win->access == WEFT_WIN_LOCKED ||
			       win->access == WEFT_WIN_LOCKED_ALL
		       ? 0
		       : weft_err_set(WEFT_ERR_RMA_SYNC,
				 "operations with a request need the epoch of "
				 "a lock; window \"%s\" is in none",
				 win->name);
}

/* Sets *base_out to the address of the first item of an access to attached
 * memory of this process. */
static int my_place(struct weft_win *win, const struct weft_win_access *access,
	char **base_out)
{
	struct weft_vci *vci = win->comm->vci;
	int64_t first, len;
	char *place;

	if (!weft_type_span(access->type, access->count, &first, &len))
		return weft_err_set(WEFT_ERR_RMA_RANGE,
			"%lld items of this datatype span more than 2^63 bytes",
			(long long)access->count);
	if (!len)
		return 0;
	weft_vci_lock(vci);
	place = weft_win_place(win, access->disp, first, (uint64_t)len);
	weft_vci_unlock(vci);
	if (!place)
		return WEFT_ERR_RMA_RANGE;
	*base_out = place - first;
	return 0;
}

/* Checks the range of an access. Sets *place_out to its address in this
 * process, if the memory is mapped, and *there_out to its address in the
 * target. */
static inline int access_place(struct weft_win *win,
	const struct weft_win_target *target,
	const struct weft_win_access *access, char **place_out,
	uint64_t *there_out)
{
	int64_t at;
	int err;

	if (weft_unlikely(win->flavor == WEFT_WIN_DYNAMIC)) {
		*place_out = NULL;
		err = target->is_me ? my_place(win, access, place_out) : 0;
		*there_out = (uintptr_t)*place_out;
		return err;
	}
	err = weft_win_target_range(target, access, &at);
	if (err)
		return err;
	/* integers, because base is NULL if the memory is not mapped */
	*place_out = (char *)((uintptr_t)target->base + (uintptr_t)at);
	*there_out = target->there + (uint64_t)at;
	return 0;
}

/* True if the memory of an access is device memory of this process. */
static bool is_own_device(struct weft_win *win,
	const struct weft_win_target *target, const char *place)
{
	bool is_dev;

	if (!target->is_me || target->method == WEFT_WIN_MAPPED)
		return false;
	weft_vci_lock(win->comm->vci);
	is_dev = weft_win_is_device(win, place);
	weft_vci_unlock(win->comm->vci);
	return is_dev;
}

/* True if accesses to the target are active messages, or RDMA. */
static inline bool is_by_am(const struct weft_win_target *target)
{
	return weft_unlikely(target->method != WEFT_WIN_MAPPED) &&
	       !target->is_me;
}

/* Creates a request that is complete. */
static int done_request(struct weft_win *win, struct weft_req **req_out)
{
	struct weft_vci *vci = win->comm->vci;
	struct weft_req *req;

	if (!req_out)
		return 0;
	weft_vci_lock(vci);
	req = weft_win_req_new(win);
	if (req)
		weft_req_complete(req, 0);
	weft_vci_unlock(vci);
	*req_out = req;
	return req ? 0
		   : weft_err_set(WEFT_ERR_NOMEM, "no memory for a request");
}

/* Counts an access to mapped memory. */
static inline void note_mapped(struct weft_win *win, size_t len)
{
	weft_counter_note(&win->counters.rma_mapped,
		&win->counters.rma_mapped_bytes, len);
}

static inline size_t access_len(const struct weft_win_access *access)
{
	return (size_t)(access->type->size * access->count);
}

/* --- put, get ------------------------------------------------------ */

static int copy_mapped(const struct weft_type *from_type, int64_t from_count,
	const char *from, const struct weft_type *to_type, int64_t to_count,
	char *to)
{
	size_t len = (size_t)(from_type->size * from_count);
	size_t space = (size_t)(to_type->size * to_count);

	if (weft_likely(weft_type_is_run(from_type, from_count) &&
			weft_type_is_run(to_type, to_count) && len <= space)) {
		weft_word_store(to + to_type->true_lb,
			from + from_type->true_lb, len, __ATOMIC_RELAXED);
		return 0;
	}
	return weft_type_copy(
		from_type, from_count, from, to_type, to_count, to);
}

/* True if the kernel copies the data: it is contiguous at the origin and at the
 * target, and longer than message_max. */
static bool is_copied_access(const struct weft_win_target *target,
	const struct weft_win_access *access)
{
	const struct weft_win_buf *here = &access->origin;

	return target->method == WEFT_WIN_COPIED &&
	       access->type->size * access->count > target->message_max &&
	       weft_type_is_run(access->type, access->count) &&
	       weft_type_is_run(here->type, here->count);
}

static int copy_by_kernel(struct weft_win *win,
	const struct weft_win_target *target,
	const struct weft_win_access *access, uint64_t there, bool is_put)
{
	const struct weft_win_buf *here = &access->origin;
	size_t len = weft_min((size_t)(here->type->size * here->count),
		(size_t)(access->type->size * access->count));
	struct iovec mine = { (char *)here->buf + here->type->true_lb, len };
	uint64_t at = there + (uint64_t)access->type->true_lb;
	struct iovec its = { (void *)(uintptr_t)at, len };

	weft_counter_note(&win->counters.rma_copied,
		&win->counters.rma_copied_bytes, len);
	return weft_win_of_target(win, target,
		weft_copy_move(target->pid, &mine, 1, &its, 1, is_put));
}

/* Puts and gets that the fast path does not handle. */
static __attribute__((noinline)) int access_move(struct weft_win *win,
	const struct weft_win_access *access, bool is_put,
	struct weft_req **req_out)
{
	const struct weft_win_buf *here = &access->origin;
	int err = 0;
	struct weft_win_target *target = access_target(win, access, &err);
	uint64_t there;
	char *place;

	if (!err && req_out)
		err = check_passive(win);
	if (!err)
		err = access_place(win, target, access, &place, &there);
	if (err)
		return err;
	if (is_own_device(win, target, place)) {
		err = weft_win_dev_move(access, place, is_put);
		return err ? err : done_request(win, req_out);
	}
	if (is_copied_access(target, access)) {
		err = copy_by_kernel(win, target, access, there, is_put);
		return err ? err : done_request(win, req_out);
	}
	if (is_by_am(target))
		return weft_win_am_move(win, target, access, is_put, req_out);
	note_mapped(win, access_len(access));
	if (is_put)
		err = copy_mapped(here->type, here->count, here->buf,
			access->type, access->count, place);
	else
		err = copy_mapped(access->type, access->count, place,
			here->type, here->count, here->buf);
	return err ? err : done_request(win, req_out);
}

int weft_win_put(struct weft_win *win, const struct weft_win_access *access,
	struct weft_req **req_out)
{
	const struct weft_win_buf *from = &access->origin;
	char *place;
	size_t len;

	if (weft_unlikely(req_out || !from->type->is_contig ||
			  !fast_place(win, access, &place)))
		return access_move(win, access, true, req_out);
	len = (size_t)(from->type->size * from->count);
	note_mapped(win, len);
	weft_word_store(place, (const char *)from->buf + from->type->true_lb,
		len, __ATOMIC_RELAXED);
	return 0;
}

int weft_win_get(struct weft_win *win, const struct weft_win_access *access,
	struct weft_req **req_out)
{
	const struct weft_win_buf *to = &access->origin;
	char *place;
	size_t len;

	if (weft_unlikely(req_out || !to->type->is_contig ||
			  !fast_place(win, access, &place)))
		return access_move(win, access, false, req_out);
	len = access_len(access);
	note_mapped(win, len);
	weft_word_load((char *)to->buf + to->type->true_lb, place, len);
	return 0;
}

/* --- accumulate ---------------------------------------------------- */

struct update_runs {
	struct weft_win_update update;
	struct weft_win_hold hold;
	bool is_dev; /* place is device memory */
	char *place;
	uint64_t there;
};

static int update_each(void *arg, struct weft_wire_am *rec)
{
	struct update_runs *v = arg;
	struct weft_win_update u = v->update;

	u.n = (int64_t)rec->n;
	u.in = u.in ? u.in + rec->pos : NULL;
	u.old = u.old ? u.old + rec->pos : NULL;
	if (v->is_dev)
		return weft_win_dev_runs(&u, v->place + rec->at,
			(int64_t)rec->n_runs, rec->stride);
	weft_win_update_series(&u, v->place + rec->at,
		v->there + (uint64_t)rec->at, (int64_t)rec->n_runs, rec->stride,
		&v->hold);
	return 0;
}

/* Updates the elements of an access. update->in and update->old are arrays of
 * elements. is_dev: `place` is device memory, and the VCI's lock is held. */
static int update_items(const struct weft_win_target *target,
	const struct weft_win_update *update,
	const struct weft_win_access *access, char *place, uint64_t there,
	bool is_dev)
{
	struct update_runs v = { .update = *update,
		.hold = { .stripes = target->stripes },
		.is_dev = is_dev,
		.place = place,
		.there = there };
	int err;

	if (!update->n)
		return 0;
	if (update->n > 1)
		v.update.kernel = weft_redop_kernel(update->op, update->basic);
	err = weft_win_each_element(
		access, update->basic, update->n, update_each, &v);
	weft_win_hold_drop(&v.hold);
	return err;
}

/* An update whose origin or result is no plain array, or of device memory. */
static int update_typed(const struct weft_win_target *target,
	const struct weft_win_access *access, char *place, uint64_t there,
	bool is_dev)
{
	struct weft_win_elements e = { 0 };
	int err = weft_win_elements_make(&e, access);
	struct weft_win_update u = { .op = access->op,
		.basic = e.basic,
		.in = e.in,
		.old = e.old,
		.n = e.n };

	if (!err)
		err = update_items(target, &u, access, place, there, is_dev);
	if (!err)
		err = weft_win_elements_return(&e, &access->result);
	weft_win_elements_free(&e);
	return err;
}

static void update_plainly(const struct weft_win_target *target,
	const struct weft_win_access *access, char *place, uint64_t there)
{
	struct weft_win_update u = { .op = access->op,
		.basic = access->type,
		.in = access->op->builtin == WEFT_OP_NO_OP ? NULL
							   : access->origin.buf,
		.old = access->result.type ? access->result.buf : NULL,
		.n = access->count };

	if (weft_unlikely(u.n != 1))
		update_items(target, &u, access, place, there, false);
	else
		weft_win_update(&u, place, there, target->stripes);
}

/* Updates mapped memory, or memory of this process. */
static inline __attribute__((always_inline)) int update_here(
	struct weft_win *win, const struct weft_win_target *target,
	const struct weft_win_access *access, char *place, uint64_t there)
{
	bool is_dev = false;
	int err;

	note_mapped(win, access_len(access));
	if (weft_unlikely(target->method != WEFT_WIN_MAPPED))
		is_dev = is_own_device(win, target, place);
	if (weft_likely(!is_dev && weft_win_is_plain(access))) {
		update_plainly(target, access, place, there);
		return 0;
	}
	if (is_dev)
		weft_vci_lock(win->comm->vci);
	err = update_typed(target, access, place, there, is_dev);
	if (is_dev)
		weft_vci_unlock(win->comm->vci);
	return err;
}

/* Returns the target of an update, and sets *place_out and *there_out. Sets
 * *err on failure. */
static inline struct weft_win_target *access_locate(struct weft_win *win,
	const struct weft_win_access *access, char **place_out,
	uint64_t *there_out, int *err)
{
	struct weft_win_target *target = fast_place(win, access, place_out);

	*err = 0;
	if (weft_likely(target)) {
		/* fast_place() returns the first byte of data, but an update
		 * needs the start of the item */
		*place_out -= access->type->true_lb;
		*there_out =
			target->there + (uint64_t)(*place_out - target->base);
		return target;
	}
	target = access_target(win, access, err);
	if (!*err)
		*err = access_place(win, target, access, place_out, there_out);
	return target;
}

int weft_win_accumulate(struct weft_win *win,
	const struct weft_win_access *access, struct weft_req **req_out)
{
	uint64_t there;
	char *place;
	int err;
	struct weft_win_target *target =
		access_locate(win, access, &place, &there, &err);

	if (weft_unlikely(req_out && !err))
		err = check_passive(win);
	if (weft_unlikely(err))
		return err;
	if (is_by_am(target))
		return weft_win_am_accumulate(win, target, access, req_out);
	err = update_here(win, target, access, place, there);
	if (weft_unlikely(req_out) && !err)
		return done_request(win, req_out);
	return err;
}

int weft_win_fetch_and_op(
	struct weft_win *win, const struct weft_win_access *access)
{
	uint64_t there;
	char *place;
	int err;
	struct weft_win_target *target =
		access_locate(win, access, &place, &there, &err);

	if (weft_unlikely(err))
		return err;
	if (is_by_am(target))
		return weft_win_am_accumulate(win, target, access, NULL);
	return update_here(win, target, access, place, there);
}

int weft_win_compare_and_swap(
	struct weft_win *win, const struct weft_win_access *access)
{
	uint64_t there;
	char *place;
	int err;
	struct weft_win_target *target =
		access_locate(win, access, &place, &there, &err);

	if (weft_unlikely(err))
		return err;
	if (is_by_am(target))
		return weft_win_am_compare_and_swap(win, target, access);
	note_mapped(win, access_len(access));
	if (weft_unlikely(target->method != WEFT_WIN_MAPPED) &&
		is_own_device(win, target, place)) {
		weft_vci_lock(win->comm->vci);
		err = weft_win_dev_swap(access->type, access->compare,
			access->origin.buf, access->result.buf, place);
		weft_vci_unlock(win->comm->vci);
		return err;
	}
	weft_win_swap(access->type, access->compare, access->origin.buf,
		access->result.buf, place, there, target->stripes);
	return 0;
}
