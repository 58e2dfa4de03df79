/* SPDX-License-Identifier: BSD-3-Clause */
/* spread: a communicator whose messages use several VCIs, chosen by their tags
 *
 * The communicator itself is used for its share of the tags, and for all
 * messages that are not point-to-point. For each further VCI, the library
 * creates a communicator of the same members, without a handle, as a child of
 * the same session. The session owns the VCIs, and all its spread communicators
 * use them. */
#include "session/spread.h"

#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"
#include "core/hint.h"
#include "core/info.h"
#include "comm/comm_init.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "comm/ep_exchange.h"
#include "p2p/p2p.h"
#include "session/session.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

/* The record of a member: in the first gather, the VCIs that the member can
 * provide; in the second gather, the communicators that it created. */
struct spread_offer {
	uint64_t ctx; /* at rank 0: context id of the first communicator */
	uint32_t n;   /* number of VCIs or communicators, the communicator's own
			 included */
	uint32_t reserved;
};

/* Returns the index in the session's list of the first VCI that spread.c
 * acquired. */
static uint32_t first_vci(const struct weft_session *session)
{
	return session->vci == &weft_proc.vci ? 1 : 2;
}

/* Acquires VCIs until the session has n VCIs beside its own VCI, or no VCI is
 * left. Returns their number, at most n. */
static uint32_t acquire_vcis(struct weft_session *session, uint32_t n)
{
	struct weft_vci_hints hints = { 0 };
	uint32_t at, first = first_vci(session);

	if (session->vci->number)
		hints = *weft_vci_hints_of(session->vci);
	pthread_mutex_lock(&session->acquiring);
	for (at = atomic_load(&session->n_vcis); at < first + n; at++) {
		if (weft_vci_acquire(
			    &hints, weft_session_open_vci, &session->vcis[at]))
			break;
		atomic_store(&session->n_vcis, at + 1);
	}
	pthread_mutex_unlock(&session->acquiring);
	return at - first < n ? at - first : n;
}

static bool has_no_any_tag(const struct weft_info *info)
{
	return weft_hint_is(info, WEFT_HINT_NO_ANY_TAG, "true");
}

/* Gathers the offers: sets offer->n to the smallest number of all members, and
 * offer->ctx to the context id of rank 0. */
static int agree_offer(struct weft_comm *comm, struct spread_offer *offer)
{
	struct spread_offer *all;
	void *records = NULL;
	int err = weft_create_gather(comm, offer, sizeof(*offer), &records);

	if (err)
		return err;
	all = records;
	offer->ctx = all[0].ctx;
	for (int32_t i = 0; i < comm->size; i++)
		offer->n = all[i].n < offer->n ? all[i].n : offer->n;
	free(all);
	return 0;
}

/* Gathers the cards of all members' VCIs. The cards of one member are
 * consecutive. */
static int exchange_cards(struct weft_comm *comm, struct weft_vci *const *vcis,
	uint32_t n, struct weft_vci_card **cards_out)
{
	struct weft_vci_card mine[WEFT_VCIS];
	void *records = NULL;
	int err;

	for (uint32_t k = 0; k < n; k++)
		mine[k] = *weft_vci_card(vcis[k]);
	err = weft_create_gather(comm, mine, n * sizeof(*mine), &records);
	*cards_out = records;
	return err;
}

/* Creates the communicator on one further VCI; NULL if that fails. */
static struct weft_comm *open_on_vci(struct weft_comm *comm,
	struct weft_vci *vci, uint64_t ctx, const struct weft_vci_card *cards)
{
	struct weft_comm_init b = {
		.session = comm->child.session,
		.vci = vci,
		.ctx = ctx,
		.group = comm->group,
		.errh = comm->errh,
		.tag = comm->tag,
	};
	struct weft_comm *further = NULL;
	uint8_t *vcis = NULL;

	if (weft_ep_exchange_resolve(vci, comm->group, cards, &vcis) || !vcis) {
		free(vcis);
		return NULL;
	}
	b.vcis = vcis;
	weft_vci_lock(vci);
	if (!weft_comm_init(&b, &further))
		further->spread_of = weft_obj_handle(comm);
	weft_vci_unlock(vci);
	free(vcis);
	return further;
}

