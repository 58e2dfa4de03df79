/* SPDX-License-Identifier: BSD-3-Clause */
/* disconnect: closes communicators
 *
 * Four calls close a communicator. All use the same barrier on the control
 * context, so members may use different calls:
 *   MPI_Comm_disconnect    blocks
 *   MPI_Comm_free          closes in the background once no request refers to
 *                          the communicator, so that persistent requests stay
 *                          usable
 *   MPIX_Comm_idisconnect  closes in the background; a progress hook tests
 *                          whether the communicator has closed
 *   end of the session     starts to close all communicators, then waits
 * Whenever a communicator is created, freed or disconnected, and when a process
 * fails, the library tests whether freed communicators have closed. Progress of
 * the VCI sends and receives the messages of a close at any time.
 *
 * A member that waits for a message of a process that has closed would wait
 * forever. So a member that closes a broken communicator, without the barrier,
 * sends DEPARTED to others (p2p/departed_send.c) and nothing after that, except
 * in answers to members that begin to wait for it later. If the process manager
 * has not reported the failure yet, the close first waits for this report, for
 * two seconds at most: then fewer members need DEPARTED.
 *
 * After a long time in the barrier, the watchdog of a member queries the other
 * members. A member that receives such a query ends its operations that wait
 * for the sender of the query, as after DEPARTED (comm/blocked.c). */
#include "comm/disconnect.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "core/attr.h"
#include "core/errh.h"
#include "core/info.h"
#include "transport/proc.h"
#include "p2p/p2p.h"
#include "comm/agree.h"
#include "comm/leak.h"
#include "comm/blocked.h"
#include "core/failed.h"
#include "core/session_data.h"
#include "era/era_comm.h"

#include <stdlib.h>

enum { NOTIFY_MS = 2000 }; /* longest wait until DEPARTED is sent */

/* The state of a communicator that closes. The first call that closes or frees
 * the communicator creates the state. The state is freed with the communicator.
 * If the barrier still uses the state then, the end of the barrier frees it. */
struct closing {
	struct weft_comm *comm;
	struct weft_agree agree;
	bool is_forced;	 /* does not wait for requests to be freed */
	bool in_barrier; /* the barrier was started */
	bool is_done;
	bool is_abandoned;     /* the communicator is destroyed; the end of the
				  barrier frees the state */
	bool is_departed_sent; /* DEPARTED was queued; the close waits until it
				  was sent, but at most until due_ns */
	uint64_t due_ns;
	uint32_t n_tests;   /* calls of test_close() so far */
	uint32_t next_test; /* value of n_tests at which test_close() next
			       calls end_unmatchable() */
	int err;	    /* result of the close */
	struct weft_progress_hook hook;
	weft_disconnect_done_fn *done; /* NULL: no callback */
	void *arg;
};

static void on_barrier_done(struct weft_agree *agree)
{
	struct closing *c = agree->arg;

	c->err = agree->err;
	c->is_done = true;
	weft_agree_fini(agree);
	if (c->is_abandoned)
		free(c);
}

/* Records in comm the first failed process of the group, if there is one. */
static void record_failed(
	struct weft_comm *comm, const struct weft_group *group)
{
	int32_t rank = weft_failed_in(group) ? weft_failed_first(group) : -1;

	if (rank >= 0)
		(void)weft_comm_record_failed(
			comm, weft_group_proc(group, (uint32_t)rank));
}

/* True if comm is broken: a member has failed, or comm is revoked. If this
 * process knows of the failure only from another communicator, records the
 * failure in comm. Requests that the close completes with an error then report
 * this failure. */
static bool is_broken(struct weft_comm *comm)
{
	if (!comm->failed) {
		record_failed(comm, comm->group);
		record_failed(comm, comm->remote);
	}
	return comm->failed || weft_comm_is_revoked(comm);
}

/* Notifies other members that this process leaves a broken communicator. False
 * if this process has not notified them yet, because it waits for a report of
 * the process manager. */
static bool notify_departed(struct closing *c)
{
	if (c->is_departed_sent)
		return true;
	if (weft_p2p_may_be_reported_locked(c->comm))
		return false;
	c->is_departed_sent = true;
	c->due_ns = weft_now_ns() + NOTIFY_MS * (WEFT_NS_PER_S / 1000);
	weft_p2p_send_departed_locked(c->comm);
	return true;
}

