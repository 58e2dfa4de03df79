/* SPDX-License-Identifier: BSD-3-Clause */
/* access: put, get and accumulate
 *
 * Mapped memory is copied or updated directly. Other memory of a process of
 * this node is copied by the kernel. All else is an active message. */
#include "win/win_priv.h"

#include "base/err.h"
#include "base/knob.h"
#include "base/word.h"
#include "core/comm.h"
#include "core/req.h"
#include "dt/pack.h"
#include "shm/copy.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

/* --- where it goes ------------------------------------------------- */

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

/* The most frequent case: an open epoch, mapped memory, a target type without
 * holes. NULL: access_move() and the like decide. */
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
		weft_unlikely(target->way != WEFT_WIN_MAPPED) ||
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

/* Those with a request are for passive targets. */
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

/* The place of an access to my own memory, of a dynamic window. */
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

/* The bytes of an access: mapped here, or (COPIED) there. */
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
	err = weft_win_target_range(win, target, access, &at);
	if (err)
		return err;
	/* in integers: by message there is no base */
	*place_out = (char *)((uintptr_t)target->base + (uintptr_t)at);
	*there_out = target->there + (uint64_t)at;
	return 0;
}

/* Done already. */
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

/* --- put, get ------------------------------------------------------ */

static int copy_mapped(const struct weft_type *from_type, int64_t from_count,
	const char *from, const struct weft_type *to_type, int64_t to_count,
	char *to)
{
	size_t len = (size_t)(from_type->size * from_count);
	size_t room = (size_t)(to_type->size * to_count);

	if (weft_likely(weft_type_is_run(from_type, from_count) &&
			weft_type_is_run(to_type, to_count) && len <= room)) {
		weft_word_store(to + to_type->true_lb,
			from + from_type->true_lb, len, __ATOMIC_RELAXED);
		return 0;
	}
	return weft_type_copy(
		from_type, from_count, from, to_type, to_count, to);
}

enum {
	RUNS = 64,
	FEW_RUNS = 8,	    /* that the kernel copies, */
	LONG_RUN = 2048,    /* or as many as there are of these */
	SPAN_MAX = 1 << 20, /* read together with the gaps */
	SPARSE = 8,	    /* and is so much longer than the data */
	STAGE = 1 << 18,
	/* bytes that may be active messages instead: of put and get, of updates
	 */
	MESSAGE_MAX = 8192,
	UPDATE_MESSAGE_MAX = 1 << 20,
	SHARED_MIN = 1 << 16,
	STATE_READS = 128,    /* for so many */
	ROUNDS = 2,	      /* of the target's progress, */
	KERNEL_ACCESSES = 64, /* and not again for so many accesses */
};

/* Many short runs: each would cost the kernel as much as a long one. */
static bool has_many_short_runs(const struct weft_type *type, int64_t count)
{
	struct iovec runs[FEW_RUNS + 1];
	size_t n, bytes;

	if (weft_likely(weft_type_is_run(type, count)))
		return false;
	weft_type_iov(type, count, NULL, 0, runs, FEW_RUNS + 1, &n, &bytes);
	return n > FEW_RUNS && bytes < (size_t)FEW_RUNS * LONG_RUN;
}

/* True if the target makes progress, on a core of its own: it answers an active
 * message sooner than the kernel copies. The choice holds until an answer is
 * late (win_answered()), or for so many accesses. */
static bool is_progressing(struct weft_win_target *target)
{
	uint32_t first, choice;

	if (!target->state || weft_proc.node.shares_cores)
		return false;
	choice = atomic_load_explicit(&target->choice, memory_order_relaxed);
	if (choice == WEFT_WIN_ANSWERS)
		return true;
	if (choice) {
		atomic_store_explicit(
			&target->choice, choice - 1, memory_order_relaxed);
		return false;
	}
	choice = KERNEL_ACCESSES;
	first = atomic_load_explicit(target->n_rounds, memory_order_relaxed);
	for (int i = 0; i < STATE_READS && choice != WEFT_WIN_ANSWERS; i++) {
		if (atomic_load_explicit(
			    target->n_rounds, memory_order_relaxed) -
				first >=
			ROUNDS)
			choice = WEFT_WIN_ANSWERS;
		weft_cpu_pause();
	}
	atomic_store_explicit(&target->choice, choice, memory_order_relaxed);
	return choice == WEFT_WIN_ANSWERS;
}

/* True for a short access to a target that answers sooner than the kernel
 * copies. An update costs the kernel two copies a page. */
static bool prefers_message(struct weft_win_target *target,
	const struct weft_win_access *access, int64_t max)
{
	return access->type->size * access->count <= max &&
	       is_progressing(target);
}

