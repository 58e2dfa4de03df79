/* SPDX-License-Identifier: BSD-3-Clause */
/* bsend: buffered sends and the buffers that they use
 *
 * A message is packed into a piece of the attached buffer and sent from there.
 * The piece is free again when the send has completed. A piece is in the user's
 * memory and begins with a header, for which MPI_BSEND_OVERHEAD reserves space.
 * A list contains the pieces in order of addresses. A new piece uses the first
 * gap that is large enough.
 *
 * An automatic buffer allocates its pieces on the heap, and its list is in the
 * order of the sends. */
#include "p2p/p2p_priv.h"

#include "base/bits.h"
#include "transport/progress.h"
#include "watchdog/request.h"

#include <stdlib.h>

enum { PIECE_ALIGN = 16 };

/* One message in the buffer. */
struct piece {
	struct weft_link link; /* in bsend->pieces */
	struct weft_bsend *bsend;
	struct weft_vci *vci; /* the VCI that sends the message */
	struct weft_req *req; /* the send, if `vci` guards the buffer; else NULL
			       */
	uint64_t number;      /* bsend->n_sent when the piece was made */
	size_t len;	      /* bytes, including this header */
	_Alignas(PIECE_ALIGN) char data[];
};

/* A buffer attached to a communicator, a session or the process. `*place` is
 * the pointer of this owner to the struct. */
struct weft_bsend {
	struct weft_link pieces;
	struct weft_link waiters; /* incomplete requests of flushes */
	struct weft_vci *vci;	  /* its lock guards the buffer */
	uint64_t n_sent;	  /* messages put into the buffer so far */
	bool is_auto;
	void *addr; /* the memory that the program attached */
	size_t len; /* bytes at addr */
};

_Static_assert(sizeof(struct piece) + PIECE_ALIGN <= 512,
	"a piece must cost no more than MPI_BSEND_OVERHEAD");

int weft_bsend_attach(struct weft_vci *vci, struct weft_bsend **place,
	void *addr, size_t len, bool is_auto)
{
	struct weft_bsend *bsend = calloc(1, sizeof(*bsend));
	int err = bsend ? 0 : WEFT_ERR_NOMEM;

	if (err)
		return err;
	weft_list_init(&bsend->pieces);
	weft_list_init(&bsend->waiters);
	bsend->vci = vci;
	bsend->is_auto = is_auto;
	bsend->addr = addr;
	bsend->len = len;
	weft_vci_lock(vci);
	if (*place)
		err = weft_err_set(WEFT_ERR_BUFFER,
			"a buffer of %zu bytes is attached already",
			(*place)->len);
	else
		*place = bsend;
	weft_vci_unlock(vci);
	if (err)
		free(bsend);
	return err;
}

/* Acquires the lock of the buffer's VCI, unless this VCI is `held`. The caller
 * holds the lock of `held`, which sends the message. The default VCI guards the
 * buffers of sessions and of the process. */
static void bsend_enter(
	const struct weft_bsend *bsend, const struct weft_vci *held)
{
	if (weft_unlikely(bsend->vci != held))
		weft_vci_lock(bsend->vci);
}

static void bsend_leave(
	const struct weft_bsend *bsend, const struct weft_vci *held)
{
	if (weft_unlikely(bsend->vci != held))
		weft_vci_unlock(bsend->vci);
}

/* Messages of a buffer that a call waits for. */
struct drain {
	struct weft_bsend *const *place;
	uint64_t end; /* messages with a lower number */
};

/* Returns a message that was not sent yet; NULL: none. */
static struct piece *drain_next(const struct drain *drain)
{
	if (!*drain->place)
		return NULL;
	weft_list_for_each(link, next, &(*drain->place)->pieces)
	{
		struct piece *piece =
			weft_container_of(link, struct piece, link);

		if (piece->number < drain->end)
			return piece;
	}
	return NULL;
}

