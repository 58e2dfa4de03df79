/* SPDX-License-Identifier: BSD-3-Clause */
/* session: opens and closes sessions */
#include "session/session.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/event.h"
#include "base/knob.h"
#include "coll/coll_algo.h"
#include "base/log.h"
#include "core/errh.h"
#include "core/info.h"
#include "core/vci_core.h"
#include "transport/proc.h"
#include "transport/progress_thread.h"
#include "p2p/p2p.h"
#include "comm/blocked.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "comm/leak.h"
#include "dev/ipc.h"
#include "dev/pinned.h"
#include "era/era_comm.h"
#include "io/cb_cache.h"
#include "session/exit.h"
#include "session/session_hint.h"
#include "spawn/port.h"
#include "session/pset.h"
#include "session/pset_watch.h"
#include "watchdog/watchdog.h"
#include "watchdog/state.h"
#include "win/win.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of sessions that were opened. */
static atomic_uint n_opened;

struct weft_errh *weft_session_initial_errh(void)
{
	const char *name;

	weft_proc_read_knobs(); /* if no session has read them yet */
	name = weft_knobs.initial_errhandler;
	if (!strcmp(name, "mpi_errors_return"))
		return &weft_errh_builtin[WEFT_ERRH_RETURN];
	if (!strcmp(name, "mpi_errors_abort"))
		return &weft_errh_builtin[WEFT_ERRH_ABORT];
	return &weft_errh_builtin[WEFT_ERRH_FATAL];
}

static void session_on_event(const struct weft_boot_event *event)
{
	weft_disconnect_event(event);
	weft_pset_watch_event(event);
}

/* Answers the launcher's query for the state of this process. Runs on a thread
 * of the process manager's library. */
static void on_where(void)
{
	weft_liveness_answer(weft_proc.liveness, weft_state_describe);
}

static void vci_on_close(struct weft_vci *vci)
{
	if (vci == &weft_proc.vci)
		weft_win_rma_close();
	weft_disconnect_close(vci);
	weft_era_comm_close(vci);
	weft_coll_close(vci);
	weft_p2p_close(vci);
	weft_vci_core_close(vci);
}

int weft_session_open_vci(struct weft_vci *vci)
{
	int err = weft_vci_core_open(vci);

	vci->on_close = vci_on_close;
	if (!err)
		err = weft_p2p_open(vci);
	if (!err)
		err = weft_disconnect_open(vci);
	if (!err)
		err = weft_era_comm_open(vci);
	if (err)
		return err;
	weft_win_open(vci);
	weft_blocked_open(vci);
	weft_watchdog_open(vci);
	return 0;
}

/* Installs the message handlers of the library when the default VCI opens. */
static int on_open(struct weft_vci *vci)
{
	int err = weft_session_open_vci(vci);

	if (err)
		return err;
	weft_create_open(vci);
	weft_port_listen(vci);
	weft_exit_setup(vci);
	weft_proc.on_event = session_on_event;
	weft_proc.notify = weft_pset_watch_notify;
	/* release: publishes the state that on_where() reads before its
	 * address; pairs with the load on the thread of the process manager's
	 * library (pmix_event.c) */
	atomic_store_explicit(
		&weft_proc.boot->on_where, on_where, memory_order_release);
	return 0;
}

static void session_destroy(struct weft_session *session)
{
	uint32_t n = atomic_load(&session->n_vcis);

	weft_pset_watch_set(session, NULL);
	for (uint32_t i = 0; i < n; i++)
		if (session->vcis[i]->number)
			weft_vci_release(session->vcis[i]);
	free(session->bsend);
	weft_psets_destroy(session->psets);
	weft_info_destroy(session->info);
	weft_errh_set(&session->errh, NULL);
	pthread_mutex_destroy(&session->acquiring);
	weft_table_free(&weft_sessions, session);
	weft_cb_cache_close();
	weft_proc_put();
	if (!atomic_load(&weft_proc.n_sessions)) {
		weft_ipc_close();
		weft_pinned_close();
	}
}

/* After the last session has closed, answers members of broken communicators
 * that wait for this process (p2p/departed_send.c), until a session opens
 * again. */
static struct weft_progress_user departed_user = { .vci = &weft_proc.vci };

