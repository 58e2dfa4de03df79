/* SPDX-License-Identifier: BSD-3-Clause */
/* sendrecv: a send and a receive as one request
 *
 * sendrecv.n_left counts the two halves, and weft_isendrecv() while it starts
 * them. Each of the three decrements n_left when it is done. The status has the
 * first error. On a communicator that is spread over several VCIs, each half is
 * on the VCI of its tag. The request is on the VCI of the whole communicator
 * (weft_comm_whole()). The lock of this VCI may be acquired while the lock of
 * another VCI of the communicator is held. */
#include "p2p/p2p_priv.h"

#include <stdlib.h>

/* Counts a half, or weft_isendrecv() itself, as done. The last of the three
 * completes the request. Lock of the request's VCI held. */
static void part_done(struct weft_req *both)
{
	if (--both->sendrecv.n_left > 0)
		return;
	weft_req_complete(both, both->status.err);
	weft_req_put(both);
}

/* Called when a half has completed, with the lock of its VCI held. */
static void on_half(void *arg, struct weft_req *half)
{
	struct weft_req *both = arg;
	struct weft_vci *vci = both->vci;
	bool has_two_vcis = half->vci != vci;
	int err;

	if (weft_unlikely(has_two_vcis))
		weft_vci_lock(vci);
	err = both->status.err;
	if (half->kind == WEFT_REQ_RECV)
		both->status = half->status;
	both->status.err = err ? err : half->status.err;
	part_done(both);
	if (weft_unlikely(has_two_vcis))
		weft_vci_unlock(vci);
	weft_req_put(half);
}

static void sendrecv_follow(struct weft_req *both, struct weft_req *half)
{
	if (half->is_done) {
		on_half(both, half);
		return;
	}
	half->on_done = on_half;
	half->on_done_arg = both;
}

/* Packs the data to send into memory that the request owns, and makes `send`
 * refer to this copy. */
static int sendrecv_copy_out(struct weft_req *both, struct weft_msg *send)
{
	size_t len = (size_t)(send->count * send->type->size);

	both->staging = malloc(len ? len : 1);
	if (!both->staging)
		return WEFT_ERR_NOMEM;
	weft_pack(send->type, send->count, send->buf, 0, both->staging, len);
	send->buf = both->staging;
	send->count = (int64_t)len;
	send->type = weft_type_builtin(WEFT_TYPE_BYTE);
	return 0;
}

/* Starts one half. If a half cannot start, the status of the request gets its
 * error, and the other half continues. */
static void start_half(struct weft_req *both, const struct weft_msg *msg,
	enum weft_req_kind kind)
{
	struct weft_vci *vci = msg->comm->vci;
	struct weft_req *half;

	weft_vci_lock(vci);
	half = weft_p2p_new(msg, kind);
	if (half && kind == WEFT_REQ_SEND)
		weft_send_start(half);
	else if (half)
		weft_recv_start(half);
	if (half && weft_unlikely(vci->n_failed))
		weft_failure_end_pending(half);
	if (half)
		sendrecv_follow(both, half);
	weft_vci_unlock(vci);
	if (half)
		return;
	weft_vci_lock(both->vci);
	if (!both->status.err)
		both->status.err = WEFT_ERR_NOMEM;
	part_done(both);
	weft_vci_unlock(both->vci);
}

int weft_isendrecv(const struct weft_msg *send, const struct weft_msg *recv,
	bool is_replace, struct weft_req **req_out)
{
	struct weft_comm *comm = weft_comm_whole(send->comm);
	struct weft_vci *vci = comm->vci;
	struct weft_msg out = *send;
	struct weft_req *both;
	int err = 0;

	weft_vci_lock(vci);
	both = weft_req_new(vci, WEFT_REQ_OTHER);
	if (!both)
		err = WEFT_ERR_NOMEM;
	else if (is_replace)
		err = sendrecv_copy_out(both, &out);
	if (err) {
		if (both)
			weft_req_put(both);
		weft_vci_unlock(vci);
		return err;
	}
	both->comm = weft_comm_get(comm);
	both->sendrecv.n_left = 3; /* two halves and this function */
	weft_req_get(both);
	weft_vci_unlock(vci);
	start_half(both, recv, WEFT_REQ_RECV);
	start_half(both, &out, WEFT_REQ_SEND);
	weft_vci_lock(vci);
	part_done(both);
	weft_vci_unlock(vci);
	*req_out = both;
	return 0;
}