static const struct weft_req *drain_req(const void *arg, int i)
{
	const struct piece *piece = drain_next(arg);

	(void)i;
	return piece ? piece->req : NULL;
}

/* Waits until the messages have been sent. Returns an error if the watchdog
 * ends the wait: the send of one message was ended, and the others remain.
 * VCI's lock held. */
static int drain_wait(
	struct weft_vci *vci, const struct drain *drain, const char *call)
{
	struct weft_request_loop loop = {
		.call = call,
		.at = drain_req,
		.arg = drain,
		.n = 1,
		.what = "the messages in the buffer to be sent",
	};
	int err = 0;

	while (!err && drain_next(drain)) {
		weft_progress_wait(vci);
		if (weft_request_round(vci, &loop))
			err = weft_request_raise(&loop);
	}
	weft_request_end(&loop);
	return err;
}

int weft_bsend_detach(struct weft_vci *vci, struct weft_bsend **place,
	void **addr_out, size_t *len_out, bool *is_auto_out)
{
	const struct drain all = { place, UINT64_MAX };
	struct weft_bsend *bsend;
	int err;

	weft_vci_lock(vci);
	err = drain_wait(vci, &all, "MPI_Buffer_detach");
	bsend = *place;
	if (!err)
		*place = NULL;
	weft_vci_unlock(vci);
	if (err)
		return err;
	if (!bsend)
		return weft_err_set(WEFT_ERR_BUFFER, "no buffer is attached");
	*addr_out = bsend->addr;
	*len_out = bsend->len;
	*is_auto_out = bsend->is_auto;
	free(bsend);
	return 0;
}

int weft_bsend_flush(
	struct weft_vci *vci, struct weft_bsend *const *place, const char *call)
{
	struct drain now = { place, 0 };
	int err;

	weft_vci_lock(vci);
	now.end = *place ? (*place)->n_sent : 0;
	err = drain_wait(vci, &now, call);
	weft_vci_unlock(vci);
	return err;
}

static void bsend_one_less(struct weft_req *waiter)
{
	if (--waiter->flush.n_left > 0)
		return;
	weft_list_remove(&waiter->link);
	weft_req_complete(waiter, 0);
	weft_req_put(waiter);
}

static void piece_free(struct piece *piece)
{
	struct weft_bsend *bsend = piece->bsend;
	const struct weft_vci *held = piece->vci;
	uint64_t number = piece->number;

	bsend_enter(bsend, held);
	weft_list_remove(&piece->link);
	if (bsend->is_auto)
		free(piece);
	weft_list_for_each(link, next, &bsend->waiters)
	{
		struct weft_req *waiter =
			weft_container_of(link, struct weft_req, link);

		if (number < waiter->flush.n_sent)
			bsend_one_less(waiter);
	}
	bsend_leave(bsend, held);
}

int weft_bsend_iflush(struct weft_vci *vci, struct weft_bsend *const *place,
	struct weft_req **req_out)
{
	struct weft_bsend *bsend;
	struct weft_req *req;

	weft_vci_lock(vci);
	bsend = *place;
	req = weft_req_new(vci, WEFT_REQ_OTHER);
	if (req && bsend) {
		req->flush.n_sent = bsend->n_sent;
		weft_list_for_each(link, next, &bsend->pieces)
			req->flush.n_left++;
	}
	if (req && req->flush.n_left)
		weft_list_push_back(&bsend->waiters, &weft_req_get(req)->link);
	else if (req)
		weft_req_complete(req, 0);
	weft_vci_unlock(vci);
	*req_out = req;
	return req ? 0 : WEFT_ERR_NOMEM;
}

/* Makes a piece of len bytes in the first gap that is large enough. NULL if
 * there is none. */
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

static struct piece *bsend_piece_new(
	struct weft_bsend *bsend, struct weft_vci *vci, size_t data_len)
{
	size_t len = sizeof(struct piece) + data_len;
	struct piece *piece;