static void departed_serve(void)
{
	struct weft_vci *vci = departed_user.vci;
	bool is_needed;

	weft_vci_lock(vci);
	is_needed = vci->core->broken.n_used &&
		    !weft_progress_thread_has(&departed_user);
	weft_vci_unlock(vci);
	/* without a thread, such a member waits until this process exits */
	if (is_needed)
		(void)weft_progress_thread_add(&departed_user);
}

static void departed_stop(void)
{
	weft_vci_lock(departed_user.vci);
	if (weft_progress_thread_has(&departed_user))
		weft_progress_thread_remove(&departed_user);
	weft_vci_unlock(departed_user.vci);
}

int weft_session_open(const struct weft_info *info, struct weft_errh *errh,
	struct weft_session **session_out)
{
	const uint64_t begun_ns = weft_now_ns();
	struct weft_session *session;
	int err;

	weft_session_hint_requested(info);
	err = weft_proc_get(on_open);
	if (err)
		return err;
	departed_stop();
	err = weft_coll_rules_load();
	if (err) {
		weft_proc_put();
		return err;
	}
	session = weft_table_new(&weft_sessions);
	if (!session) {
		weft_proc_put();
		return WEFT_ERR_NOMEM;
	}
	session->vci = &weft_proc.vci;
	session->number = atomic_fetch_add(&n_opened, 1) + 1;
	for (int i = 0; i < WEFT_VCIS; i++)
		weft_list_init(&session->children[i]);
	err = weft_session_hint_vci(info, weft_session_open_vci, &session->vci);
	pthread_mutex_init(&session->acquiring, NULL);
	session->vcis[session->n_vcis++] = session->vci;
	if (session->vci != &weft_proc.vci)
		session->vcis[session->n_vcis++] = &weft_proc.vci;
	if (!err)
		err = weft_session_hint_apply(session, info);
	if (err) {
		session_destroy(session);
		return err;
	}
	weft_errh_set(&session->errh, errh);
	if (session->level == WEFT_THREAD_MULTIPLE)
		weft_lock_enable_mt();
	weft_event_raise(WEFT_EVENT_session_opened, WEFT_COUNTER_PROCESS, false,
		session->number, (int64_t)(weft_now_ns() - begun_ns));
	*session_out = session;
	return 0;
}

static struct weft_child *child_at(struct weft_link *link)
{
	return weft_container_of(link, struct weft_child, link);
}

/* A session's children on one VCI, while the session closes. */
struct vci_children {
	struct weft_vci *vci;
	struct weft_link *list;	 /* the session's children on this VCI */
	struct weft_link closed; /* children that can be destroyed */
	struct weft_blocked blocked;
	bool is_drained;
};

/* Starts to close all children before waiting for any, so that processes with
 * another order of children cannot deadlock. */
static int children_start(struct vci_children *c)
{
	int err = 0;

	weft_disconnect_progress(c->vci);
	weft_list_for_each(link, next, c->list)
	{
		struct weft_child *child = child_at(link);
		int child_err = child->ops->start_close(child);

		if (child_err && !err)
			err = child_err;
	}
	weft_blocked_begin(&c->blocked);
	return err;
}

/* True when all children are closed. Each call tests some of them, in turn. */
static bool children_test(struct vci_children *c)
{
	for (int n = 0;
		n < WEFT_DISCONNECT_SOME && !weft_list_is_empty(c->list); n++) {
		struct weft_link *link = weft_list_pop_front(c->list);
		struct weft_child *child = child_at(link);
		bool is_closed = child->ops->test_close(child);

		weft_list_push_back(is_closed ? &c->closed : c->list, link);
	}
	return weft_list_is_empty(c->list);
}

/* Runs one round of the wait until every child is closed. The last session also
 * waits for the communicators that earlier sessions could not close. A child
 * waits for messages of this process that are not received yet, and for members
 * that have not started to close, except failed members. The wait ends with an
 * error if the watchdog proves that it cannot succeed. Returns true when the
 * wait has ended. */
