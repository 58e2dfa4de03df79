/* SPDX-License-Identifier: BSD-3-Clause */
/* nic_none: what is left of matching on the network card in a build without
 *
 * See nic_match.h. */
#include "p2p/nic_match.h"

#include "base/log.h"

void weft_nic_settle_locked(
	struct weft_comm *comm, bool wants_nic, bool is_named_only)
{
	(void)is_named_only;
	comm->p2p.is_settled = true;
	comm->wants_nic = wants_nic;
	if (wants_nic)
		weft_log_debug("P2P-MATCH",
			"communicator \"%s\" of %d: receives are matched in "
			"software: this library was configured with "
			"--disable-nic-matching",
			comm->name[0] ? comm->name : comm->tag, comm->size);
	weft_dispatch_replay(comm->vci, comm->ctx); /* who asked too early */
}

bool weft_nic_is_on(const struct weft_comm *comm)
{
	(void)comm;
	return false;
}

const int *weft_nic_tag_ub(const struct weft_comm *comm)
{
	(void)comm;
	return NULL;
}

bool weft_p2p_is_drained_locked(struct weft_comm *comm)
{
	(void)comm;
	return true;
}

void weft_nic_on_match(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_match wire;
	struct weft_wire_head answer = { .op = WEFT_WIRE_MATCH };
	const struct weft_comm *comm;

	if (!weft_wire_get_match(&wire, payload, len) || !head->ctx ||
		head->ctx % WEFT_CTX_OFFSET_END ||
		wire.kind != WEFT_WIRE_MATCH_ASK) {
		weft_dispatch_drop(vci, "malformed question of matching");
		return;
	}
	comm = weft_vci_core_comm(vci, head->ctx);
	if (!comm || !comm->p2p.is_settled) {
		weft_dispatch_keep(vci, peer, head, payload, len);
		return;
	}
	answer.src = (uint32_t)comm->rank;
	answer.ctx = comm->ctx;
	wire = (struct weft_wire_match){ .kind = WEFT_WIRE_MATCH_SOFTWARE };
	if (weft_peer_control(peer, &answer, &wire, sizeof(wire)))
		weft_peer_fail(peer, WEFT_ERR_NOMEM);
}