/* True for a long access: such a target copies half of it, as in p2p. */
static bool prefers_shared_copy(
	struct weft_win_target *target, const struct weft_win_access *access)
{
	const struct weft_win_buf *here = &access->origin;

	return weft_knobs.cma_help &&
	       access->type->size * access->count >=
		       weft_max64(weft_knobs.cma_help, SHARED_MIN) &&
	       weft_type_is_run(here->type, here->count) &&
	       weft_type_is_run(access->type, access->count) &&
	       is_progressing(target);
}

/* True if an update was an active message and no flush came after it. Later
 * updates are active messages as well, so that they stay in order. */
static bool has_late_update(const struct weft_win_target *target)
{
	return atomic_load(&target->n_late) !=
	       atomic_load(&target->n_late_done);
}

/* Before a long update to a target that answers late: waits once for the active
 * messages there, so that the kernel can copy. */
static int settle_late(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access)
{
	if (target->way != WEFT_WIN_COPIED ||
		access->type->size * access->count <= MESSAGE_MAX ||
		!has_late_update(target) || is_progressing(target))
		return 0;
	return weft_win_flush_target(win, target, false);
}

/* True if the target carries out an update. */
static bool updates_by_am(
	struct weft_win_target *target, const struct weft_win_access *access)
{
	if (target->way != WEFT_WIN_COPIED)
		return target->way == WEFT_WIN_BY_AM;
	return has_late_update(target) ||
	       has_many_short_runs(access->type, access->count) ||
	       prefers_message(target, access, UPDATE_MESSAGE_MAX);
}

/* Reads many runs together with the gaps between them. WEFT_AGAIN: they span
 * too much. */
static int get_span(const struct weft_win_target *target,
	const struct weft_win_access *access, uint64_t there)
{
	const struct weft_win_buf *here = &access->origin;
	const struct weft_type *type = access->type;
	int64_t first, len;
	char *copy;
	int err;

	if (!weft_type_span(type, access->count, &first, &len) ||
		len > SPAN_MAX || len / SPARSE > type->size * access->count)
		return WEFT_AGAIN;
	copy = malloc((size_t)len);
	if (!copy)
		return weft_win_no_memory();
	err = weft_copy_read(target->pid, &(struct iovec){ copy, (size_t)len },
		1, there + (uint64_t)first, (size_t)len);
	if (!err)
		err = weft_type_copy(type, access->count, copy - first,
			here->type, here->count, here->buf);
	free(copy);
	return err;
}

/* Copies by the kernel, as many of the target's runs in one call as it accepts.
 * buf: the stream from byte skip on. */
static int copy_runs(const struct weft_win_target *target, char *buf,
	const struct weft_type *type, int64_t count, uint64_t there,
	size_t skip, size_t len, bool is_write)
{
	int err = 0;

	for (size_t done = 0; done < len && !err;) {
		struct iovec its[RUNS], mine;
		size_t n, bytes;

		weft_type_iov(type, count, (void *)(uintptr_t)there,
			skip + done, its, RUNS, &n, &bytes);
		while (bytes > len - done) {
			size_t cut = weft_min(
				bytes - (len - done), its[n - 1].iov_len);

			its[n - 1].iov_len -= cut;
			n -= !its[n - 1].iov_len;
			bytes -= cut;
		}
		mine = (struct iovec){ buf + done, bytes };
		err = weft_copy_move(target->pid, &mine, 1, its, n, is_write);
		done += bytes;
	}
	return err;
}

/* Packs or unpacks origin data with holes in stages. */
static int copy_through(const struct weft_win_buf *here,
	const struct weft_win_target *target, const struct weft_type *type,
	int64_t count, uint64_t there, bool is_write)
{
	size_t len = weft_min((size_t)(here->type->size * here->count),
		(size_t)(type->size * count));
	char *stage;
	int err = 0;

	if (weft_likely(weft_type_is_run(here->type, here->count)))
		return copy_runs(target,
			(char *)here->buf + here->type->true_lb, type, count,
			there, 0, len, is_write);
	stage = malloc(weft_min(len, (size_t)STAGE) + 1);
	if (!stage)
		return weft_win_no_memory();
	for (size_t at = 0, n; at < len && !err; at += n) {
		n = weft_min(len - at, (size_t)STAGE);
		if (is_write)
			weft_pack(here->type, here->count, here->buf, at, stage,
				n);
		err = copy_runs(
			target, stage, type, count, there, at, n, is_write);
		if (!is_write && !err)
			weft_unpack(here->type, here->count, here->buf, at,
				stage, n);
	}
	free(stage);
	return err;
}

