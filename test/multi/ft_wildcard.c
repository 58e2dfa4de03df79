/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_wildcard: receives from any source, while a member has failed
 *
 * Of three processes, rank 2 is killed. At rank 0, a receive from any source
 * that has a request remains active. Each call that waits for it or tests it
 * reports PROC_FAILED_PENDING, until the failure is acknowledged. Blocking
 * receives and probes fail. Then rank 1's message completes the receive.
 */
#include "mtest.h"

enum { TAG = 4, OTHER_TAG = 5 };

static void wait_failed(MPI_Comm comm)
{
	double began = mtest_now();
	int size = 0;

	while (!size && mtest_now() - began < MTEST_SOON_S) {
		MPI_Group group;

		OK(MPIX_Comm_get_failed(comm, &group));
		OK(MPI_Group_size(group, &size));
		if (size)
			OK(MPI_Group_free(&group));
	}
	CHECK(size == 1, "the failure is reported soon");
}

static void is_pending(int rc, MPI_Request request, const char *call)
{
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED_PENDING,
		"%s reports PROC_FAILED_PENDING, got %s", call,
		mtest_error(rc));
	CHECK(request != MPI_REQUEST_NULL, "%s keeps the request", call);
}

/* An array with a receive that is pending and one that is complete. */
static void arrays(MPI_Request request)
{
	MPI_Request requests[2] = { request, MPI_REQUEST_NULL };
	MPI_Status statuses[2];
	int flag = 1, n = 0, at[2], x = 0;

	is_pending(MPI_Waitany(1, requests, &n, statuses), requests[0],
		"MPI_Waitany");
	CHECK(n == 0, "MPI_Waitany returns the index of the receive");
	is_pending(MPI_Testany(1, requests, &n, &flag, statuses), requests[0],
		"MPI_Testany");
	CHECK(!flag, "MPI_Testany: the receive is not complete");
	FAILS(MPI_Waitsome(1, requests, &n, at, statuses), MPI_ERR_IN_STATUS);
	is_pending(statuses[0].MPI_ERROR, requests[0], "MPI_Waitsome");
	FAILS(MPI_Testsome(1, requests, &n, at, statuses), MPI_ERR_IN_STATUS);
	is_pending(statuses[0].MPI_ERROR, requests[0], "MPI_Testsome");
	CHECK(n == 1 && at[0] == 0,
		"MPI_Testsome returns the index of the receive");
	FAILS(MPI_Testall(1, requests, &flag, statuses), MPI_ERR_IN_STATUS);
	is_pending(statuses[0].MPI_ERROR, requests[0], "MPI_Testall");
	OK(MPI_Isend(
		&x, 1, MPI_INT, 1, OTHER_TAG, MPI_COMM_WORLD, &requests[1]));
	FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
	is_pending(statuses[0].MPI_ERROR, requests[0], "MPI_Waitall");
	CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS &&
			requests[1] == MPI_REQUEST_NULL,
		"MPI_Waitall completes the other request");
}

/* The calls that only return a status return the same as the tests. */
static void pending_status(MPI_Request request)
{
	MPI_Request requests[2] = { request, MPI_REQUEST_NULL };
	MPI_Status statuses[2];
	int flag = 1, n = 0, at[2];

	is_pending(MPI_Request_get_status(request, &flag, statuses), request,
		"MPI_Request_get_status");
	CHECK(!flag, "MPI_Request_get_status: the receive is not complete");
	flag = 1;
	is_pending(MPI_Request_get_status_any(2, requests, &n, &flag, statuses),
		requests[0], "MPI_Request_get_status_any");
	CHECK(n == 0 && !flag,
		"MPI_Request_get_status_any returns the index of the receive, "
		"which is not complete");
	FAILS(MPI_Request_get_status_all(2, requests, &flag, statuses),
		MPI_ERR_IN_STATUS);
	is_pending(statuses[0].MPI_ERROR, requests[0],
		"MPI_Request_get_status_all");
	FAILS(MPI_Request_get_status_some(2, requests, &n, at, statuses),
		MPI_ERR_IN_STATUS);
	is_pending(statuses[0].MPI_ERROR, requests[0],
		"MPI_Request_get_status_some");
	CHECK(n == 1 && at[0] == 0,
		"MPI_Request_get_status_some returns the index of the receive");
}

/* A receive that ended because its source has failed: the calls that only
 * return a status return its error, as MPI_Test does. */
static void ended_status(void)
{
	MPI_Status statuses[1];
	MPI_Request request;
	int x, flag = 0, n = 0, at[1];

	OK(MPI_Irecv(&x, 1, MPI_INT, 2, TAG + 10, MPI_COMM_WORLD, &request));
	FAILS(MPI_Request_get_status(request, &flag, statuses),
		MPIX_ERR_PROC_FAILED);
	CHECK(flag, "the receive from the failed process is complete");
	FAILS(MPI_Request_get_status_any(1, &request, &n, &flag, statuses),
		MPIX_ERR_PROC_FAILED);
	CHECK(flag && n == 0, "MPI_Request_get_status_any returns its index");
	FAILS(MPI_Request_get_status_all(1, &request, &flag, statuses),
		MPI_ERR_IN_STATUS);
	CHECK(flag && mtest_class(statuses[0].MPI_ERROR) ==
				MPIX_ERR_PROC_FAILED,
		"MPI_Request_get_status_all returns the error in the status");
	FAILS(MPI_Request_get_status_some(1, &request, &n, at, statuses),
		MPI_ERR_IN_STATUS);
	CHECK(n == 1 && mtest_class(statuses[0].MPI_ERROR) ==
				MPIX_ERR_PROC_FAILED,
		"MPI_Request_get_status_some returns the error in the status");
	FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
	CHECK(request == MPI_REQUEST_NULL, "the request still was active");
}

