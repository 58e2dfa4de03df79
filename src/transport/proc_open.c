/* SPDX-License-Identifier: BSD-3-Clause */
/* proc_open: opens the process manager and the default VCI with the first
 * session, closes them when the process exits, and handles the manager's
 * events */
#include "transport/proc.h"

#include "base/clock.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/yield.h"
#include "boot/liveness.h"
#include "transport/thread_check.h"
#include "transport/bc.h"
#include "transport/foreign.h"
#include "transport/progress_thread.h"
#include "net/net.h"
#include "shm/seg.h"
#include "topo/allowance.h"
#include "topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CTX_FIRST = 16, /* first value of next_ctx; lower values belong to
			   communicators with a fixed context */
	LAST_POLLS = 64,
	CALL_POLLS = 16, /* polls of memory in the time of a system call */
};

/* The messages may need several polls if the connection is new. */
void weft_proc_receive_rest(struct weft_vci *vci)
{
	for (int i = 0; i < LAST_POLLS; i++) {
		if (vci->shm)
			weft_shm_poll(vci->shm);
		if (vci->net)
			weft_net_poll(vci->net);
	}
}

/* Describes the end of a process: a crash and an exit are different errors. */
static void proc_describe_end(
	const struct weft_boot_event *event, char *buf, size_t len)
{
	char code[32] = "", who[48];

	snprintf(who, sizeof(who), "process %u%s", event->rank,
		event->kind == WEFT_BOOT_OTHER_DIED ? " of another job" : "");
	if (event->code >= 0)
		snprintf(code, sizeof(code), " with code %d", event->code);
	switch (event->end) {
	case WEFT_BOOT_END_CRASHED:
		if (event->code > 128) /* 128 + signal */
			snprintf(code, sizeof(code), " by signal %d",
				event->code - 128);
		snprintf(buf, len, "%s crashed: it was killed%s", who, code);
		break;
	case WEFT_BOOT_END_EXITED:
		snprintf(buf, len,
			"%s exited%s without finalizing while others continue",
			who, code);
		break;
	case WEFT_BOOT_END_ABORTED:
		snprintf(buf, len, "%s was aborted%s", who, code);
		break;
	case WEFT_BOOT_END_CANCELLED:
		snprintf(buf, len,
			"%s was ended, because the change of the job's size "
			"with which it joined was cancelled",
			who);
		break;
	case WEFT_BOOT_END_FOUND:
		snprintf(buf, len, "%s has ended: %.100s", who, event->name);
		break;
	case WEFT_BOOT_END_SILENT:
		snprintf(buf, len, "process %u counts as failed%s%.110s",
			event->rank, *event->name ? ": " : "", event->name);
		break;
	case WEFT_BOOT_END_NORMAL:
		snprintf(buf, len, "%s has ended in order", who);
		break;
	default:
		snprintf(buf, len, "%s ended%s while the job ran", who, code);
	}
}

uint64_t weft_proc_of_event(const struct weft_boot_event *event)
{
	if (event->kind == WEFT_BOOT_OTHER_DIED)
		return weft_boot_proc_number(event->name, event->rank);
	return weft_proc_number((uint32_t)(weft_proc.proc >> 32), event->rank);
}

/* Ends all operations of a VCI that wait for the process. */
static void proc_on_death(
	struct weft_vci *vci, const struct weft_boot_event *event)
{
	uint64_t proc = weft_proc_of_event(event);
	char why[160];

	proc_describe_end(event, why, sizeof(why));
	weft_proc_receive_rest(vci);
	for (uint8_t i = 0; i < WEFT_VCIS; i++) {
		struct weft_peer *peer =
			i ? weft_map_get(
				    &vci->peers, weft_vci_addr(proc, i) + 1)
			  : weft_peer_of(vci, proc); /* created if new */

		if (peer && event->end == WEFT_BOOT_END_SILENT)
			weft_peer_exclude(peer);
		if (peer)
			weft_peer_fail(
				peer, weft_err_set(WEFT_ERR_PEER, "%s", why));
	}
}

/* Records that the process has ended, and cannot access memory any more. */
static void confirm_end(
	struct weft_vci *vci, const struct weft_boot_event *event)
{
	struct weft_peer *peer =
		weft_map_get(&vci->peers, weft_proc_of_event(event) + 1);

	if (!peer || event->end == WEFT_BOOT_END_SILENT)
		return;
	peer->may_live = false;
	peer->is_unreached = false; /* the process ended before contact */
}

/* True for the first report of the end of a process. If this process has
 * detected the end itself, the process manager may report it a second time. vci
 * is the default VCI. */
