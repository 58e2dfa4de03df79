/* SPDX-License-Identifier: BSD-3-Clause */
/* abort: selects the processes that an abort ends together with this process */
#include "session/abort.h"

#include "core/comm.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

static const char *const scope_names[] = {
	[WEFT_ABORT_JOB] = "job",
	[WEFT_ABORT_SESSION] = "session",
	[WEFT_ABORT_GROUP] = "group",
};

const char *weft_abort_scope_name(enum weft_abort_scope scope)
{
	return scope_names[scope];
}

bool weft_abort_scope_of(const char *name, enum weft_abort_scope *scope_out)
{
	for (int i = WEFT_ABORT_JOB; i <= WEFT_ABORT_GROUP; i++)
		if (!strcmp(name, scope_names[i])) {
			*scope_out = (enum weft_abort_scope)i;
			return true;
		}
	return false;
}

/* Sets marks[rank in the job] for each member of a group that belongs to this
 * job. */
static void abort_mark(bool *marks, const struct weft_group *group)
{
	uint64_t job = weft_proc.proc >> 32;

	for (uint32_t i = 0; group && i < group->size; i++) {
		uint64_t proc = weft_group_proc(group, i);

		if (proc >> 32 == job && (uint32_t)proc < weft_proc.facts.size)
			marks[(uint32_t)proc] = true;
	}
}

static void mark_comm(bool *marks, const struct weft_comm *comm)
{
	abort_mark(marks, comm->group);
	abort_mark(marks, comm->remote);
}

static void mark_session(
	bool *marks, const struct weft_session *session, struct weft_vci *vci)
{
	const struct weft_comm *comm;
	uint32_t pos = 0;

	weft_vci_lock(vci);
	while ((comm = weft_table_next(&weft_comms, &pos)) != NULL)
		if (comm->vci == vci && comm->child.session == session)
			mark_comm(marks, comm);
	weft_vci_unlock(vci);
}

/* Returns the marked ranks, ascending, in an array that the caller frees; NULL
 * when out of memory. */
static uint32_t *abort_ranks_of(const bool *marks, size_t *n_out)
{
	uint32_t *ranks = calloc(weft_proc.facts.size, sizeof(*ranks));
	size_t n = 0;

	for (uint32_t r = 0; ranks && r < weft_proc.facts.size; r++)
		if (marks[r])
			ranks[n++] = r;
	*n_out = n;
	return ranks;
}

void weft_abort_end(const struct weft_comm *comm, struct weft_session *session,
	int code, const char *text)
{
	uint32_t *ranks = NULL;
	bool *marks = NULL;
	size_t n = 0;

	if (session && session->abort_scope != WEFT_ABORT_JOB)
		marks = calloc(weft_proc.facts.size, sizeof(*marks));
	if (marks && comm && session->abort_scope == WEFT_ABORT_GROUP) {
		mark_comm(marks, comm);
	} else if (marks) {
		mark_session(marks, session, &weft_proc.vci);
		if (session->vci != &weft_proc.vci)
			mark_session(marks, session, session->vci);
	}
	if (marks) {
		marks[weft_proc.facts.rank] = true;
		ranks = abort_ranks_of(marks, &n);
	}
	weft_proc_abort(code, text, ranks, n);
}