/* True if the close is complete, with or without an error. */
static bool disconnect_is_over(struct closing *c)
{
	if (!is_broken(c->comm))
		return c->is_done;
	return notify_departed(c) &&
	       (weft_p2p_is_departed_sent_locked(c->comm) ||
		       weft_now_ns() >= c->due_ns);
}

/* Starts the barrier if all conditions for it are met. A broken communicator
 * needs no barrier. */
static void closing_advance(struct closing *c)
{
	struct weft_comm *comm = c->comm;

	if (c->in_barrier || c->is_done)
		return;
	if (!c->is_forced && comm->refs > 1)
		return;
	if (is_broken(comm)) {
		if (!notify_departed(c))
			return;
		if (!weft_comm_is_revoked(comm))
			c->err = weft_comm_failed(comm);
		c->is_done = true;
		return;
	}
	if (!weft_p2p_is_flushed_locked(comm))
		return;
	c->in_barrier = true;
	c->agree = (struct weft_agree){
		.comm = comm,
		.done = on_barrier_done,
		.arg = c,
	};
	weft_agree_start(&c->agree);
}

static struct closing *closing_of(struct weft_comm *comm)
{
	struct closing *c = comm->child.closing;

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->comm = comm;
	weft_list_init(&c->hook.link);
	comm->child.closing = c;
	return c;
}

/* Completes sends that no member will ever receive. */
static void end_unmatchable(const struct closing *c)
{
	if (c->in_barrier)
		weft_p2p_refuse_locked(c->comm);
	else
		weft_p2p_leave_locked(c->comm);
}

static int start_close(struct weft_child *child)
{
	struct weft_comm *comm =
		weft_container_of(child, struct weft_comm, child);
	struct closing *c = closing_of(comm);

	if (!c)
		return WEFT_ERR_NOMEM;
	c->is_forced = true;
	comm->is_disconnected = true;
	end_unmatchable(c);
	closing_advance(c);
	return 0;
}

static bool test_close(struct weft_child *child)
{
	struct closing *c = child->closing;

	if (!c)
		return true;
	/* end_unmatchable() reads all requests, so the number of tests between
	 * two of its calls doubles, up to 256 */
	if (c->n_tests++ == c->next_test && c->is_forced) {
		c->next_test += weft_min(c->n_tests, 256U);
		end_unmatchable(c);
	}
	closing_advance(c);
	return disconnect_is_over(c);
}

/* Reports messages and requests that the program left on the communicator.
 * Returns an error if one of them is a fault of this process (comm/leak.h).
 * While the session closes, the fault is recorded in the session instead. */
static int report_left(struct weft_comm *comm, const struct closing *c)
{
	struct weft_session *session = comm->child.session;
	struct weft_leak leak = { 0 };

	weft_leak_report(comm,
		c && c->is_done && !c->err && !weft_comm_is_revoked(comm),
		session && session->is_closing ? &session->leak : &leak);
	return weft_leak_raise(&leak);
}

/* Destroys the communicator. Returns 0, the error of the close, or the error of
 * report_left(). */
static int destroy_and_report(struct weft_child *child)
{
	struct weft_comm *comm =
		weft_container_of(child, struct weft_comm, child);
	struct closing *c = child->closing;
	int err = c ? c->err : 0;
	int report_err = report_left(comm, c);

	err = err ? err : report_err;
	if (err == WEFT_ERR_REVOKED)
		err = 0; /* a revoked communicator is closed without error */
	if (err == WEFT_ERR_PEER && comm->failed)
		err = weft_comm_failed(comm);
	weft_p2p_purge_locked(comm);
	weft_session_remove_child(child);
	for (int i = 0; i < 2; i++)
		if (weft_world.comms[i] == comm)
			weft_world.comms[i] = NULL;
	if (comm->state != WEFT_COMM_FREED)
		weft_obj_renew(comm); /* makes the handle stale */
	weft_era_comm_forget(comm);
	weft_comm_close(comm);
	if (comm->local) {
		weft_comm_close(comm->local);
		weft_p2p_purge_locked(comm->local);
	}
	weft_attrs_destroy(comm->attrs);
	comm->attrs = NULL;
	weft_info_destroy(comm->info);
	comm->info = NULL;
	weft_errh_set(&comm->errh, NULL);
	free(comm->topo);
	comm->topo = NULL;
	child->closing = NULL;
	weft_list_remove(&comm->closing_link);
	if (c) {
		weft_list_remove(&c->hook.link);
		if (c->done)
			c->done(c->arg, err);
	}
	/* If the communicator was broken during the close, the barrier may
	 * still use c. */
	if (c && c->in_barrier && !c->is_done)
		c->is_abandoned = true;
	else
		free(c);
	weft_comm_put(comm);
	return err;
}

