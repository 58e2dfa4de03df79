/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_mix: objects of different sessions in one call */
#include "mpi_mix.h"

#include "session/session.h"

#include <stdio.h>

/* The owner of an object: a session's handle, the World, or none, which matches
 * any. */
enum { NOTHING = 0, WORLD = 1 };

static uint64_t of_group(const struct weft_group *group)
{
	if (!group->size)
		return NOTHING;
	if (group->session_handle)
		return group->session_handle;
	return atomic_load(&weft_world.state) == WEFT_WORLD_NEVER ? NOTHING
								  : WORLD;
}

static uint64_t of_comm(const struct weft_comm *comm)
{
	struct weft_session *session = comm->child.session;

	if (!session)
		return NOTHING;
	return session->is_world ? WORLD : weft_obj_handle(session);
}

static const char *mpi_mix_print(uint64_t from, char *buf, size_t len)
{
	const struct weft_session *session;

	if (from == WORLD)
		return "the World Model";
	session = weft_table_get(&weft_sessions, from);
	if (!session)
		return "a session that was finalized";
	snprintf(buf, len, "session %u", session->number);
	return buf;
}

static int mpi_mix_compare(
	int err, const char *first, uint64_t a, const char *second, uint64_t b)
{
	char buf_a[32], buf_b[32];

	if (weft_likely(a == b) || a == NOTHING || b == NOTHING)
		return 0;
	return weft_err_set(err,
		"%s belongs to %s, %s to %s: objects of different sessions "
		"must not be mixed in one call",
		first, mpi_mix_print(a, buf_a, sizeof(buf_a)), second,
		mpi_mix_print(b, buf_b, sizeof(buf_b)));
}

int weft_mix_groups(const struct weft_group *a, const struct weft_group *b)
{
	return mpi_mix_compare(WEFT_ERR_GROUP, "one group", of_group(a),
		"the other group", of_group(b));
}

int weft_mix_comms(const struct weft_comm *a, const struct weft_comm *b)
{
	return mpi_mix_compare(WEFT_ERR_COMM, "one communicator", of_comm(a),
		"the other communicator", of_comm(b));
}

int weft_mix_comm_group(
	const struct weft_comm *comm, const struct weft_group *group)
{
	return mpi_mix_compare(WEFT_ERR_GROUP, "the communicator",
		of_comm(comm), "the group", of_group(group));
}

int weft_mix_requests(int count, const MPI_Request *requests)
{
	uint64_t first = NOTHING;
	int err = 0;

	for (int i = 0; !err && i < count; i++) {
		const struct weft_req *req =
			requests[i] == MPI_REQUEST_NULL
				? NULL
				: weft_mpi_req(requests[i]);
		uint64_t from = req && req->comm ? of_comm(req->comm) : NOTHING;

		err = mpi_mix_compare(WEFT_ERR_REQUEST, "a request", first,
			"another request", from);
		if (first == NOTHING)
			first = from;
	}
	return err;
}
