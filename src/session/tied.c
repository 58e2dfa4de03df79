/* SPDX-License-Identifier: BSD-3-Clause */
/* tied: what still hangs on a session */
#include "session/tied.h"

#include "base/err.h"
#include "core/proc.h"
#include "core/progress.h"
#include "session/disconnect.h"

#include <stdio.h>
#include <string.h>

static void open_handles_describe(struct weft_link *link, char *buf, size_t len)
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

/* Adds words for the children on one lane, as many as there is room for. */
static uint32_t list_lane(struct weft_session *session, struct weft_lane *lane,
	char *list, size_t len)
{
	size_t at = strlen(list);
	char text[384];
	uint32_t n = 0;

	weft_lane_take(lane);
	weft_disconnect_tend_all(lane);
	weft_progress(lane);
	weft_disconnect_tend_all(lane);
	weft_list_for_each(link, next, weft_session_list(session, lane))
	{
		open_handles_describe(link, text, sizeof(text));
		if (at + strlen(text) + 3 <= len)
			at += (size_t)snprintf(list + at, len - at, "%s%s",
				at ? "; " : "", text);
		n++;
	}
	weft_lane_drop(lane);
	return n;
}

uint32_t weft_tied_list(struct weft_session *session, char *list, size_t len)
{
	uint32_t n;

	list[0] = 0;
	n = list_lane(session, session->lane, list, len);
	if (session->lane != &weft_proc.lane)
		n += list_lane(session, &weft_proc.lane, list, len);
	return n;
}

int weft_tied_check(struct weft_session *session)
{
	char list[400];
	uint32_t n;

	if (!session->is_strict)
		return 0;
	n = weft_tied_list(session, list, sizeof(list));
	if (!n)
		return 0;
	return weft_err_set(WEFT_ERR_PENDING,
		"weft_finalize=strict: %u still tied to the session: %s", n,
		list);
}
