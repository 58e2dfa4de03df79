/* SPDX-License-Identifier: BSD-3-Clause */
/* win: creates and frees windows; both are collective
 *
 * The context id of a window's communicator identifies the window in messages.
 * A member creates the window before the members exchange the descriptions of
 * their memory (struct weft_win_record), so no access arrives earlier. A member
 * frees the window after all members have disconnected the communicator, so no
 * access arrives later. */
#include "win/win_priv.h"

#include "base/err.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "core/failed.h"
#include "core/attr.h"
#include "core/errh.h"
#include "core/info.h"
#include "p2p/p2p.h"
#include "transport/progress_thread.h"
#include "transport/proc.h"
#include "win/node_memory.h"

#include <stdio.h>
#include <stdlib.h>

struct weft_table weft_wins = WEFT_TABLE_INIT(struct weft_win, WEFT_KIND_WIN);

/* The entry in the progress thread that all windows of a VCI share; guarded by
 * the lock of that VCI. */
static struct weft_progress_user win_progress[WEFT_VCIS];

/* --- ending -------------------------------------------------------- */

/* Frees a window after its communicator was disconnected. */
static void win_destroy(struct weft_win *win)
{
	weft_counters_close(&win->counters);
	weft_win_detach_all(win);
	weft_win_memory_close(win);
	weft_win_targets_free(win);
	weft_attrs_destroy(win->attrs);
	weft_info_destroy(win->info);
	weft_errh_set(&win->errh, NULL);
	weft_group_put(win->started);
	weft_group_put(win->posted);
	weft_map_fini(&win->am.due);
	free(win->spare);
	weft_table_free(&weft_wins, win);
}

/* Called when no message for the window arrives any more. VCI's lock held. */
static void win_detach(struct weft_win *win)
{
	win->comm->win = NULL;
	weft_win_waiters_free(win);
	weft_win_arrivals_forget(win);
	for (uint32_t i = 0; i < (uint32_t)win->comm->size; i++) {
		struct weft_win_target *target;

		if (!win->targets[i / WEFT_WIN_PAGE]) {
			i |= WEFT_WIN_PAGE - 1;
			continue;
		}
		target = weft_win_target_at(win, i);
		if (target)
			weft_am_forget(&target->am, WEFT_ERR_WIN, true);
	}
	weft_win_rma_leave(win);
	if (win->comm->failed || weft_failed_in(win->comm->group) ||
		weft_comm_is_revoked(win->comm))
		weft_win_memory_abandon(win);
	if (win->progress)
		weft_progress_thread_remove(win->progress);
}

static struct weft_comm *win_comm_of(struct weft_child *child)
{
	return weft_container_of(child, struct weft_comm, child);
}

static int win_start_close(struct weft_child *child)
{
	return weft_disconnect_ops.start_close(child);
}

static bool win_test_close(struct weft_child *child)
{
	return weft_disconnect_ops.test_close(child);
}

/* Called when the session ends and the program has not freed the window. */
static void win_close(struct weft_child *child)
{
	struct weft_win *win = win_comm_of(child)->win;

	if (win)
		win_detach(win);
	weft_disconnect_ops.destroy(child);
	if (win)
		win_destroy(win);
}

static const struct weft_child_ops win_ops = {
	.noun = "window",
	.is_comm = true,
	.start_close = win_start_close,
	.test_close = win_test_close,
	.destroy = win_close,
};

/* Disconnects the window's communicator, and destroys the window. */
static int win_leave(struct weft_win *win)
{
	struct weft_comm *comm = win->comm;
	int err;

	weft_vci_lock(comm->vci);
	weft_comm_get(comm);
	weft_vci_unlock(comm->vci);
	err = weft_disconnect_wait(comm);
	weft_vci_lock(comm->vci);
	/* after a failure, or if the window is revoked, other members may still
	 * access its memory */
	weft_win_arrivals_end(win);
	win_detach(win);
	weft_comm_put(comm);
	weft_vci_unlock(comm->vci);
	win_destroy(win);
	return err;
}

