/* SPDX-License-Identifier: BSD-3-Clause */
/* tied: what still hangs on a session */
#include "session/tied.h"

#include "base/err.h"
#include "core/progress.h"
#include "session/disconnect.h"

#include <stdio.h>
#include <string.h>

static void describe(struct weft_link *link, char *buf, size_t len)
{
	const struct weft_child *child =
		weft_container_of(link, struct weft_child, link);
	const struct weft_comm *comm = weft_disconnect_comm_of(link);

	if (!comm)
		snprintf(buf, len, "%s under way", child->ops->noun);
	else
		snprintf(buf, len,
			"%scommunicator %s (string tag \"%s\", rank %d of "
			"%d)",
			comm->state == WEFT_COMM_FREED ? "freed " : "",
			comm->name[0] ? comm->name : "without a name",
			comm->tag, comm->rank, comm->size);
}

/* Words for all children, as many as there is room for. */
static uint32_t list_children(
	struct weft_session *session, char *list, size_t len)
{
	char text[384];
	uint32_t n = 0;
	size_t at = 0;

	list[0] = 0;
	weft_list_for_each(link, next, &session->children)
	{
		describe(link, text, sizeof(text));
		if (at + strlen(text) + 3 <= len)
			at += (size_t)snprintf(list + at, len - at, "%s%s",
				at ? "; " : "", text);
		n++;
	}
	return n;
}

void weft_tied_list(struct weft_session *session, char *list, size_t len)
{
	weft_lane_take(session->lane);
	weft_disconnect_tend(session->lane);
	list_children(session, list, len);
	weft_lane_drop(session->lane);
}

int weft_tied_check(struct weft_session *session)
{
	char list[400];
	uint32_t n;

	if (!session->is_strict)
		return 0;
	weft_lane_take(session->lane);
	weft_disconnect_tend(session->lane);
	weft_progress(session->lane);
	weft_disconnect_tend(session->lane);
	n = list_children(session, list, sizeof(list));
	weft_lane_drop(session->lane);
	if (!n)
		return 0;
	return weft_err_set(WEFT_ERR_PENDING,
		"weft_finalize=strict: %u still tied to the session: %s", n,
		list);
}
