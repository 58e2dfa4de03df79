/* SPDX-License-Identifier: BSD-3-Clause */
/* probe: find a message without receiving it, or remove it from matching */
#include "p2p/p2p_priv.h"

#include "transport/progress.h"
#include "watchdog/request.h"

static void probe_describe(
	const struct weft_message *message, struct weft_status *status_out)
{
	*status_out = (struct weft_status){
		.source = message->src,
		.tag = message->tag,
		.len = (int64_t)message->len,
	};
}

/* Returns the earliest message that matches. If is_blocking, waits for such a
 * message. NULL: there is none, or the wait ended. *err_out is set if the
 * watchdog ended the wait. */
static struct weft_message *probe_find(const char *call, struct weft_comm *comm,
	int32_t rank, int32_t tag, bool is_blocking, int *err_out)
{
	struct weft_request_loop loop = {
		.call = call,
		.comm = comm,
		.rank = rank,
		.tag = tag,
	};
	uint64_t ctx = comm->ctx + WEFT_CTX_OFFSET_P2P;
	struct weft_message *message =
		weft_match_find(&comm->match, ctx, rank, tag);

	if (!message)
		weft_progress_try(comm->vci);
	if (!message)
		weft_departed_watch(comm, rank);
	while (!message) {
		message = weft_match_find(&comm->match, ctx, rank, tag);
		if (message || !is_blocking || weft_failure_source(comm, rank))
			break;
		weft_progress_wait(comm->vci);
		weft_departed_watch(comm, rank);
		if (weft_request_round(comm->vci, &loop)) {
			*err_out = weft_request_raise(&loop);
			break;
		}
	}
	weft_request_end(&loop);
	if (!message && !is_blocking)
		weft_request_poll(comm->vci, &loop);
	return message;
}

int weft_probe(struct weft_comm *comm, int32_t rank, int32_t tag,
	bool is_blocking, bool *found_out, struct weft_status *status_out)
{
	struct weft_message *message;
	int err = 0;

	if (rank == WEFT_PROC_NULL) {
		*status_out = (struct weft_status){ .source = WEFT_PROC_NULL,
			.tag = WEFT_ANY_TAG };
		*found_out = true;
		return 0;
	}
	weft_vci_lock(comm->vci);
	message = probe_find(is_blocking ? "MPI_Probe" : "MPI_Iprobe", comm,
		rank, tag, is_blocking, &err);
	if (message)
		probe_describe(message, status_out);
	else if (!err)
		err = weft_failure_source(comm, rank);
	*found_out = message != NULL;
	weft_vci_unlock(comm->vci);
	return err;
}

int weft_mprobe(struct weft_comm *comm, int32_t rank, int32_t tag,
	bool is_blocking, struct weft_message **message_out,
	struct weft_status *status_out)
{
	struct weft_message *message;
	int err = 0;

	weft_vci_lock(comm->vci);
	message = probe_find(is_blocking ? "MPI_Mprobe" : "MPI_Improbe", comm,
		rank, tag, is_blocking, &err);
	if (message) {
		probe_describe(message, status_out);
		weft_match_take(&comm->match, message);
		weft_comm_get(comm);
		comm->p2p.n_probed++;
	} else if (!err) {
		err = weft_failure_source(comm, rank);
	}
	*message_out = message;
	weft_vci_unlock(comm->vci);
	return err;
}

struct weft_comm *weft_message_comm(struct weft_message *message)
{
	return message->comm;
}

int weft_imrecv_take(struct weft_message *message, void *buf, int64_t count,
	struct weft_type *type, struct weft_req **req_out)
{
	struct weft_comm *comm = message->comm;
	struct weft_msg msg = {
		.comm = comm,
		.buf = buf,
		.count = count,
		.type = type,
		.rank = message->src,
		.tag = message->tag,
	};
	struct weft_vci *vci = comm->vci;
	struct weft_req *req;

	weft_vci_lock(vci);
	req = weft_p2p_new(&msg, WEFT_REQ_RECV);
	if (req) {
		weft_req_get(req);
		weft_recv_deliver_take(req, message);
		comm->p2p.n_probed--;
		weft_comm_put(comm);
		*req_out = req;
	}
	weft_vci_unlock(vci);
	return req ? 0 : WEFT_ERR_NOMEM;
}

bool weft_p2p_has_arrived_locked(const struct weft_comm *comm,
	enum weft_ctx_offset ctx_offset, int32_t rank, int32_t tag)
{
	/* the search changes only the counter n_compared */
	struct weft_match *match = (struct weft_match *)&comm->match;

	return weft_match_find(match, comm->ctx + ctx_offset, rank, tag) !=
	       NULL;
}
