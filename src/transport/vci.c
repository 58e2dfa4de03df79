/* SPDX-License-Identifier: BSD-3-Clause */
/* vci: opens and closes VCIs; acquires and releases dedicated VCIs
 *
 * A dedicated VCI never calls the process manager. The addresses of its peers
 * are exchanged when communicators are created on it. The default VCI reports
 * deaths to a dedicated VCI through an inbox, which progress polls like a
 * process manager. */
#include "transport/vci.h"

#include "base/hash.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/pid.h"
#include "transport/arrival.h"
#include "transport/bc.h"
#include "transport/dispatch.h"
#include "transport/proc.h"
#include "transport/thread_check.h"
#include "net/net.h"
#include "shm/copy.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Created by weft_vci_acquire(), freed when the process exits. */
struct dedicated {
	struct weft_vci vci;
	struct weft_vci_hints vci_hints;
	struct weft_vci_card bc;
	bool is_used;		/* acquired by a session; guarded by
				   weft_proc.lock */
	struct weft_boot inbox; /* pending: not all deaths were handled */
	struct weft_peer_death *last_death; /* last death that this VCI has
					       handled; NULL: none */
};

void weft_vci_init(struct weft_vci *vci, uint8_t number)
{
	weft_list_init(&vci->pending_peers);
	weft_list_init(&vci->hooks);
	weft_list_init(&vci->unacked);
	weft_list_init(&vci->resend_hook.link);
	weft_list_init(&vci->deferred);
	vci->peer_size = sizeof(struct weft_peer);
	vci->wakeup = (struct weft_wakeup){ -1, -1 };
	vci->number = number;
	weft_peer_setup(vci);
	vci->addr = weft_vci_addr(weft_proc.proc, number);
	vci->job_mask = UINT64_MAX << 32;
	if (number)
		vci->job_mask &= ~(UINT64_MAX << WEFT_VCI_SHIFT);
}

void weft_vci_defer(struct weft_vci *vci, struct weft_progress_hook *hook)
{
	weft_list_push_back(&vci->deferred, &hook->link);
	vci->has_deferred = true;
	if (vci->n_asleep)
		weft_vci_wake(vci);
}

void weft_vci_undefer(struct weft_vci *vci, struct weft_progress_hook *hook)
{
	weft_list_remove(&hook->link);
	vci->has_deferred = !weft_list_is_empty(&vci->deferred);
}

void weft_vci_open_shm(struct weft_vci *vci)
{
	uint32_t n_writers = weft_proc.facts.local_size;
	int err;

	if (!weft_knob_is_on(weft_knobs.shm))
		return;
	if (vci->number)
		n_writers *= WEFT_VCIS;
	weft_budget_init(&vci->budget, weft_proc.node.buf_budget);
	err = weft_shm_open(n_writers, weft_proc.node.n_slots,
		weft_proc.node.ring_len, weft_arrival_ring, vci, &vci->shm);
	if (err)
		weft_log_warn("CORE-NOSHM",
			"%s; WEFT_SHM=off avoids this warning",
			weft_err_detail_peek(err));
	else
		weft_copy_permit();
	if (!vci->shm)
		return;
	vci->counters.ring_memory += weft_shm_len(vci->shm);
	weft_shm_set_wakeup(vci->shm, &vci->wakeup);
}

void weft_vci_open_wakeup(struct weft_vci *vci, struct weft_boot *boot)
{
	if (!weft_wakeup_open(&vci->wakeup))
		weft_log_info("CORE-NOBELL",
			"no way to be woken by other processes: a wait that "
			"sleeps polls every few milliseconds");
	atomic_store_explicit(
		&boot->wakeup, vci->wakeup.wr, memory_order_relaxed);
}

/* Opens the fabric by the hints. VCI's lock held, or the VCI is not visible to
 * other threads yet. */
static int vci_open_net(
	struct weft_vci *vci, const struct weft_vci_hints *vci_hints)
{
	struct weft_net_hints hints;

	weft_proc_net_hints(&hints);
	hints.provider = vci_hints->provider;
	hints.iface = vci_hints->iface;
	hints.tclass = vci_hints->tclass;
	hints.vci = vci->number;
	return weft_net_open(&hints, weft_arrival_net, vci, &vci->net);
}

