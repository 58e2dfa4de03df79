/* SPDX-License-Identifier: BSD-3-Clause */
/* nic_recv: receives and probes of messages that the network card matches
 *
 * A receive is in `posted` while the card has it and in `held` while the card
 * could take no more; whoever takes it out of there completes it. */
#include "p2p/nic_priv.h"

#include "transport/progress.h"

#include <stdlib.h>

/* ---- what comes ---- */

static int too_long(const struct weft_req *req)
{
	return weft_err_set(WEFT_ERR_TRUNCATE,
		"a message from rank %d with tag %d is longer than its receive "
		"of %zu bytes",
		req->status.source, req->status.tag, req->len);
}

/* Its tag is all that is known of a sender, and the card looks at nothing else.
 */
static int no_such_source(struct weft_req *req)
{
	req->vci->n_dropped++;
	return weft_err_set(WEFT_ERR_OTHER,
		"a message came from rank %d of a communicator with %d",
		req->status.source, req->comm->remote_size);
}

/* A message came into a receive. */
static void nic_recv_arrived(
	struct weft_req *req, int err, size_t len, uint64_t tag)
{
	const struct weft_nic_match *nic = req->comm->p2p.nic;

	if (err && err != WEFT_ERR_TRUNCATE) {
		weft_p2p_finish(req, err);
		return;
	}
	req->status.source = weft_nic_src_of(nic, tag);
	if (req->status.source >= req->comm->remote_size) {
		weft_p2p_finish(req, no_such_source(req));
		return;
	}
	req->status.tag = weft_nic_tag_of(nic, tag);
	len = err ? req->len : weft_min(len, req->len);
	req->status.len = (int64_t)len;
	if (req->staging)
		weft_unpack(
			req->type, req->count, req->buf, 0, req->staging, len);
	weft_p2p_finish(req, err ? too_long(req) : 0);
}

/* The card gave a receive back. */
static void came_back(struct weft_req *req)
{
	struct weft_nic_match *nic = req->comm->p2p.nic;
	bool is_asked = req->recv.is_asked;

	req->recv.is_asked = false;
	if (nic->is_draining && !is_asked && !req->status.err)
		return; /* told as left behind, then purged */
	weft_list_remove(&req->link);
	req->status.is_cancelled = is_asked;
	req->status.len = 0;
	weft_p2p_finish(req, is_asked ? 0 : req->status.err);
}

static void on_recv(struct weft_op *op, int err, size_t len)
{
	struct weft_req *req = weft_container_of(op, struct weft_req, op);
	uint64_t tag = req->vci->net->tag;

	req->recv.in_fabric = false;
	if (err == WEFT_ERR_CANCELED) {
		came_back(req);
		return;
	}
	req->recv.is_asked = false;
	weft_list_remove(&req->link);
	nic_recv_arrived(req, err, len, tag);
}

static void on_claimed(struct weft_op *op, int err, size_t len)
{
	struct weft_claim *claim = weft_container_of(op, struct weft_claim, op);
	struct weft_req *req = claim->req;
	uint64_t tag = claim->tag;

	free(claim);
	req->claim = NULL;
	nic_recv_arrived(req, err, len, tag);
}

/* ---- posting ---- */

/* Where the data goes: into place if that is one run. */
static int aim(struct weft_req *req, struct weft_tagged *msg)
{
	size_t max = req->vci->net->plan.max_msg_len;

	msg->len = weft_min(req->len, max);
	if (!req->len)
		return 0;
	if (weft_type_is_run(req->type, req->count)) {
		msg->buf = (char *)req->buf + req->type->true_lb;
		return 0;
	}
	if (!req->staging)
		req->staging = malloc(req->len);
	msg->buf = req->staging;
	return req->staging ? 0 : WEFT_ERR_NOMEM;
}

static int nic_recv_post(struct weft_req *req)
{
	const struct weft_nic_match *nic = req->comm->p2p.nic;
	struct weft_claim *claim = req->claim;
	struct weft_tagged msg = {
		.tag = weft_nic_tag(nic, req->src, req->tag),
		.ignore = weft_nic_ignore(nic, req->src, req->tag),
	};
	int err = aim(req, &msg);

	if (err)
		return err;
	if (claim) {
		msg.tag = claim->tag;
		msg.ignore = 0;
		return weft_tagged_claim(req->vci->net, &msg, &claim->op);
	}
	req->op.done = on_recv;
	err = weft_tagged_recv(req->vci->net, &msg, &req->op);
	req->recv.in_fabric = err == 0;
	return err;
}

/* Takes a receive that the card has back, to end it with err if that is in
 * time. */
