/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_revoke: a communicator is revoked while its members wait in calls on it
 *
 * In each round the last rank revokes a new communicator. All others wait in a
 * call that only the revocation ends. Then every call that communicates fails
 * with the class REVOKED, local calls and the free of the communicator succeed,
 * and MPI_COMM_WORLD is as before.
 *
 * Then one member revokes and frees communicators while another one still sends
 * on them. After that, short messages between the two are still eager, because
 * their credit was returned.
 *
 * kill=1: in the last round the last rank is killed right after the revocation.
 * Then the others repeat a call on another communicator until it is revoked.
 */
#include "mtest.h"

enum {
	TAG = 3,
	LONG = 400000,
	N_ITEMS = 4,
	CLOSED = 100,
	REPEATED = 100,
	SENDS = 16,
	SHORT = 1000
};

#define UNREAD_S 0.002

static int buf[LONG], buf2[LONG];
static int left, right; /* neighbours among the ranks that wait */

/* ---- calls that only the revocation ends ---- */

static int recv_named(MPI_Comm comm)
{
	return MPI_Recv(buf, 1, MPI_INT, left, TAG, comm, MPI_STATUS_IGNORE);
}

static int recv_any(MPI_Comm comm)
{
	return MPI_Recv(buf, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
		MPI_STATUS_IGNORE);
}

static int send_long(MPI_Comm comm)
{
	return MPI_Send(buf, LONG, MPI_INT, right, TAG, comm);
}

static int ssend_short(MPI_Comm comm)
{
	return MPI_Ssend(buf, 1, MPI_INT, right, TAG, comm);
}

static int probe(MPI_Comm comm)
{
	return MPI_Probe(left, TAG, comm, MPI_STATUS_IGNORE);
}

static int wait_requests(MPI_Comm comm)
{
	MPI_Request requests[3];
	MPI_Status statuses[3];
	int rc;

	OK(MPI_Irecv(buf, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &requests[0]));
	OK(MPI_Irecv(buf2, 1, MPI_INT, left, TAG, comm, &requests[1]));
	rc = MPI_Ibarrier(comm, &requests[2]);
	if (rc) { /* the revocation arrived before the call */
		requests[2] = requests[1];
		requests[1] = requests[0];
		OK(MPI_Irecv(buf, 1, MPI_INT, left, TAG, comm, &requests[0]));
	}
	rc = MPI_Waitall(3, requests, statuses);
	CHECK(mtest_class(rc) == MPI_ERR_IN_STATUS,
		"MPI_Waitall returns MPI_ERR_IN_STATUS, got %s",
		mtest_error(rc));
	for (int i = 0; i < 3; i++) {
		CHECK(mtest_class(statuses[i].MPI_ERROR) == MPIX_ERR_REVOKED,
			"request %d reports the revocation, got %s", i,
			mtest_error(statuses[i].MPI_ERROR));
		CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is null", i);
	}
	return statuses[0].MPI_ERROR;
}

static int test_loop(MPI_Comm comm)
{
	MPI_Request request;
	int rc = MPI_SUCCESS, flag = 0;

	OK(MPI_Irecv(buf, 1, MPI_INT, left, TAG, comm, &request));
	while (!rc && !flag)
		rc = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
	return rc;
}

static int barrier(MPI_Comm comm)
{
	return MPI_Barrier(comm);
}

static int allreduce_long(MPI_Comm comm)
{
	return MPI_Allreduce(buf, buf2, LONG, MPI_INT, MPI_SUM, comm);
}

static int bcast(MPI_Comm comm)
{
	return MPI_Bcast(buf, N_ITEMS, MPI_INT, mtest.size - 1, comm);
}

static int persistent(MPI_Comm comm)
{
	MPI_Request request;
	int rc;

	rc = MPI_Allgather_init(buf, 1, MPI_INT, buf2, 1, MPI_INT, comm,
		MPI_INFO_NULL, &request);
	if (rc)
		return rc;
	OK(MPI_Start(&request));
	rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	OK(MPI_Request_free(&request));
	return rc;
}

static int duplicate(MPI_Comm comm)
{
	MPI_Comm made;

	return MPI_Comm_dup(comm, &made);
}

static int split(MPI_Comm comm)
{
	MPI_Comm made;

	return MPI_Comm_split(comm, 0, 0, &made);
}

