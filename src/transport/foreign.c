/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign: the business card for other jobs, and the processes of other jobs */
#include "transport/foreign.h"

#include "base/clock.h"
#include "base/err.h"
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

enum {
	GRACE_S = 2, /* seconds for messages in flight after their job has ended
		      */
	CALL_S = 2,  /* seconds in which the other process should connect */
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

bool weft_foreign_has_ended(const char *name)
{
	uint32_t job = job_of(name);

	for (uint32_t i = 0; i < ended.n; i++)
		if (ended.jobs[i].job == job)
			return true;
	return false;
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
	if (!is_waiting)
		weft_list_remove(&hook->link);
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

int weft_foreign_bc(struct weft_vci_card *bc_out)
{
	struct weft_vci_card bc = { 0 };
	struct weft_vci *vci = &weft_proc.vci;
	size_t len = sizeof(bc.name);
	int err = weft_vci_open_default_net();

	if (!err)
		err = weft_net_name(vci->net, bc.name, &len);
	if (err)
		return err;
	bc.name_len = (uint8_t)len;
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
	if (!bc->name_len || bc->name_len > sizeof(bc->name))
		return weft_err_set(WEFT_ERR_PEER,
			"process %u of another job has no fabric open",
			(uint32_t)proc);
	peer = weft_peer_of(&weft_proc.vci, proc);
	return peer ? weft_peer_set_bc(peer, bc, false) : WEFT_ERR_NOMEM;
}

void weft_foreign_connect(uint64_t proc, bool is_caller)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_CREDIT };
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_peer *peer =
		weft_foreign_is(proc) ? weft_peer_of(vci, proc) : NULL;

	if (!peer || peer->state != WEFT_PEER_NEW || peer->wire_in ||
		!vci->net || !vci->net->plan.connects_one_way)
		return;
	if (is_caller)
		(void)weft_peer_control(peer, &head, NULL, 0);
	else
		peer->retry_ns = weft_now_ns() + CALL_S * WEFT_NS_PER_S;
}
