/* SPDX-License-Identifier: BSD-3-Clause */
/* win_one: short accesses, each in a message that is one cache line
 *
 * A put or get of some bytes, or the update of one element, says in 16 bytes
 * what it is and has its data behind that: it fits in a slot of a ring, as does
 * its answer. They go in order with all other messages about the window. */
#include "win/win_priv.h"

#include "base/word.h"
#include "core/comm.h"
#include "transport/dispatch.h"

#include <stddef.h>
#include <string.h>

enum {
	ONE_HEAD = offsetof(struct weft_wire_win_one, data),
	DONE_HEAD = offsetof(struct weft_wire_win_done, data),
	ONE_MAX = 16, /* bytes of data */
};

/* --- as the origin sends them -------------------------------------- */

/* What else is due there goes in front of nothing; what can be kept for the
 * next message is not sent alone. */
static bool may_be_one(
	struct weft_win *win, struct weft_win_target *target, bool is_wanted)
{
	if (target->is_lock_due || win->last_id >= UINT32_MAX ||
		weft_win_is_lock_asked(win, target))
		return false;
	return is_wanted || weft_win_am_asks(win, target) ||
	       !weft_win_may_keep(win, target);
}

/* Where n bytes that come go; with n 0: nothing comes, and it is asked for its
 * end where nothing else tells. */
static struct weft_win_op *one_op(struct weft_win *win,
	struct weft_win_target *target, const struct weft_win_buf *to, size_t n)
{
	struct weft_win_op *op = weft_win_op_new(win, target, NULL, 1);

	if (!op)
		return NULL;
	op->is_one = true;
	op->len = n;
	if (n) {
		op->to = *to;
		weft_type_get((struct weft_type *)to->type);
	}
	target->is_touched = false;
	return op;
}

/* What a record begins with, but for its id. Stored at once, as it will be
 * loaded: see weft_peer_post(). */
static uint64_t one_word(
	enum weft_wire_win_kind kind, unsigned op, unsigned type)
{
	return (uint64_t)kind | (uint64_t)op << 8 | (uint64_t)type << 16;
}

static int one_send(struct weft_win *win, struct weft_win_target *target,
	uint64_t word, struct weft_wire_win_one *rec, size_t len,
	const struct weft_win_buf *to, size_t n)
{
	struct weft_win_op *op = NULL;
	int err;

	if (n || weft_win_am_asks(win, target)) {
		op = one_op(win, target, to, n);
		if (!op)
			return WEFT_ERR_NOMEM;
		word |= op->id << 32;
	}
	memcpy(rec, &word, sizeof(word));
	err = weft_win_am_post(
		win, target, WEFT_WIRE_WIN_ONE, rec, ONE_HEAD + len);
	/* after that: another thread may have asked, in front of it */
	if (!op)
		target->is_touched = true;
	if (op)
		weft_win_op_begun(op, err);
	return err;
}

/* The first since a flush travels at once, unless it begins a row as the last
 * one was. */
static bool may_keep_one(struct weft_win *win, struct weft_win_target *target)
{
	return (target->is_in_row || !weft_win_am_asks(win, target)) &&
	       weft_win_may_keep(win, target);
}

/* As a record that goes with what is sent there next. n: bytes or elements. */
static int one_keep(struct weft_win *win, struct weft_win_target *target,
	uint64_t word, const struct weft_wire_win_one *one, uint64_t n,
	size_t len)
{
	struct {
		struct weft_wire_win rec;
		uint8_t data[ONE_MAX];
	} kept = { .rec = { .kind = (uint8_t)word,
			   .op = (uint8_t)(word >> 8),
			   .type = (uint16_t)(word >> 16),
			   .len = (uint32_t)len,
			   .disp = one->disp,
			   .n = n,
			   .n_runs = 1 } };
	int err;

	memcpy(kept.data, one->data, len);
	err = weft_win_keep(
		win, target, &kept, sizeof(kept.rec) + weft_round_up(len, 8));
	target->is_touched = true; /* after that, as in one_send() */
	target->n_in_row++;
	return err;
}

int weft_win_one_move(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, bool is_put)
{
	const struct weft_win_buf *here = &access->origin;
	const struct weft_type *type = access->type;
	int64_t len = type->size * access->count;
	struct weft_wire_win_one rec = { .disp = access->disp };
	char *data = (char *)here->buf + here->type->true_lb;

	if (len <= 0 || len > ONE_MAX || here->type->size * here->count != len)
		return WEFT_AGAIN;
	if (!weft_type_is_run(type, access->count) || type->true_lb ||
		!weft_type_is_run(here->type, here->count) ||
		(win->uses_rma && target->way == WEFT_WIN_BY_AM))
		return WEFT_AGAIN;
	if (is_put)
		weft_word_load(rec.data, data, (size_t)len);
	if (is_put && may_keep_one(win, target))
		return one_keep(win, target, one_word(WEFT_WIRE_WIN_PUT, 0, 0),
			&rec, (uint64_t)len, (size_t)len);
	if (!may_be_one(win, target, false))
		return WEFT_AGAIN;
	return is_put ? one_send(win, target,
				one_word(WEFT_WIRE_WIN_PUT, 0, (unsigned)len),
				&rec, (size_t)len, NULL, 0)
		      : one_send(win, target,
				one_word(WEFT_WIRE_WIN_GET, 0, (unsigned)len),
				&rec, 0, here, (size_t)len);
}

