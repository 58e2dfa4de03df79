/* SPDX-License-Identifier: BSD-3-Clause */
/* rndv: rendezvous of messages that are large or synchronous, or lack credit
 *
 *   sender                          receiver
 *   RTS (length, address)  ------>  matched by a receive:
 *                                   a) same node: reads the sender's memory
 *                                      (rndv_copy.c)
 *                          <------     HELP, if the data is long
 *   writes some pieces
 *   HELPED, if it wrote    ------>
 *                          <------     FIN
 *                                      or maps its device memory
 *                                      (rndv_dev.c)
 *                          <------     FIN
 *                                   b) same node, and the kernel forbids
 *                                      reads, the data has gaps at the
 *                                      sender (address 0), or device
 *                                      memory cannot be mapped
 *                          <------     CTS
 *   FRAG, FRAG, ...        ------>     completes with the last byte;
 *                                      device memory is copied by
 *                                      segment (rndv_dev.c)
 *                                   c) fabric: posts tagged receives
 *                          <------     CTS (tag)
 *   tagged sends           ------>     completes with the last segment
 *                          <------     FIN, if several rails were used
 *
 * A FIN of either side may also report that the message is lost.
 *
 * The sender's buffer is in use until FIN, the last FRAG or the last tagged
 * send. In case c, a packed copy of it is used if the data has gaps. A
 * rendezvous of no bytes, such as an empty synchronous send, ends with FIN
 * immediately. The messages contain request handles. A process checks the
 * generation and the peer of each handle that it receives. */
#include "p2p/p2p_priv.h"

#include "base/event.h"
#include "base/log.h"
#include "net/net.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

/* a fragment of this length stays in a cache until the receiver reads it */
enum { FRAG_MAX = 16384 };

int weft_rndv_announce(struct weft_req *req)
{
	struct weft_wire_head head = {
		.op = WEFT_WIRE_RTS,
		.flags = req->send.is_uncancellable ? WEFT_WIRE_IS_UNCANCELLABLE
						    : 0,
		.src = (uint32_t)req->comm->rank,
		.ctx = req->ctx,
		.tag = req->tag,
	};
	/* data with gaps to a process of this node is sent in fragments: the
	 * sender packs one while the receiver unpacks the previous one */
	bool is_read =
		!req->peer->is_shm || weft_type_is_run(req->type, req->count);
	struct {
		struct weft_wire_rts rts;
		struct weft_wire_device device;
	} out;
	size_t len = sizeof(out.rts);
	void *run = NULL;
	int err = 0;

	if (weft_unlikely(req->send.mode == WEFT_SEND_DEVICE)) {
		if (weft_rndv_dev_export(req, &out.device)) {
			head.flags |= WEFT_WIRE_IS_DEVICE;
			len = sizeof(out);
			is_read = false;
		} else if (req->peer->is_self) {
			err = weft_rndv_dev_stage(req, 0, req->len);
		} else {
			is_read = false;
			if (!req->peer->is_shm &&
				weft_rndv_dev_is_direct(req->vci))
				run = weft_rndv_dev_at(req, 0);
		}
	}
	if (!err && is_read) {
		run = weft_send_run(req);
		err = run ? 0 : WEFT_ERR_NOMEM;
	}
	if (err)
		return err;
	out.rts = (struct weft_wire_rts){
		.sreq = weft_obj_handle(req),
		.len = req->len,
		.addr = (uintptr_t)run,
	};
	err = weft_departed_receiver(req->comm, req->src);
	if (err)
		return err;
	req->rndv.remote = 0;
	req->rndv.since_ms = weft_rndv_now_ms();
	/* a send to this process itself may complete within the post */
	weft_req_get(req);
	err = weft_peer_post(req->peer, &head, &out, len);
	if (!err) {
		req->vci->counters.rndv_sent++;
		req->vci->counters.rndv_sent_bytes += req->len;
		weft_event_raise(WEFT_EVENT_rndv_started, req->vci->number,
			true, (int64_t)req->ctx, req->src, req->tag,
			(int64_t)req->len);
	}
	if (!err && !req->peer->is_shm)
		weft_p2p_peer_of(req->peer)->n_net_sent++;
	if (!err && req->peer->is_shm && !req->is_done) {
		req->send.is_announced = true;
		weft_p2p_peer_of(req->peer)->n_offered++;
	}
	if (!err && weft_unlikely(req->comm->failed) && !req->is_done)
		weft_failure_cancel(req);
	weft_req_put(req);
	return err ? err : 1;
}

/* ---- the receiver's part ---- */