static void nic_recv_take_back(struct weft_req *req, int err)
{
	req->status.err = err;
	weft_net_cancel(req->vci->net, &req->op);
}

/* WEFT_AGAIN, or it is the card's or over. */
static int nic_recv_hand_over(struct weft_req *req)
{
	struct weft_nic_match *nic = req->comm->p2p.nic;
	int err = nic_recv_post(req);

	if (err == WEFT_AGAIN)
		return err;
	weft_list_remove(&req->link);
	if (err) {
		free(req->claim);
		req->claim = NULL;
		weft_p2p_finish(req, err);
		return 0;
	}
	if (req->claim)
		return 0; /* the message is there already */
	weft_list_push_back(&nic->posted, &req->link);
	err = weft_failure_source(req->comm, req->src);
	if (err)
		nic_recv_take_back(req, err);
	return 0;
}

void weft_nic_retry(struct weft_progress_hook *hook)
{
	struct weft_nic_match *nic =
		weft_container_of(hook, struct weft_nic_match, hook);

	while (!weft_list_is_empty(&nic->held))
		if (nic_recv_hand_over(weft_container_of(
			    nic->held.next, struct weft_req, link)))
			return;
	weft_list_remove(&nic->hook.link);
	weft_comm_put(nic->comm);
}

static void nic_recv_start(struct weft_nic_match *nic, struct weft_req *req)
{
	weft_list_push_back(&nic->held, &req->link);
	if (nic->held.next != &req->link || !nic_recv_hand_over(req))
		return;
	if (!weft_list_is_empty(&nic->hook.link))
		return; /* what it was for has been cancelled meanwhile */
	weft_comm_get(nic->comm);
	weft_list_push_back(&nic->comm->vci->hooks, &nic->hook.link);
}

/* A receive from one who sends without the card. */
static void start_usual(struct weft_req *req)
{
	int err = weft_match_post(&req->comm->match, req);

	if (err)
		weft_p2p_finish(req, err);
	else if (req->vci->n_failed)
		weft_failure_check(req);
}

/* What asks for the impossible. */
static int nic_recv_check(
	const struct weft_nic_match *nic, const struct weft_req *req)
{
	if (req->src < 0 && !nic->is_all)
		return weft_err_set(WEFT_ERR_RANK,
			"a receive from any source on a communicator with "
			"mpi_assert_no_any_source");
	if (req->tag > nic->tag_ub)
		return weft_err_set(WEFT_ERR_TAG,
			"tag %d is above MPI_TAG_UB of this communicator, %d, "
			"as the network card matches its messages",
			req->tag, nic->tag_ub);
	return 0;
}

void weft_nic_recv(struct weft_req *req, struct weft_message *message)
{
	struct weft_nic_match *nic = req->comm->p2p.nic;
	int err;

	req->status.err = 0;
	if (message != &nic->marker) {
		req->claim = message->claim;
		message->claim->op.done = on_claimed;
		message->claim->req = req;
		weft_message_free(message);
		nic_recv_start(nic, req);
		return;
	}
	req->comm->match.n_unexpected++; /* the marker stays */
	err = req->src >= 0 && !weft_nic_has(nic, req->src)
		      ? 0
		      : nic_recv_check(nic, req);
	if (err)
		weft_p2p_finish(req, err);
	else if (weft_nic_has(nic, req->src))
		nic_recv_start(nic, req);
	else
		start_usual(req);
}

/* ---- ending before something came ---- */

void weft_nic_cancel(struct weft_req *req)
{
	if (req->ctx % WEFT_CTX_OFFSET_END != WEFT_CTX_OFFSET_P2P ||
		req->claim || req->peer)
		return; /* its message is here */
	if (req->recv.in_fabric) {
		req->recv.is_asked = true;
		weft_net_cancel(req->vci->net, &req->op);
		return;
	}
	weft_list_remove(&req->link);
	req->status.is_cancelled = true;
	req->status.len = 0;
	weft_p2p_finish(req, 0);
}

bool weft_nic_lose(struct weft_req *req, struct weft_peer *peer)
{
	if (!req->recv.in_fabric || req->claim)
		return false;
	if (req->src < 0 ? !req->comm->failed
			 : weft_group_proc(req->comm->remote,
				   (uint32_t)req->src) != peer->proc)
		return false;
	nic_recv_take_back(req, peer->err);
	return true;
}

/* ---- probes ---- */

static void on_peek(struct weft_op *op, int err, size_t len)
{
	struct weft_claim *peek = weft_container_of(op, struct weft_claim, op);

	peek->is_done = true;
	peek->err = err;
	peek->len = len;
	peek->tag = peek->vci->net->tag;
}