int weft_vci_open_default_net(void)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_vci_hints rest = { 0 };
	const struct weft_vci_hints *vci_hints = &weft_proc.vci_hints;
	bool began;
	int err;

	if (vci->net)
		return 0;
	began = weft_thread_check_begin();
	err = vci_open_net(vci, vci_hints);
	if (err && (*vci_hints->provider || *vci_hints->iface)) {
		weft_log_warn("CORE-WISH",
			"the session's wish for provider \"%s\", interface "
			"\"%s\" cannot be met: %s",
			vci_hints->provider, vci_hints->iface,
			weft_err_detail_peek(err));
		memcpy(rest.tclass, vci_hints->tclass, sizeof(rest.tclass));
		err = vci_open_net(vci, &rest);
	}
	weft_thread_check_end(began);
	return err;
}

int weft_vci_name_net(struct weft_vci *vci)
{
	struct weft_bc *bc = vci->own_bc;
	size_t len = WEFT_NET_NAME_MAX;
	int err;

	if (!bc || !vci->net || bc->name_len)
		return 0;
	err = weft_net_name(vci->net, bc->name, &len);
	bc->name_len = err ? 0 : (uint32_t)len;
	return err;
}

const char *weft_vci_fabric(const struct weft_vci *vci)
{
	return vci->net ? vci->net->plan.name : "";
}

void weft_vci_names(const struct weft_vci *vci, struct weft_vci_hints *names)
{
	const struct weft_net *net = vci->net;

	snprintf(names->provider, sizeof(names->provider), "%s",
		net ? net->plan.provider : "none");
	snprintf(names->iface, sizeof(names->iface), "%s",
		net ? net->plan.domain : "none");
	snprintf(names->tclass, sizeof(names->tclass), "%s",
		net ? net->plan.tclass : "default");
}

