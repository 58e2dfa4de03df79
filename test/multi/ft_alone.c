/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_alone: receives from any source when no other member is left
 *
 * Four processes. Rank 3 is killed, and ranks 1 and 2 finalize MPI. They exit
 * when rank 0 has exited. Rank 0 acknowledges the failure. Its calls that wait
 * for a message from any source then fail, and so do its tests. But rank 0 can
 * still send to itself, so a receive that it has tested stays active.
 * far=1: rank 0 has never contacted ranks 1 and 2.
 */
#include "mtest.h"

#include <errno.h>

enum { N = 4, LAST = N - 1, TAG = 3 };

/* Rank 3 passes on the pid of rank 0, and is killed when the others have
 * received it. Returns the pid. */
static int pass_and_die(MPI_Comm comm)
{
	int pid = getpid();

	if (mtest.rank == 0)
		OK(MPI_Send(&pid, 1, MPI_INT, LAST, TAG, comm));
	if (mtest.rank && mtest.rank < LAST) {
		OK(MPI_Recv(
			&pid, 1, MPI_INT, LAST, TAG, comm, MPI_STATUS_IGNORE));
		OK(MPI_Send(NULL, 0, MPI_INT, LAST, TAG, comm));
	}
	if (mtest.rank < LAST)
		return pid;
	OK(MPI_Recv(&pid, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
	for (int i = 1; i < LAST; i++)
		OK(MPI_Send(&pid, 1, MPI_INT, i, TAG, comm));
	for (int i = 1; i < LAST; i++)
		OK(MPI_Recv(NULL, 0, MPI_INT, i, TAG, comm, MPI_STATUS_IGNORE));
	raise(SIGKILL);
	return 0;
}

static void wait_for_end(int pid)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (kill(pid, 0) == 0)
		nanosleep(&pause, NULL);
	CHECK(errno == ESRCH, "rank 0 has exited");
}

static void wait_for_death(MPI_Comm comm)
{
	double began = mtest_now();
	MPI_Group group = MPI_GROUP_EMPTY;
	int flag, n = 0;

	while (group == MPI_GROUP_EMPTY && mtest_now() - began < MTEST_SOON_S) {
		OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag,
			MPI_STATUS_IGNORE));
		OK(MPIX_Comm_get_failed(comm, &group));
	}
	CHECK(group != MPI_GROUP_EMPTY, "the death is reported soon");
	if (group != MPI_GROUP_EMPTY)
		OK(MPI_Group_free(&group));
	OK(MPIX_Comm_ack_failed(comm, 1, &n));
	CHECK(n == 1, "the failure is acknowledged");
}

enum call { WAIT, WAITALL, WAITANY, WAITSOME, WAITS };
enum { TEST = WAITS, TESTALL, TESTANY, TESTSOME, CALLS };

/* Makes one call for a request. Returns the error of the request, or of the
 * call if the request has none. Sets *flag_out if the call has returned the
 * request. */
static int call_once(int call, MPI_Request *request, int *flag_out)
{
	MPI_Status status = { .MPI_ERROR = MPI_SUCCESS };
	int rc = MPI_SUCCESS, index = 0, n = 0;

	*flag_out = call < WAITS;
	switch (call) {
	case WAIT:
		return MPI_Wait(request, &status);
	case WAITALL:
		rc = MPI_Waitall(1, request, &status);
		break;
	case WAITANY:
		return MPI_Waitany(1, request, &index, &status);
	case WAITSOME:
		rc = MPI_Waitsome(1, request, &n, &index, &status);
		break;
	case TEST:
		return MPI_Test(request, flag_out, &status);
	case TESTALL:
		rc = MPI_Testall(1, request, flag_out, &status);
		break;
	case TESTANY:
		return MPI_Testany(1, request, &index, flag_out, &status);
	case TESTSOME:
		rc = MPI_Testsome(1, request, &n, &index, &status);
		*flag_out = n > 0;
	}
	return mtest_class(rc) == MPI_ERR_IN_STATUS ? status.MPI_ERROR : rc;
}

/* Calls until the request is returned or an error. Returns the error. */
static int call_until(int call, MPI_Request *request)
{
	double began = mtest_now();
	int flag = 0, rc = MPI_SUCCESS;

	while (!flag && rc == MPI_SUCCESS && mtest_now() - began < MTEST_SOON_S)
		rc = call_once(call, request, &flag);
	return rc;
}

/* Each call that completes requests, for a receive from any source. */
static void complete_alone(MPI_Comm comm)
{
	for (int call = 0; call < CALLS; call++) {
		MPI_Request request, send;
		int value = 0, mine = 7 + call;

		OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm,
			&request));
		FAILS(call_until(call, &request),
			call < WAITS ? MPIX_ERR_PROC_FAILED
				     : MPIX_ERR_PROC_FAILED_PENDING);
		CHECK((request == MPI_REQUEST_NULL) == (call < WAITS),
			"call %d: only a wait ends the receive", call);
		if (request == MPI_REQUEST_NULL)
			continue;
		OK(MPI_Isend(&mine, 1, MPI_INT, 0, TAG, comm, &send));
		OK(call_until(call, &request));
		OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
		CHECK(value == mine, "call %d: rank 0 receives its own message",
			call);
	}
}

static void wait_alone(MPI_Comm comm)
{
	MPI_Request requests[2];
	MPI_Status status;
	int value = 0, mine = 7;

	FAILS(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &status),
		MPIX_ERR_PROC_FAILED);
	FAILS(MPI_Probe(MPI_ANY_SOURCE, TAG, comm, &status),
		MPIX_ERR_PROC_FAILED);
	OK(MPI_Irecv(
		&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &requests[0]));
	OK(MPI_Isend(&mine, 1, MPI_INT, 0, TAG, comm, &requests[1]));
	OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
	CHECK(value == mine, "rank 0 receives its own message");
	complete_alone(comm);
}

int main(int argc, char **argv)
{
	MPI_Comm world = MPI_COMM_WORLD;
	int pid;

	mtest_init(&argc, &argv);
	mtest_need(N);
	if (!mtest_arg(argc, argv, "far", 0))
		mtest_connect_all(world);
	pid = pass_and_die(world);
	wait_for_death(world);
	if (mtest.rank == 0)
		wait_alone(world);
	MPI_Finalize();
	if (mtest.rank)
		wait_for_end(pid);
	return mtest_done();
}