/* 0 once it is found; WEFT_ERR_NOTFOUND, WEFT_AGAIN, an error. Gives the lock
 * up meanwhile. */
static int peek(struct weft_nic_match *nic, int32_t src, int32_t tag,
	bool is_claim, struct weft_claim *claim)
{
	struct weft_vci *vci = nic->comm->vci;
	struct weft_tagged msg = {
		.tag = weft_nic_tag(nic, src, tag),
		.ignore = weft_nic_ignore(nic, src, tag),
	};
	int err;

	*claim = (struct weft_claim){ .op.done = on_peek, .vci = vci };
	weft_list_init(&claim->hook.link);
	err = weft_tagged_peek(vci->net, &msg, is_claim, &claim->op);
	if (err)
		return err;
	while (!claim->is_done)
		weft_progress_try(vci);
	return claim->err;
}

static void nic_recv_describe(struct weft_message *message,
	const struct weft_nic_match *nic, const struct weft_claim *claim)
{
	message->comm = nic->comm;
	message->ctx = nic->comm->ctx + WEFT_CTX_OFFSET_P2P;
	message->src = weft_nic_src_of(nic, claim->tag);
	message->tag = weft_nic_tag_of(nic, claim->tag);
	message->len = claim->len;
	message->is_rts = true;
	message->is_nic = true;
	message->data = message->inl;
}

/* NULL also without memory: then it stays where it is. */
static struct weft_message *nic_recv_take_out(
	struct weft_nic_match *nic, int32_t src, int32_t tag)
{
	struct weft_message *message = weft_message_new(nic->comm);
	struct weft_claim *claim = malloc(sizeof(*claim));

	if (!message || !claim || peek(nic, src, tag, true, claim)) {
		free(claim);
		if (message)
			weft_message_free(message);
		return NULL;
	}
	nic_recv_describe(message, nic, claim);
	message->claim = claim;
	weft_list_init(&message->bin);
	weft_list_init(&message->arrived);
	return message;
}

/* What the card has for a probe. It is not asked while receives wait to be
 * handed to it, which come first. */
static struct weft_message *nic_recv_look(
	struct weft_nic_match *nic, int32_t src, int32_t tag, bool is_claim)
{
	struct weft_claim claim;

	if (!weft_nic_has(nic, src) || tag > nic->tag_ub ||
		!weft_list_is_empty(&nic->held))
		return NULL;
	if (is_claim)
		return nic_recv_take_out(nic, src, tag);
	if (peek(nic, src, tag, false, &claim))
		return NULL;
	nic_recv_describe(&nic->seen, nic, &claim);
	return &nic->seen;
}

struct weft_message *weft_nic_probe(struct weft_comm *comm, int32_t rank,
	int32_t tag, bool is_blocking, bool is_claim)
{
	uint64_t ctx = comm->ctx + WEFT_CTX_OFFSET_P2P;

	for (;;) {
		struct weft_message *message;

		/* what comes to the card wakes nobody */
		weft_progress_try(comm->vci);
		message = weft_match_find(&comm->match, ctx, rank, tag);
		if (message == &comm->p2p.nic->marker)
			message = nic_recv_look(
				comm->p2p.nic, rank, tag, is_claim);
		if (message || !is_blocking || weft_failure_source(comm, rank))
			return message;
	}
}

/* ---- leaving ---- */

static void on_tossed(struct weft_op *op, int err, size_t len)
{
	(void)err;
	(void)len;
	free(weft_container_of(op, struct weft_claim, op));
}

static void toss(struct weft_progress_hook *hook)
{
	struct weft_claim *claim =
		weft_container_of(hook, struct weft_claim, hook);
	const struct weft_tagged msg = { .tag = claim->tag };
	int err;

	claim->op.done = on_tossed;
	err = weft_tagged_claim(claim->vci->net, &msg, &claim->op);
	if (err == WEFT_AGAIN)
		return;
	weft_list_remove(&hook->link);
	if (err)
		free(claim);
}

void weft_nic_discard(struct weft_message *message)
{
	struct weft_claim *claim = message->claim;

	claim->hook.run = toss;
	weft_list_push_back(&claim->vci->hooks, &claim->hook.link);
	toss(&claim->hook);
}

static void sweep(struct weft_nic_match *nic);

static void sweep_end(struct weft_nic_match *nic, bool is_empty)
{
	nic->is_sweeping = false;
	nic->is_empty = is_empty && nic->is_last;
	weft_comm_put(nic->comm);
}

