/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p: the point-to-point state of a VCI, and the handlers of its messages */
#include "p2p/p2p_priv.h"
#include "watchdog/query.h"
#include "watchdog/request.h"

static void p2p_on_credit(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	/* weft_dispatch() has added the credit of the head */
	(void)vci;
	(void)peer;
	(void)head;
	(void)payload;
	(void)len;
}

/* Answers a query of the watchdog: WEFT_WIRE_MET if the message from process
 * `asker` is not among the unexpected messages. Then a receive has matched it.
 */
static enum weft_wire_met has_received(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t asker,
	uint32_t *owner_out)
{
	uint64_t ctx_offset = query->what % WEFT_CTX_OFFSET_END;
	const struct weft_comm *comm =
		weft_vci_core_comm(vci, query->what - ctx_offset);

	if (comm && !weft_p2p_has_arrived_locked(comm,
			    (enum weft_ctx_offset)ctx_offset,
			    weft_group_rank_of(comm->remote, asker),
			    (int32_t)query->round))
		return WEFT_WIRE_MET;
	return weft_departed_on_query(vci, query, asker, owner_out);
}

int weft_p2p_open(struct weft_vci *vci)
{
	static weft_wire_fn *const handlers[WEFT_WIRE_OP_END] = {
		[WEFT_WIRE_EAGER] = weft_recv_on_eager,
		[WEFT_WIRE_BATCH] = weft_batch_on_batch,
		[WEFT_WIRE_RTS] = weft_recv_on_rts,
		[WEFT_WIRE_CTS] = weft_rndv_on_cts,
		[WEFT_WIRE_FRAG] = weft_rndv_on_frag,
		[WEFT_WIRE_FIN] = weft_rndv_on_fin,
		[WEFT_WIRE_HELP] = weft_rndv_on_help,
		[WEFT_WIRE_HELPED] = weft_rndv_on_helped,
		[WEFT_WIRE_CREDIT] = p2p_on_credit,
		[WEFT_WIRE_CANCEL] = weft_cancel_on_cancel,
		[WEFT_WIRE_CANCEL_ACK] = weft_cancel_on_ack,
		[WEFT_WIRE_PING] = weft_flush_on_ping,
		[WEFT_WIRE_PONG] = weft_flush_on_pong,
		[WEFT_WIRE_COLL_ERROR] = weft_recv_on_coll_error,
		[WEFT_WIRE_DEPARTED] = weft_departed_on_departed,
		[WEFT_WIRE_REVOKE] = weft_revoke_on_revoke,
		[WEFT_WIRE_WATCH] = weft_departed_on_watch,
	};

	vci->p2p = calloc(1, sizeof(*vci->p2p));
	if (!vci->p2p)
		return WEFT_ERR_NOMEM;
	weft_list_init(&vci->p2p->rndv_segs);
	weft_list_init(&vci->p2p->rndv_waiting);
	weft_list_init(&vci->p2p->give_up.link);
	weft_list_init(&vci->p2p->copies);
	vci->peer_size = sizeof(struct weft_p2p_peer);
	for (int op = 0; op < WEFT_WIRE_OP_END; op++)
		if (handlers[op])
			weft_dispatch_set(
				vci, (enum weft_wire_op)op, handlers[op]);
	vci->on_failed = weft_failure_peer;
	vci->needs_peer = weft_failure_needs_peer;
	weft_query_set(WEFT_WIRE_NEED_RECEIVE, has_received);
	weft_query_set(WEFT_WIRE_NEED_MESSAGE, weft_departed_on_query);
	weft_query_set(WEFT_WIRE_NEED_WINDOW, weft_departed_on_query);
	weft_request_on_stuck(weft_cancel_unreceivable);
	vci->on_wait = weft_failure_on_wait;
	return 0;
}

void weft_p2p_close(struct weft_vci *vci)
{
	if (!vci->p2p)
		return;
	weft_list_remove(&vci->p2p->give_up.link);
	weft_batch_close(vci);
	weft_message_close(vci);
	free(vci->p2p);
	vci->p2p = NULL;
}