int weft_win_may_free(const struct weft_win *win)
{
	if (win->access > WEFT_WIN_USED || win->is_exposed)
		return weft_err_set(WEFT_ERR_RMA_SYNC,
			"window \"%s\" is in an epoch that %s", win->name,
			win->is_exposed
				? "MPI_Win_post began; call MPI_Win_wait first"
			: win->access == WEFT_WIN_STARTED
				? "MPI_Win_start began; call MPI_Win_complete "
				  "first"
				: "a lock began; unlock it first");
	return 0;
}

int weft_win_free(struct weft_win *win)
{
	int err = weft_win_close_epoch(win);

	if (err && err != WEFT_ERR_REVOKED)
		weft_log_warn("WIN-FREE", "%s", weft_err_detail_peek(err));
	return win_leave(win);
}

/* --- creating ------------------------------------------------------ */

int weft_win_fill(struct weft_win *win, struct weft_comm *comm,
	const struct weft_win_config *config)
{
	uint32_t n_pages =
		((uint32_t)comm->size + WEFT_WIN_PAGE - 1) / WEFT_WIN_PAGE;

	weft_list_init(&win->arrivals);
	weft_list_init(&win->opened);
	weft_win_waiters_open(win);
	win->comm = comm;
	win->am.ops = &weft_win_am_ops;
	win->am.comm = comm;
	win->am.request = WEFT_WIRE_WIN;
	win->comm_size = comm->size;
	win->flavor = config->flavor;
	win->disp_unit = config->disp_unit;
	win->has_no_locks = config->has_no_locks;
	win->is_unified = true;
	weft_counters_open(&win->counters, WEFT_COUNTER_PROCESS);
	win->targets = calloc(n_pages, sizeof(*win->targets));
	win->errh = weft_errh_get(&weft_errh_builtin[WEFT_ERRH_FATAL]);
	return win->targets
		       ? 0
		       : weft_err_set(WEFT_ERR_NOMEM, "no memory for a window");
}

/* 0, or the error of a member that cannot create the window. */
static int win_check(
	const struct weft_win *win, const struct weft_win_record *records)
{
	for (int32_t i = 0; i < win->comm->size; i++)
		if (records[i].err && i == win->comm->rank)
			return records[i].err; /* already described */
	for (int32_t i = 0; i < win->comm->size; i++)
		if (records[i].err)
			return weft_err_set(records[i].err,
				"rank %d cannot make the window: %s", i,
				weft_err_str(records[i].err));
	return 0;
}

/* Exchanges the members' errors, so that all members fail or none does. Also
 * sets *fd to rank 0's fd, and polls_states if all members may poll each
 * other's state. */
static int win_agree(struct weft_win *win, int err, int *fd)
{
	int32_t mine[3] = { err, *fd, !err && weft_win_may_poll_states(win) };
	int32_t first = 0;
	char why[160];
	int32_t *all;
	int rc;

	snprintf(why, sizeof(why), "%s", err ? weft_err_detail_peek(err) : "");
	rc = weft_create_gather(win->comm, mine, sizeof(mine), (void **)&all);
	if (rc)
		return rc;
	win->polls_states = true;
	for (int32_t i = 0; i < win->comm->size; i++) {
		first = first ? first : all[3 * i];
		win->polls_states &= all[3 * i + 2];
	}
	*fd = all[1];
	free(all);
	if (err)
		return weft_err_set(err, "%s", why);
	return first ? weft_err_set(first,
			       "another member cannot take part: %s",
			       weft_err_str(first))
		     : 0;
}

static int win_share(struct weft_win *win, const struct weft_win_config *config,
	const struct weft_win_record *records)
{
	int fd, err = weft_win_memory_make(win, config, records, &fd);

	err = win_agree(win, err, &fd);
	return err ? err : weft_win_memory_map(win, config, records, fd);
}

static int win_helped(struct weft_win *win)
{
	struct weft_vci *vci = win->comm->vci;
	struct weft_progress_user *user;

	if (!win->has_remote)
		return 0;
	user = &win_progress[vci->number];
	weft_vci_lock(vci);
	if (user->vci != vci)
		user->vci = vci;
	weft_vci_unlock(vci);
	win->progress = user;
	return weft_progress_thread_add(user);
}

