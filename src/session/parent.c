/* SPDX-License-Identifier: BSD-3-Clause */
/* parent: connects a spawned job to its parent job */
#include "session/parent.h"

#include "base/knob.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "core/errh.h"
#include "core/hint.h"
#include "core/info.h"
#include "session/session.h"
#include "session/session_hint.h"
#include "spawn/spawn.h"
#include "transport/proc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The connection of this process to the processes that spawned its job. `lock`
 * guards the fields; group is set once. */
static struct {
	pthread_mutex_t lock;
	struct weft_session *session; /* owns comm; NULL: the World owns it */
	struct weft_comm *comm;	      /* NULL: not connected by a session */
	struct weft_group *_Atomic group;
} parent = { .lock = PTHREAD_MUTEX_INITIALIZER };

const struct weft_group *weft_parent_group(void)
{
	/* acquire: pairs with the release in keep_group() */
	return atomic_load_explicit(&parent.group, memory_order_acquire);
}

static int keep_group(const struct weft_comm *comm)
{
	struct weft_group *group;
	int err = weft_group_dup(comm->remote, &group);

	if (err)
		return err;
	group->session = NULL;
	group->session_handle = 0;
	atomic_store_explicit(&parent.group, group, memory_order_release);
	return 0;
}

/* Runs when the process exits, before the process manager is closed. A process
 * that has left sessions open does not wait for its parents. */
static void parent_close(void)
{
	struct weft_session *session = parent.session;

	if (!session || atomic_load(&weft_proc.n_sessions))
		return;
	parent.session = NULL;
	if (!weft_proc_get(NULL))
		weft_session_close(session);
}

/* Connects with the communicator of all processes of the job, whose context id
 * is fixed, because other processes may have no communicator yet. */
static int parent_connect(
	struct weft_session *session, struct weft_comm **comm_out)
{
	uint64_t first = weft_proc.proc & ~(uint64_t)UINT32_MAX;
	struct weft_group *group = NULL;
	struct weft_comm *all = NULL;
	int err = weft_group_create_range(first, weft_proc.facts.size, &group);

	weft_vci_lock(session->vci);
	if (!err)
		err = weft_create_fixed_locked(
			session, WEFT_CTX_PARENT, group, "spawned", &all);
	weft_vci_unlock(session->vci);
	weft_group_put(group);
	if (err)
		return err;
	err = weft_spawn_join(all, comm_out);
	weft_disconnect_wait(all);
	return err;
}

/* Connects in a session of the library. This session does not count as open, so
 * that the process may exit after it has closed its own sessions. */
static int join_by_session(void)
{
	struct weft_info *hints = weft_info_create();
	struct weft_session *session;
	struct weft_comm *comm = NULL;
	int err = hints ? weft_hint_set(hints, WEFT_HINT_VCI, "shared")
			: WEFT_ERR_NOMEM;

	if (!err)
		err = weft_session_open(
			hints, weft_session_initial_errh(), &session);
	weft_info_destroy(hints);
	if (err)
		return err;
	err = parent_connect(session, &comm);
	if (!err)
		err = keep_group(comm);
	if (err) {
		weft_session_close(session);
		return err;
	}
	parent.session = session;
	parent.comm = comm;
	weft_proc_put();
	atexit(parent_close);
	return 0;
}

/* Moves the communicator to the World, which has been opened later. */
static int move_to_world(void)
{
	struct weft_comm *comm = parent.comm;
	int err;

	weft_vci_lock(comm->vci);
	weft_session_remove_child(&comm->child);
	err = weft_session_add_child(
		weft_world.session, &comm->child, &weft_disconnect_ops);
	weft_comm_mark(comm);
	weft_vci_unlock(comm->vci);
	if (err)
		return err;
	weft_world.parent = weft_obj_handle(comm);
	parent.comm = NULL;
	return 0;
}

static int join_by_world(void)
{
	struct weft_comm *comm = NULL;
	int err = weft_spawn_join(weft_world.comms[0], &comm);

	if (!err)
		err = keep_group(comm);
	if (err)
		return err;
	weft_world.parent = weft_obj_handle(comm);
	return 0;
}

int weft_parent_join(bool is_world)
{
	int err = 0;

	if (!*weft_knobs.parent)
		return 0;
	pthread_mutex_lock(&parent.lock);
	if (!weft_parent_group())
		err = is_world ? join_by_world() : join_by_session();
	else if (is_world && parent.comm)
		err = move_to_world();
	pthread_mutex_unlock(&parent.lock);
	return err;
}
