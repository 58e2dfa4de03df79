/* SPDX-License-Identifier: BSD-3-Clause */
/* lane: open and close ways out of the process; rent those beside the default
 * one
 *
 * A rented lane never talks to the process manager: its peers' addresses come
 * with the communicators that are made on it, and deaths from the default lane
 * through an inbox that looks to progress like a process manager. */
#include "core/lane.h"

#include "base/hash.h"
#include "base/knob.h"
#include "base/log.h"
#include "core/alone.h"
#include "core/proc.h"
#include "net/net.h"
#include "shm/copy.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process that ended. */
struct death {
	uint32_t rank;
	int code;
};

/* Made by weft_lane_rent(), freed when the process ends. */
struct rented {
	struct weft_lane lane;
	struct weft_lane_wish wish;
	struct weft_lane_card card;
	bool is_used;		/* guarded by weft_proc.lock */
	struct weft_boot inbox; /* pending counts deaths */
	struct weft_spin spin;	/* guards what follows */
	struct death *deaths;
	uint32_t n_deaths;
};

void weft_lane_init(struct weft_lane *lane, uint8_t number)
{
	weft_list_init(&lane->flush);
	weft_list_init(&lane->chores);
	weft_list_init(&lane->closings);
	weft_list_init(&lane->pieces);
	lane->bell = (struct weft_bell){ -1, -1 };
	lane->number = number;
	lane->addr = weft_lane_addr(weft_proc.proc, number);
	lane->job_mask = UINT64_MAX << 32;
	if (number)
		lane->job_mask &= ~(UINT64_MAX << WEFT_LANE_SHIFT);
}

void weft_lane_open_shm(struct weft_lane *lane)
{
	uint32_t n_writers = weft_proc.facts.local_size;
	int err;

	if (!weft_knob_is_on(weft_knobs.shm))
		return;
	if (lane->number)
		n_writers *= WEFT_LANES;
	err = weft_shm_open(n_writers, (size_t)weft_knobs.shm_ring,
		weft_dispatch_ring, lane, &lane->shm);
	if (err)
		weft_log_warn("CORE-NOSHM", "%s; set WEFT_SHM=off to say so",
			weft_err_detail_peek(err));
	else
		weft_copy_permit();
	if (lane->shm)
		weft_shm_set_bell(lane->shm, &lane->bell);
}

void weft_lane_open_bell(struct weft_lane *lane, struct weft_boot *boot)
{
	if (!weft_proc.is_blocking)
		return;
	if (!weft_bell_open(&lane->bell))
		weft_log_info("CORE-NOBELL", "no way to be woken by other "
					     "processes: WEFT_WAIT=block "
					     "looks every millisecond");
	atomic_store_explicit(&boot->bell, lane->bell.wr, memory_order_relaxed);
}

int weft_lane_open_net(
	struct weft_lane *lane, const struct weft_lane_wish *wish)
{
	struct weft_net_hints hints;

	weft_proc_net_hints(&hints);
	hints.provider = wish->provider;
	hints.iface = wish->iface;
	hints.tclass = wish->tclass;
	return weft_net_open(&hints, weft_dispatch_net, lane, &lane->net);
}

void weft_lane_names(const struct weft_lane *lane, struct weft_lane_wish *names)
{
	const struct weft_net *net = lane->net;

	snprintf(names->provider, sizeof(names->provider), "%s",
		net ? net->plan.provider : "none");
	snprintf(names->iface, sizeof(names->iface), "%s",
		net ? net->plan.domain : "none");
	snprintf(names->tclass, sizeof(names->tclass), "%s",
		net ? net->plan.tclass : "default");
}

void weft_lane_close(struct weft_lane *lane)
{
	size_t pos = 0;
	struct weft_map_entry *entry;

	weft_rail_close(lane);
	weft_net_close(lane->net);
	lane->net = NULL;
	while ((entry = weft_map_next(&lane->peers, &pos)) != NULL) {
		struct weft_peer *peer = entry->value;

		weft_ring_detach(&peer->tx);
		free(peer->card);
		free(peer->rail_addrs);
		free(peer);
	}
	weft_map_fini(&lane->peers);
	weft_map_fini(&lane->comms);
	weft_dispatch_forget(lane);
	weft_shm_close(lane->shm);
	lane->shm = NULL;
}

/* ---- what a rented lane hears ---- */

static int inbox_poll(struct weft_boot *boot, weft_boot_event_fn *fn, void *arg)
{
	struct rented *r = weft_container_of(boot, struct rented, inbox);
	struct death *deaths;
	uint32_t n;

	weft_spin_take(&r->spin);
	deaths = r->deaths;
	n = r->n_deaths;
	r->deaths = NULL;
	r->n_deaths = 0;
	atomic_store_explicit(&boot->pending, 0, memory_order_relaxed);
	weft_spin_drop(&r->spin);
	for (uint32_t i = 0; i < n; i++) {
		struct weft_boot_event event = {
			.kind = WEFT_BOOT_PEER_DIED,
			.rank = deaths[i].rank,
			.code = deaths[i].code,
		};

		fn(arg, &event);
	}
	free(deaths);
	return (int)n;
}

static const struct weft_boot_ops inbox_ops = {
	.name = "the default lane",
	.poll = inbox_poll,
};

static struct rented *rented_at(uint32_t i)
{
	/* pairs with the release in open_another */
	struct weft_lane *lane = atomic_load_explicit(
		&weft_proc.others[i], memory_order_acquire);