/* One element, predefined, without holes. */
static bool is_element(
	const struct weft_win_buf *buf, const struct weft_type *type)
{
	return buf->type == type && buf->count == 1;
}

int weft_win_one_update(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access)
{
	const struct weft_type *type = access->type;
	bool has_in = access->op->builtin != WEFT_OP_NO_OP;
	bool is_fetching = access->result.type;
	struct weft_wire_win_one rec = { .disp = access->disp };
	uint64_t word;
	size_t len = (size_t)type->size;

	if (type->class_ == WEFT_CLASS_NONE || access->count != 1 ||
		len != (size_t)type->extent || len > ONE_MAX ||
		(has_in && !is_element(&access->origin, type)) ||
		(is_fetching && !is_element(&access->result, type)) ||
		target->n_long_accs)
		return WEFT_AGAIN;
	word = one_word(WEFT_WIRE_WIN_ACC,
		access->op->builtin |
			(is_fetching ? (unsigned)WEFT_WIRE_WIN_FETCHES : 0),
		(unsigned)type->builtin_index + WEFT_TYPE_FIRST);
	if (has_in)
		weft_word_load(rec.data, access->origin.buf, len);
	if (!is_fetching && may_keep_one(win, target))
		return one_keep(win, target, word, &rec, 1, len);
	if (!may_be_one(win, target, false))
		return WEFT_AGAIN;
	return one_send(win, target, word, &rec, has_in ? len : 0,
		&access->result, is_fetching ? len : 0);
}

int weft_win_one_swap(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access)
{
	const struct weft_type *type = access->type;
	struct weft_wire_win_one rec = { .disp = access->disp };
	size_t len = (size_t)type->size;

	if (2 * len > ONE_MAX || target->n_long_accs ||
		!may_be_one(win, target, true))
		return WEFT_AGAIN;
	memcpy(rec.data, access->compare, len);
	memcpy(rec.data + len, access->origin.buf, len);
	return one_send(win, target,
		one_word(WEFT_WIRE_WIN_CAS, 0,
			(unsigned)type->builtin_index + WEFT_TYPE_FIRST),
		&rec, 2 * len, &access->result, len);
}

/* The answer. */
static void on_done(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_win *win = weft_win_of(vci, peer, head);
	struct weft_win_target *target =
		win ? weft_win_target_at(win, head->src) : NULL;
	struct weft_win_op *op = NULL;
	uint64_t id = 0;

	if (len >= DONE_HEAD)
		memcpy(&id, payload, sizeof(id));
	if (target)
		op = weft_win_op_of(win, target, id);
	if (!op || !op->is_one || op->len != len - DONE_HEAD || !op->n_left) {
		weft_dispatch_drop(
			vci, "an answer about a window that makes no sense");
		return;
	}
	if (op->len)
		weft_word_load((char *)op->to.buf + op->to.type->true_lb,
			(const char *)payload + DONE_HEAD, op->len);
	weft_win_op_answered(op, 1, 0);
}

/* --- as the target carries them out -------------------------------- */

static void one_answer(struct weft_win *win, const struct weft_win_target *to,
	uint64_t id, const void *data, size_t len)
{
	struct weft_comm *comm = win->comm;
	struct weft_wire_head head = { .op = WEFT_WIRE_WIN_DONE,
		.src = (uint32_t)comm->rank,
		.ctx = comm->ctx };
	struct weft_wire_win_done done = { .id = id };

	if (len)
		weft_word_store(done.data, data, len, __ATOMIC_RELAXED);
	if (id)
		weft_peer_control(weft_comm_peer(comm, to->rank), &head, &done,
			DONE_HEAD + len);
}

/* These: false: it makes no sense. len: of its data. */
static bool one_put(struct weft_win *win, struct weft_win_target *from,
	const struct weft_wire_win_one *rec, size_t len)
{
	char *place;

	if (!len || len != rec->type)
		return false;
	place = weft_win_place(win, rec->disp, 0, len);
	if (!place) {
		weft_win_refuse(win, from, rec->id, WEFT_ERR_RMA_RANGE);
		return true;
	}
	weft_word_store(place, rec->data, len, __ATOMIC_RELEASE);
	one_answer(win, from, rec->id, NULL, 0);
	return true;
}