/* WEFT_AGAIN: by message instead. */
static int move_copied(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, uint64_t there, bool is_put)
{
	bool is_many = has_many_short_runs(access->type, access->count);
	int err = WEFT_AGAIN;

	if (prefers_message(target, access, MESSAGE_MAX) ||
		prefers_shared_copy(target, access))
		return WEFT_AGAIN;
	if (is_many && !is_put)
		err = get_span(target, access, there);
	else if (!is_many)
		err = copy_through(&access->origin, target, access->type,
			access->count, there, is_put);
	return err == WEFT_AGAIN ? err : weft_win_of_target(win, target, err);
}

/* Both, but for the commonest case. */
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
	if (target->way == WEFT_WIN_COPIED)
		err = move_copied(win, target, access, there, is_put);
	if (target->way == WEFT_WIN_BY_AM || err == WEFT_AGAIN)
		return weft_win_am_move(win, target, access, is_put, req_out);
	if (target->way == WEFT_WIN_MAPPED && is_put)
		err = copy_mapped(here->type, here->count, here->buf,
			access->type, access->count, place);
	else if (target->way == WEFT_WIN_MAPPED)
		err = copy_mapped(access->type, access->count, place,
			here->type, here->count, here->buf);
	return err ? err : done_request(win, req_out);
}

int weft_win_put(struct weft_win *win, const struct weft_win_access *access,
	struct weft_req **req_out)
{
	const struct weft_win_buf *from = &access->origin;
	char *place;

	if (weft_unlikely(req_out || !from->type->is_contig ||
			  !fast_place(win, access, &place)))
		return access_move(win, access, true, req_out);
	weft_word_store(place, (const char *)from->buf + from->type->true_lb,
		(size_t)(from->type->size * from->count), __ATOMIC_RELAXED);
	return 0;
}

int weft_win_get(struct weft_win *win, const struct weft_win_access *access,
	struct weft_req **req_out)
{
	const struct weft_win_buf *to = &access->origin;
	char *place;

	if (weft_unlikely(req_out || !to->type->is_contig ||
			  !fast_place(win, access, &place)))
		return access_move(win, access, false, req_out);
	weft_word_load((char *)to->buf + to->type->true_lb, place,
		(size_t)(access->type->size * access->count));
	return 0;
}

/* --- accumulate ---------------------------------------------------- */

struct update_visit {
	struct weft_win_update update;
	const struct weft_win *win;
	const struct weft_win_target *target;
	struct weft_win_hold hold;
	char *place;
	uint64_t there;
	int64_t done; /* elements */
	int err;
};

static int update_visit(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n)
{
	struct update_visit *v = arg;
	struct weft_win_update u = v->update;

	u.n = weft_min64(n, v->update.n - v->done);
	u.in = u.in ? u.in + v->done * basic->extent : NULL;
	u.old = u.old ? u.old + v->done * basic->extent : NULL;
	v->done += u.n;
	if (v->target->way == WEFT_WIN_COPIED)
		v->err = weft_win_of_target(v->win, v->target,
			weft_win_update_copied(
				&u, v->target, v->there + (uint64_t)disp));
	else
		weft_win_update_run(&u, v->place + disp,
			v->there + (uint64_t)disp, &v->hold);
	return v->err || v->done == v->update.n;
}

/* Updates runs at one distance. False: the type has others, or holes in its
 * elements. */
static bool update_evenly(
	struct update_visit *v, const struct weft_win_access *access)
{
	struct weft_win_update u = v->update;
	struct weft_series series;

	if (v->target->way != WEFT_WIN_MAPPED ||
		u.basic->size != u.basic->extent ||
		!weft_type_series(access->type, access->count, &series) ||
		series.len % u.basic->size ||
		series.n * series.len != u.n * u.basic->size)
		return false;
	u.n = series.len / u.basic->size;
	weft_win_update_series(&u, v->place + series.at,
		v->there + (uint64_t)series.at, series.n, series.stride,
		&v->hold);
	return true;
}

/* in, old: arrays of elements. */
static int update_items(const struct weft_win *win,
	const struct weft_win_target *target,
	const struct weft_win_update *update,
	const struct weft_win_access *access, char *place, uint64_t there)
{
	struct update_visit v = { .update = *update,
		.win = win,
		.target = target,
		.hold = { .stripes = target->stripes },
		.place = place,
		.there = there };

	if (!update->n)
		return 0;
	if (update->n > 1)
		v.update.kernel = weft_redop_kernel(update->op, update->basic);
	if (weft_likely(access->type == update->basic) ||
		weft_win_is_array(access->type, update->basic))
		update_visit(
			&v, update->basic, access->type->true_lb, update->n);
	else if (!update_evenly(&v, access))
		weft_type_visit(access->type, access->count, update_visit, &v);
	weft_win_hold_drop(&v.hold);
	return v.err;
}

