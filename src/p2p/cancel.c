/* SPDX-License-Identifier: BSD-3-Clause */
/* cancel: cancels receives that have not matched, and sends that were not
 * received
 *
 * A receive is cancelled locally, and so is a send that is still queued at its
 * peer. For a send that was posted, the sender sends CANCEL. The receiver
 * searches its unexpected messages. If it has not created the communicator yet,
 * it searches the queued announcements of the communicator. The receiver then
 * answers with CANCEL_ACK. An eager send, whose request is done already,
 * becomes incomplete again until the answer arrives.
 *
 * A message announced for a collective of a communicator with a failed member
 * is cancelled in the same way. */
#include "p2p/p2p_priv.h"

#include <stdlib.h>

static void cancelled(struct weft_req *req)
{
	req->status.is_cancelled = true;
	req->status.len = 0;
}

static void cancel_request(struct weft_req *req)
{
	struct weft_wire_head head = {
		.op = WEFT_WIRE_CANCEL,
		.flags = req->send.is_eager ? WEFT_WIRE_IS_EAGER : 0,
		.number = req->send.is_eager ? req->send.number : 0,
		.src = (uint32_t)req->comm->rank,
		.ctx = req->ctx,
		.tag = req->tag,
	};
	struct weft_wire_fin fin = { .req = weft_obj_handle(req) };

	req->send.is_cancelling = true;
	if (req->send.is_eager) {
		req->is_done = false;
		weft_req_get(req);
		req->comm->p2p.n_sends++;
	}
	weft_peer_control(req->peer, &head, &fin, sizeof(fin));
}

void weft_cancel_send(struct weft_req *req)
{
	if (req->src == WEFT_PROC_NULL || req->status.is_cancelled ||
		req->send.is_cancelling ||
		(req->send.in_fabric && !req->send.is_eager) ||
		(req->peer && req->peer->state == WEFT_PEER_FAILED))
		return;
	if (weft_req_is_queued(req)) {
		weft_list_remove(&req->out.link);
		cancelled(req);
		weft_send_finish(req, 0);
		return;
	}
	if (req->is_done ? req->send.is_eager && !req->status.err
			 : !req->rndv.remote)
		cancel_request(req);
}

void weft_req_cancel_locked(struct weft_req *req)
{
	if (req->kind == WEFT_REQ_SEND) {
		weft_cancel_send(req);
	} else if (req->kind == WEFT_REQ_RECV && req->recv.is_posted) {
		weft_match_withdraw(&req->comm->match, req);
		cancelled(req);
		weft_p2p_finish(req, 0);
	}
}

int weft_req_cancel(struct weft_req *req)
{
	struct weft_vci *vci = req->vci;

	weft_vci_lock(vci);
	weft_req_cancel_locked(req);
	weft_vci_unlock(vci);
	return 0;
}

/* Returns the unexpected message that a CANCEL names, or NULL. */
static struct weft_message *cancel_find(struct weft_comm *comm,
	const struct weft_peer *peer, const struct weft_wire_head *head,
	uint64_t sreq)
{
	bool is_eager = head->flags & WEFT_WIRE_IS_EAGER;

	weft_list_for_each(link, next, &comm->match.arrived)
	{
		struct weft_message *m =
			weft_container_of(link, struct weft_message, arrived);

		if (m->peer == peer && m->ctx == head->ctx &&
			m->tag == head->tag && m->is_rts == !is_eager &&
			(is_eager ? m->number == head->number
				  : m->sreq == sreq))
			return m;
	}
	return NULL;
}

/* Identifies the message that a CANCEL names, for is_meant(). */
struct cancel {
	const struct weft_peer *peer;
	const struct weft_wire_head *head;
	uint64_t sreq;
};

static bool is_meant(const struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len,
	const void *arg)
{
	const struct cancel *c = arg;
	struct weft_wire_rts rts;

	return peer == c->peer && head->op == WEFT_WIRE_RTS &&
	       head->ctx == c->head->ctx && head->tag == c->head->tag &&
	       weft_wire_get_rts(&rts, payload, len) && rts.sreq == c->sreq;
}

/* Removes the message from the unexpected messages. If this process has not
 * created the communicator, removes the RTS from the queued messages. False if
 * the message was not found. */
static bool take_out(struct weft_vci *vci, const struct cancel *c)
{
	uint64_t ctx = c->head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	struct weft_comm *comm = weft_vci_core_comm(vci, ctx);
	struct weft_message *message;

	if (!comm)
		return weft_dispatch_unqueue(vci, ctx, is_meant, c);
	message = cancel_find(comm, c->peer, c->head, c->sreq);
	if (!message)
		return false;
	weft_match_take(&comm->match, message);
	if (!message->is_rts)
		weft_p2p_return_credit(message->peer, message->len);
	weft_message_free(message);
	return true;
}

