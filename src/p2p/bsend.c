/* SPDX-License-Identifier: BSD-3-Clause */
/* bsend: buffered sends and the buffers they use
 *
 * A message is packed into a piece of the attached buffer and sent from there;
 * the piece is free again when the send is over. Pieces stand in the user's
 * memory, each behind a header (which is why the standard asks for room per
 * message), in a list in order of addresses; a new one goes into the first gap
 * that is large enough. An automatic buffer takes its pieces from the heap. */
#include "p2p/p2p_priv.h"

#include "base/bits.h"
#include "core/progress.h"

#include <stdlib.h>

enum { PIECE_ALIGN = 16, BYTE_ABI_VALUE = 0x247 };

/* One message in the buffer. */
struct piece {
	struct weft_link link; /* in pieces, by address */
	struct weft_bsend *bsend;
	struct weft_lane *lane; /* it is sent on */
	uint64_t number;	/* order of sends */
	size_t len;		/* header included */
	_Alignas(PIECE_ALIGN) char data[];
};

/* Attached to one place, which owns it. */
struct weft_bsend {
	struct weft_link pieces;
	struct weft_link waiters; /* requests of flushes, by req->link */
	struct weft_lane *lane;	  /* whose lock guards it */
	uint64_t n_sent;
	bool is_auto;
	void *addr; /* as attached */
	size_t len;
};

_Static_assert(sizeof(struct piece) + PIECE_ALIGN <= 512,
	"a piece must cost no more than MPI_BSEND_OVERHEAD");

int weft_bsend_attach(struct weft_lane *lane, struct weft_bsend **place,
	void *addr, size_t len, bool is_auto)
{
	struct weft_bsend *bsend = calloc(1, sizeof(*bsend));
	int err = bsend ? 0 : WEFT_ERR_NOMEM;

	if (err)
		return err;
	weft_list_init(&bsend->pieces);
	weft_list_init(&bsend->waiters);
	bsend->lane = lane;
	bsend->is_auto = is_auto;
	bsend->addr = addr;
	bsend->len = len;
	weft_lane_take(lane);
	if (*place)
		err = weft_err_set(WEFT_ERR_BUFFER,
			"a buffer of %zu bytes is attached already",
			(*place)->len);
	else
		*place = bsend;
	weft_lane_drop(lane);
	if (err)
		free(bsend);
	return err;
}

/* A buffer of a session or the process, which the default lane's lock guards,
 * may serve a send on another lane, whose lock is held. */
static void enter(const struct weft_bsend *bsend, const struct weft_lane *held)
{
	if (weft_unlikely(bsend->lane != held))
		weft_lane_take(bsend->lane);
}

static void leave(const struct weft_bsend *bsend, const struct weft_lane *held)
{
	if (weft_unlikely(bsend->lane != held))
		weft_lane_drop(bsend->lane);
}

/* Waits until nothing is in the buffer of a place. Lane's lock held. */
static void drain(struct weft_lane *lane, struct weft_bsend *const *place)
{
	while (*place && !weft_list_is_empty(&(*place)->pieces))
		weft_progress_wait(lane);
}

int weft_bsend_detach(struct weft_lane *lane, struct weft_bsend **place,
	void **addr_out, size_t *len_out, bool *is_auto_out)
{
	struct weft_bsend *bsend;

	weft_lane_take(lane);
	drain(lane, place);
	bsend = *place;
	*place = NULL;
	weft_lane_drop(lane);
	if (!bsend)
		return weft_err_set(WEFT_ERR_BUFFER, "no buffer is attached");
	*addr_out = bsend->addr;
	*len_out = bsend->len;
	*is_auto_out = bsend->is_auto;
	free(bsend);
	return 0;
}

static void one_less(struct weft_req *waiter)
{
	if (--waiter->n_parts > 0)
		return;
	weft_list_remove(&waiter->link);
	weft_req_complete(waiter, 0);
	weft_req_put(waiter);
}

static void piece_free(struct piece *piece)
{
	struct weft_bsend *bsend = piece->bsend;
	const struct weft_lane *held = piece->lane;
	uint64_t number = piece->number;

	enter(bsend, held);
	weft_list_remove(&piece->link);
	if (bsend->is_auto)
		free(piece);
	weft_list_for_each(link, next, &bsend->waiters)
	{
		struct weft_req *waiter =
			weft_container_of(link, struct weft_req, link);

		if (number < waiter->seq)
			one_less(waiter);
	}
	leave(bsend, held);
}

int weft_bsend_iflush(struct weft_lane *lane, struct weft_bsend *const *place,
	struct weft_req **req_out)
{
	struct weft_bsend *bsend;
	struct weft_req *req;

	weft_lane_take(lane);
	bsend = *place;
	req = weft_req_new(lane, WEFT_REQ_OTHER);
	if (req && bsend) {
		req->seq = bsend->n_sent;
		weft_list_for_each(link, next, &bsend->pieces) req->n_parts++;
	}
	if (req && req->n_parts)
		weft_list_push_back(&bsend->waiters, &weft_req_get(req)->link);
	else if (req)
		weft_req_complete(req, 0);
	weft_lane_drop(lane);
	*req_out = req;
	return req ? 0 : WEFT_ERR_NOMEM;
}

