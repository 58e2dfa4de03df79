/* SPDX-License-Identifier: BSD-3-Clause */
/* session: short forms of the session calls for the tests on sessions */
#ifndef MTEST_SESSION_H
#define MTEST_SESSION_H

#include "mtest.h"

/* Number of descriptors that may be opened late in a test: a process opens the
 * pipe that wakes a peer when it first wakes that peer. A leak in each round of
 * a test would be hundreds of descriptors. */
enum { LATE_FILES = 4 };

/* Opens a session whose errors are returned. */
static inline MPI_Session session_open(void)
{
	MPI_Session session = MPI_SESSION_NULL;

	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	CHECK(session != MPI_SESSION_NULL, "S4: a session has a handle");
	return session;
}

static inline void session_close(MPI_Session *session)
{
	OK(MPI_Session_finalize(session));
	CHECK(*session == MPI_SESSION_NULL, "S30: the handle is null");
}

static inline MPI_Group session_group(MPI_Session session, const char *pset)
{
	MPI_Group group = MPI_GROUP_NULL;

	OK(MPI_Group_from_session_pset(session, pset, &group));
	return group;
}

/* Creates the communicator of a group, with MPI_ERRORS_RETURN. Frees the group.
 */
static inline MPI_Comm session_comm_take(MPI_Group group, const char *tag)
{
	MPI_Comm comm = MPI_COMM_NULL;

	OK(MPI_Comm_create_from_group(
		group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
	CHECK(comm != MPI_COMM_NULL, "%s: a communicator is created", tag);
	MPI_Group_free(&group);
	return comm;
}

static inline MPI_Comm session_comm(
	MPI_Session session, const char *pset, const char *tag)
{
	return session_comm_take(session_group(session, pset), tag);
}

/* Called by all ranks before the last rank exits: the last rank waits until the
 * other ranks no longer need it. */
static inline void session_let_go(MPI_Comm comm)
{
	int last = mtest.size - 1;

	if (mtest.rank <
		last) /* the last rank may exit before this call returns */
		MPI_Send(NULL, 0, MPI_INT, last, 2, comm);
	for (int i = 0; mtest.rank == last && i < last; i++)
		OK(MPI_Recv(NULL, 0, MPI_INT, i, 2, comm, MPI_STATUS_IGNORE));
}

/* Sets rank and size of the test from mpi://WORLD of this session. */
static inline void session_set_rank(MPI_Session session)
{
	MPI_Group group = session_group(session, "mpi://WORLD");

	MPI_Group_rank(group, &mtest.rank);
	MPI_Group_size(group, &mtest.size);
	MPI_Group_free(&group);
}

/* Checks that a communicator works: the sum of the ranks is right, and each
 * member receives from its left neighbour. */
static inline void session_works(MPI_Comm comm, const char *what)
{
	int rank = -1, size = 0, sum = -1, got = -1;

	OK(MPI_Comm_rank(comm, &rank));
	OK(MPI_Comm_size(comm, &size));
	if (!CHECK(size > 0, "%s: the size is positive", what))
		return;
	OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
	CHECK(sum == size * (size - 1) / 2,
		"%s: the sum of the ranks is right: %d", what, sum);
	OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1,
		MPI_INT, (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE));
	CHECK(got == (rank + size - 1) % size,
		"%s: the left neighbour's rank arrives, got %d", what, got);
}

#endif