void weft_cancel_on_cancel(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	uint64_t ctx = head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	struct weft_wire_head answer = { .op = WEFT_WIRE_CANCEL_ACK };
	struct cancel cancel = { .peer = peer, .head = head };
	struct weft_comm *comm;
	struct weft_wire_fin fin;

	if (!weft_wire_get_fin(&fin, payload, len) || !ctx) {
		weft_dispatch_drop(vci, "malformed cancel");
		return;
	}
	if (head->flags & WEFT_WIRE_IS_UNCANCELLABLE) {
		comm = weft_vci_core_comm(vci, ctx);
		if (comm)
			weft_unmatched_on_last(comm, peer, head->ctx, fin.req);
		else if (!weft_vci_core_broken(vci, ctx))
			weft_dispatch_queue(vci, peer, head, payload, len);
		return;
	}
	cancel.sreq = fin.req;
	fin.status = take_out(vci, &cancel) ? WEFT_WIRE_WITHDRAWN
					    : WEFT_WIRE_TOO_LATE;
	weft_peer_control(peer, &answer, &fin, sizeof(fin));
}

/* Ends the cancel of a send. If the fabric has not completed an eager send,
 * also drops the reference that the cancel acquired, and returns true. */
static bool drop_interest(struct weft_req *req)
{
	req->send.is_cancelling = false;
	if (!req->send.is_eager || !req->send.in_fabric)
		return false;
	req->comm->p2p.n_sends--;
	weft_req_put(req);
	return true;
}

bool weft_cancel_give_up(struct weft_req *req)
{
	return req->send.is_cancelling && drop_interest(req);
}

/* Sends an error that names the failed member in place of the cancelled
 * message, because the receiver may not know of the failure. */
static void replace_by_error(struct weft_req *req)
{
	const struct weft_msg msg = {
		.comm = req->comm,
		.rank = req->src,
		.tag = req->tag,
		.ctx_offset =
			(enum weft_ctx_offset)(req->ctx % WEFT_CTX_OFFSET_END),
	};
	int err = weft_comm_failed(req->comm);

	weft_send_coll_error_locked(&msg, err);
	weft_send_finish(req, err);
}

/* Returns the error with which a collective failed at the receiver that refused
 * the message. 0: no collective failed. */
static int refusal(const struct weft_wire_fin *fin)
{
	return (int)(WEFT_WIRE_REFUSED - fin->status);
}

void weft_cancel_on_ack(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_fin fin;
	struct weft_req *req;

	(void)head;
	if (!weft_wire_get_fin(&fin, payload, len) ||
		(fin.status > WEFT_WIRE_REFUSED &&
			!weft_err_is_fault(refusal(&fin)))) {
		weft_dispatch_drop(vci, "malformed answer to a cancel");
		return;
	}
	req = weft_table_get(&weft_reqs, fin.req);
	if (!req || req->kind != WEFT_REQ_SEND || req->peer != peer ||
		req->is_done)
		return; /* the send has completed in the meantime */
	if (req->rndv.remote || req->rndv.n_segs)
		fin.status = WEFT_WIRE_TOO_LATE; /* the receiver sent CTS */
	if (fin.status >= WEFT_WIRE_REFUSED) {
		if (!req->send.is_eager && weft_list_is_empty(&req->out.link))
			weft_unmatched_on_refused(req, refusal(&fin));
		return;
	}
	if (!req->send.is_cancelling)
		return;
	if (fin.status && !req->status.err)
		cancelled(req);
	if (drop_interest(req))
		return;
	if (fin.status && weft_failure_prevents(req->comm, req->ctx, req->tag))
		replace_by_error(req);
	else if (fin.status || req->send.is_eager)
		weft_send_finish(req, req->status.err);
}

/* For an announced send, sends CANCEL. The receiver's answer completes the send
 * with the error, unless the message was received. */
void weft_cancel_unreceivable(struct weft_req *req, int err)
{
	if (req->kind == WEFT_REQ_RECV && req->recv.is_posted) {
		weft_match_withdraw(&req->comm->match, req);
		weft_p2p_finish(req, err);
	} else if (req->kind == WEFT_REQ_SEND && !req->is_done &&
		   !req->send.is_cancelling && !req->rndv.remote &&
		   !req->send.in_fabric && weft_list_is_empty(&req->out.link) &&
		   req->peer && req->peer->state != WEFT_PEER_FAILED) {
		req->status.err = err;
		cancel_request(req);
	}
}