/* The first gap of len bytes, as a piece in the list; NULL when there is
 * none. */
static struct piece *piece_fit(struct weft_bsend *bsend, size_t len)
{
	uintptr_t at = weft_round_up((uintptr_t)bsend->addr, PIECE_ALIGN);
	uintptr_t end = (uintptr_t)bsend->addr + bsend->len;
	struct weft_link *before = &bsend->pieces;
	struct piece *piece;

	weft_list_for_each(link, next, &bsend->pieces)
	{
		piece = weft_container_of(link, struct piece, link);
		if ((uintptr_t)piece - at >= len)
			break;
		at = weft_round_up((uintptr_t)piece + piece->len, PIECE_ALIGN);
		before = link;
	}
	if (before->next == &bsend->pieces && (at > end || end - at < len))
		return NULL;
	piece = (struct piece *)at;
	weft_list_push_front(before, &piece->link);
	return piece;
}

static struct piece *piece_new(
	struct weft_bsend *bsend, struct weft_lane *lane, size_t data_len)
{
	size_t len = sizeof(struct piece) + data_len;
	struct piece *piece;

	enter(bsend, lane);
	if (bsend->is_auto) {
		piece = malloc(len);
		if (piece)
			weft_list_push_back(&bsend->pieces, &piece->link);
	} else {
		piece = piece_fit(bsend, len);
	}
	if (piece) {
		piece->bsend = bsend;
		piece->lane = lane;
		piece->number = bsend->n_sent++;
		piece->len = len;
	}
	leave(bsend, lane);
	return piece;
}

static void on_sent(void *arg, struct weft_req *req)
{
	piece_free(arg);
	weft_req_put(req);
}

static int no_room(const struct weft_bsend *bsend, size_t len)
{
	if (!bsend)
		return weft_err_set(WEFT_ERR_BUFFER,
			"no buffer is attached for a message of %zu bytes",
			len);
	return weft_err_set(WEFT_ERR_BUFFER,
		"a message of %zu bytes does not fit into the attached buffer "
		"of %zu bytes with what it holds",
		len, bsend->len);
}

static int bsend_held(struct weft_bsend *bsend, const struct weft_msg *msg)
{
	size_t len = (size_t)(msg->count * msg->type->size);
	struct weft_msg copy = *msg;
	struct piece *piece;
	struct weft_req *req;
	int err;

	if (msg->rank == WEFT_PROC_NULL)
		return 0;
	piece = bsend ? piece_new(bsend, msg->comm->lane, len) : NULL;
	if (!piece && bsend) {
		weft_progress(msg->comm->lane);
		piece = piece_new(bsend, msg->comm->lane, len);
	}
	if (!piece)
		return no_room(bsend, len);
	weft_pack(msg->type, msg->count, msg->buf, 0, piece->data, len);
	copy.buf = piece->data;
	copy.count = (int64_t)len;
	copy.type = weft_type_builtin(BYTE_ABI_VALUE);
	copy.mode = WEFT_SEND_BUFFERED;
	err = weft_isend_held(&copy, &req);
	if (err) {
		piece_free(piece);
	} else if (req->is_done) {
		on_sent(piece, req);
	} else {
		req->on_done = on_sent;
		req->on_done_arg = piece;
	}
	return err;
}

/* The buffer a send takes: the first attached one. */
static struct weft_bsend *pick(const struct weft_bsend_places *places)
{
	for (int i = 0; i < WEFT_BSEND_PLACES; i++)
		if (places->at[i] && *places->at[i])
			return *places->at[i];
	return NULL;
}

int weft_bsend(
	const struct weft_msg *msg, const struct weft_bsend_places *places)
{
	struct weft_lane *lane = msg->comm->lane;
	int err;

	weft_lane_take(lane);
	err = bsend_held(pick(places), msg);
	weft_lane_drop(lane);
	return err;
}

int weft_ibsend(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out)
{
	struct weft_lane *lane = msg->comm->lane;
	struct weft_req *req;
	int err = WEFT_ERR_NOMEM;

	weft_lane_take(lane);
	req = weft_req_new(lane, WEFT_REQ_SEND);
	if (req)
		err = bsend_held(pick(places), msg);
	if (req && err)
		weft_req_put(req);
	else if (req)
		weft_req_complete(req, 0);
	weft_lane_drop(lane);
	if (!err)
		*req_out = req;
	return err;
}

static int start(struct weft_req *req)
{
	struct weft_msg msg = {
		.comm = req->comm,
		.buf = req->buf,
		.count = req->count,
		.type = req->type,
		.rank = req->src,
		.tag = req->tag,
		.plane = WEFT_PLANE_P2P,
	};
	int err = bsend_held(pick(req->state), &msg);

	weft_req_complete(req, err);
	return err;
}

static void release(struct weft_req *req)
{
	free(req->state);
}

int weft_bsend_init(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out)
{
	static const struct weft_req_ops ops = { .start = start,
		.release = release };
	struct weft_bsend_places *mine = malloc(sizeof(*mine));
	int err;

	if (!mine)
		return WEFT_ERR_NOMEM;
	*mine = *places;
	err = weft_send_init(msg, req_out);
	if (err) {
		free(mine);
		return err;
	}
	(*req_out)->ops = &ops;
	(*req_out)->state = mine;
	return 0;
}