typedef int call_fn(MPI_Comm comm);

static const struct {
	const char *name;
	call_fn *fn;
} calls[] = {
	{ "receive", recv_named },
	{ "receive from any source", recv_any },
	{ "send", send_long },
	{ "synchronous send", ssend_short },
	{ "probe", probe },
	{ "waitall", wait_requests },
	{ "test loop", test_loop },
	{ "barrier", barrier },
	{ "allreduce", allreduce_long },
	{ "bcast", bcast },
	{ "persistent allgather", persistent },
	{ "split", split },
};

/* ---- after the revocation ---- */

/* A nonblocking call fails and sets its request to null, or the wait fails. */
#define REVOKED_REQUEST(call)                                            \
	do {                                                             \
		MPI_Request request = NULL; /* no handle */              \
		int rc = call;                                           \
                                                                         \
		CHECK(!rc || request == MPI_REQUEST_NULL,                \
			#call " leaves no request if it fails");         \
		if (!rc)                                                 \
			rc = MPI_Wait(&request, MPI_STATUS_IGNORE);      \
		else                                                     \
			OK(MPI_Wait(&request, MPI_STATUS_IGNORE));       \
		CHECK(mtest_class(rc) == MPIX_ERR_REVOKED,               \
			#call " or its wait reports the revocation: %s", \
			rc ? mtest_error(rc) : "success");               \
	} while (0)

static void nonblocking(MPI_Comm comm)
{
	static char space[4096];
	void *detached;
	int n, to = right;
	MPI_Comm made;

	OK(MPI_Buffer_attach(space, sizeof(space)));
	REVOKED_REQUEST(MPI_Isend(buf, 1, MPI_INT, to, TAG, comm, &request));
	REVOKED_REQUEST(
		MPI_Issend(buf, LONG, MPI_INT, to, TAG, comm, &request));
	REVOKED_REQUEST(MPI_Irsend(buf, 1, MPI_INT, to, TAG, comm, &request));
	REVOKED_REQUEST(MPI_Ibsend(buf, 1, MPI_INT, to, TAG, comm, &request));
	REVOKED_REQUEST(MPI_Irecv(buf, 1, MPI_INT, left, TAG, comm, &request));
	REVOKED_REQUEST(MPI_Irecv(
		buf, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &request));
	REVOKED_REQUEST(MPI_Isendrecv(buf, 1, MPI_INT, to, TAG, buf2, 1,
		MPI_INT, left, TAG, comm, &request));
	REVOKED_REQUEST(MPI_Ibarrier(comm, &request));
	REVOKED_REQUEST(MPI_Ibcast(buf, 1, MPI_INT, 0, comm, &request));
	REVOKED_REQUEST(
		MPI_Iallreduce(buf, buf2, 1, MPI_INT, MPI_SUM, comm, &request));
	REVOKED_REQUEST(MPI_Comm_idup(comm, &made, &request));
	OK(MPI_Buffer_detach(&detached, &n));
}

/* A persistent request that cannot be started is inactive. */
static void started(MPI_Comm comm)
{
	MPI_Request request;
	int rc;

	OK(MPI_Send_init(buf, 1, MPI_INT, right, TAG, comm, &request));
	rc = MPI_Start(&request);
	if (rc)
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	else
		rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(mtest_class(rc) == MPIX_ERR_REVOKED,
		"MPI_Start reports the revocation: %s",
		rc ? mtest_error(rc) : "success");
	OK(MPI_Request_free(&request));
}

static void all_fail(MPI_Comm comm)
{
	MPI_Message message;
	int flag, self = mtest.rank;

	FAILS(MPI_Send(buf, 1, MPI_INT, right, TAG, comm), MPIX_ERR_REVOKED);
	FAILS(MPI_Send(buf, 1, MPI_INT, self, TAG, comm), MPIX_ERR_REVOKED);
	FAILS(MPI_Rsend(buf, 1, MPI_INT, right, TAG, comm), MPIX_ERR_REVOKED);
	FAILS(MPI_Recv(buf, 1, MPI_INT, left, 99, comm, MPI_STATUS_IGNORE),
		MPIX_ERR_REVOKED);
	FAILS(MPI_Sendrecv(buf, 1, MPI_INT, right, TAG, buf2, 1, MPI_INT, left,
		      TAG, comm, MPI_STATUS_IGNORE),
		MPIX_ERR_REVOKED);
	FAILS(MPI_Iprobe(left, TAG, comm, &flag, MPI_STATUS_IGNORE),
		MPIX_ERR_REVOKED);
	FAILS(MPI_Mprobe(
		      MPI_ANY_SOURCE, TAG, comm, &message, MPI_STATUS_IGNORE),
		MPIX_ERR_REVOKED);
	FAILS(barrier(comm), MPIX_ERR_REVOKED);
	FAILS(bcast(comm), MPIX_ERR_REVOKED);
	FAILS(allreduce_long(comm), MPIX_ERR_REVOKED);
	FAILS(duplicate(comm), MPIX_ERR_REVOKED);
	FAILS(split(comm), MPIX_ERR_REVOKED);
	nonblocking(comm);
	started(comm);
	OK(MPIX_Comm_revoke(comm));
}

static void local_calls(MPI_Comm comm)
{
	MPI_Group group;
	int n = -1, flag = 0;

	OK(MPIX_Comm_is_revoked(comm, &flag));
	CHECK(flag, "the communicator is revoked");
	OK(MPIX_Comm_is_revoked(MPI_COMM_WORLD, &flag));
	CHECK(!flag, "MPI_COMM_WORLD is not revoked");
	OK(MPI_Comm_size(comm, &n));
	CHECK(n == mtest.size, "the size of a revoked communicator is known");
	OK(MPI_Comm_group(comm, &group));
	OK(MPI_Group_free(&group));
	OK(MPIX_Comm_get_failed(comm, &group));
	if (group != MPI_GROUP_EMPTY)
		OK(MPI_Group_free(&group));
	OK(MPIX_Comm_ack_failed(comm, 0, &n));
}

/* ---- rounds ---- */

static MPI_Comm make_comm(int warm)
{
	MPI_Comm comm;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	for (int i = 0; i < warm;
		i++) /* the fifth collective creates the segment */
		OK(MPI_Barrier(comm));
	return comm;
}

static void check_call(MPI_Comm comm, int i)
{
	double began = mtest_now();
	int rc = calls[i].fn(comm);

	CHECK(mtest_class(rc) == MPIX_ERR_REVOKED,
		"%s reports the revocation, got %s", calls[i].name,
		rc ? mtest_error(rc) : "success");
	CHECK(mtest_now() - began < MTEST_SOON_S, "%s ends soon",
		calls[i].name);
}

/* Waits for the report of the failure, so that no process is in MPI_Finalize at
 * that time. */
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
	CHECK(size >= 1, "the failure is reported soon");
}