/* Completes a receive, and then sends FIN. The order matters, because sending
 * FIN may fail the peer. */
static void rndv_finish(
	struct weft_req *req, uint64_t sreq, int err, enum weft_wire_end how)
{
	struct weft_peer *peer = req->peer;

	weft_p2p_finish(req, err);
	weft_control_fin(peer, sreq, how);
}

/* Completes a receive: its data has arrived, or err is not 0. */
static void pulled(struct weft_req *req, uint64_t sreq, int err)
{
	struct weft_peer *peer = req->peer;

	if (!err)
		rndv_finish(req, sreq, req->status.err, WEFT_WIRE_DELIVERED);
	else
		rndv_finish(req, sreq, err, WEFT_WIRE_DATA_FAILED);
	if (err == WEFT_ERR_PEER && peer->state != WEFT_PEER_FAILED)
		weft_peer_fail(peer, err); /* the read found the process dead */
}

/* Sends CTS. The data then arrives in fragments through the ring. */
static int pull_frags(struct weft_req *req, uint64_t sreq, size_t len)
{
	req->rndv.remote = sreq;
	req->rndv.n_rails = 0;
	req->rndv.is_short = false;
	req->rndv.n_moved = 0;
	req->rndv.total = len;
	return weft_control_cts(req, sreq, len);
}

/* Called after a copy from the sender's memory. If the kernel denied access,
 * the receiver requests the data in fragments. The kernel may deny access even
 * if earlier reads succeeded: the sender may have changed its user or
 * capabilities, or its first thread may have ended. */
static void pulled_by_reading(struct weft_req *req, uint64_t sreq, int err)
{
	struct weft_peer *peer = req->peer;

	if (weft_unlikely(err == WEFT_ERR_ACCESS &&
			  peer->state != WEFT_PEER_FAILED)) {
		weft_log_info("SHM-UNREADABLE",
			"%s; from now on its messages arrive in fragments",
			weft_err_detail_peek(err));
		peer->can_read = false;
		err = pull_frags(req, sreq, (size_t)req->status.len);
		if (!err)
			return;
	}
	pulled(req, sreq, err);
}

/* Called after a copy from the sender's device memory. */
static void pulled_from_device(struct weft_req *req, uint64_t sreq, int err)
{
	if (err == WEFT_ERR_ACCESS) {
		err = pull_frags(req, sreq, (size_t)req->status.len);
		if (!err)
			return;
	} else if (!err) {
		err = weft_rndv_copied_err(req->peer);
	}
	pulled(req, sreq, err);
}

static int pull_remote(struct weft_req *req,
	const struct weft_rndv_announced *announced, size_t len)
{
	req->rndv.remote = announced->sreq;
	if (!weft_type_is_run(req->type, req->count)) {
		req->staging = malloc(len);
		if (!req->staging)
			return WEFT_ERR_NOMEM;
	}
	weft_rndv_seg_divide(req, len, !announced->addr);
	weft_rndv_seg_start(req, len);
	return 0;
}

/* A pull that is queued until the sender's address is known. */
struct out_pull {
	struct weft_out out;
	struct weft_req *req;
	struct weft_rndv_announced announced;
	struct weft_wire_device device;
};

static int push_pull(struct weft_peer *peer, struct weft_out *out)
{
	struct out_pull pull = *weft_container_of(out, struct out_pull, out);

	if (pull.announced.device)
		pull.announced.device = &pull.device;

	free(weft_container_of(out, struct out_pull, out));
	if (peer->state == WEFT_PEER_FAILED)
		weft_p2p_finish(pull.req, peer->err);
	else
		weft_rndv_pull(pull.req, peer, &pull.announced);
	return 0;
}

static int pull_later(
	struct weft_req *req, const struct weft_rndv_announced *announced)
{
	struct out_pull *pull = malloc(sizeof(*pull));

	if (!pull)
		return WEFT_ERR_NOMEM;
	*pull = (struct out_pull){
		.out.push = push_pull,
		.req = req,
		.announced = *announced,
	};
	if (announced->device)
		pull->device = *announced->device;
	weft_peer_queue(req->peer, &pull->out);
	return 0;
}