/* One is gone. */
static void on_gone(struct weft_op *op, int err, size_t len)
{
	struct weft_nic_match *nic =
		weft_container_of(op, struct weft_nic_match, swept);
	uint64_t tag = nic->comm->vci->net->tag;

	(void)len;
	if (!err || err == WEFT_ERR_TRUNCATE)
		weft_unmatched_note(nic->comm, WEFT_UNMATCHED_MESSAGE,
			weft_nic_src_of(nic, tag), weft_nic_tag_of(nic, tag),
			nic->swept_len);
	sweep(nic);
}

/* One is there: a receive of no bytes takes it. */
static void on_there(struct weft_op *op, int err, size_t len)
{
	struct weft_nic_match *nic =
		weft_container_of(op, struct weft_nic_match, swept);
	struct weft_net *net = nic->comm->vci->net;
	const struct weft_tagged msg = { .tag = net->tag };

	if (err) {
		sweep_end(nic, err == WEFT_ERR_NOTFOUND);
		return;
	}
	nic->swept_len = len;
	nic->swept.done = on_gone;
	if (weft_tagged_recv(net, &msg, &nic->swept))
		sweep_end(nic, false);
}

static void sweep(struct weft_nic_match *nic)
{
	const struct weft_tagged msg = {
		.tag = weft_nic_tag(nic, WEFT_ANY_SOURCE, WEFT_ANY_TAG),
		.ignore = weft_nic_ignore(nic, WEFT_ANY_SOURCE, WEFT_ANY_TAG),
	};

	nic->is_last = nic->is_draining;
	nic->swept.done = on_there;
	if (weft_tagged_peek(nic->comm->vci->net, &msg, false, &nic->swept))
		sweep_end(nic, false);
}

void weft_nic_leave(struct weft_comm *comm)
{
	struct weft_nic_match *nic = comm->p2p.nic;

	if (!nic->is_on || nic->is_sweeping)
		return;
	nic->is_sweeping = true;
	weft_comm_get(comm);
	sweep(nic);
}

bool weft_p2p_is_drained_locked(struct weft_comm *comm)
{
	struct weft_nic_match *nic = comm->p2p.nic;

	if (!nic || !nic->is_on || nic->is_empty)
		return true;
	if (!nic->is_draining) {
		nic->is_draining = true;
		weft_list_for_each(link, next, &nic->posted) weft_net_cancel(
			comm->vci->net,
			&weft_container_of(link, struct weft_req, link)->op);
	}
	weft_list_for_each(link, next,
		&nic->posted) if (weft_container_of(link, struct weft_req, link)
					  ->recv.in_fabric) return false;
	weft_nic_leave(comm);
	return false;
}

static void purge_recv(struct weft_req *req)
{
	int err = weft_err_set(
		WEFT_ERR_COMM, "the communicator of this receive was closed");

	if (req->recv.in_fabric) {
		nic_recv_take_back(req, err);
		return;
	}
	weft_list_remove(&req->link);
	free(req->claim); /* never there: a probed message is no wish */
	req->claim = NULL;
	weft_p2p_finish(req, err);
}

static void purge_dests(struct weft_nic_match *nic)
{
	struct weft_map_entry *entry;
	size_t pos = 0;

	while ((entry = weft_map_next(&nic->dests, &pos)) != NULL) {
		struct weft_nic_dest *dest = entry->value;
		struct weft_link *link;

		while ((link = weft_list_pop_front(&dest->waiting)) != NULL)
			weft_send_finish(weft_container_of(link,
						 struct weft_req, out.link),
				WEFT_ERR_COMM);
		free(dest);
	}
	weft_map_fini(&nic->dests);
}

void weft_nic_purge(struct weft_comm *comm)
{
	struct weft_nic_match *nic = comm->p2p.nic;
	struct weft_vci *vci = comm->vci;

	if (nic->is_on) {
		comm->match.nic = NULL;
		comm->match.n_unexpected--;
		/* else what is there might match the next one's */
		if (nic->is_empty)
			vci->p2p->nic->used[nic->slot / 64] &=
				~(1ull << nic->slot % 64);
	}
	nic->is_on = nic->is_all = nic->is_draining = false;
	weft_list_for_each(link, next, &nic->posted)
		purge_recv(weft_container_of(link, struct weft_req, link));
	weft_list_for_each(link, next, &nic->held)
		purge_recv(weft_container_of(link, struct weft_req, link));
	purge_dests(nic);
	if (!weft_list_is_empty(&nic->hook.link)) {
		weft_list_remove(&nic->hook.link);
		weft_comm_put(comm);
	}
}