static void disconnect_destroy(struct weft_child *child)
{
	(void)destroy_and_report(child);
}

/* The freed or cancelled communicators of a VCI that are not closed yet. */
struct weft_vci_comm {
	struct weft_link closings;
};

int weft_disconnect_open(struct weft_vci *vci)
{
	vci->comm = malloc(sizeof(*vci->comm));
	if (!vci->comm)
		return WEFT_ERR_NOMEM;
	weft_list_init(&vci->comm->closings);
	return 0;
}

void weft_disconnect_close(struct weft_vci *vci)
{
	free(vci->comm);
	vci->comm = NULL;
}

const struct weft_child_ops weft_disconnect_ops = {
	.noun = "communicator",
	.is_comm = true,
	.start_close = start_close,
	.test_close = test_close,
	.destroy = disconnect_destroy,
};

static struct weft_comm *comm_at(struct weft_link *link)
{
	return weft_container_of(link, struct weft_comm, closing_link);
}

/* Tests up to `most` closing communicators, each at most once. The next call
 * continues with the others. */
static void progress_some(struct weft_vci *vci, uint32_t most)
{
	struct weft_link *closings = &vci->comm->closings,
			 *last = closings->prev;
	bool is_last = weft_list_is_empty(closings);

	weft_lock_assert_locked(&vci->lock);
	for (; most && !is_last; most--) {
		struct weft_link *link = weft_list_pop_front(closings);
		struct closing *c = closing_of(comm_at(link));

		is_last = link == last;
		weft_list_push_back(closings, link);
		if (!c) /* no memory; a later call repeats this */
			continue;
		closing_advance(c);
		if (c->is_done && disconnect_is_over(c))
			disconnect_destroy(&c->comm->child);
	}
}

void weft_disconnect_progress(struct weft_vci *vci)
{
	progress_some(vci, WEFT_DISCONNECT_SOME);
}

void weft_disconnect_progress_all(struct weft_vci *vci)
{
	progress_some(vci, UINT32_MAX);
}

void weft_disconnect_event(const struct weft_boot_event *event)
{
	weft_failed_event(event);
	if (event->kind == WEFT_BOOT_PEER_DIED ||
		event->kind == WEFT_BOOT_OTHER_DIED)
		weft_disconnect_progress_all(&weft_proc.vci);
}

void weft_disconnect_free_locked(struct weft_comm *comm)
{
	(void)closing_of(comm); /* without memory, progress repeats this */
	comm->state = WEFT_COMM_FREED;
	weft_obj_renew(comm);
	weft_list_push_back(&comm->vci->comm->closings, &comm->closing_link);
}

void weft_disconnect_free(struct weft_comm *comm)
{
	struct weft_vci *vci = comm->vci;

	weft_vci_lock(vci);
	weft_disconnect_free_locked(comm);
	weft_disconnect_progress(vci);
	weft_vci_unlock(vci);
}

struct weft_comm *weft_disconnect_comm_of(struct weft_link *link)
{
	struct weft_child *child =
		weft_container_of(link, struct weft_child, link);

	return child->ops->is_comm
		       ? weft_container_of(child, struct weft_comm, child)
		       : NULL;
}

bool weft_disconnect_is_open(const struct weft_comm *comm)
{
	const struct closing *c = comm->child.closing;

	return c && !c->is_done && !weft_failed_in(comm->group) &&
	       !weft_failed_in(comm->remote);
}

