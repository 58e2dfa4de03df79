/* SPDX-License-Identifier: BSD-3-Clause */
/* proc: open what the first session needs, keep it until the process ends */
#include "core/proc.h"

#include "base/hash.h"
#include "base/knob.h"
#include "base/log.h"
#include "boot/life.h"
#include "core/alone.h"
#include "core/card.h"
#include "core/group.h"
#include "core/outer.h"
#include "net/net.h"
#include "shm/seg.h"
#include "topo/nic.h"
#include "topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CTX_RANK_SHIFT = 36, /* context id: rank that made it, its counter */
	CTX_FIRST = 16,	     /* counters below are for fixed contexts */
	CTX_SELF = 2,
	LAST_POLLS = 64,
	CALL_POLLS = 16,      /* cheap ones that take as long as a dear one */
	CTX_OUTER_SHIFT = 63, /* set: drawn, as other jobs count alike */
};

struct weft_proc weft_proc = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.open_boot = weft_boot_open };

static uint64_t draw_ctx(uint64_t counter)
{
	uint64_t what[2] = { weft_proc.proc, counter };
	uint64_t drawn = weft_hash(weft_proc.facts.own_key, what, sizeof(what));

	/* some bits short, so that a row does not run over */
	return (uint64_t)1 << CTX_OUTER_SHIFT |
	       (drawn >> 2 & ~(uint64_t)(WEFT_PLANE_END - 1));
}

uint64_t weft_proc_new_ctx(uint32_t n)
{
	uint64_t counter = atomic_fetch_add_explicit(
		&weft_proc.next_ctx, n, memory_order_relaxed);

	if (atomic_load_explicit(&weft_proc.has_outer, memory_order_relaxed))
		return draw_ctx(counter);
	return (uint64_t)weft_proc.facts.rank << CTX_RANK_SHIFT |
	       counter * WEFT_PLANE_END;
}

uint64_t weft_proc_self_ctx(void)
{
	return (uint64_t)weft_proc.facts.rank << CTX_RANK_SHIFT |
	       CTX_SELF * WEFT_PLANE_END;
}

bool weft_proc_is_near(uint64_t proc)
{
	return proc >> 32 == weft_proc.proc >> 32 &&
	       weft_boot_is_near(weft_proc.boot, (uint32_t)proc);
}

/* The word of a death may overtake what the process sent before it left: some
 * of that is here already, and takes several polls where a connection comes
 * first.
 */
static void hear_rest(struct weft_lane *lane)
{
	for (int i = 0; i < LAST_POLLS; i++) {
		if (lane->shm)
			weft_shm_poll(lane->shm);
		if (lane->net)
			weft_net_poll(lane->net);
	}
}

/* What waits for a process on a lane ends. */
static void proc_lose(
	struct weft_lane *lane, const struct weft_boot_event *event)
{
	uint64_t proc = (weft_proc.proc & ~(uint64_t)UINT32_MAX) | event->rank;

	hear_rest(lane);
	for (uint8_t i = 0; i < WEFT_LANES; i++) {
		struct weft_peer *peer =
			i ? weft_map_get(
				    &lane->peers, weft_lane_addr(proc, i) + 1)
			  : weft_peer_of(lane, proc); /* remembers it */

		if (peer)
			weft_peer_die(
				peer, weft_err_set(WEFT_ERR_PEER,
					      "process %u ended with code %d",
					      event->rank, event->code));
	}
}

/* A process that crashed and one that just left are different faults. */
static void proc_say_end(const struct weft_boot_event *event)
{
	char code[32] = "";

	if (event->code >= 0)
		snprintf(code, sizeof(code), " with code %d", event->code);
	switch (event->end) {
	case WEFT_BOOT_END_CRASHED:
		if (event->code > 128) /* 128 + signal */
			snprintf(code, sizeof(code), " by signal %d",
				event->code - 128);
		weft_log_warn("CORE-DIED",
			"process %u crashed: it was killed%s", event->rank,
			code);
		break;
	case WEFT_BOOT_END_EXITED:
		weft_log_warn("CORE-DIED",
			"process %u exited%s without finalizing while others "
			"go on",
			event->rank, code);
		break;
	case WEFT_BOOT_END_ABORTED:
		weft_log_warn("CORE-DIED", "process %u was aborted%s",
			event->rank, code);
		break;
	default:
		weft_log_warn("CORE-DIED",
			"process %u ended%s while the job ran", event->rank,
			code);
	}
}