/* Frees the communicators from n on, which some members could not create. No
 * message was sent on them. */
static void spread_free_from(struct weft_comm *comm, uint32_t n)
{
	for (uint32_t i = n; i < WEFT_VCIS && comm->spread[i]; i++) {
		struct weft_vci *vci = comm->spread[i]->vci;

		weft_vci_lock(vci);
		weft_disconnect_ops.destroy(&comm->spread[i]->child);
		weft_vci_unlock(vci);
	}
	for (uint32_t i = 0; i < WEFT_VCIS; i++)
		comm->spread[i] = i % n ? comm->spread[i % n] : comm;
	comm->n_spread = (uint8_t)(n > 1 ? n : 0);
}

/* Creates the communicators on further VCIs, and frees the communicators that
 * some members could not create. */
static int spread_all(struct weft_comm *comm, struct spread_offer *offer,
	struct weft_vci_card *row)
{
	struct weft_vci *const *vcis =
		comm->child.session->vcis + first_vci(comm->child.session);
	const uint32_t size = (uint32_t)comm->size, n_more = offer->n - 1;
	struct weft_vci_card *cards = NULL;
	int err = exchange_cards(comm, vcis, n_more, &cards);
	uint32_t n = 1;

	for (; !err && n <= n_more; n++) {
		for (uint32_t i = 0; i < size; i++)
			row[i] = cards[i * n_more + n - 1];
		comm->spread[n] = open_on_vci(comm, vcis[n - 1],
			offer->ctx + (n - 1) * WEFT_CTX_OFFSET_END, row);
		if (!comm->spread[n])
			break;
	}
	free(cards);
	offer->n = n;
	if (!err)
		err = agree_offer(comm, offer);
	spread_free_from(comm, err ? 1 : offer->n);
	return err;
}

int weft_spread_open(struct weft_comm *comm, const struct weft_info *info)
{
	uint32_t n = (uint32_t)weft_knobs.comm_vcis;
	struct spread_offer offer = { .n = 1 };
	struct weft_vci_card *row = NULL;
	int err;

	if (n < 2 || !comm || comm->is_inter)
		return 0;
	if (has_no_any_tag(info)) { /* out of memory: the member offers 1 VCI */
		row = calloc((size_t)comm->size, sizeof(*row));
		comm->spread = calloc(WEFT_VCIS, sizeof(struct weft_comm *));
	}
	if (row && comm->spread)
		offer.n += acquire_vcis(comm->child.session, n - 1);
	if (comm->rank == 0 && offer.n > 1)
		offer.ctx = weft_proc_new_ctx(offer.n - 1);
	err = agree_offer(comm, &offer);
	if (!err && offer.n > 1)
		err = spread_all(comm, &offer, row);
	free(row);
	if (!comm->n_spread) {
		free(comm->spread);
		comm->spread = NULL;
	}
	if (!err && has_no_any_tag(info) && comm->n_spread < n)
		weft_log_info("SESSION-SPREAD",
			"communicator \"%s\" is spread over %d VCIs, not "
			"WEFT_COMM_VCIS=%u, because some members have no more",
			comm->tag, comm->n_spread ? comm->n_spread : 1, n);
	return err;
}

/* Detaches the buffer of the communicator, which waits for the buffered sends
 * on all VCIs. */
static void drain_buffer(struct weft_comm *comm)
{
	void *addr;
	size_t len;
	bool is_auto;

	if (comm->bsend)
		weft_bsend_detach(
			comm->vci, &comm->bsend, &addr, &len, &is_auto);
}

int weft_spread_disconnect(struct weft_comm *comm)
{
	int err = 0, one;

	if (comm->n_spread)
		drain_buffer(comm);
	for (uint32_t i = 1; i < comm->n_spread; i++) {
		one = weft_disconnect_wait(comm->spread[i]);
		err = err ? err : one;
	}
	comm->n_spread = 0;
	return err;
}

void weft_spread_free(struct weft_comm *comm)
{
	if (comm->n_spread)
		drain_buffer(comm);
	for (uint32_t i = 1; i < comm->n_spread; i++)
		weft_disconnect_free(comm->spread[i]);
	comm->n_spread = 0;
}