	bsend_enter(bsend, vci);
	if (bsend->is_auto) {
		piece = malloc(len);
		if (piece)
			weft_list_push_back(&bsend->pieces, &piece->link);
	} else {
		piece = piece_fit(bsend, len);
	}
	if (piece) {
		piece->bsend = bsend;
		piece->vci = vci;
		piece->req = NULL;
		piece->number = bsend->n_sent++;
		piece->len = len;
	}
	bsend_leave(bsend, vci);
	return piece;
}

/* The message of the user's request. A persistent request has the message of
 * its last start. */
struct weft_bsend_sent {
	struct weft_bsend_places places; /* persistent: buffers to try */
	struct weft_req *inner;		 /* the send from the buffer, with a
					    reference, or NULL */
};

/* Completes the user's request, if it waits for the end of a cancel. Called
 * when the inner send was completed or cancelled. */
static void complete_outer(struct weft_req *inner)
{
	struct weft_req *req = inner->waiter;

	if (!req)
		return;
	inner->waiter = NULL;
	if (inner->status.is_cancelled) {
		req->status.is_cancelled = true;
		req->status.len = 0;
	}
	weft_req_complete(req, 0);
	weft_req_put(req);
}

static void bsend_on_answered(void *arg, struct weft_req *inner)
{
	(void)arg;
	complete_outer(inner);
}

static void bsend_on_sent(void *arg, struct weft_req *inner)
{
	piece_free(arg);
	inner->on_done = NULL; /* a later cancel of an eager send completes
				  `inner` again, without a piece */
	complete_outer(inner);
	weft_req_put(inner);
}

static int no_room(const struct weft_bsend *bsend, size_t len)
{
	if (!bsend)
		return weft_err_set(WEFT_ERR_BUFFER,
			"no buffer is attached for a message of %zu bytes",
			len);
	return weft_err_set(WEFT_ERR_BUFFER,
		"a message of %zu bytes does not fit into the attached buffer "
		"of %zu bytes beside the messages that it holds",
		len, bsend->len);
}

/* Packs the message into the buffer and starts the send. If inner_out is not
 * NULL, sets *inner_out to the request of the send, with a reference.
 * *inner_out does not change if no send was started. */
static int bsend_held(struct weft_bsend *bsend, const struct weft_msg *msg,
	struct weft_req **inner_out)
{
	size_t len = (size_t)(msg->count * msg->type->size);
	struct weft_msg copy = *msg;
	struct piece *piece;
	struct weft_req *req;
	int err;

	if (msg->rank == WEFT_PROC_NULL)
		return 0;
	piece = bsend ? bsend_piece_new(bsend, msg->comm->vci, len) : NULL;
	if (!piece && bsend) {
		weft_progress(msg->comm->vci);
		piece = bsend_piece_new(bsend, msg->comm->vci, len);
	}
	if (!piece)
		return no_room(bsend, len);
	weft_pack(msg->type, msg->count, msg->buf, 0, piece->data, len);
	copy.buf = piece->data;
	copy.count = (int64_t)len;
	copy.type = weft_type_builtin(WEFT_TYPE_BYTE);
	copy.mode = WEFT_SEND_BUFFERED;
	err = weft_isend_locked(&copy, &req);
	if (!err && inner_out) {
		*inner_out = weft_req_get(req);
		req->is_user_freed = true; /* the user has the outer request */
	}
	if (err) {
		piece_free(piece);
	} else if (req->is_done) {
		bsend_on_sent(piece, req);
	} else {
		req->on_done = bsend_on_sent;
		req->on_done_arg = piece;
		if (bsend->vci == req->vci)
			piece->req = req;
	}
	return err;
}

/* Returns the buffer that a send uses: the first attached buffer. */
static struct weft_bsend *bsend_pick(const struct weft_bsend_places *places)
{
	for (int i = 0; i < WEFT_BSEND_PLACES; i++)
		if (places->at[i] && *places->at[i])
			return *places->at[i];
	return NULL;
}

