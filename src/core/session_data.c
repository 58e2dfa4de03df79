/* SPDX-License-Identifier: BSD-3-Clause */
/* session_data: the table of sessions, and the list of a session's children */
#include "core/session_data.h"

#include "base/err.h"
#include "transport/proc.h"

struct weft_table weft_sessions =
	WEFT_TABLE_INIT(struct weft_session, WEFT_KIND_SESSION);

struct weft_world weft_world;

int weft_session_add_child(struct weft_session *session,
	struct weft_child *child, const struct weft_child_ops *ops)
{
	struct weft_vci *vci = child->vci ? child->vci : &weft_proc.vci;

	weft_lock_assert_locked(&vci->lock);
	if (session->is_closing)
		return weft_err_set(WEFT_ERR_SESSION,
			"the session is being finalized by another thread");
	child->ops = ops;
	child->session = session;
	weft_list_push_back(&session->children[vci->number], &child->link);
	return 0;
}

void weft_session_remove_child(struct weft_child *child)
{
	weft_list_remove(&child->link);
	child->session = NULL;
	child->ops = NULL;
}

int weft_session_of_group(
	const struct weft_group *group, struct weft_session **session_out)
{
	struct weft_session *session = weft_world.session;

	if (group->session)
		session = weft_table_get(&weft_sessions, group->session_handle);
	if (!session)
		return weft_err_set(
			group->session ? WEFT_ERR_SESSION : WEFT_ERR_GROUP,
			group->session
				? "the session of the group was finalized"
				: "the group belongs to no session and the "
				  "World Model is not initialized");
	*session_out = session;
	return 0;
}