void weft_rndv_pull(struct weft_req *req, struct weft_peer *peer,
	const struct weft_rndv_announced *announced)
{
	const uint64_t sreq = announced->sreq;
	size_t len = weft_min(announced->len, req->len);
	int err = 0;

	req->peer = peer;
	if (len == 0) {
		pulled(req, sreq, 0);
		return;
	}
	if (peer->state != WEFT_PEER_READY) {
		err = pull_later(req, announced);
	} else if (peer->is_self ||
		   (peer->is_shm && peer->can_read && announced->addr)) {
		err = weft_rndv_copy(req,
			peer->is_self ? WEFT_RNDV_FROM_HERE
				      : WEFT_RNDV_FROM_PEER,
			announced->addr, len, sreq, pulled_by_reading);
	} else if (peer->is_shm && announced->device) {
		err = weft_rndv_dev_pull(
			req, announced, len, pulled_from_device);
	} else if (peer->is_shm) {
		err = pull_frags(req, sreq, len);
	} else {
		err = pull_remote(req, announced, len);
	}
	if (err)
		pulled(req, sreq, err);
}

struct weft_req *weft_rndv_find(
	struct weft_peer *peer, uint64_t handle, enum weft_req_kind kind)
{
	struct weft_req *req = weft_table_get(&weft_reqs, handle);

	if (!req || req->kind != kind || req->peer != peer || req->is_done ||
		!weft_list_is_empty(&req->out.link))
		return NULL;
	if (kind == WEFT_REQ_SEND &&
		(req->send.is_eager || req->send.in_fabric))
		return NULL;
	return req;
}

/* Case b: writes fragments until the ring is full. If the data is in device
 * memory, one segment at a time is in host memory. */
static int push_frags(struct weft_peer *peer, struct weft_out *out)
{
	struct weft_req *req = weft_container_of(out, struct weft_req, out);
	const bool is_device = req->send.mode == WEFT_SEND_DEVICE;
	const uint64_t remote = req->rndv.remote;
	size_t total = (size_t)req->rndv.total;
	size_t max = weft_min(peer->tx.buf_len / 4, (uint64_t)FRAG_MAX);
	int err = peer->state == WEFT_PEER_FAILED ? peer->err : 0;

	while (!err && req->rndv.n_moved < total) {
		struct weft_wire_head *head;
		struct weft_wire_frag frag = { remote, req->rndv.n_moved };
		size_t len = weft_min(max, total - frag.offset);
		size_t at = frag.offset; /* in weft_send_run() */
		char *place;

		if (weft_unlikely(is_device)) {
			at %= WEFT_RNDV_SHORT;
			len = weft_min(len, WEFT_RNDV_SHORT - at);
			err = weft_rndv_dev_stage(req, frag.offset,
				weft_min((size_t)WEFT_RNDV_SHORT,
					total - frag.offset));
			if (err)
				break;
		}
		place = weft_ring_reserve(&peer->tx, sizeof(frag) + len);
		if (!place)
			return WEFT_AGAIN;
		memcpy(place, &frag, sizeof(frag));
		if (weft_type_is_run(req->type, req->count))
			weft_write(peer->tx.stores_past, place + sizeof(frag),
				(char *)weft_send_run(req) + at, len);
		else
			weft_pack(req->type, req->count, req->buf, frag.offset,
				place + sizeof(frag), len);
		head = weft_ring_head(&peer->tx);
		*head = (struct weft_wire_head){ .op = WEFT_WIRE_FRAG };
		weft_peer_stamp(peer, head);
		weft_ring_commit(&peer->tx, sizeof(frag) + len);
		peer->vci->counters.shm_sent++;
		peer->vci->counters.shm_sent_bytes += sizeof(frag) + len;
		req->rndv.n_moved += len;
		if (is_device && req->rndv.n_moved % WEFT_RNDV_SHORT == 0)
			weft_rndv_dev_unstage(req);
	}
	weft_send_finish(req, err);
	if (weft_unlikely(err) && peer->state != WEFT_PEER_FAILED)
		weft_control_fin(peer, remote, WEFT_WIRE_DATA_FAILED);
	return 0;
}

void weft_rndv_on_cts(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_cts cts;
	struct weft_req *req;

	if (!weft_wire_get_cts(&cts, payload, len)) {
		weft_dispatch_drop(vci, "malformed CTS");
		return;
	}
	req = weft_rndv_find(peer, cts.sreq, WEFT_REQ_SEND);
	if (!req || req->rndv.remote || !cts.rreq || cts.len > req->len ||
		cts.n_rails > peer->n_rails) {
		weft_dispatch_drop(vci, "CTS for an unknown send");
		return;
	}
	req->rndv.remote = cts.rreq;
	req->rndv.n_rails = (uint8_t)cts.n_rails;
	req->rndv.is_short = head->flags & WEFT_WIRE_SHORT_SEGS;
	if (!peer->is_shm) {
		weft_rndv_seg_start(req, cts.len);
		return;
	}
	if (head->flags & WEFT_WIRE_CANNOT_MAP)
		weft_p2p_peer_of(peer)->is_unmappable = true;
	req->rndv.n_moved = 0;
	req->rndv.total = cts.len;
	req->out.push = push_frags;
	weft_peer_queue(peer, &req->out);
}

