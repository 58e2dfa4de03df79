/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign: the business card for other jobs, and the processes of other jobs */
#include "transport/foreign.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/pid.h"
#include "net/net.h"
#include "shm/share.h"

#include <stdlib.h>
#include <string.h>

enum {
	GRACE_S = 2, /* seconds for messages in flight after their job has ended
		      */
	LAST_POLLS = 4, /* a poll reads at least half of a ring's slots */
	CALL_S = 2,	/* seconds in which the other process should connect */
	CHECK_S = 1,	/* seconds between tests whether processes have ended */
	ROUNDS_PER_CHECK = 16, /* idle rounds between readings of the clock */
};

/* Jobs that have ended, oldest first. Guarded by the default VCI's lock. */
static struct {
	struct weft_progress_hook hook;
	struct {
		uint32_t job;
		uint64_t due_ns; /* time at which the job's peers fail; 0: they
				    have failed */
	} * jobs;
	uint32_t n;
} ended;

/* Returns the number of the job with this name. */
static uint32_t job_of(const char *name)
{
	return (uint32_t)(weft_boot_proc_number(name, 0) >> 32);
}

static bool job_has_ended(uint32_t job)
{
	for (uint32_t i = 0; i < ended.n; i++)
		if (ended.jobs[i].job == job)
			return true;
	return false;
}

bool weft_foreign_has_ended(const char *name)
{
	return job_has_ended(job_of(name));
}

bool weft_foreign_is_ended(uint64_t proc)
{
	return job_has_ended((uint32_t)(proc >> 32));
}

bool weft_foreign_is_met(uint64_t proc)
{
	const struct weft_peer *peer =
		weft_foreign_is(proc)
			? weft_map_get(&weft_proc.vci.peers, proc + 1)
			: NULL;

	return !weft_foreign_is(proc) ||
	       (peer && (peer->bc || peer->state == WEFT_PEER_FAILED));
}

/* Returns a peer of the job that has not failed, or NULL. */
static struct weft_peer *member_of(struct weft_vci *vci, uint32_t job)
{
	size_t pos = 0;
	struct weft_map_entry *entry;

	while ((entry = weft_map_next(&vci->peers, &pos)) != NULL) {
		struct weft_peer *peer = entry->value;

		if (peer->proc >> 32 == job && peer->state != WEFT_PEER_FAILED)
			return peer;
	}
	return NULL;
}

/* True if this process shares memory, or may still share it, with this process
 * of another job. */
static bool is_sharing(const struct weft_peer *peer)
{
	return weft_foreign_is(peer->proc) && peer->bc && peer->bc->shm.pid &&
	       (peer->state != WEFT_PEER_FAILED || peer->rx || peer->tx.ring);
}

/* Fails the processes of other jobs that were found to have ended at least
 * grace_ns ago, and frees the memory that this process shares with them.
 * Returns whether this process shares memory with others. Not called while
 * rings are polled. */
static bool free_rings(struct weft_vci *vci, uint64_t grace_ns)
{
	uint64_t now = weft_now_ns();
	struct weft_map_entry *entry;
	bool has_others = false;
	size_t pos = 0;

	while ((entry = weft_map_next(&vci->peers, &pos)) != NULL) {
		struct weft_peer *peer = entry->value;

		if (!is_sharing(peer))
			continue;
		if (!peer->ended_ns && weft_pid_has_ended(peer->bc->shm.pid, 0))
			peer->ended_ns = now;
		/* a copy of a long message uses the ring until it ends */
		if (!peer->ended_ns || now - peer->ended_ns < grace_ns ||
			(peer->rx &&
				weft_ring_claims_are_open(peer->rx->ring))) {
			has_others = true;
			continue;
		}
		if (peer->state != WEFT_PEER_FAILED) {
			for (int i = 0; i < LAST_POLLS; i++)
				weft_shm_poll(vci->shm);
			weft_peer_fail(peer, weft_err_set(WEFT_ERR_PEER,
						     "process %u of another "
						     "job has ended",
						     (uint32_t)peer->proc));
			pos = 0; /* the map may have changed */
		}
		peer->was_ready = false; /* it cannot be notified */
		weft_ring_detach(&peer->tx);
		if (peer->rx)
			weft_shm_free_extra(vci->shm, peer->rx);
		peer->rx = NULL;
	}
	return has_others;
}

/* The grace is a period of the tests. So a launcher that knows both jobs
 * reports a death, with its reason, before this process finds it. */
void weft_foreign_check(struct weft_vci *vci)
{
	uint64_t now;

	if (++vci->n_foreign_rounds % ROUNDS_PER_CHECK || vci->is_polling)
		return;
	now = weft_now_ns();
	if (now < vci->foreign_check_ns)
		return;
	vci->foreign_check_ns = free_rings(vci, CHECK_S * WEFT_NS_PER_S)
					? now + CHECK_S * WEFT_NS_PER_S
					: 0;
}