/* Repeats a barrier, which fails because a member has failed, until the
 * revocation arrives. Rank 0 revokes the communicator when each other member
 * has repeated the barrier REPEATED times. */
static void repeat_until_revoked(MPI_Comm comm)
{
	double began = mtest_now();
	MPI_Request request = NULL; /* no handle */
	int n = 0;
	int rc =
		MPI_Isend(buf, 1, MPI_INT, mtest.size - 1, TAG, comm, &request);

	CHECK(!rc || request == MPI_REQUEST_NULL,
		"a send to a failed member that is not started has no request");
	(void)MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (int i = 1; mtest.rank == 0 && i < mtest.size - 1; i++)
		OK(MPI_Recv(NULL, 0, MPI_INT, i, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	if (mtest.rank == 0)
		OK(MPIX_Comm_revoke(comm));
	do {
		rc = MPI_Barrier(comm);
		if (mtest.rank && ++n == REPEATED)
			OK(MPI_Send(NULL, 0, MPI_INT, 0, TAG, MPI_COMM_WORLD));
	} while (mtest_class(rc) == MPIX_ERR_PROC_FAILED &&
		 mtest_now() - began < MTEST_SOON_S);
	CHECK(mtest_class(rc) == MPIX_ERR_REVOKED,
		"the barrier reports the revocation, got %s",
		rc ? mtest_error(rc) : "success");
	OK(MPI_Comm_free(&comm));
}

static void one_round(int i, int warm, int is_killed)
{
	MPI_Comm comm = make_comm(warm);

	if (mtest.rank == mtest.size - 1) {
		for (int r = 0; r < mtest.size - 1; r++)
			OK(MPI_Recv(NULL, 0, MPI_INT, r, TAG, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
		OK(MPIX_Comm_revoke(comm));
		if (is_killed)
			raise(SIGKILL);
	} else {
		OK(MPI_Send(
			NULL, 0, MPI_INT, mtest.size - 1, TAG, MPI_COMM_WORLD));
		check_call(comm, i);
	}
	all_fail(comm);
	if (is_killed)
		wait_failed(comm);
	local_calls(comm);
	if (i % 2)
		OK(MPI_Comm_disconnect(&comm));
	else
		OK(MPI_Comm_free(&comm));
	if (!is_killed)
		OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Revokes an intercommunicator. Its local communicators remain usable. */
static void intercomm(void)
{
	int is_high = mtest.rank >= 2, x = mtest.rank, sum = 0;
	MPI_Comm half, inter, made;

	OK(MPI_Comm_split(MPI_COMM_WORLD, is_high, 0, &half));
	OK(MPI_Intercomm_create(
		half, 0, MPI_COMM_WORLD, is_high ? 0 : 2, TAG, &inter));
	if (mtest.rank == mtest.size - 1)
		OK(MPIX_Comm_revoke(inter));
	else
		FAILS(MPI_Recv(buf, 1, MPI_INT, 0, TAG, inter,
			      MPI_STATUS_IGNORE),
			MPIX_ERR_REVOKED);
	FAILS(MPI_Barrier(inter), MPIX_ERR_REVOKED);
	FAILS(MPI_Intercomm_merge(inter, is_high, &made), MPIX_ERR_REVOKED);
	OK(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, half));
	OK(MPI_Comm_free(&inter));
	OK(MPI_Comm_free(&half));
}

/* Rank 0 sends on a communicator that rank 1 revokes and frees meanwhile. */
static void send_to_closed(void)
{
	MPI_Request requests[SENDS];
	MPI_Comm comm = make_comm(0);
	double began;
	int n = 0;

	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 1)
		OK(MPIX_Comm_revoke(comm));
	began = mtest_now();
	while (mtest.rank == 0 && mtest_now() - began < UNREAD_S)
		; /* makes no progress, so it does not read the revocation */
	while (mtest.rank == 0 && n < SENDS &&
		!MPI_Isend(buf, SHORT, MPI_INT, 1, TAG, comm, &requests[n]))
		n++;
	if (mtest.rank == 0)
		(void)MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	OK(MPI_Comm_free(&comm));
}

/* Sends to a process that has not posted the receives complete if they are
 * eager. */
static void check_eager(void)
{
	double began = mtest_now();
	MPI_Request requests[SENDS];
	int is_done = 0;

	for (int i = 0; mtest.rank == 0 && i < SENDS; i++)
		OK(MPI_Isend(buf, SHORT, MPI_INT, 1, TAG, MPI_COMM_WORLD,
			&requests[i]));
	if (mtest.rank == 0) {
		while (!is_done && mtest_now() - began < MTEST_SOON_S)
			OK(MPI_Testall(SENDS, requests, &is_done,
				MPI_STATUSES_IGNORE));
		CHECK(is_done, "short sends complete without a receive");
		OK(MPI_Send(NULL, 0, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD));
		OK(MPI_Waitall(SENDS, requests, MPI_STATUSES_IGNORE));
	} else if (mtest.rank == 1) {
		OK(MPI_Recv(NULL, 0, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		for (int i = 0; i < SENDS; i++)
			OK(MPI_Recv(buf, SHORT, MPI_INT, 0, TAG, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
	}
}

int main(int argc, char **argv)
{
	int n = (int)(sizeof(calls) / sizeof(calls[0]));
	int is_killed;

	mtest_init(&argc, &argv);
	mtest_connect_all(MPI_COMM_WORLD);
	is_killed = (int)mtest_arg(argc, argv, "kill", 0);
	left = (mtest.rank + mtest.size - 2) % (mtest.size - 1);
	right = (mtest.rank + 1) % (mtest.size - 1);
	for (int i = 0; i < n; i++)
		one_round(i, i % 3 ? 8 : 0, 0);
	one_round(7, 8, 0);
	intercomm();
	for (int i = 0; i < CLOSED; i++)
		send_to_closed();
	check_eager();
	if (is_killed) {
		MPI_Comm comm = make_comm(0);

		one_round(0, 8, 1);
		repeat_until_revoked(comm);
	}
	return mtest_finish();
}