int weft_bsend(
	const struct weft_msg *msg, const struct weft_bsend_places *places)
{
	struct weft_vci *vci = msg->comm->vci;
	int err;

	weft_vci_lock(vci);
	err = bsend_held(bsend_pick(places), msg, NULL);
	weft_vci_unlock(vci);
	return err;
}

/* Cancels the send from the buffer. If the receiver must answer, the user's
 * request is incomplete until the answer arrives. */
static int bsend_cancel(struct weft_req *req)
{
	struct weft_req *inner = req->sent->inner;
	struct weft_vci *vci = req->vci;

	weft_vci_lock(vci);
	if (inner && !inner->waiter) {
		weft_cancel_send(inner);
		req->status.is_cancelled = inner->status.is_cancelled;
		if (inner->send.is_cancelling) {
			inner->waiter = weft_req_get(req);
			if (!inner->on_done)
				inner->on_done = bsend_on_answered;
			req->is_done = false;
		}
	}
	weft_vci_unlock(vci);
	return 0;
}

static void forget(struct weft_bsend_sent *sent)
{
	if (sent->inner)
		weft_req_put(sent->inner);
	sent->inner = NULL;
}

static void bsend_release(struct weft_req *req)
{
	forget(req->sent);
	free(req->sent);
}

/* Creates the user's request for one message. */
static struct weft_req *new_sent(const struct weft_msg *msg)
{
	static const struct weft_req_ops ops = { .cancel = bsend_cancel,
		.release = bsend_release };
	struct weft_bsend_sent *sent = calloc(1, sizeof(*sent));
	struct weft_req *req =
		sent ? weft_req_new(msg->comm->vci, WEFT_REQ_SEND) : NULL;

	if (!req) {
		free(sent);
		return NULL;
	}
	req->ops = &ops;
	req->sent = sent;
	req->comm = weft_comm_get(msg->comm);
	req->peer = NULL; /* the inner request has it */
	req->ctx = msg->comm->ctx + msg->ctx_offset;
	req->src = msg->rank;
	req->tag = msg->tag;
	req->len = (size_t)(msg->count * msg->type->size);
	return req;
}

int weft_ibsend(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out)
{
	struct weft_vci *vci = msg->comm->vci;
	struct weft_req *req;
	int err = WEFT_ERR_NOMEM;

	weft_vci_lock(vci);
	req = new_sent(msg);
	if (req)
		err = bsend_held(bsend_pick(places), msg, &req->sent->inner);
	if (req && err)
		weft_req_put(req);
	else if (req)
		weft_req_complete(req, 0);
	weft_vci_unlock(vci);
	if (!err)
		*req_out = req;
	return err;
}

static int bsend_start(struct weft_req *req)
{
	struct weft_msg msg = {
		.comm = req->comm,
		.buf = req->buf,
		.count = req->count,
		.type = req->type,
		.rank = req->src,
		.tag = req->tag,
		.ctx_offset = WEFT_CTX_OFFSET_P2P,
	};
	struct weft_bsend_sent *sent = req->sent;
	int err;

	forget(sent);
	err = bsend_held(bsend_pick(&sent->places), &msg, &sent->inner);
	weft_req_complete(req, err);
	return err;
}

int weft_bsend_init(const struct weft_msg *msg,
	const struct weft_bsend_places *places, struct weft_req **req_out)
{
	static const struct weft_req_ops ops = { .start = bsend_start,
		.cancel = bsend_cancel,
		.release = bsend_release };
	struct weft_bsend_sent *sent = calloc(1, sizeof(*sent));
	int err;

	if (!sent)
		return WEFT_ERR_NOMEM;
	sent->places = *places;
	err = weft_send_init(msg, req_out);
	if (err) {
		free(sent);
		return err;
	}
	(*req_out)->ops = &ops;
	(*req_out)->sent = sent;
	return 0;
}