void weft_proc_on_event(void *arg, const struct weft_boot_event *event)
{
	struct weft_lane *lane = arg;

	if (event->kind == WEFT_BOOT_JOB_ENDED) {
		weft_outer_job_ended(event->name);
		return;
	}
	if (lane->number) {
		/* the default lane has told everybody else */
		proc_lose(lane, event);
		return;
	}
	if (event->kind != WEFT_BOOT_PEER_DIED) {
		weft_proc.n_pset_events++;
	} else {
		proc_say_end(event);
		proc_lose(lane, event);
	}
	if (weft_proc.on_event)
		weft_proc.on_event(event);
	if (event->kind == WEFT_BOOT_PEER_DIED)
		weft_lane_tell_death(event->rank, event->code);
}

/* Tens of milliseconds, so only for who has several devices. */
static const char *find_near(void)
{
	if (!weft_proc.near[0])
		weft_nic_near(weft_proc.near, sizeof(weft_proc.near));
	return weft_proc.near;
}

bool weft_proc_is_one_host(void)
{
	return weft_proc.facts.n_nodes <= 1 &&
	       strcmp(weft_knobs.scope, "network") != 0;
}

void weft_proc_net_hints(struct weft_net_hints *hints)
{
	const struct weft_lane_wish *wish = &weft_proc.wish;

	*hints = (struct weft_net_hints){
		.provider = wish->provider,
		.iface = wish->iface,
		.tclass = wish->tclass,
		.place = weft_proc.facts.local_rank,
		.is_one_host = weft_proc_is_one_host(),
	};
	if (!strcmp(weft_knobs.nics, "near") && !hints->is_one_host)
		hints->find_near = find_near;
}

int weft_proc_open_net(void)
{
	struct weft_lane *lane = &weft_proc.lane;
	struct weft_lane_wish rest = { 0 };
	const struct weft_lane_wish *wish = &weft_proc.wish;
	bool began;
	int err;

	if (lane->net)
		return 0;
	began = weft_alone_begin();
	err = weft_lane_open_net(lane, wish);
	if (err && (*wish->provider || *wish->iface)) {
		weft_log_warn("CORE-WISH",
			"the session's wish for provider \"%s\", interface "
			"\"%s\" cannot be met: %s",
			wish->provider, wish->iface, weft_err_detail_peek(err));
		memcpy(rest.tclass, wish->tclass, sizeof(rest.tclass));
		err = weft_lane_open_net(lane, &rest);
	}
	weft_alone_end(began);
	return err;
}

/* Opens the ways out: shared memory for my node, a fabric if any process is
 * out of its reach. */
static int open_lane(struct weft_lane *lane)
{
	const struct weft_boot_facts *facts = &weft_proc.facts;
	int err = 0;

	weft_lane_init(lane, 0);
	lane->boot = weft_proc.boot;
	weft_lane_open_bell(lane, weft_proc.boot);
	weft_lane_open_shm(lane);
	if (facts->size > 1 && (!lane->shm || facts->n_nodes > 1))
		err = weft_proc_open_net();
	if (!err)
		weft_rail_open(lane);
	return err;
}

static int publish_card(struct weft_lane *lane)
{
	struct weft_card card;
	size_t len = WEFT_NET_NAME_MAX;
	int err = 0;

	weft_card_init(&card);
	card.local_rank = weft_proc.facts.local_rank;
	memcpy(card.key, weft_proc.facts.own_key, sizeof(card.key));
	if (lane->shm)
		weft_shm_describe(lane->shm, &card.shm);
	if (lane->net)
		err = weft_net_name(lane->net, card.name, &len);
	if (err)
		return err;
	card.name_len = lane->net ? (uint32_t)len : 0;
	weft_rail_describe(lane, &card);
	err = weft_boot_put(
		weft_proc.boot, WEFT_CARD_KEY, &card, weft_card_len(&card));
	return err ? err : weft_boot_commit(weft_proc.boot);
}

/* Runs when the process exits. Whoever left a session open did not end in
 * order, and the process manager is to see that. */
