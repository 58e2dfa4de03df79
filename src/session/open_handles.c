/* SPDX-License-Identifier: BSD-3-Clause */
/* open_handles: the open objects of a session */
#include "session/open_handles.h"

#include "base/err.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "comm/disconnect.h"

#include <stdio.h>
#include <string.h>

static void open_handles_describe(struct weft_link *link, char *buf, size_t len)
{
	const struct weft_child *child =
		weft_container_of(link, struct weft_child, link);
	const struct weft_comm *comm = weft_disconnect_comm_of(link);

	if (!comm)
		snprintf(buf, len, "%s in progress", child->ops->noun);
	else
		snprintf(buf, len,
			"%scommunicator %s (string tag \"%s\", rank %d of "
			"%d)",
			comm->state == WEFT_COMM_FREED ? "freed " : "",
			comm->name[0] ? comm->name : "without a name",
			comm->tag, comm->rank, comm->size);
}

/* Appends descriptions of the children on one VCI, as many as fit into len.
 * Returns the number of all children on the VCI, except communicators that
 * belong to a spread communicator. */
static uint32_t list_vci(struct weft_session *session, struct weft_vci *vci,
	char *list, size_t len)
{
	size_t at = strlen(list);
	char text[384];
	uint32_t n = 0;

	weft_vci_lock(vci);
	weft_disconnect_progress_all(vci);
	weft_progress(vci);
	weft_disconnect_progress_all(vci);
	weft_list_for_each(link, next, &session->children[vci->number])
	{
		const struct weft_comm *comm = weft_disconnect_comm_of(link);

		if (comm && comm->spread_of)
			continue; /* closes with the communicator spread_of */
		open_handles_describe(link, text, sizeof(text));
		if (at + strlen(text) + 3 <= len)
			at += (size_t)snprintf(list + at, len - at, "%s%s",
				at ? "; " : "", text);
		n++;
	}
	weft_vci_unlock(vci);
	return n;
}

uint32_t weft_open_handles_list(
	struct weft_session *session, char *list, size_t len)
{
	uint32_t n_vcis = atomic_load(&session->n_vcis);
	uint32_t n = 0;

	list[0] = 0;
	for (uint32_t i = 0; i < n_vcis; i++)
		n += list_vci(session, session->vcis[i], list, len);
	return n;
}

int weft_open_handles_check(struct weft_session *session)
{
	char list[400];
	uint32_t n;

	if (!session->is_strict)
		return 0;
	n = weft_open_handles_list(session, list, sizeof(list));
	if (!n)
		return 0;
	return weft_err_set(WEFT_ERR_PENDING,
		"weft_finalize=strict: %u objects of the session are still "
		"open: %s",
		n, list);
}