static bool is_first_end(struct weft_vci *vci, uint64_t proc)
{
	struct weft_peer *peer = weft_peer_of(vci, proc);
	bool is_first = !peer || !peer->has_ended;

	if (peer)
		peer->has_ended = true;
	return is_first;
}

/* True if the process may have ended before this process started, and this
 * process has not contacted it. The process manager reports such ends to a
 * process that joins a job later. */
static bool is_of_former_set(
	struct weft_vci *vci, const struct weft_boot_event *event)
{
	return event->rank < weft_proc.facts.world_first &&
	       !weft_map_get(&vci->peers, weft_proc_of_event(event) + 1);
}

static void proc_report_end(const struct weft_boot_event *event)
{
	char why[160];

	proc_describe_end(event, why, sizeof(why));
	if (event->end == WEFT_BOOT_END_NORMAL)
		weft_log_warn("CORE-LEFT",
			"%s; operations on it end with errors", why);
	else if (event->end == WEFT_BOOT_END_SILENT)
		weft_log_warn("CORE-SILENT",
			"%s; operations on it end with errors, and its "
			"messages are dropped",
			why);
	else if (event->end == WEFT_BOOT_END_CANCELLED)
		weft_log_info("CORE-CANCELLED", "%s", why);
	else
		weft_log_warn("CORE-DIED", "%s", why);
}

/* A process of another job that is no peer yet may become a peer: its job may
 * be about to connect. vci is the default VCI. */
static void proc_on_other_death(
	struct weft_vci *vci, const struct weft_boot_event *event)
{
	uint64_t proc = weft_proc_of_event(event);
	bool is_peer = weft_map_get(&vci->peers, proc + 1) != NULL;

	if (!is_first_end(vci, proc))
		return;
	if (is_peer)
		proc_report_end(event);
	proc_on_death(vci, event);
	if (weft_proc.on_event)
		weft_proc.on_event(event);
}

/* Records an offer. Returns false if the last event had the same number of
 * processes: the process manager may send an event twice. */
static bool proc_on_offer(const struct weft_boot_event *event)
{
	struct weft_offer *offer = &weft_proc.offer;
	bool is_new = event->code != offer->last_delta;

	offer->delta = offer->last_delta = event->code;
	offer->end_ns =
		event->rank ? weft_now_ns() + event->rank * WEFT_NS_PER_S : 0;
	return is_new;
}

void weft_proc_on_event(void *arg, const struct weft_boot_event *event)
{
	struct weft_vci *vci = arg;
	bool is_reported;

	if (event->kind == WEFT_BOOT_CALLED) {
		weft_peer_on_call(vci, weft_proc_of_event(event), event->data,
			event->len);
		return;
	}
	if (event->kind == WEFT_BOOT_JOB_ENDED) {
		weft_foreign_job_ended(event->name);
		return;
	}
	if (event->kind == WEFT_BOOT_OTHER_DIED ||
		event->kind == WEFT_BOOT_PEER_DIED)
		confirm_end(vci, event);
	if (event->kind == WEFT_BOOT_OTHER_DIED) {
		proc_on_other_death(vci, event);
		return;
	}
	if (vci->number) {
		/* weft_proc.on_event was called for the default VCI */
		proc_on_death(vci, event);
		return;
	}
	is_reported = event->kind == WEFT_BOOT_PEER_DIED &&
		      !is_of_former_set(vci, event);
	if (event->kind == WEFT_BOOT_PEER_DIED &&
		!is_first_end(vci, weft_proc_of_event(event)))
		return;
	if (event->kind == WEFT_BOOT_OFFER) {
		if (!proc_on_offer(event))
			return;
	} else if (event->kind != WEFT_BOOT_PEER_DIED) {
		weft_proc.n_pset_events++;
		weft_proc.pset_version++;
	} else {
		if (is_reported)
			proc_report_end(event);
		proc_on_death(vci, event);
	}
	if (weft_proc.on_event)
		weft_proc.on_event(event);
	if (event->kind == WEFT_BOOT_PEER_DIED)
		weft_vci_record_failure(event);
}

/* Handles an event that this process has detected as if the process manager had
 * reported it. */
static void on_found(struct weft_vci *held, const struct weft_boot_event *event)
{
	bool is_other = held != &weft_proc.vci;

	if (is_other)
		weft_vci_lock(&weft_proc.vci);
	weft_proc_on_event(&weft_proc.vci, event);
	if (is_other)
		weft_vci_unlock(&weft_proc.vci);
}