static bool children_drain(struct vci_children *c)
{
	if (c->is_drained)
		return true;
	if (!weft_blocked_err(&c->blocked) &&
		(!children_test(c) ||
			(c->blocked.is_last && weft_disconnect_next_cancelled(
						       c->vci, NULL)))) {
		weft_blocked_round(&c->blocked);
		weft_disconnect_progress(c->vci);
		return false;
	}
	weft_blocked_end(&c->blocked);
	c->is_drained = true;
	return true;
}

/* Destroys the children. A child that is not closed continues to close without
 * a session. A failed member is no error, because finalize does not need that
 * member. A member that this process could never reach is an error. */
static int children_end(struct vci_children *c)
{
	struct weft_link *closed;
	int err = 0;

	while ((closed = weft_list_pop_front(&c->closed)) != NULL)
		weft_list_push_back(c->list, closed);
	if (weft_blocked_err(&c->blocked))
		weft_list_for_each(link, next, c->list)
		{
			struct weft_child *child = child_at(link);
			struct weft_comm *comm = weft_disconnect_comm_of(link);

			if (comm && !child->ops->test_close(child))
				weft_disconnect_cancel(comm);
		}
	while (!weft_list_is_empty(c->list)) {
		struct weft_child *child = child_at(c->list->prev);
		struct weft_comm *comm = weft_disconnect_comm_of(c->list->prev);
		int result = comm ? weft_disconnect_result(comm) : 0;

		if (!err && (result != WEFT_ERR_PEER ||
				    weft_comm_is_failed_unreached(comm)))
			err = result;
		child->ops->destroy(child);
	}
	return weft_blocked_err(&c->blocked) ? weft_blocked_raise(&c->blocked)
					     : err;
}

static void children_init(struct vci_children *c, struct weft_session *session,
	struct weft_vci *vci)
{
	*c = (struct vci_children){
		.vci = vci,
		.list = &session->children[vci->number],
		.blocked = {
			.kind = session->is_world ? WEFT_BLOCKED_WORLD
						  : WEFT_BLOCKED_FINALIZE,
			.vci = vci,
			.call = session,
			.session = session,
			.is_last = (vci == session->vci && vci->number) ||
				   atomic_load(&weft_proc.n_sessions) == 1,
		},
	};
	weft_list_init(&c->closed);
}

/* Runs a step of closing for the children of every VCI, under the VCI's lock.
 * Returns the first error. */
static int for_each_vci(struct vci_children *children, int n,
	int (*step)(struct vci_children *c))
{
	int err = 0;

	for (int i = 0; i < n; i++) {
		int step_err;

		weft_vci_lock(children[i].vci);
		step_err = step(&children[i]);
		weft_vci_unlock(children[i].vci);
		if (!err)
			err = step_err;
	}
	return err;
}

static int children_round(struct vci_children *c)
{
	return children_drain(c) ? 0 : WEFT_AGAIN;
}

/* Waits for the communicators that earlier sessions could not close on a VCI
 * that they released. */
static void vci_drain(struct weft_vci *vci)
{
	struct weft_comm *comm;
	int err = 0;

	weft_vci_lock(vci);
	weft_disconnect_progress(vci);
	while (!err &&
		(comm = weft_disconnect_next_cancelled(vci, NULL)) != NULL) {
		struct weft_blocked blocked = {
			.kind = WEFT_BLOCKED_DISCONNECT,
			.vci = vci,
			.comm = comm,
		};

		weft_comm_get(
			comm); /* another thread may close and free this comm */
		weft_blocked_begin(&blocked);
		while (!weft_blocked_err(&blocked) &&
			weft_disconnect_is_open(comm)) {
			weft_blocked_round(&blocked);
			weft_disconnect_progress(vci);
		}
		weft_blocked_end(&blocked);
		weft_comm_put(comm);
		err = weft_blocked_err(&blocked);
		weft_disconnect_progress(vci);
	}
	weft_vci_unlock(vci);
}