static void blocking(void)
{
	int x = 0, flag = 0, any = MPI_ANY_SOURCE;
	MPI_Comm world = MPI_COMM_WORLD;
	MPI_Message message;

	FAILS(MPI_Recv(&x, 1, MPI_INT, any, TAG + 10, world, MPI_STATUS_IGNORE),
		MPIX_ERR_PROC_FAILED);
	FAILS(MPI_Sendrecv(&x, 0, MPI_INT, 0, 77, &x, 1, MPI_INT, any, TAG + 10,
		      world, MPI_STATUS_IGNORE),
		MPIX_ERR_PROC_FAILED);
	OK(MPI_Recv(&x, 0, MPI_INT, 0, 77, world, MPI_STATUS_IGNORE));
	FAILS(MPI_Probe(any, TAG + 10, world, MPI_STATUS_IGNORE),
		MPIX_ERR_PROC_FAILED);
	FAILS(MPI_Iprobe(any, TAG + 10, world, &flag, MPI_STATUS_IGNORE),
		MPIX_ERR_PROC_FAILED);
	FAILS(MPI_Mprobe(any, TAG + 10, world, &message, MPI_STATUS_IGNORE),
		MPIX_ERR_PROC_FAILED);
	FAILS(MPI_Recv(&x, 1, MPI_INT, 2, TAG, world, MPI_STATUS_IGNORE),
		MPIX_ERR_PROC_FAILED);
}

/* A receive that was posted after the failure, and cancelled. */
static void cancelled(void)
{
	MPI_Request request;
	MPI_Status status;
	int x, flag = 0;

	OK(MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, TAG + 10, MPI_COMM_WORLD,
		&request));
	is_pending(MPI_Wait(&request, MPI_STATUS_IGNORE), request, "MPI_Wait");
	OK(MPI_Cancel(&request));
	OK(MPI_Wait(&request, &status));
	OK(MPI_Test_cancelled(&status, &flag));
	CHECK(flag, "a pending receive can be cancelled");
}

static void rank0(void)
{
	MPI_Request posted, persistent;
	MPI_Comm world = MPI_COMM_WORLD;
	MPI_Status status;
	int x = 0, y = 0, flag = 1, n = 0;

	OK(MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world, &posted));
	OK(MPI_Recv_init(&y, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world,
		&persistent));
	OK(MPI_Send(&n, 0, MPI_INT, 2, TAG, world));
	is_pending(MPI_Wait(&posted, MPI_STATUS_IGNORE), posted, "MPI_Wait");
	is_pending(MPI_Wait(&posted, MPI_STATUS_IGNORE), posted, "MPI_Wait");
	is_pending(MPI_Test(&posted, &flag, &status), posted, "MPI_Test");
	CHECK(!flag, "MPI_Test: the receive is not complete");
	arrays(posted);
	pending_status(posted);
	blocking();
	ended_status();
	cancelled();
	OK(MPI_Start(&persistent));
	is_pending(MPI_Wait(&persistent, &status), persistent, "persistent");
	/* rank 1 sends when the failure is acknowledged */
	OK(MPIX_Comm_ack_failed(world, 1, &n));
	OK(MPI_Test(&posted, &flag, &status));
	CHECK(!flag, "the receive is active after the acknowledgement");
	OK(MPI_Iprobe(MPI_ANY_SOURCE, TAG, world, &flag, &status));
	OK(MPI_Send(&n, 1, MPI_INT, 1, OTHER_TAG, world));
	OK(MPI_Wait(&posted, &status));
	CHECK(x == 42 && status.MPI_SOURCE == 1,
		"the receive gets rank 1's message");
	OK(MPI_Wait(&persistent, &status));
	CHECK(y == 43 && status.MPI_SOURCE == 1,
		"the persistent receive gets rank 1's second message");
	OK(MPI_Request_free(&persistent));
}

static void rank1(void)
{
	int x[2] = { 42, 43 }, y = 0;

	OK(MPI_Send(&y, 0, MPI_INT, 2, TAG, MPI_COMM_WORLD));
	wait_failed(MPI_COMM_WORLD);
	for (int i = 0; i < 2;
		i++) /* sent in arrays(), and after the acknowledgement */
		OK(MPI_Recv(&y, 1, MPI_INT, 0, OTHER_TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	OK(MPI_Send(&x[0], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD));
	OK(MPI_Send(&x[1], 1, MPI_INT, 0, OTHER_TAG, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_connect_all(MPI_COMM_WORLD);
	if (mtest.rank == 2) {
		for (int i = 0; i < 2; i++)
			OK(MPI_Recv(NULL, 0, MPI_INT, i, TAG, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
		raise(SIGKILL);
	}
	if (mtest.rank == 0)
		rank0();
	else
		rank1();
	return mtest_finish();
}