static bool one_get(struct weft_win *win, struct weft_win_target *from,
	const struct weft_wire_win_one *rec, size_t len)
{
	char bytes[ONE_MAX], *place;

	if (len || !rec->id || !rec->type || rec->type > ONE_MAX)
		return false;
	place = weft_win_place(win, rec->disp, 0, rec->type);
	if (!place) {
		weft_win_refuse(win, from, rec->id, WEFT_ERR_RMA_RANGE);
		return true;
	}
	weft_word_load(bytes, place, rec->type);
	one_answer(win, from, rec->id, bytes, rec->type);
	return true;
}

static bool one_update(struct weft_win *win, struct weft_win_target *from,
	const struct weft_wire_win_one *rec, size_t len)
{
	unsigned which = rec->op & ~(unsigned)WEFT_WIRE_WIN_FETCHES;
	bool has_in = which != WEFT_OP_NO_OP;
	bool is_fetching = rec->op & WEFT_WIRE_WIN_FETCHES;
	_Alignas(16) char in[ONE_MAX], old[ONE_MAX];
	struct weft_win_update u = { .op = weft_redop_builtin(which),
		.basic = weft_type_builtin(rec->type),
		.in = has_in ? in : NULL,
		.old = is_fetching ? old : NULL,
		.n = 1 };
	char *place;

	if (!weft_win_is_sound_op(which, u.op, u.basic) ||
		u.basic->size != u.basic->extent || u.basic->size > ONE_MAX ||
		len != (has_in ? (size_t)u.basic->size : 0) ||
		(is_fetching && !rec->id))
		return false;
	place = weft_win_place(win, rec->disp, 0, (uint64_t)u.basic->size);
	if (!place) {
		weft_win_refuse(win, from, rec->id, WEFT_ERR_RMA_RANGE);
		return true;
	}
	weft_word_store(in, rec->data, len, __ATOMIC_RELAXED);
	u.kernel = weft_redop_kernel(u.op, u.basic);
	weft_win_update(&u, place, (uintptr_t)place, weft_win_my_stripes());
	one_answer(win, from, rec->id, old,
		is_fetching ? (size_t)u.basic->size : 0);
	return true;
}

static bool one_swap(struct weft_win *win, struct weft_win_target *from,
	const struct weft_wire_win_one *rec, size_t len)
{
	const struct weft_type *type = weft_type_builtin(rec->type);
	_Alignas(16) char bytes[ONE_MAX], old[ONE_MAX];
	char *place;

	if (!type || type->size <= 0 || 2 * type->size > ONE_MAX ||
		len != 2 * (size_t)type->size || !rec->id)
		return false;
	place = weft_win_place(win, rec->disp, 0, len / 2);
	if (!place) {
		weft_win_refuse(win, from, rec->id, WEFT_ERR_RMA_RANGE);
		return true;
	}
	memcpy(bytes, rec->data, len);
	weft_win_swap(type, bytes, bytes + len / 2, old, place,
		(uintptr_t)place, weft_win_my_stripes());
	one_answer(win, from, rec->id, old, len / 2);
	return true;
}

static bool one_carry_out(struct weft_win *win, struct weft_win_target *from,
	const struct weft_wire_win_one *rec, size_t len)
{
	switch (rec->kind) {
	case WEFT_WIRE_WIN_PUT:
		return one_put(win, from, rec, len);
	case WEFT_WIRE_WIN_GET:
		return one_get(win, from, rec, len);
	case WEFT_WIRE_WIN_ACC:
		return one_update(win, from, rec, len);
	case WEFT_WIRE_WIN_CAS:
		return one_swap(win, from, rec, len);
	default:
		return false;
	}
}

/* Who waits for a lock sends nothing more before it has it. */
static void on_one(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_win *win = weft_win_of(vci, peer, head);
	struct weft_win_target *from =
		win ? weft_win_target_of(win, head->src) : NULL;
	struct weft_wire_win_one rec;

	if (from && !from->waiter && len >= ONE_HEAD && len <= sizeof(rec)) {
		memcpy(&rec, payload, ONE_HEAD);
		weft_word_load(rec.data, (const char *)payload + ONE_HEAD,
			len - ONE_HEAD);
		if (one_carry_out(win, from, &rec, len - ONE_HEAD))
			return;
	}
	weft_dispatch_drop(vci, "one-sided access that makes no sense here");
}

void weft_win_one_open(struct weft_vci *vci)
{
	weft_dispatch_set(vci, WEFT_WIRE_WIN_ONE, on_one);
	weft_dispatch_set(vci, WEFT_WIRE_WIN_DONE, on_done);
}
