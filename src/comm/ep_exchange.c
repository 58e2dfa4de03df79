/* SPDX-License-Identifier: BSD-3-Clause */
/* ep_exchange: exchanges the VCIs of a new communicator's members */
#include "comm/ep_exchange.h"

#include "base/err.h"
#include "base/log.h"
#include "core/failed.h"
#include "transport/foreign.h"
#include "transport/proc.h"
#include "p2p/p2p.h"

#include <stdio.h>
#include <stdlib.h>

static void exchange_free(struct weft_ep_exchange *m)
{
	weft_agree_fini(&m->agree);
	weft_comm_close(m->comm);
	weft_p2p_purge_locked(m->comm);
	weft_comm_put(m->comm);
	free(m);
}

static void ep_exchange_on_done(struct weft_agree *agree)
{
	struct weft_ep_exchange *m = agree->arg;

	m->is_done = true;
	if (m->is_abandoned)
		exchange_free(m);
}

int weft_ep_exchange_start(struct weft_session *session,
	struct weft_group *group, uint64_t ctx, const char *tag,
	struct weft_ep_exchange **exchange_out)
{
	struct weft_ep_exchange *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return WEFT_ERR_NOMEM;
	m->vci = &weft_proc.vci;
	if (session && session->vci->number) {
		m->vci = session->vci;
		m->mine = *weft_vci_card(m->vci);
	}
	err = weft_comm_create(&weft_proc.vci, ctx, group, NULL, &m->comm);
	if (err) {
		free(m);
		return err;
	}
	snprintf(m->comm->tag, sizeof(m->comm->tag), "%s", tag);
	m->agree = (struct weft_agree){
		.comm = m->comm,
		.mine = &m->mine,
		.len = sizeof(m->mine),
		.done = ep_exchange_on_done,
		.arg = m,
	};
	weft_agree_start(&m->agree);
	*exchange_out = m;
	return 0;
}

int weft_ep_exchange_refuse(struct weft_group *group, uint64_t ctx, int err)
{
	int32_t rank = weft_failed_first(group);
	struct weft_agree agree = { .len = sizeof(struct weft_vci_card) };

	if (weft_comm_create(&weft_proc.vci, ctx, group, NULL, &agree.comm))
		return err;
	if (err == WEFT_ERR_PEER && rank >= 0) {
		weft_comm_record_failed(
			agree.comm, weft_group_proc(group, (uint32_t)rank));
		err = weft_comm_failed(agree.comm);
	}
	weft_agree_fail(&agree, err);
	if (err !=
		WEFT_ERR_PEER) /* so that the members' messages are refused */
		weft_revoke_locked(agree.comm);
	weft_comm_close(agree.comm);
	weft_p2p_purge_locked(agree.comm);
	weft_comm_put(agree.comm);
	return err;
}

struct weft_comm *weft_ep_exchange_comm(struct weft_ep_exchange *exchange)
{
	return exchange->comm;
}

/* True if each card is of a dedicated VCI, and all VCIs use the same provider.
 * The result is the same at all members. */
static bool has_same_fabric(const struct weft_vci_card *bcs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!bcs[i].number || bcs[i].number >= WEFT_VCIS ||
			bcs[i].fabric != bcs[0].fabric)
			return false;
	return true;
}

/* Creates peers for the members in the VCI. After an error, goes on with the
 * other members, which then can receive REVOKE. */
static int create_peers(struct weft_vci *vci, const struct weft_group *group,
	const struct weft_vci_card *bcs)
{
	int err = 0;

	for (uint32_t i = 0; i < group->size; i++) {
		uint64_t proc = weft_group_proc(group, i);
		struct weft_peer *peer;
		bool is_local;
		int peer_err;

		weft_vci_lock(&weft_proc.vci);
		is_local = weft_proc_is_local(proc);
		weft_vci_unlock(&weft_proc.vci);
		weft_vci_lock(vci);
		peer = weft_peer_of(vci, weft_vci_addr(proc, bcs[i].number));
		peer_err = peer ? weft_peer_set_bc(peer, &bcs[i], is_local)
				: WEFT_ERR_NOMEM;
		err = err ? err : peer_err;
		weft_vci_unlock(vci);
	}
	return err;
}

int weft_ep_exchange_resolve(struct weft_vci *vci,
	const struct weft_group *group, const struct weft_vci_card *bcs,
	uint8_t **vcis_out)
{
	uint8_t *vcis;

	*vcis_out = NULL;
	if (!weft_group_is_one_job(group) || !has_same_fabric(bcs, group->size))
		return 0;
	vcis = malloc(group->size);
	if (!vcis)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; i < group->size; i++)
		vcis[i] = bcs[i].number;
	*vcis_out = vcis;
	return create_peers(vci, group, bcs);
}

int weft_ep_exchange_end(struct weft_ep_exchange *m, struct weft_vci **vci_out,
	uint8_t **vcis_out)
{
	const struct weft_vci_card *bcs = (const void *)m->agree.records;
	int err = m->agree.err;

	*vci_out = &weft_proc.vci;
	*vcis_out = NULL;
	if (!err && m->vci->number) {
		weft_vci_unlock(&weft_proc.vci);
		err = weft_ep_exchange_resolve(
			m->vci, m->comm->group, bcs, vcis_out);
		weft_vci_lock(&weft_proc.vci);
	}
	if (*vcis_out)
		*vci_out = m->vci;
	else if (!err && m->vci->number)
		weft_log_info("SESSION-LANE",
			"communicator \"%s\" uses the shared VCI, because not "
			"all of its %u members have a dedicated VCI on the "
			"same fabric",
			m->comm->tag, m->comm->group->size);
	exchange_free(m);
	return err;
}

void weft_ep_exchange_abandon(struct weft_ep_exchange *exchange)
{
	if (exchange->is_done)
		exchange_free(exchange);
	else
		exchange->is_abandoned = true;
}