void weft_proc_on_silent(struct weft_vci *held, uint64_t proc, const char *why)
{
	struct weft_boot_event event = {
		.kind = WEFT_BOOT_PEER_DIED,
		.rank = (uint32_t)proc,
		.code = -1,
		.end = WEFT_BOOT_END_SILENT,
	};

	snprintf(event.name, sizeof(event.name), "%s", why);
	on_found(held, &event);
}

/* The process manager of another job does not report to this process. */
static void on_found_other(struct weft_peer *peer, const char *what)
{
	peer->has_ended = true;
	weft_proc_receive_rest(peer->vci);
	weft_peer_fail(peer, weft_err_set(WEFT_ERR_PEER,
				     "process %u of another job has ended: %s",
				     (uint32_t)peer->proc, what));
	weft_log_warn("CORE-DIED", "%s", peer->why ? peer->why : "");
}

bool weft_proc_find_end(
	struct weft_vci *held, uint64_t addr, uint64_t proc, char *what)
{
	struct weft_peer *peer = weft_map_get(&held->peers, addr + 1);
	struct weft_boot_event event = {
		.kind = WEFT_BOOT_PEER_DIED,
		.rank = (uint32_t)proc,
		.code = -1,
		.end = WEFT_BOOT_END_FOUND,
	};

	what[0] = 0;
	if (!peer || !weft_peer_has_ended(peer, what, WEFT_PROC_FOUND))
		return false;
	if (!weft_proc_is_member(proc)) {
		on_found_other(peer, what);
		return true;
	}
	snprintf(event.name, sizeof(event.name), "%s", what);
	on_found(held, &event);
	return true;
}

/* Opens the default VCI with its transports: shared memory for this node, and a
 * fabric if the job has processes on other nodes or there is no shared memory.
 */
static int open_vci(struct weft_vci *vci, weft_vci_open_fn *on_open)
{
	const struct weft_boot_facts *facts = &weft_proc.facts;
	int err;

	weft_vci_init(vci, 0);
	weft_counters_open(&vci->counters, 0);
	vci->boot = weft_proc.boot;
	err = on_open(vci);
	if (err)
		return err;
	weft_vci_open_wakeup(vci, weft_proc.boot);
	weft_vci_open_shm(vci);
	if (facts->size > 1 && (!vci->shm || facts->n_nodes > 1))
		err = weft_vci_open_default_net();
	else if (facts->rank == 0)
		weft_net_check_provider();
	if (!err)
		weft_rail_open(vci);
	return err;
}

/* Creates the node's table of business cards, in its first process. A node with
 * two processes needs no table, because each process requests one card in any
 * case. */
static void share_bcs(struct weft_vci *vci, struct weft_bc *bc)
{
	const struct weft_boot_facts *facts = &weft_proc.facts;

	if (!vci->shm || facts->local_size <= 2 ||
		weft_boot_local_index(weft_proc.boot, facts->rank))
		return;
	bc->node_fd = weft_node_bc_open(&vci->node_bc, facts->local_size);
	weft_node_bc_put(&vci->node_bc, 0, bc);
}

static int publish_bc(struct weft_vci *vci)
{
	struct weft_bc *bc = malloc(sizeof(*bc));
	int err;

	if (!bc)
		return WEFT_ERR_NOMEM;
	vci->own_bc = bc;
	weft_bc_init(bc);
	bc->local_rank = weft_proc.facts.local_rank;
	memcpy(bc->key, weft_proc.facts.own_key, sizeof(bc->key));
	if (vci->shm)
		weft_shm_describe(vci->shm, &bc->shm);
	err = weft_vci_name_net(vci);
	if (err)
		return err;
	weft_rail_describe(vci, bc);
	share_bcs(vci, bc);
	err = weft_boot_put(weft_proc.boot, WEFT_BC_KEY, bc, weft_bc_len(bc));
	return err ? err : weft_boot_commit(weft_proc.boot);
}

/* Runs when the process exits. If a session is open, the process has not exited
 * normally, and the process manager is not finalized. */
static void close_proc(void)
{
	if (!weft_proc.is_open)
		return;
	weft_proc.is_open = false;
	/* a manager that is not finalized continues to signal */
	atomic_store_explicit(&weft_proc.boot->wakeup, 0, memory_order_relaxed);
	weft_progress_thread_join();
	weft_vci_close_dedicated();
	weft_vci_close(&weft_proc.vci);
	weft_boot_close(weft_proc.boot, weft_proc.n_sessions == 0);
	weft_proc.boot = NULL;
	/* after weft_boot_close(), because boot signals the wakeup */
	weft_wakeup_close(&weft_proc.vci.wakeup);
	weft_topo_close(weft_proc.topo);
	weft_proc.topo = NULL;
	weft_counters_close(&weft_proc.counters);
	if (weft_knobs.stats[0] == '1')
		weft_counters_print();
}

