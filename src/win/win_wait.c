/* SPDX-License-Identifier: BSD-3-Clause */
/* win_wait: waits for other members of a window
 *
 * A wait ends with an error if the target has failed or the window is revoked.
 * Long waits are registered with src/watchdog, which reports them and finds
 * cycles. */
#include "win/win_priv.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "core/failed.h"
#include "core/comm.h"
#include "core/vci_core.h"
#include "p2p/p2p.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "transport/sleep.h"
#include "watchdog/request.h"
#include "watchdog/wait.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	ROUNDS_PER_CHECK = 64,
	AWAKE = 2048, /* rounds before a wait for a word sleeps */
	NOTE_NS = 100000000,
	GRACE_NS = 1000000000, /* wait for a lock after a member failed */
};

/* The part of a long wait that src/watchdog uses. */
struct weft_win_waiting {
	struct weft_wait wait;
	const struct weft_win_wait *loop;
	const char *call;	 /* the OpenSHMEM procedure, or loop->what */
	int32_t reported_holder; /* rank that holds the lock of a member of
				    another node, as that member reported; -1:
				    unknown */
};

static const struct weft_win_waiting *win_waiting_of(
	const struct weft_wait *wait)
{
	return weft_container_of(wait, struct weft_win_waiting, wait);
}

static const struct weft_win_wait *win_loop_of(const struct weft_wait *wait)
{
	return win_waiting_of(wait)->loop;
}

/* --- texts --------------------------------------------------------- */

static void win_wait_name(const struct weft_wait *wait, char *buf, size_t len)
{
	snprintf(buf, len, "%s", win_waiting_of(wait)->call);
}

static void win_wait_describe(
	const struct weft_wait *wait, char *buf, size_t len)
{
	const struct weft_win_wait *loop = win_loop_of(wait);

	snprintf(buf, len, "in %s for rank %u of window \"%.60s\"",
		win_waiting_of(wait)->call, loop->target->am.rank,
		loop->win->name);
}

/* --- needs --------------------------------------------------------- */

static void on_member(struct weft_wait *wait, struct weft_need *need,
	const struct weft_win *win, uint32_t rank)
{
	uint64_t proc = weft_group_proc(win->comm->group, rank);

	if (proc != weft_proc.proc)
		weft_wait_add_proc(wait, need, proc,
			weft_vci_addr(proc,
				win->comm->vcis ? win->comm->vcis[rank] : 0),
			(int32_t)rank);
}

static struct weft_need *win_need(struct weft_wait *wait,
	const struct weft_win_wait *loop, enum weft_wire_need kind,
	uint32_t round)
{
	const struct weft_comm *comm = loop->win->comm;
	struct weft_need *need = weft_wait_add_need(wait);

	if (!need)
		return NULL;
	need->kind = kind;
	need->what = comm->ctx;
	need->round = round;
	need->is_soft = true;
	need->size = (uint32_t)comm->size;
	need->n_all = 1;
	snprintf(need->label, sizeof(need->label), "%.31s",
		loop->win->name[0] ? loop->win->name : "without a name");
	return need;
}

/* True if the wait is still for a lock. */
static bool is_for_lock(const struct weft_win_wait *loop)
{
	return loop->is_lock &&
	       (loop->target->state ||
		       weft_win_is_lock_requested(loop->win, loop->target));
}

/* Returns rank + 1 of the exclusive holder of the lock in state; 0: none. */
static int32_t holder_in(const struct weft_win_state *state)
{
	return atomic_load_explicit(&state->holder, memory_order_relaxed);
}

/* Adds the exclusive holder of the lock to the processes that this wait needs.
 * On this node, the holder is read from memory. A member on another node
 * reports the holder when src/watchdog queries this member. */
static void lock_needs(struct weft_wait *wait, const struct weft_win_wait *loop)
{
	const struct weft_win_target *target = loop->target;
	const struct weft_win *win = loop->win;
	int32_t holder = target->state ? holder_in(target->state) - 1
				       : win_waiting_of(wait)->reported_holder;
	struct weft_need *need =
		win_need(wait, loop, WEFT_WIRE_NEED_LOCK, target->am.rank);
	size_t len;

	if (holder >= win->comm->size || holder == win->comm->rank)
		holder = -1; /* if this process holds the lock, the grant has
				not arrived yet */
	if (holder < 0)
		weft_wait_set_unsure(wait);
	if (!need)
		return;
	len = (size_t)snprintf(need->phrase, sizeof(need->phrase),
		"the lock of rank %u of window \"%.60s\"", target->am.rank,
		win->name);
	need->if_met = "no process is known to hold it exclusively";
	if (holder >= 0) {
		snprintf(need->phrase + len, sizeof(need->phrase) - len,
			", which rank %d holds", holder);
		on_member(wait, need, win, (uint32_t)holder);
	}
	if (!target->state && holder != (int32_t)target->am.rank) {
		need->n_all = holder >= 0 ? 2 : 1;
		on_member(wait, need, win, target->am.rank);
	}
}