void weft_vci_wake_followers(struct weft_vci *vci, int n)
{
	atomic_fetch_add_explicit(&vci->n_wakes, 1, memory_order_relaxed);
	syscall(SYS_futex, &vci->n_wakes, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

void weft_vci_wake(struct weft_vci *vci)
{
	if (vci->n_asleep > vci->has_leader)
		weft_vci_wake_followers(vci, INT_MAX);
	if (!vci->has_leader || vci->is_signalled)
		return;
	vci->is_signalled = true;
	weft_wakeup_signal(vci->wakeup.wr);
}

void weft_vci_close(struct weft_vci *vci)
{
	size_t pos = 0;
	struct weft_map_entry *entry;

	weft_counters_close(&vci->counters);
	weft_rail_close(vci);
	weft_net_close(vci->net);
	vci->net = NULL;
	while ((entry = weft_map_next(&vci->peers, &pos)) != NULL)
		weft_peer_free(entry->value);
	weft_map_fini(&vci->peers);
	vci->asked = NULL;
	weft_node_bc_close(&vci->node_bc);
	vci->has_requested_first = false;
	free(vci->own_bc);
	vci->own_bc = NULL;
	weft_dispatch_forget(vci);
	weft_shm_close(vci->shm);
	vci->shm = NULL;
	if (vci->on_close)
		vci->on_close(vci);
	weft_list_init(&vci->deferred); /* drops hooks that never ran */
	vci->has_deferred = false;
}

/* ---- the inbox of a dedicated VCI ---- */

/* The number of a process of this job. */
static uint64_t proc_of_rank(uint32_t rank)
{
	return weft_proc_number((uint32_t)(weft_proc.proc >> 32), rank);
}

/* Returns the first death that the VCI has not handled, or NULL. */
static struct weft_peer_death *next_death(const struct dedicated *r)
{
	/* Both loads pair with the stores in append_death(), which publish the
	 * fields of a death. */
	return r->last_death ? atomic_load(&r->last_death->next)
			     : atomic_load(&weft_proc.first_death);
}

/* Handles the deaths since the last poll. A death whose peer cannot be created,
 * because there is no memory, is handled in a later poll. */
static int inbox_poll(struct weft_boot *boot, weft_boot_event_fn *fn, void *arg)
{
	struct dedicated *r = weft_container_of(boot, struct dedicated, inbox);
	struct weft_peer_death *death;
	int n = 0;

	/* Pairs with the store of `pending` in weft_vci_record_failure(). A
	 * death whose store precedes this exchange is in the list now. A later
	 * store sets `pending` again. */
	atomic_exchange(&boot->pending, 0);
	while ((death = next_death(r)) != NULL) {
		struct weft_boot_event event = {
			.kind = WEFT_BOOT_PEER_DIED,
			.rank = death->rank,
			.code = death->code,
			.end = death->end,
		};

		if (!weft_peer_of(&r->vci, proc_of_rank(death->rank))) {
			atomic_store(&boot->pending, 1);
			break;
		}
		fn(arg, &event);
		r->last_death = death;
		n++;
	}
	return n;
}

static const struct weft_boot_ops inbox_ops = {
	.name = "the default VCI",
	.poll = inbox_poll,
};

static struct dedicated *dedicated_at(uint32_t i)
{
	/* pairs with the release in open_another(), which publishes the VCI */
	struct weft_vci *vci = atomic_load_explicit(
		&weft_proc.others[i], memory_order_acquire);

	return weft_container_of(vci, struct dedicated, vci);
}

/* Appends the death to the list of the process. The default VCI's lock is held.
 * Without memory for a peer of the default VCI, the death is not recorded. */
static void append_death(const struct weft_boot_event *event)
{
	struct weft_peer *peer = weft_map_get(
		&weft_proc.vci.peers, proc_of_rank(event->rank) + 1);
	struct weft_peer_death *last = weft_proc.last_death;

	if (!peer)
		return;
	peer->death.rank = event->rank;
	peer->death.code = event->code;
	peer->death.end = event->end;
	weft_proc.last_death = &peer->death;
	/* publishes the fields of `death`; pairs with the loads in next_death()
	 */
	if (last)
		atomic_store(&last->next, &peer->death);
	else
		atomic_store(&weft_proc.first_death, &peer->death);
}

/* Appends the death before it loads n_others. open_another() stores n_others
 * before the first poll of the new VCI loads the list of deaths. All these
 * operations are sequentially consistent. So this function finds a VCI that
 * opens meanwhile, or the first poll of that VCI finds the death. */
void weft_vci_record_failure(const struct weft_boot_event *event)
{
	uint32_t n;

	append_death(event);
	/* pairs with the store in open_another */
	n = atomic_load(&weft_proc.n_others);
	for (uint32_t i = 0; i < n; i++) {
		struct dedicated *r = dedicated_at(i);

		/* pairs with the exchange in inbox_poll */
		atomic_store(&r->inbox.pending, 1);
		weft_boot_wake(&r->inbox);
	}
}

/* ---- acquire and release ---- */

static bool vci_is_named(const struct weft_vci_hints *vci_hints)
{
	return *vci_hints->provider || *vci_hints->iface;
}

static void dedicated_free(struct dedicated *r)
{
	weft_vci_close(&r->vci);
	weft_wakeup_close(&r->vci.wakeup);
	free(r);
}

static void fill_bc(struct dedicated *r)
{
	static const uint8_t no_key[16];
	const struct weft_vci *vci = &r->vci;
	struct weft_vci_card *bc = &r->bc;
	size_t len = sizeof(bc->name);

	bc->number = vci->number;
	memcpy(bc->key, weft_proc.facts.own_key, sizeof(bc->key));
	if (vci->shm)
		weft_shm_describe(vci->shm, &bc->shm);
	bc->fabric = weft_pid_access_id();
	if (!vci->net)
		return;
	if (weft_net_name(vci->net, bc->name, &len)) {
		bc->number = 0; /* the name does not fit */
		return;
	}
	bc->name_len = (uint8_t)len;
	bc->fabric = weft_hash(no_key, vci->net->plan.provider,
		strlen(vci->net->plan.provider));
}

static int dedicated_open(struct dedicated *r)
{
	const struct weft_boot_facts *facts = &weft_proc.facts;
	struct weft_vci *vci = &r->vci;
	bool began = weft_thread_check_begin();
	int err = 0;

	weft_counters_open(&vci->counters, vci->number);
	r->inbox.ops = &inbox_ops;
	atomic_store(&r->inbox.pending, 1); /* deaths may be in the list */
	vci->boot = &r->inbox;
	weft_vci_open_wakeup(vci, &r->inbox);
	if (!vci_is_named(&r->vci_hints))
		weft_vci_open_shm(vci);
	if (vci_is_named(&r->vci_hints) ||
		(facts->size > 1 &&
			(!vci->shm || facts->n_nodes > 1 ||
				atomic_load_explicit(&weft_proc.lacks_shm,
					memory_order_relaxed))))
		err = vci_open_net(vci, &r->vci_hints);
	if (!err)
		vci->self = weft_peer_of(vci, vci->addr);
	if (!err && !vci->self)
		err = WEFT_ERR_NOMEM;
	if (!err)
		fill_bc(r);
	weft_thread_check_end(began);
	return err;
}

/* Opens one more VCI. weft_proc.lock held. */
static int open_another(const struct weft_vci_hints *vci_hints,
	weft_vci_open_fn *on_open, struct dedicated **r_out)
{
	uint32_t n = atomic_load(&weft_proc.n_others);
	struct dedicated *r;
	int err;

	if (n == WEFT_VCIS - 1)
		return weft_err_set(WEFT_ERR_OTHER,
			"%d VCIs are in use beside the default one", (int)n);
	r = calloc(1, sizeof(*r));
	if (!r)
		return WEFT_ERR_NOMEM;
	weft_vci_init(&r->vci, (uint8_t)(n + 1));
	r->vci_hints = *vci_hints;
	err = on_open(&r->vci);
	if (!err)
		err = dedicated_open(r);
	if (err) {
		dedicated_free(r);
		return err;
	}
	/* publishes the opened VCI; pairs with the acquires of all readers of
	 * the array `others` */
	atomic_store_explicit(
		&weft_proc.others[n], &r->vci, memory_order_release);
	/* pairs with the load in weft_vci_record_failure, too */
	atomic_store(&weft_proc.n_others, n + 1);
	*r_out = r;
	return 0;
}

static struct dedicated *find_unused(const struct weft_vci_hints *vci_hints)
{
	uint32_t n = atomic_load(&weft_proc.n_others);

	for (uint32_t i = 0; i < n; i++) {
		struct dedicated *r = dedicated_at(i);

		if (!r->is_used &&
			!strcmp(r->vci_hints.provider, vci_hints->provider) &&
			!strcmp(r->vci_hints.iface, vci_hints->iface) &&
			!strcmp(r->vci_hints.tclass, vci_hints->tclass))
			return r;
	}
	return NULL;
}

int weft_vci_acquire(const struct weft_vci_hints *vci_hints,
	weft_vci_open_fn *on_open, struct weft_vci **vci_out)
{
	struct dedicated *r;
	int err = 0;

	pthread_mutex_lock(&weft_proc.lock);
	r = find_unused(vci_hints);
	if (!r)
		err = open_another(vci_hints, on_open, &r);
	if (!err) {
		r->is_used = true;
		*vci_out = &r->vci;
	}
	pthread_mutex_unlock(&weft_proc.lock);
	return err;
}

void weft_vci_release(struct weft_vci *vci)
{
	pthread_mutex_lock(&weft_proc.lock);
	weft_container_of(vci, struct dedicated, vci)->is_used = false;
	pthread_mutex_unlock(&weft_proc.lock);
}

const struct weft_vci_hints *weft_vci_hints_of(const struct weft_vci *vci)
{
	return &weft_container_of(vci, const struct dedicated, vci)->vci_hints;
}

const struct weft_vci_card *weft_vci_card(const struct weft_vci *vci)
{
	return &weft_container_of(vci, const struct dedicated, vci)->bc;
}

void weft_vci_close_dedicated(void)
{
	uint32_t n = atomic_exchange(&weft_proc.n_others, 0);

	for (uint32_t i = 0; i < n; i++) {
		dedicated_free(dedicated_at(i));
		atomic_store(&weft_proc.others[i], NULL);
	}
	atomic_store(&weft_proc.first_death, NULL);
	weft_proc.last_death = NULL;
}