/* Returns the number of empty polls before a yield: about a tenth of a
 * millisecond, whatever a poll costs. A yield is necessary, because the awaited
 * process may need this core, even if the machine has more cores (a container,
 * a binding). */
static uint32_t choose_spin(const struct weft_vci *vci)
{
	uint32_t spin = (uint32_t)weft_knobs.spin;

	if (weft_knob_is_set(&weft_knobs.spin))
		return spin;
	if (weft_proc.node.shares_cores)
		return 0;
	if (vci->shm || !vci->net ||
		vci->net->plan.poll_ns <= WEFT_POLL_CHEAP_NS)
		return spin;
	return spin / CALL_POLLS;
}

/* Returns the number of processes of the job on this machine. Ranks without a
 * process do not count. */
static unsigned long proc_n_here(void)
{
	unsigned long n = (unsigned long)weft_proc.facts.local_size *
			  (unsigned long)weft_knobs.nodes;

	return weft_proc.facts.max_procs
		       ? weft_min(n, (unsigned long)weft_proc.facts.max_procs)
		       : n;
}

/* Chooses how this process waits. Waiting threads sleep if a cgroup's quota is
 * below one processor per process and the processes do not share cores. A sleep
 * saves a part of the quota; a yield does not. */
static void choose_waiting(void)
{
	unsigned quota =
		weft_allowance_quota("/proc/self/cgroup", "/sys/fs/cgroup");
	const struct weft_vci *vci = &weft_proc.vci;
	const unsigned long n = proc_n_here();

	weft_proc.sleeps = weft_proc.is_blocking ||
			   (!weft_proc.node.shares_cores && quota && n > quota);
	weft_proc.max_spin = choose_spin(vci);
	weft_yield_set_sharers(n / weft_allowance_cpus());
}

static int open_proc(weft_vci_open_fn *on_open)
{
	struct weft_boot_facts *facts = &weft_proc.facts;
	struct weft_vci *vci = &weft_proc.vci;
	int err;

	weft_knob_load();
	weft_crash_reset();
	err = weft_proc.open_boot(&weft_proc.boot, facts);
	if (err)
		return err;
	if (!facts->world_size)
		facts->world_size = facts->size;
	weft_log_set_rank((int)facts->rank);
	weft_proc.liveness = weft_liveness_map(facts->rank);
	weft_proc.proc = weft_boot_proc_number(facts->job, facts->rank);
	atomic_store(&weft_proc.next_ctx, CTX_FIRST);
	weft_proc.is_blocking = !strcmp(weft_knobs.wait, "block");
	weft_node_plan_make(&weft_proc.node, proc_n_here());
	err = open_vci(vci, on_open);
	if (err)
		goto fail;
	choose_waiting();
	vci->self = weft_peer_of(vci, vci->addr);
	err = vci->self ? publish_bc(vci) : WEFT_ERR_NOMEM;
	if (err)
		goto fail;
	weft_proc.is_open = true;
	weft_counters_open(&weft_proc.counters, WEFT_COUNTER_PROCESS);
	atexit(close_proc);
	weft_log_info("CORE-OPEN",
		"process %u of %u under %s, %u on this node%s, %s%s",
		facts->rank, facts->world_size, facts->manager,
		facts->local_size,
		weft_proc.node.shares_cores ? " which share processors"
		: weft_proc.sleeps	    ? " which sleep while they wait"
					    : "",
		vci->shm ? "shared memory" : "no shared memory",
		vci->net ? " and a fabric" : "");
	return 0;
fail:
	weft_vci_close(vci);
	weft_boot_close(weft_proc.boot, 0);
	weft_proc.boot = NULL;
	weft_wakeup_close(&vci->wakeup);
	return err;
}

int weft_proc_get(weft_vci_open_fn *on_open)
{
	int err = 0;

	pthread_mutex_lock(&weft_proc.lock);
	if (!weft_proc.is_open) {
		bool began = weft_thread_check_begin();

		err = open_proc(on_open);
		weft_thread_check_end(began);
	}
	if (!err && weft_proc.n_sessions++ == 0)
		weft_liveness_set(weft_proc.liveness, WEFT_LIVENESS_BUSY);
	weft_proc.counters.sessions += !err;
	pthread_mutex_unlock(&weft_proc.lock);
	return err;
}

void weft_proc_put(void)
{
	pthread_mutex_lock(&weft_proc.lock);
	if (--weft_proc.n_sessions == 0)
		weft_liveness_set(weft_proc.liveness, WEFT_LIVENESS_IDLE);
	pthread_mutex_unlock(&weft_proc.lock);
}