/* Adds the processes that this wait needs. Only a wait for a call of a known
 * process proves a cycle. A wait for the target's progress does not. */
static void win_wait_needs(struct weft_wait *wait)
{
	const struct weft_win_wait *loop = win_loop_of(wait);
	struct weft_need *need;

	if (is_for_lock(loop)) {
		lock_needs(wait, loop);
		return;
	}
	if (loop->word && weft_win_has_counted(loop->word, loop->number))
		return;
	if (!loop->word)
		weft_wait_set_unsure(wait);
	need = win_need(wait, loop, WEFT_WIRE_NEED_WINDOW, loop->number);
	if (!need)
		return;
	snprintf(need->phrase, sizeof(need->phrase),
		"rank %u of window \"%.60s\"", loop->target->am.rank,
		loop->win->name);
	on_member(wait, need, loop->win, loop->target->am.rank);
}

/* Called when a member has reported the holder of its lock. */
static void win_wait_answered(
	struct weft_wait *wait, struct weft_wait_proc *other)
{
	struct weft_win_waiting *w =
		weft_container_of(wait, struct weft_win_waiting, wait);
	const struct weft_need *need = &wait->view->needs[other->need];

	if (need->kind == WEFT_WIRE_NEED_LOCK &&
		other->rank == (int32_t)need->round)
		w->reported_holder = (int32_t)other->owner - 1;
	other->owner = 0;
}

/* Returns WEFT_WIRE_UNMET if this process holds the lock of a member
 * exclusively. Ignores a request that is not granted, because other requests
 * may be queued before it. */
enum weft_wire_met weft_win_met_lock(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t asker,
	uint32_t *owner_out)
{
	const struct weft_comm *comm = weft_vci_core_comm(vci, query->what);
	const struct weft_win_target *target = NULL;
	bool has_it;

	(void)asker;
	if (comm && comm->win && query->round < (uint32_t)comm->size)
		target = weft_win_target_at(comm->win, query->round);
	if (!target)
		return WEFT_WIRE_MET;
	if (target->is_me)
		*owner_out = (uint32_t)holder_in(target->state);
	if (target->state)
		has_it = holder_in(target->state) == comm->rank + 1;
	else
		has_it = target->lock.id && target->lock.is_exclusive &&
			 !weft_win_is_lock_requested(comm->win, target);
	return has_it ? WEFT_WIRE_UNMET : WEFT_WIRE_MET;
}

static const struct weft_wait_ops win_wait_ops = {
	.id = "WIN-STALL",
	.noun = "windows",
	.is_message = true,
	.name = win_wait_name,
	.describe = win_wait_describe,
	.needs = win_wait_needs,
	.on_answer = win_wait_answered,
};

/* --- members that fail --------------------------------------------- */

static bool has_target_failed(const struct weft_win_wait *wait)
{
	const struct weft_win_target *target = wait->target;
	struct weft_comm *comm = wait->win->comm;
	const struct weft_peer *peer;
	uint64_t proc;

	if (target->is_me)
		return false;
	peer = weft_comm_peer(comm, target->am.rank);
	proc = weft_group_proc(comm->group, target->am.rank);
	return (peer && peer->state == WEFT_PEER_FAILED) ||
	       comm->failed == proc + 1 || weft_failed_is(proc);
}

/* True if the target is in MPI_Win_free and cannot end this wait. Until all
 * members are in MPI_Win_free, the target carries out accesses, but makes no
 * other call. If a member has died, the target waits for no member. */
static bool has_target_left(const struct weft_win_wait *wait)
{
	struct weft_comm *comm = wait->win->comm;

	weft_departed_watch(comm, (int32_t)wait->target->am.rank);
	if (!weft_p2p_has_departed(comm, wait->target->am.rank))
		return false;
	return comm->failed ||
	       (wait->word && !weft_win_has_counted(wait->word, wait->number));
}