static void drain_vcis(void)
{
	uint32_t n =
		atomic_load_explicit(&weft_proc.n_others, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		vci_drain(atomic_load_explicit(
			&weft_proc.others[i], memory_order_acquire));
}

int weft_session_close(struct weft_session *session)
{
	const uint32_t number = session->number;
	struct vci_children children[WEFT_VCIS];
	int n, err, end_err;

	atomic_store(&session->is_closing, true);
	for (n = 0; n < (int)atomic_load(&session->n_vcis); n++)
		children_init(&children[n], session, session->vcis[n]);
	err = for_each_vci(children, n, children_start);
	while (for_each_vci(children, n, children_round))
		;
	end_err = for_each_vci(children, n, children_end);
	if (!err)
		err = end_err;
	if (atomic_load(&weft_proc.n_sessions) == 1) {
		drain_vcis();
		departed_serve();
	}
	if (!err)
		err = weft_leak_raise(&session->leak);
	session_destroy(session);
	weft_event_raise(
		WEFT_EVENT_session_closed, WEFT_COUNTER_PROCESS, false, number);
	return err;
}

/* Creates MPI_COMM_WORLD and MPI_COMM_SELF. Their context ids are fixed, so no
 * message is needed. */
static int make_world_comms(struct weft_session *session)
{
	struct weft_group *all = NULL, *self = NULL;
	struct weft_comm *comms[2] = { NULL, NULL };
	int err;

	err = weft_group_create_range(
		weft_proc_world_first(), weft_proc.facts.world_size, &all);
	if (!err)
		err = weft_group_create_range(weft_proc.proc, 1, &self);
	weft_vci_lock(session->vci);
	if (!err)
		err = weft_create_fixed_locked(session, WEFT_CTX_WORLD, all,
			"MPI_COMM_WORLD", &comms[0]);
	if (!err)
		err = weft_create_fixed_locked(session, weft_proc_self_ctx(),
			self, "MPI_COMM_SELF", &comms[1]);
	for (int i = 0; !err && i < 2; i++) {
		weft_errh_set(&comms[i]->errh, weft_session_initial_errh());
		weft_world.comms[i] = comms[i];
	}
	weft_vci_unlock(session->vci);
	weft_group_put(all);
	weft_group_put(self);
	return err;
}

static int open_world(
	const struct weft_info *info, enum weft_thread_level required)
{
	struct weft_session *session;
	struct weft_info *requested = NULL;
	int err = weft_info_dup(info, &requested);

	if (!err)
		err = weft_hint_set(requested, WEFT_HINT_THREAD_LEVEL,
			weft_session_hint_level_name(required));
	if (!err)
		err = weft_hint_set(requested, WEFT_HINT_VCI, "shared");
	if (!err)
		err = weft_session_open(
			requested, weft_session_initial_errh(), &session);
	weft_info_destroy(requested);
	if (err)
		return err;
	session->is_world = true;
	err = make_world_comms(session);
	if (err) {
		weft_session_close(session);
		return err;
	}
	weft_world.session = session;
	weft_world.main_thread = pthread_self();
	return 0;
}

int weft_world_open(
	const struct weft_info *info, enum weft_thread_level required)
{
	int never = WEFT_WORLD_NEVER;
	int err;

	if (!atomic_compare_exchange_strong(
		    &weft_world.state, &never, WEFT_WORLD_OPENING))
		return weft_err_set(WEFT_ERR_OTHER,
			"the World Model was initialized before; a process can "
			"initialize it only once");
	err = open_world(info, required);
	atomic_store(
		&weft_world.state, err ? WEFT_WORLD_NEVER : WEFT_WORLD_OPEN);
	return err;
}

/* Describes and returns the error of closing the World in this state. */
static int world_not_open_err(int state)
{
	if (state == WEFT_WORLD_CLOSED || state == WEFT_WORLD_CLOSING)
		return weft_err_set(
			WEFT_ERR_OTHER, "the World Model was finalized before");
	if (atomic_load(&n_opened))
		return weft_err_set(WEFT_ERR_OTHER,
			"MPI_Init was never called: this process has opened "
			"sessions only, and MPI_Session_finalize ends each");
	return weft_err_set(WEFT_ERR_OTHER, "MPI_Init was never called");
}

int weft_world_close(void)
{
	int open = WEFT_WORLD_OPEN;
	struct weft_session *session = weft_world.session;
	int err;

	if (!atomic_compare_exchange_strong(
		    &weft_world.state, &open, WEFT_WORLD_CLOSING))
		return world_not_open_err(open);
	err = weft_session_close(session);
	weft_world.session = NULL;
	atomic_store(&weft_world.state, WEFT_WORLD_CLOSED);
	return err;
}
