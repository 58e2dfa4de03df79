/* SPDX-License-Identifier: BSD-3-Clause */
/* win_wait: waits end when who is waited for has failed, and speak up when they
 * take long */
#include "win/win_priv.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "comm/failed.h"
#include "core/comm.h"
#include "transport/progress.h"
#include "watchdog/wait.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

enum {
	ROUNDS_PER_LOOK = 64,
	SLEEP_NS = 20000, /* of who waits for a word of memory in vain */
	NOTE_NS = 100000000,
	GRACE_NS = 1000000000, /* for the living to go on */
};

static void name_whom(const struct weft_win_wait *wait, char *buf, size_t len)
{
	if (wait->target)
		snprintf(buf, len, " rank %u", wait->target->rank);
	else
		snprintf(buf, len, " its members");
}

static bool has_target_failed(const struct weft_win_wait *wait)
{
	const struct weft_win_target *target = wait->target;
	struct weft_comm *comm = wait->win->comm;
	const struct weft_peer *peer;
	uint64_t proc;

	if (!target || target->is_me)
		return false;
	peer = weft_comm_peer(comm, target->rank);
	proc = weft_group_proc(comm->group, target->rank);
	return (peer && peer->state == WEFT_PEER_FAILED) ||
	       comm->failed == proc + 1 || weft_failed_is(proc);
}

/* As somebody died it may have left the window, which needs a barrier else. */
static bool has_target_left(const struct weft_win_wait *wait)
{
	const struct weft_comm *comm = wait->win->comm;

	return wait->target && comm->p2p.departed &&
	       comm->p2p.departed[wait->target->rank];
}

/* Who has a lock may be anybody, and dead. */
static int check_failed(struct weft_win_wait *wait, uint64_t now)
{
	const struct weft_comm *comm = wait->win->comm;

	if (has_target_failed(wait))
		return weft_err_set(WEFT_ERR_PEER,
			"%s cannot end: rank %u of window \"%s\" has failed",
			wait->what, wait->target->rank, wait->win->name);
	if (has_target_left(wait))
		return weft_err_set(WEFT_ERR_PEER,
			"%s cannot end: rank %u has left window \"%s\" after "
			"a member failed",
			wait->what, wait->target->rank, wait->win->name);
	if (!wait->is_lock || !weft_failed_in(comm->group))
		return 0;
	if (!wait->failed_ns)
		wait->failed_ns = now;
	if (now - wait->failed_ns < GRACE_NS)
		return 0;
	return weft_err_set(WEFT_ERR_PEER,
		"%s cannot end: rank %d of window \"%s\" has failed",
		wait->what, weft_failed_first(comm->group), wait->win->name);
}

static int win_wait_look(struct weft_win_wait *wait)
{
	uint64_t now = weft_now_ns();
	char whom[32], text[WEFT_WAIT_TEXT];

	if (!wait->start_ns)
		wait->start_ns = now;
	if (now - wait->start_ns < NOTE_NS)
		return 0;
	name_whom(wait, whom, sizeof(whom));
	snprintf(text, sizeof(text), "in %s for%s of window \"%.60s\"",
		wait->what, whom, wait->win->name);
	weft_wait_note(text, wait->start_ns);
	if (!wait->has_said && weft_knobs.stall_warn &&
		now - wait->start_ns >=
			(uint64_t)weft_knobs.stall_warn * WEFT_NS_PER_S) {
		wait->has_said = true;
		weft_log_warn("WIN-STALL",
			"%s waits since %u s for%s of window \"%s\" "
			"(WEFT_STALL_WARN)",
			wait->what,
			(unsigned)((now - wait->start_ns) / WEFT_NS_PER_S),
			whom, wait->win->name);
	}
	return check_failed(wait, now);
}

int weft_win_wait_round(struct weft_win_wait *wait)
{
	const struct timespec pause = { .tv_nsec = SLEEP_NS };
	struct weft_vci *vci = wait->win->comm->vci;

	if (wait->is_memory)
		weft_progress_try(vci);
	else
		weft_progress_wait(vci);
	if (weft_likely(++wait->n_rounds % ROUNDS_PER_LOOK))
		return 0;
	/* who has it may need the core */
	if (wait->is_memory && wait->n_rounds > wait->n_awake) {
		weft_vci_unlock(vci);
		nanosleep(&pause, NULL);
		weft_vci_lock(vci);
	}
	return win_wait_look(wait);
}