/* Returns the error of a wait that cannot end; otherwise 0. If any member has
 * failed, a wait for a lock ends after GRACE_NS, because the failed member may
 * hold the lock. */
static int check_failed(struct weft_win_wait *wait, uint64_t now)
{
	const struct weft_comm *comm = wait->win->comm;

	if (has_target_failed(wait))
		return weft_comm_failed_rank(
			comm, (int32_t)wait->target->am.rank);
	if (has_target_left(wait) && !comm->failed)
		return weft_err_set(WEFT_ERR_RMA_SYNC,
			"%s cannot end: rank %u is freeing window \"%s\"",
			wait->what, wait->target->am.rank, wait->win->name);
	if (has_target_left(wait))
		return weft_departed_source(
			comm, (int32_t)wait->target->am.rank);
	if (!wait->is_lock || !weft_failed_in(comm->group))
		return 0;
	if (!wait->failed_ns)
		wait->failed_ns = now;
	if (now - wait->failed_ns < GRACE_NS)
		return 0;
	return weft_comm_failed_rank(comm, weft_failed_first(comm->group));
}

/* True if the fabric or a message accesses memory of an operation to the
 * target. */
static bool has_data_due(const struct weft_win_target *target)
{
	weft_list_for_each(link, next, &target->am.ops)
	{
		const struct weft_win_op *op =
			weft_container_of(link, struct weft_win_op, am.link);

		if ((op->am.is_fabric && op->am.n_left) || op->n_messages)
			return true;
	}
	return false;
}

/* The error of a wait for a revoked window. The wait first continues until the
 * program may reuse its buffers. */
static int check_revoked(const struct weft_win_wait *wait)
{
	return has_data_due(wait->target) ? 0
					  : weft_comm_revoked(wait->win->comm);
}

/* --- the wait ------------------------------------------------------ */

static void win_wait_begin(struct weft_win_wait *wait)
{
	struct weft_win_waiting *w = calloc(1, sizeof(*w));

	if (!w)
		return;
	w->loop = wait;
	w->call = weft_request_caller();
	if (!w->call)
		w->call = wait->what;
	w->reported_holder = -1;
	w->wait.ops = &win_wait_ops;
	w->wait.vci = wait->win->comm->vci;
	w->wait.begun_ns = wait->start_ns;
	w->wait.fault = WEFT_ERR_OTHER;
	weft_wait_begin(&w->wait);
	wait->waiting = w;
}

static int win_wait_check(struct weft_win_wait *wait)
{
	uint64_t now = weft_now_ns();

	if (!wait->start_ns)
		wait->start_ns = now;
	if (now - wait->start_ns < NOTE_NS)
		return 0;
	if (!wait->waiting)
		win_wait_begin(wait);
	return check_failed(wait, now);
}

static int stuck(const struct weft_win_wait *wait)
{
	char why[256];

	(void)weft_wait_raise(&wait->waiting->wait);
	snprintf(why, sizeof(why), "%s",
		weft_err_detail_peek(wait->waiting->wait.err));
	return weft_err_set(wait->waiting->wait.err, "window \"%s\": %s",
		wait->win->name, why);
}

/* A wait with a verdict ends with the error of the verdict, even if the lock
 * was granted meanwhile. */
int weft_win_wait_end(struct weft_win_wait *wait, int err)
{
	wait->win->comm->vci->idle_polls = 0; /* the next wait polls again */
	if (weft_likely(!wait->waiting))
		return err;
	weft_wait_end(&wait->waiting->wait);
	if (!err && wait->waiting->wait.err)
		err = stuck(wait);
	free(wait->waiting);
	wait->waiting = NULL;
	return err;
}

int weft_win_wait_round(struct weft_win_wait *wait)
{
	struct weft_vci *vci = wait->win->comm->vci;

	if (wait->is_memory)
		weft_progress_wait_word(vci);
	else
		weft_progress_wait(vci);
	if (weft_unlikely(wait->waiting) &&
		weft_wait_after_round(&wait->waiting->wait))
		return stuck(wait);
	if (weft_unlikely(weft_comm_is_revoked(wait->win->comm))) {
		int err = check_revoked(wait);

		if (err)
			return err;
	}
	if (weft_likely(++wait->n_rounds % ROUNDS_PER_CHECK))
		return 0;
	/* the process that changes the word may need the core */
	if (wait->is_memory && wait->n_rounds > AWAKE)
		weft_sleep(vci, 0, WEFT_SLEEP_ALWAYS);
	return win_wait_check(wait);
}