int weft_disconnect_result(const struct weft_comm *comm)
{
	const struct closing *c = comm->child.closing;

	if (!c || !c->is_done || !c->err)
		return 0;
	if (c->err == WEFT_ERR_PEER && comm->failed)
		return weft_comm_failed(comm);
	return weft_err_set(c->err,
		"communicator \"%s\" was closed without all of its members: %s",
		weft_comm_label(comm), weft_err_str(c->err));
}

bool weft_disconnect_has_begun(const struct weft_comm *comm)
{
	return comm->child.closing || comm->state != WEFT_COMM_LIVE;
}

bool weft_disconnect_replaces_round(
	const struct weft_comm *comm, uint32_t round)
{
	const struct closing *c = comm->child.closing;

	if (!c || c->is_done)
		return false;
	return round == (c->in_barrier ? (uint32_t)c->agree.tag
				       : comm->ctl.seq & 0x3fffffff);
}

bool weft_disconnect_is_flushed(const struct weft_comm *comm)
{
	const struct closing *c = comm->child.closing;

	return c && c->in_barrier;
}

void weft_disconnect_cancel(struct weft_comm *comm)
{
	struct closing *c = comm->child.closing;

	weft_session_remove_child(&comm->child);
	comm->child.ops = &weft_disconnect_ops;
	if (comm->state == WEFT_COMM_LIVE)
		weft_obj_renew(comm);
	comm->state = WEFT_COMM_FREED;
	for (int i = 0; i < 2; i++)
		if (weft_world.comms[i] == comm)
			weft_world.comms[i] = NULL;
	weft_list_remove(&c->hook.link);
	if (c->done)
		c->done(c->arg, WEFT_ERR_OTHER);
	c->done = NULL;
	weft_list_remove(&comm->closing_link);
	weft_list_push_back(&comm->vci->comm->closings, &comm->closing_link);
}

struct weft_comm *weft_disconnect_next_cancelled(
	struct weft_vci *vci, const struct weft_comm *after)
{
	const struct weft_link *end = &vci->comm->closings;
	struct weft_link *link =
		after ? after->closing_link.next : vci->comm->closings.next;

	for (; link != end; link = link->next) {
		struct weft_comm *comm = comm_at(link);

		if (!comm->child.session && weft_disconnect_is_open(comm))
			return comm;
	}
	return NULL;
}

int weft_disconnect_wait(struct weft_comm *comm)
{
	struct weft_vci *vci = comm->vci;
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_DISCONNECT,
		.vci = vci,
		.comm = comm,
	};
	int err;

	weft_vci_lock(vci);
	err = start_close(&comm->child);
	weft_blocked_begin(&blocked);
	while (!err && !test_close(&comm->child)) {
		err = weft_blocked_round(&blocked);
		weft_disconnect_progress(vci);
	}
	weft_blocked_end(&blocked);
	if (weft_blocked_err(&blocked) && !test_close(&comm->child)) {
		weft_disconnect_cancel(comm);
	} else {
		int report_err = destroy_and_report(&comm->child);

		err = err ? err : report_err;
	}
	if (weft_blocked_err(&blocked))
		err = weft_blocked_raise(&blocked);
	weft_disconnect_progress(vci);
	weft_vci_unlock(vci);
	return err;
}

static void run_hook(struct weft_progress_hook *hook)
{
	struct closing *c = weft_container_of(hook, struct closing, hook);

	if (test_close(&c->comm->child))
		disconnect_destroy(&c->comm->child);
}

int weft_disconnect_start(
	struct weft_comm *comm, weft_disconnect_done_fn *done, void *arg)
{
	struct weft_vci *vci = comm->vci;
	struct closing *c;
	int err;

	weft_vci_lock(vci);
	err = start_close(&comm->child);
	if (!err) {
		c = comm->child.closing;
		c->done = done;
		c->arg = arg;
		c->hook.run = run_hook;
		weft_list_push_back(&vci->hooks, &c->hook.link);
		comm->state = WEFT_COMM_FREED;
		weft_obj_renew(comm);
	}
	weft_vci_unlock(vci);
	return err;
}