/* Called when the bytes from `had` to n_moved have arrived. If they complete a
 * segment, and the buffer is the shadow of device memory, copies the segment to
 * the device. */
static void write_segments(struct weft_req *req, size_t had)
{
	size_t has = req->rndv.n_moved, from = had - had % WEFT_RNDV_SHORT;
	size_t end = has < req->rndv.total ? has - has % WEFT_RNDV_SHORT : has;
	int err;

	if (end <= from || !weft_rndv_dev_at(req, 0))
		return;
	err = weft_rndv_dev_write(
		(char *)req->buf + req->type->true_lb + from, end - from);
	if (err && !req->status.err)
		req->status.err = err;
	if (has == req->rndv.total)
		weft_rndv_dev_written(req);
}

void weft_rndv_on_frag(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_frag frag;
	struct weft_req *req;

	(void)head;
	if (!weft_wire_get_frag(&frag, payload, len)) {
		weft_dispatch_drop(vci, "malformed fragment");
		return;
	}
	len -= sizeof(frag);
	if (!peer->is_shm) {
		weft_rndv_seg_on_frag(
			peer, &frag, (const char *)payload + sizeof(frag), len);
		return;
	}
	req = weft_rndv_find(peer, frag.rreq, WEFT_REQ_RECV);
	if (!req || req->recv.is_posted || !req->rndv.remote ||
		req->rndv.n_segs || frag.offset != req->rndv.n_moved ||
		len > req->rndv.total - req->rndv.n_moved) {
		weft_dispatch_drop(vci, "fragment of an unknown message");
		return;
	}
	weft_unpack(req->type, req->count, req->buf, frag.offset,
		(const char *)payload + sizeof(frag), len);
	req->rndv.n_moved += len;
	write_segments(req, frag.offset);
	if (req->rndv.n_moved == req->rndv.total)
		weft_p2p_finish(req, req->status.err);
}

/* Returns the error of a request whose peer could not send or receive the
 * message. */
static int lost(const struct weft_peer *peer, const char *what)
{
	return weft_err_set(WEFT_ERR_OTHER,
		"process %u could not %s this message (the error at that "
		"process names the cause)",
		(uint32_t)peer->proc, what);
}

static bool send_ends(struct weft_req *req, uint64_t how)
{
	int err = 0;

	if (how == WEFT_WIRE_DATA_FAILED)
		err = lost(req->peer, "receive");
	if (how == WEFT_WIRE_REVOKED) {
		err = weft_comm_revoked(req->comm);
	} else if (how > WEFT_WIRE_PROC_FAILED) {
		weft_failure_record(req->comm, how - WEFT_WIRE_PROC_FAILED);
		err = weft_comm_failed(req->comm);
	}
	if (req->rndv.remote)
		return weft_rndv_seg_answer(req, err);
	if (req->rndv.is_copying)
		weft_rndv_drop_help(req);
	weft_send_finish(req, err);
	return true;
}

void weft_rndv_on_fin(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_fin fin;
	struct weft_req *req;

	(void)head;
	if (!weft_wire_get_fin(&fin, payload, len) ||
		(fin.status > WEFT_WIRE_PROC_FAILED &&
			fin.status != WEFT_WIRE_REVOKED &&
			!weft_failure_is_known(
				vci, fin.status - WEFT_WIRE_PROC_FAILED))) {
		weft_dispatch_drop(vci, "malformed FIN");
		return;
	}
	req = weft_rndv_find(peer, fin.req, WEFT_REQ_SEND);
	if (req && send_ends(req, fin.status))
		return;
	if (fin.status != WEFT_WIRE_DATA_FAILED) {
		/* a failure or a departure may have completed the send */
		if (!vci->n_failed)
			weft_dispatch_drop(vci, "FIN for an unknown message");
		return;
	}
	/* both sides may have failed, and each may have sent a FIN */
	req = weft_rndv_find(peer, fin.req, WEFT_REQ_RECV);
	if (!req || req->recv.is_posted)
		return;
	if (req->rndv.n_segs > 0)
		weft_rndv_seg_withdraw(req, lost(peer, "send"));
	else if (peer->is_shm && req->rndv.remote && !req->rndv.is_copying)
		weft_p2p_finish(req, lost(peer, "send"));
}