static void end_jobs(struct weft_progress_hook *hook)
{
	struct weft_peer *peer;
	uint64_t now = weft_now_ns();
	bool is_waiting = false;

	for (uint32_t i = 0; i < ended.n; i++) {
		if (ended.jobs[i].due_ns > now)
			is_waiting = true;
		else if (ended.jobs[i].due_ns) {
			ended.jobs[i].due_ns = 0;
			while ((peer = member_of(&weft_proc.vci,
					ended.jobs[i].job)) != NULL)
				weft_peer_fail(
					peer, weft_err_set(WEFT_ERR_PEER,
						      "the job of process %u "
						      "has ended",
						      (uint32_t)peer->proc));
		}
	}
	if (is_waiting)
		return;
	weft_list_remove(&hook->link);
	if (weft_proc.vci.shm)
		free_rings(&weft_proc.vci, 0);
}

void weft_foreign_job_ended(const char *name)
{
	void *jobs;

	if (weft_foreign_has_ended(name))
		return;
	jobs = realloc(ended.jobs, (ended.n + 1) * sizeof(*ended.jobs));
	if (!jobs)
		return;
	ended.jobs = jobs;
	ended.jobs[ended.n].job = job_of(name);
	ended.jobs[ended.n++].due_ns = weft_now_ns() + GRACE_S * WEFT_NS_PER_S;
	if (!ended.hook.run) {
		ended.hook.run = end_jobs;
		weft_list_init(&ended.hook.link);
	}
	weft_list_remove(&ended.hook.link);
	weft_list_push_back(&weft_proc.vci.hooks, &ended.hook.link);
}

/* True if this process can open the memory of the card's process. */
static bool is_here(const struct weft_shm_bc *bc)
{
	return weft_proc.vci.shm && bc->pid &&
	       bc->domain == weft_share_domain();
}

bool weft_foreign_is_near(uint64_t proc)
{
	const struct weft_vci *vci = &weft_proc.vci;
	const struct weft_peer *peer;

	if (!weft_foreign_is(proc))
		return vci->shm && weft_proc_is_one_host() &&
		       !atomic_load_explicit(
			       &weft_proc.lacks_shm, memory_order_relaxed);
	peer = weft_map_get(&vci->peers, proc + 1);
	return peer && peer->bc && peer->bc->shm.pid &&
	       (peer->state != WEFT_PEER_READY || peer->is_shm);
}

bool weft_foreign_is_local(uint64_t proc)
{
	const struct weft_peer *peer;

	if (!weft_foreign_is(proc))
		return weft_proc_is_local(proc);
	peer = weft_map_get(&weft_proc.vci.peers, proc + 1);
	return peer && peer->bc &&
	       peer->bc->shm.node == (uint32_t)weft_proc_node_id();
}

bool weft_foreign_attach(uint64_t proc)
{
	struct weft_peer *peer = weft_peer_of(&weft_proc.vci, proc);

	if (peer && peer->bc && peer->bc->shm.pid)
		weft_peer_resolve(peer);
	return peer && peer->state == WEFT_PEER_READY && peer->is_shm;
}

/* Writes the part of the card that describes this process's shared memory. The
 * card has the node even if the process has no shared memory. */
static void describe_shm(struct weft_vci *vci, struct weft_shm_bc *bc)
{
	if (vci->shm) {
		free_rings(vci, 0);
		if (weft_shm_add_extra(vci->shm))
			weft_shm_describe(vci->shm, bc);
	}
	bc->node = (uint32_t)weft_proc_node_id();
}

int weft_foreign_bc(bool is_near, struct weft_vci_card *bc_out)
{
	struct weft_vci_card bc = { 0 };
	struct weft_vci *vci = &weft_proc.vci;
	size_t len = sizeof(bc.name);
	int err = 0;

	describe_shm(vci, &bc.shm);
	if (!is_near || !bc.shm.pid)
		err = weft_vci_open_default_net();
	if (!err && vci->net) {
		err = weft_net_name(vci->net, bc.name, &len);
		bc.name_len = (uint8_t)len;
	}
	if (err)
		return err;
	weft_proc_foreign_key(bc.key);
	weft_foreign_expect();
	*bc_out = bc;
	return 0;
}

int weft_foreign_set_bc(uint64_t proc, const struct weft_vci_card *bc)
{
	struct weft_peer *peer;

	if (!weft_foreign_is(proc))
		return 0;
	if (bc->name_len > sizeof(bc->name) ||
		(!bc->name_len && !is_here(&bc->shm)))
		return weft_err_set(WEFT_ERR_PEER,
			"process %u of another job has no fabric open, and "
			"shares no memory with this process; set WEFT_SHM=off "
			"for both jobs",
			(uint32_t)proc);
	peer = weft_peer_of(&weft_proc.vci, proc);
	if (is_here(&bc->shm) && !weft_proc.vci.foreign_check_ns)
		weft_proc.vci.foreign_check_ns = weft_now_ns();
	return peer ? weft_peer_set_bc(peer, bc, is_here(&bc->shm))
		    : WEFT_ERR_NOMEM;
}

void weft_foreign_connect(uint64_t proc, bool is_caller)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_CREDIT };
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_peer *peer =
		weft_foreign_is(proc) ? weft_peer_of(vci, proc) : NULL;

	if (!peer || peer->state != WEFT_PEER_NEW || peer->wire_in ||
		!vci->net || !vci->net->plan.connects_one_way ||
		(peer->bc && peer->bc->shm.pid))
		return;
	if (is_caller)
		(void)weft_peer_control(peer, &head, NULL, 0);
	else
		peer->retry_ns = weft_now_ns() + CALL_S * WEFT_NS_PER_S;
}