/* Exchanges the records of all members, and prepares access to their memory. */
static int win_exchange(
	struct weft_win *win, const struct weft_win_config *config, int err)
{
	struct weft_win_record mine = { .state_fd = -1, .data_fd = -1 };
	struct weft_win_record *records;
	int fd = -1, rc;

	if (!err)
		err = weft_win_memory_open(win, config, &mine);
	mine.err = err;
	rc = weft_create_gather(
		win->comm, &mine, sizeof(mine), (void **)&records);
	if (rc)
		return rc;
	err = win_check(win, records);
	if (!err) {
		err = weft_win_memory_reach(win, records);
		if (config->flavor == WEFT_WIN_SHARED)
			err = win_share(win, config, records);
		else
			weft_win_rma_open(win);
		if (!err)
			err = win_helped(win);
		err = win_agree(win, err, &fd);
	}
	free(records);
	weft_win_memory_settle(win);
	return err;
}

/* Makes the window a child of the session, in place of its communicator. */
void weft_win_adopt_locked(struct weft_win *win)
{
	struct weft_comm *comm = win->comm;

	comm->win = win;
	if (comm->child.ops)
		comm->child.ops = &win_ops;
}

int weft_win_create(struct weft_comm *comm,
	const struct weft_win_config *config, struct weft_win **win_out)
{
	struct weft_comm *own;
	struct weft_win *win;
	int err = weft_create_dup(comm, NULL, &own);

	if (err)
		return err;
	win = weft_table_new(&weft_wins);
	if (!win) { /* the other members' calls fail, because this member
		       disconnects */
		weft_disconnect_free(own);
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a window");
	}
	err = weft_win_fill(win, own, config);
	/* errors of this call, at any member, name the caller's communicator,
	 * because the window has no name yet */
	snprintf(own->name, sizeof(own->name), "of communicator \"%.100s\"",
		weft_comm_label(comm));
	weft_vci_lock(own->vci);
	weft_win_adopt_locked(win);
	weft_vci_unlock(own->vci);
	err = win_exchange(win, config, err);
	if (err) {
		char why[200];

		snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
		win_leave(win);
		return weft_err_set(err, "%s", why);
	}
	snprintf(own->name, sizeof(own->name), "of a window");
	*win_out = win;
	return 0;
}

void weft_win_name(struct weft_win *win, const char *name)
{
	struct weft_comm *comm = win->comm;

	snprintf(win->name, sizeof(win->name), "%s", name);
	weft_vci_lock(comm->vci);
	snprintf(comm->name, sizeof(comm->name), "of window %.100s", name);
	weft_vci_unlock(comm->vci);
}

/* --- revoking ------------------------------------------------------ */

void weft_win_revoke(struct weft_win *win)
{
	weft_revoke(win->comm);
}

/* --- queries ------------------------------------------------------- */

static struct weft_win_target *first_with_memory(struct weft_win *win)
{
	for (uint32_t i = 0; i < (uint32_t)win->comm->size; i++) {
		struct weft_win_target *t = weft_win_target_at(win, i);

		if (t && t->method == WEFT_WIN_MAPPED && t->size)
			return t;
	}
	return NULL;
}

int weft_win_query(struct weft_win *win, int32_t rank, size_t *size_out,
	int64_t *disp_unit_out, void **base_out)
{
	struct weft_win_target *target;

	if (win->flavor == WEFT_WIN_DYNAMIC)
		return weft_err_set(WEFT_ERR_RMA_FLAVOR,
			"a dynamic window has no memory of its own to ask for");
	target = rank == WEFT_PROC_NULL
			 ? first_with_memory(win)
			 : weft_win_target_at(win, (uint32_t)rank);
	*base_out = NULL;
	*size_out = 0;
	*disp_unit_out = 1;
	if (!target || (target->method != WEFT_WIN_MAPPED && !target->is_me))
		return 0;
	*base_out = target->base;
	*size_out = target->size;
	*disp_unit_out = target->disp_unit;
	return 0;
}