/* Origin and result in other forms than plain arrays. */
static int update_typed(const struct weft_win *win,
	const struct weft_win_target *target,
	const struct weft_win_access *access, char *place, uint64_t there)
{
	const struct weft_win_buf *result = &access->result;
	struct weft_win_update u = { .op = access->op,
		.basic = weft_win_basic(access->type),
		.n = weft_win_elems(access->type, access->count) };
	bool has_in = u.op->builtin != WEFT_OP_NO_OP;
	void *in_owned = NULL, *old_owned = NULL;
	int err = 0;

	if (has_in)
		u.n = weft_min64(u.n, weft_win_elems(access->origin.type,
					      access->origin.count));
	if (!u.n)
		return 0;
	if (has_in)
		u.in = weft_win_array(&access->origin, u.basic, u.n, &in_owned);
	if (result->type)
		u.old = old_owned = malloc((size_t)(u.n * u.basic->extent) + 1);
	if ((has_in && !u.in) || ((result->type) && !u.old))
		err = weft_err_set(
			WEFT_ERR_NOMEM, "no memory for an accumulate");
	if (!err)
		err = update_items(win, target, &u, access, place, there);
	if (!err && u.old)
		err = weft_type_copy(u.basic, u.n, u.old, result->type,
			result->count, result->buf);
	free(in_owned);
	free(old_owned);
	return err;
}

/* Arrays of one predefined type on all sides, as many here as there. */
static inline bool is_plain(const struct weft_win_access *access)
{
	const struct weft_type *type = access->type;
	int64_t n = access->count;

	return type->class_ != WEFT_CLASS_NONE &&
	       (access->op->builtin == WEFT_OP_NO_OP ||
		       (access->origin.type == type &&
			       access->origin.count == n)) &&
	       (!access->result.type || (access->result.type == type &&
						access->result.count == n));
}

static int update_plainly(const struct weft_win *win,
	const struct weft_win_target *target,
	const struct weft_win_access *access, char *place, uint64_t there)
{
	struct weft_win_update u = { .op = access->op,
		.basic = access->type,
		.in = access->op->builtin == WEFT_OP_NO_OP ? NULL
							   : access->origin.buf,
		.old = access->result.type ? access->result.buf : NULL,
		.n = access->count };

	if (weft_unlikely(u.n != 1) || target->way != WEFT_WIN_MAPPED)
		return update_items(win, target, &u, access, place, there);
	weft_win_update(&u, place, there, target->stripes);
	return 0;
}

/* The target of an update and its place, or an error. */
static inline struct weft_win_target *access_locate(struct weft_win *win,
	const struct weft_win_access *access, char **place_out,
	uint64_t *there_out, int *err)
{
	struct weft_win_target *target = fast_place(win, access, place_out);

	*err = 0;
	if (weft_likely(target)) {
		/* of its first byte, which a type may have before its data */
		*place_out -= access->type->true_lb;
		*there_out =
			target->there + (uint64_t)(*place_out - target->base);
		return target;
	}
	target = access_target(win, access, err);
	if (!*err)
		*err = access_place(win, target, access, place_out, there_out);
	if (!*err)
		*err = settle_late(win, target, access);
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
	if (weft_unlikely(updates_by_am(target, access)))
		return weft_win_am_accumulate(win, target, access, req_out);
	if (weft_likely(is_plain(access)))
		err = update_plainly(win, target, access, place, there);
	else
		err = update_typed(win, target, access, place, there);
	if (weft_unlikely(req_out) && !err)
		return done_request(win, req_out);
	return err;
}

int weft_win_fetch_and_op(
	struct weft_win *win, const struct weft_win_access *access)
{
	struct weft_win_update u = { .op = access->op,
		.basic = access->type,
		.in = access->op->builtin == WEFT_OP_NO_OP ? NULL
							   : access->origin.buf,
		.old = access->result.buf,
		.n = 1 };
	uint64_t there;
	char *place;
	int err;
	struct weft_win_target *target =
		access_locate(win, access, &place, &there, &err);

	if (weft_unlikely(err))
		return err;
	if (weft_likely(target->way == WEFT_WIN_MAPPED)) {
		weft_win_update(&u, place, there, target->stripes);
		return 0;
	}
	if (!updates_by_am(target, access))
		return weft_win_of_target(
			win, target, weft_win_update_copied(&u, target, there));
	return weft_win_am_accumulate(win, target, access, NULL);
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
	if (weft_likely(target->way == WEFT_WIN_MAPPED)) {
		weft_win_swap(access->type, access->compare, access->origin.buf,
			access->result.buf, place, there, target->stripes);
		return 0;
	}
	if (!updates_by_am(target, access))
		return weft_win_of_target(win, target,
			weft_win_swap_copied(access->type, access->compare,
				access->origin.buf, access->result.buf, target,
				there));
	return weft_win_am_compare_and_swap(win, target, access);
}
