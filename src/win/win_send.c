/* SPDX-License-Identifier: BSD-3-Clause */
/* win_send: posts the active messages of a window; requests locks and ends
 * epochs by message
 *
 * A message to another node costs a system call. So short accesses that request
 * no answer stay in the origin's queue for the target until the next message to
 * that target. Every wait for answers of a target posts this queue first.
 *
 * The request for a lock is the first record of the first message of its epoch.
 * While the lock is held, the target queues that message and the unlock. The
 * origin sends no other message until the lock is granted. */
#include "win/win_priv.h"

#include "base/err.h"
#include "core/comm.h"

#include <stddef.h>
#include <string.h>

enum {
	BURST = 4, /* is_burst is set after this many short accesses between two
		      flushes */
};

static int win_am_wait(struct weft_am_channel *channel, const char *what,
	weft_am_try_fn *fn, void *arg)
{
	struct weft_win_wait wait = { .win = weft_win_of_channel(channel),
		.target = weft_win_target_of_channel(channel),
		.what = what };
	int err;

	wait.is_lock = weft_win_is_lock_requested(wait.win, wait.target);
	do {
		err = weft_win_wait_round(&wait);
		err = err ? err : fn(channel, arg);
	} while (err == WEFT_AGAIN);
	return weft_win_wait_end(&wait, err);
}

static int win_am_failed(struct weft_am_channel *channel)
{
	return weft_comm_failed_rank(channel->am->comm, (int32_t)channel->rank);
}

/* --- posting ------------------------------------------------------- */

static int try_granted(struct weft_am_channel *channel, void *arg)
{
	(void)arg;
	return weft_win_is_lock_requested(weft_win_of_channel(channel),
		       weft_win_target_of_channel(channel))
		       ? WEFT_AGAIN
		       : 0;
}

static int wait_granted(struct weft_win_target *target)
{
	int err = weft_am_try(&target->am, "MPI_Win_lock", try_granted, NULL);

	target->am.is_gated = err;
	return err;
}

/* Queues the request for the target's lock, before the record that needs it.
 * The queue is empty. */
static int add_lock(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_wire_am rec = { .kind = WEFT_WIRE_AM_LOCK,
		.op = target->lock.is_exclusive };
	struct weft_win_op *op = weft_win_op_new(win, target, NULL, 1);
	int err;

	if (!op)
		return WEFT_ERR_NOMEM;
	rec.id = target->lock.id = op->am.id;
	err = weft_am_append(&target->am, &rec, 0) ? 0 : WEFT_ERR_NOMEM;
	weft_am_op_begun(&op->am, err);
	target->lock.is_due = err;
	return err;
}

/* True if the queue begins with the request for the lock. */
static bool requests_lock(const struct weft_win_target *target)
{
	return target->am.len && target->am.queue[0] == WEFT_WIRE_AM_LOCK;
}

/* Called before a record is queued. If the lock was not requested yet, queues
 * the request. Otherwise waits until the lock is granted. An unlock does not
 * wait, and neither does a record that is sent in one message with the request.
 */
static int win_am_pass_gate(struct weft_am_channel *channel, uint8_t kind)
{
	struct weft_win_target *target = weft_win_target_of_channel(channel);

	if (target->lock.is_due)
		return add_lock(weft_win_of_channel(channel), target);
	return kind == WEFT_WIRE_AM_UNLOCK || requests_lock(target)
		       ? 0
		       : wait_granted(target);
}

const struct weft_am_ops weft_win_am_ops = {
	.posting = "an access",
	.wait = win_am_wait,
	.failed = win_am_failed,
	.pass_gate = win_am_pass_gate,
};

int weft_win_am_acquire(struct weft_win *win, struct weft_win_target *target)
{
	int err = target->lock.is_due ? add_lock(win, target) : 0;

	if (!err && requests_lock(target))
		err = weft_am_post_queue(&target->am);
	return err || !target->lock.id ? err : wait_granted(target);
}

/* An epoch of MPI_Win_start needs no answer if the target cannot refuse an
 * access and is notified by message. Otherwise an access requests an answer if
 * no operation is pending, so that a single access and its flush cost one
 * message in each direction. */
bool weft_win_needs_answer(
	const struct weft_win *win, const struct weft_win_target *target)
{
	const struct weft_link *ops = &target->am.ops;

	return (weft_list_is_empty(ops) ||
		       (requests_lock(target) && ops->next == ops->prev)) &&
	       (win->access != WEFT_WIN_STARTED || win->polls_states ||
		       !target->is_known);
}

bool weft_win_may_keep(struct weft_win *win, struct weft_win_target *target)
{
	const struct weft_peer *peer =
		weft_comm_peer(win->comm, target->am.rank);

	return peer && !peer->is_shm && !peer->is_self &&
	       peer->state == WEFT_PEER_READY && !target->lock.is_due &&
	       !weft_win_is_lock_requested(win, target);
}

int weft_win_am_request(struct weft_win *win, struct weft_win_target *target,
	struct weft_wire_am *rec, const struct weft_win_buf *to)
{
	struct weft_win_op *op = weft_win_op_new(win, target, NULL, 1);
	int err;