static void close_proc(void)
{
	if (!weft_proc.is_open)
		return;
	weft_proc.is_open = false;
	/* a manager left in disorder goes on posting */
	atomic_store_explicit(&weft_proc.boot->bell, 0, memory_order_relaxed);
	weft_lane_close_rented();
	weft_lane_close(&weft_proc.lane);
	weft_boot_close(weft_proc.boot, weft_proc.n_sessions == 0);
	weft_proc.boot = NULL;
	weft_bell_close(&weft_proc.lane.bell); /* boot rings it */
	weft_topo_close(weft_proc.topo);
	weft_proc.topo = NULL;
}

/* A tenth of a millisecond or so, whatever a poll costs: who has the core may
 * be who is waited for, on fewer cores than the machine has (a container, a
 * binding). */
static uint32_t choose_spin(const struct weft_lane *lane)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t spin = (uint32_t)weft_knobs.spin;

	if (cores > 0 && weft_proc.facts.local_size > (unsigned long)cores)
		return 0;
	if (lane->shm || !lane->net ||
		lane->net->plan.poll_ns <= WEFT_POLL_CHEAP_NS)
		return spin;
	return spin / CALL_POLLS;
}

static int open_proc(void (*on_open)(struct weft_lane *lane))
{
	struct weft_boot_facts *facts = &weft_proc.facts;
	struct weft_lane *lane = &weft_proc.lane;
	int err;

	weft_knob_load();
	weft_net_keep_crashes();
	err = weft_proc.open_boot(&weft_proc.boot, facts);
	if (err)
		return err;
	weft_log_set_rank((int)facts->rank);
	weft_proc.life = weft_life_join(facts->rank);
	weft_proc.proc =
		weft_proc_number(weft_outer_job(facts->job), facts->rank);
	atomic_store(&weft_proc.next_ctx, CTX_FIRST);
	weft_proc.is_blocking = !strcmp(weft_knobs.wait, "block");
	err = open_lane(lane);
	if (err)
		goto fail;
	weft_proc.max_spin = choose_spin(lane);
	lane->self = weft_peer_of(lane, lane->addr);
	err = lane->self ? publish_card(lane) : WEFT_ERR_NOMEM;
	if (err)
		goto fail;
	on_open(lane);
	weft_proc.is_open = true;
	atexit(close_proc);
	weft_log_info("CORE-OPEN",
		"process %u of %u under %s, %u on this node, %s%s", facts->rank,
		facts->size, facts->manager, facts->local_size,
		lane->shm ? "shared memory" : "no shared memory",
		lane->net ? " and a fabric" : "");
	return 0;
fail:
	weft_lane_close(lane);
	weft_boot_close(weft_proc.boot, 0);
	weft_proc.boot = NULL;
	weft_bell_close(&lane->bell);
	return err;
}

void weft_proc_read_knobs(void)
{
	pthread_mutex_lock(&weft_proc.lock);
	weft_knob_load();
	pthread_mutex_unlock(&weft_proc.lock);
}

int weft_proc_get(void (*on_open)(struct weft_lane *lane))
{
	int err = 0;

	pthread_mutex_lock(&weft_proc.lock);
	if (!weft_proc.is_open) {
		bool began = weft_alone_begin();

		err = open_proc(on_open);
		weft_alone_end(began);
	}
	if (!err && weft_proc.n_sessions++ == 0)
		weft_life_set(weft_proc.life, WEFT_LIFE_BUSY);
	pthread_mutex_unlock(&weft_proc.lock);
	return err;
}

void weft_proc_put(void)
{
	pthread_mutex_lock(&weft_proc.lock);
	if (--weft_proc.n_sessions == 0)
		weft_life_set(weft_proc.life, WEFT_LIFE_IDLE);
	pthread_mutex_unlock(&weft_proc.lock);
}

void weft_proc_abort(
	int code, const char *text, const uint32_t *ranks, size_t n)
{
	fflush(stdout); /* what was printed before it matters most now */
	if (weft_proc.boot)
		weft_boot_abort(
			weft_proc.boot, code ? code : 1, text, ranks, n);
	_exit(code ? code : 1);
}

void weft_proc_exit_all(int code, const char *text)
{
	if (weft_proc.boot)
		weft_boot_abort(weft_proc.boot, code, text, NULL, 0);
	_exit(code);
}
