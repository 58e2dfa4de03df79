/* SPDX-License-Identifier: BSD-3-Clause */
/* win_one: accesses of some bytes, as their origin sends them
 *
 * A put or get of up to 16 bytes, or the update of one element, is one record
 * without runs. The record with its data fits in the first cache line of a
 * ring's slot, as does its answer, and is posted from here without the queue.
 * To other nodes it may stay in the queue. */
#include "win/win_priv.h"

#include "base/word.h"
#include "core/comm.h"

#include <string.h>

/* One record and its data, as they are sent. */
struct one {
	uint64_t word; /* kind, op, type and id: stored at once, as it will be
			  loaded, see weft_peer_post() */
	int64_t disp;
	uint8_t data[WEFT_AM_SHORT];
};

/* Nothing has to be posted in front, and the record is not one to queue. */
static bool may_post_one(
	struct weft_win *win, struct weft_win_target *target, bool is_wanted)
{
	if (target->lock.is_due || weft_win_is_lock_requested(win, target))
		return false;
	return is_wanted || weft_win_needs_answer(win, target) ||
	       !weft_win_may_keep(win, target);
}

static uint64_t one_word(
	enum weft_wire_am_kind kind, unsigned op, unsigned type)
{
	return (uint64_t)kind | (uint64_t)op << 8 | (uint64_t)type << 16;
}

/* n: bytes that return to `to`; 0: an answer without data, which is requested
 * where no operation under way has one. */
static int one_post(struct weft_win *win, struct weft_win_target *target,
	struct one *one, size_t len, const struct weft_win_buf *to, size_t n)
{
	struct weft_win_op *op = NULL;
	int err;

	if (n || weft_win_needs_answer(win, target)) {
		op = weft_win_op_new(win, target, NULL, 1);
		if (!op)
			return WEFT_ERR_NOMEM;
		if (n)
			weft_win_op_into(op, to);
		one->word |= (uint64_t)op->am.id << 32;
		target->am.is_touched = false;
	}
	err = weft_am_post(&target->am, one, WEFT_AM_HEAD + len);
	/* after that: another thread may have sent FLUSH, in front of it */
	if (!op)
		target->am.is_touched = true;
	else
		weft_am_op_begun(&op->am, err);
	return err;
}

/* The first since a flush travels at once, unless it begins a row as the last
 * one was. */
static bool may_keep_one(struct weft_win *win, struct weft_win_target *target)
{
	return (target->is_in_row || !weft_win_needs_answer(win, target)) &&
	       weft_win_may_keep(win, target);
}

/* n: bytes or elements. */
static int one_keep(struct weft_win_target *target, const struct one *one,
	uint64_t n, size_t len)
{
	const struct weft_wire_am rec = { .kind = (uint8_t)one->word,
		.op = (uint8_t)(one->word >> 8),
		.type = (uint16_t)(one->word >> 16),
		.disp = one->disp,
		.n = n,
		.n_runs = 1 };
	int err = 0;
	uint8_t *data = weft_win_am_add(target, &rec, len, &err);

	if (data)
		memcpy(data, one->data, len);
	target->am.is_touched = true; /* after that, as in one_post() */
	target->n_in_row++;
	return err;
}

int weft_win_one_move(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, bool is_put)
{
	const struct weft_win_buf *here = &access->origin;
	const struct weft_type *type = access->type;
	int64_t len = type->size * access->count;
	struct one one = { .disp = access->disp };
	char *data = (char *)here->buf + here->type->true_lb;

	if (len <= 0 || len > WEFT_AM_SHORT ||
		here->type->size * here->count != len)
		return WEFT_AGAIN;
	if (!weft_type_is_run(type, access->count) || type->true_lb ||
		!weft_type_is_run(here->type, here->count) ||
		(win->uses_rma && target->way == WEFT_WIN_BY_AM))
		return WEFT_AGAIN;
	one.word = one_word(
		is_put ? WEFT_WIRE_AM_PUT : WEFT_WIRE_AM_GET, 0, (unsigned)len);
	if (is_put)
		weft_word_load(one.data, data, (size_t)len);
	if (is_put && may_keep_one(win, target))
		return one_keep(target, &one, (uint64_t)len, (size_t)len);
	if (!may_post_one(win, target, false))
		return WEFT_AGAIN;
	return is_put ? one_post(win, target, &one, (size_t)len, NULL, 0)
		      : one_post(win, target, &one, 0, here, (size_t)len);
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
	struct one one = { .disp = access->disp };
	size_t len = (size_t)type->size;

	if (type->class_ == WEFT_CLASS_NONE || access->count != 1 ||
		len != (size_t)type->extent || len > WEFT_AM_SHORT ||
		(has_in && !is_element(&access->origin, type)) ||
		(is_fetching && !is_element(&access->result, type)) ||
		target->n_long_accs)
		return WEFT_AGAIN;
	one.word = one_word(WEFT_WIRE_AM_ACC,
		access->op->builtin |
			(is_fetching ? (unsigned)WEFT_WIRE_AM_FETCHES : 0),
		(unsigned)type->builtin_index + WEFT_TYPE_FIRST);
	if (has_in)
		weft_word_load(one.data, access->origin.buf, len);
	if (!is_fetching && may_keep_one(win, target))
		return one_keep(target, &one, 1, has_in ? len : 0);
	if (!may_post_one(win, target, false))
		return WEFT_AGAIN;
	return one_post(win, target, &one, has_in ? len : 0, &access->result,
		is_fetching ? len : 0);
}

int weft_win_one_swap(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access)
{
	const struct weft_type *type = access->type;
	struct one one = { .disp = access->disp };
	size_t len = (size_t)type->size;

	if (2 * len > WEFT_AM_SHORT || target->n_long_accs ||
		!may_post_one(win, target, true))
		return WEFT_AGAIN;
	one.word = one_word(WEFT_WIRE_AM_CAS, 0,
		(unsigned)type->builtin_index + WEFT_TYPE_FIRST);
	memcpy(one.data, access->compare, len);
	memcpy(one.data + len, access->origin.buf, len);
	return one_post(win, target, &one, 2 * len, &access->result, len);
}