	if (!op)
		return WEFT_ERR_NOMEM;
	if (to)
		weft_win_op_into(op, to);
	rec->id = op->am.id;
	target->am.is_touched = false;
	err = weft_am_send(&target->am, rec);
	weft_am_op_begun(&op->am, err);
	return err;
}

int weft_win_am_end(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_wire_am rec = { .kind = WEFT_WIRE_AM_FLUSH };

	return target->am.len && weft_win_needs_answer(win, target)
		       ? weft_win_am_request(win, target, &rec, NULL)
		       : weft_am_post_queue(&target->am);
}

/* --- waiting for answers ------------------------------------------- */

/* Returns the first error of the target since the last call. */
static int target_fault(
	const struct weft_win *win, struct weft_win_target *target)
{
	int err = target->am.err;

	target->am.err = 0;
	if (err == WEFT_ERR_PEER)
		return weft_comm_failed_rank(
			win->comm, (int32_t)target->am.rank);
	return err ? weft_err_set(err, "rank %u of window \"%s\": %s",
			     target->am.rank, win->name, target->am.why)
		   : 0;
}

int weft_win_op_wait(
	struct weft_win *win, struct weft_win_target *target, const char *what)
{
	int err = weft_am_wait(&target->am, what);

	return err ? err : target_fault(win, target);
}

/* --- records without data ------------------------------------------ */

/* Sends a record, and waits for its answer; `what` is the call that waits. */
static int call_locked(struct weft_win *win, struct weft_win_target *target,
	struct weft_wire_am rec, const char *what)
{
	int err = weft_win_am_request(win, target, &rec, NULL);

	return err ? err : weft_win_op_wait(win, target, what);
}

int weft_win_am_post(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_wire_am rec = { .kind = WEFT_WIRE_AM_POST };
	int err;

	weft_vci_lock(win->comm->vci);
	err = weft_am_send(&target->am, &rec);
	weft_vci_unlock(win->comm->vci);
	return err;
}

int weft_win_am_flush(
	struct weft_win *win, struct weft_win_target *target, bool is_local)
{
	struct weft_wire_am rec = { .kind = WEFT_WIRE_AM_FLUSH };
	int err, fabric_err;

	weft_vci_lock(win->comm->vci);
	target->is_burst = target->n_short >= BURST;
	target->n_short = 0;
	fabric_err = weft_win_rma_flush(win, target);
	if (!is_local && target->am.is_touched)
		err = call_locked(win, target, rec, "MPI_Win_flush");
	else
		err = weft_win_op_wait(win, target, "MPI_Win_flush");
	weft_vci_unlock(win->comm->vci);
	return fabric_err ? fabric_err : err;
}

/* --- the ends of epochs -------------------------------------------- */

/* True if an operation is pending that is not ordered with active messages:
 * RDMA or long data. With is_any, also if a pending operation returns data. */
static bool has_due(const struct weft_win_target *target, bool is_any)
{
	weft_list_for_each(link, next, &target->am.ops)
	{
		const struct weft_win_op *op =
			weft_container_of(link, struct weft_win_op, am.link);

		if (op->am.is_fabric || op->is_long ||
			(is_any && (op->whole || op->am.room)))
			return true;
	}
	return false;
}

/* Ensures that the target processes later messages after all earlier accesses.
 */
static int settle_target(struct weft_win *win, struct weft_win_target *target)
{
	int fabric_err = weft_win_rma_flush(win, target);
	int err = has_due(target, false)
			  ? weft_win_op_wait(win, target, "MPI_Win_flush")
			  : 0;

	return fabric_err ? fabric_err : err;
}

void weft_win_am_lock(
	struct weft_win *win, struct weft_win_target *target, bool is_exclusive)
{
	weft_vci_lock(win->comm->vci);
	target->lock.is_exclusive = is_exclusive;
	target->lock.is_due = target->am.is_gated = true;
	weft_vci_unlock(win->comm->vci);
}

int weft_win_am_unlock(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_wire_am rec = { .kind = WEFT_WIRE_AM_UNLOCK,
		.op = target->lock.is_exclusive };
	int err = 0, settle_err = 0;

	weft_vci_lock(win->comm->vci);
	if (target->lock.is_due) { /* no access was made */
		target->lock.is_due = false;
	} else {
		settle_err = settle_target(win, target);
		err = call_locked(win, target, rec, "MPI_Win_unlock");
	}
	target->lock.id = 0;
	target->am.is_gated = false;
	weft_vci_unlock(win->comm->vci);
	return settle_err ? settle_err : err;
}

int weft_win_am_complete(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_wire_am rec = { .kind = WEFT_WIRE_AM_COMPLETE };
	int err, wait_err = 0;

	weft_vci_lock(win->comm->vci);
	err = settle_target(win, target);
	if (!err && !target->is_known) /* the target may refuse an access */
		err = weft_win_op_wait(win, target, "MPI_Win_flush");
	target->am.is_touched = false; /* the target's MPI_Win_wait completes
					  the accesses */
	wait_err = weft_am_send(&target->am, &rec);
	err = err ? err : wait_err;
	if (has_due(target, true))
		wait_err = weft_win_op_wait(win, target, "MPI_Win_flush");
	weft_vci_unlock(win->comm->vci);
	return err ? err : wait_err;
}