	return weft_container_of(lane, struct rented, lane);
}

void weft_lane_tell_death(uint32_t rank, int code)
{
	uint32_t n =
		atomic_load_explicit(&weft_proc.n_others, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct rented *r = rented_at(i);
		struct death *deaths;

		weft_spin_take(&r->spin);
		deaths =
			realloc(r->deaths, (r->n_deaths + 1) * sizeof(*deaths));
		if (deaths) {
			deaths[r->n_deaths++] = (struct death){ rank, code };
			r->deaths = deaths;
			/* what poll reads then is ordered by the spin lock */
			atomic_store_explicit(&r->inbox.pending, r->n_deaths,
				memory_order_relaxed);
		}
		weft_spin_drop(&r->spin);
		weft_boot_ring(&r->inbox);
	}
}

/* ---- renting ---- */

static bool lane_is_named(const struct weft_lane_wish *wish)
{
	return *wish->provider || *wish->iface;
}

static void rented_free(struct rented *r)
{
	weft_lane_close(&r->lane);
	weft_bell_close(&r->lane.bell);
	free(r->deaths);
	free(r);
}

static void fill_card(struct rented *r)
{
	static const uint8_t no_key[16];
	const struct weft_lane *lane = &r->lane;
	struct weft_lane_card *card = &r->card;
	size_t len = sizeof(card->name);

	card->number = lane->number;
	memcpy(card->key, weft_proc.facts.own_key, sizeof(card->key));
	if (lane->shm)
		weft_shm_describe(lane->shm, &card->shm);
	if (!lane->net)
		return;
	if (weft_net_name(lane->net, card->name, &len)) {
		card->number = 0; /* a longer name than there is room for */
		return;
	}
	card->name_len = (uint8_t)len;
	card->fabric = weft_hash(no_key, lane->net->plan.provider,
		strlen(lane->net->plan.provider));
}

static int rented_open(struct rented *r)
{
	const struct weft_boot_facts *facts = &weft_proc.facts;
	struct weft_lane *lane = &r->lane;
	bool began = weft_alone_begin();
	int err = 0;

	r->inbox.ops = &inbox_ops;
	lane->boot = &r->inbox;
	weft_lane_open_bell(lane, &r->inbox);
	if (!lane_is_named(&r->wish))
		weft_lane_open_shm(lane);
	if (lane_is_named(&r->wish) ||
		(facts->size > 1 && (!lane->shm || facts->n_nodes > 1)))
		err = weft_lane_open_net(lane, &r->wish);
	if (!err)
		lane->self = weft_peer_of(lane, lane->addr);
	if (!err && !lane->self)
		err = WEFT_ERR_NOMEM;
	if (!err)
		fill_card(r);
	weft_alone_end(began);
	return err;
}

/* One more lane. weft_proc.lock held. */
static int open_another(const struct weft_lane_wish *wish,
	void (*on_open)(struct weft_lane *lane), struct rented **r_out)
{
	uint32_t n = atomic_load(&weft_proc.n_others);
	struct rented *r;
	int err;

	if (n == WEFT_LANES - 1)
		return weft_err_set(WEFT_ERR_OTHER,
			"%d lanes are in use beside the default one", (int)n);
	r = calloc(1, sizeof(*r));
	if (!r)
		return WEFT_ERR_NOMEM;
	weft_lane_init(&r->lane, (uint8_t)(n + 1));
	r->wish = *wish;
	err = rented_open(r);
	if (err) {
		rented_free(r);
		return err;
	}
	on_open(&r->lane);
	/* pairs with the acquires of those who walk the list */
	atomic_store_explicit(
		&weft_proc.others[n], &r->lane, memory_order_release);
	atomic_store_explicit(&weft_proc.n_others, n + 1, memory_order_release);
	*r_out = r;
	return 0;
}

static struct rented *find_unused(const struct weft_lane_wish *wish)
{
	uint32_t n = atomic_load(&weft_proc.n_others);

	for (uint32_t i = 0; i < n; i++) {
		struct rented *r = rented_at(i);

		if (!r->is_used && !strcmp(r->wish.provider, wish->provider) &&
			!strcmp(r->wish.iface, wish->iface) &&
			!strcmp(r->wish.tclass, wish->tclass))
			return r;
	}
	return NULL;
}

int weft_lane_rent(const struct weft_lane_wish *wish,
	void (*on_open)(struct weft_lane *lane), struct weft_lane **lane_out)
{
	struct rented *r;
	int err = 0;

	pthread_mutex_lock(&weft_proc.lock);
	r = find_unused(wish);
	if (!r)
		err = open_another(wish, on_open, &r);
	if (!err) {
		r->is_used = true;
		*lane_out = &r->lane;
	}
	pthread_mutex_unlock(&weft_proc.lock);
	return err;
}

void weft_lane_return(struct weft_lane *lane)
{
	pthread_mutex_lock(&weft_proc.lock);
	weft_container_of(lane, struct rented, lane)->is_used = false;
	pthread_mutex_unlock(&weft_proc.lock);
}

const struct weft_lane_card *weft_lane_card(const struct weft_lane *lane)
{
	return &weft_container_of(lane, const struct rented, lane)->card;
}

void weft_lane_close_rented(void)
{
	uint32_t n = atomic_exchange(&weft_proc.n_others, 0);

	for (uint32_t i = 0; i < n; i++) {
		rented_free(rented_at(i));
		atomic_store(&weft_proc.others[i], NULL);
	}
}
