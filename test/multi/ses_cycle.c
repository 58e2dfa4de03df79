/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_cycle: processes whose calls of MPI_Session_finalize or
 * MPI_Comm_disconnect form a cycle of waits get errors and do not hang
 *
 * Needs WEFT_STALL_WARN=1. By rule S63, these processes would wait for each
 * other without end. Each process gets an error from one call, and continues.
 * The library completes the interrupted disconnects in the background, when all
 * members have left the communicators.
 *
 * ex=9   S76: example 11.9 of the standard with equal string tags. Both
 *        processes finalize session a before b (order=0), or b before a
 *        (order=1)
 * ex=3   S86: three processes. Rank 1 finalizes session a before b, rank 2
 *        finalizes b before a
 * ex=10  two processes disconnect two communicators in opposite orders
 * ex=4   all processes in a ring of finalizes
 * ex=1   example 11.9 with the misprint of the standard. For the third
 *        communicator, rank 0 passes the string tag "foobar3" and rank 1
 *        "foobar2". Rank 1 gets an error and repeats the call with "foobar3"
 */
#include "session.h"

static MPI_Session a, b;

static MPI_Comm make(MPI_Session session, const char *tag)
{
	MPI_Comm comm = session_comm(session, "mpi://WORLD", tag);

	session_works(comm, tag);
	return comm;
}

/* Returns false without an error. Otherwise checks that the error was returned
 * within seconds and has a text. */
static bool is_deadlock(int rc, double began)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int len;

	if (rc == MPI_SUCCESS)
		return false;
	CHECK(mtest_class(rc) == MPI_ERR_OTHER,
		"the error has the class MPI_ERR_OTHER: %d", mtest_class(rc));
	CHECK(MPI_Wtime() - began < MTEST_SOON_S,
		"S64, S74: the cycle is reported after %.1f s",
		MPI_Wtime() - began);
	MPI_Error_string(rc, text, &len);
	CHECK(len > 0, "the error has a text");
	return true;
}

static bool finalize(MPI_Session *session)
{
	double began = MPI_Wtime();
	int rc = MPI_Session_finalize(session);

	CHECK(*session == MPI_SESSION_NULL, "S30: the handle is null");
	return is_deadlock(rc, began);
}

static void example_9(int order)
{
	bool first, second;

	b = session_open();
	make(a, "foobar");
	make(mtest.rank ? b : a, "foobar2");
	make(mtest.rank ? a : b, "foobar3");
	first = finalize(order ? &b : &a);
	second = finalize(order ? &a : &b);
	CHECK(first, "S76: the first finalize returns an error");
	CHECK(!second, "the second finalize succeeds");
}

static void example_xyz(void)
{
	bool first, second = false;

	if (mtest.rank)
		b = session_open();
	make(a, "communicator_1");
	make(mtest.rank ? b : a, "communicator_2");
	if (mtest.rank == 0) {
		/* Ranks 1 and 2 may leave their cycle before or after this
		 * process is part of it, so an error is not certain. */
		finalize(&a);
		return;
	}
	first = finalize(mtest.rank == 1 ? &a : &b);
	second = finalize(mtest.rank == 1 ? &b : &a);
	CHECK(first, "S86: the first finalize returns an error");
	CHECK(!second, "the second finalize succeeds");
}

static void disconnect_crossed(void)
{
	MPI_Comm x = make(a, "x"), y = make(a, "y");
	double began = MPI_Wtime();
	int rc = MPI_Comm_disconnect(mtest.rank ? &y : &x);

	CHECK(is_deadlock(rc, began), "the first disconnect returns an error");
	OK(MPI_Comm_disconnect(mtest.rank ? &x : &y));
	OK(MPI_Session_finalize(&a));
}

/* Communicator i has the members i and i + 1. Member i disconnects it first,
 * with session a; member i + 1 disconnects it second, with session b. */
static void ring(void)
{
	MPI_Group world = session_group(a, "mpi://WORLD");
	int first, n = 0;
	MPI_Comm comm;

	b = session_open();
	for (int i = 0; i < mtest.size; i++) {
		int pair[2] = { i, (i + 1) % mtest.size };
		MPI_Group all, two;

		if (mtest.rank != pair[0] && mtest.rank != pair[1])
			continue;
		all = session_group(
			mtest.rank == pair[0] ? a : b, "mpi://WORLD");
		OK(MPI_Group_incl(all, 2, pair, &two));
		MPI_Group_free(&all);
		session_comm_take(two, "pair");
	}
	MPI_Group_free(&world);
	first = finalize(&a);
	CHECK(!finalize(&b), "the second finalize succeeds");
	a = session_open();
	comm = session_comm(a, "mpi://WORLD", "how many");
	OK(MPI_Allreduce(&first, &n, 1, MPI_INT, MPI_SUM, comm));
	CHECK(n == mtest.size,
		"S76: all members of the ring get errors, %d of %d", n,
		mtest.size);
	OK(MPI_Comm_disconnect(&comm));
	session_close(&a);
}

static void literal_11_9(void)
{
	MPI_Comm z = MPI_COMM_NULL;
	MPI_Group group;
	double began;
	int rc;

	b = session_open();
	make(a, "foobar");
	make(mtest.rank ? b : a, "foobar2");
	if (mtest.rank == 0) {
		z = session_comm(b, "mpi://WORLD", "foobar3");
		CHECK(finalize(&a), "T1: rank 0 gets an error, because its "
				    "wait cannot end");
		CHECK(!finalize(&b), "its second finalize succeeds");
		return;
	}
	group = session_group(a, "mpi://WORLD");
	began = MPI_Wtime();
	rc = MPI_Comm_create_from_group(
		group, "foobar2", MPI_INFO_NULL, MPI_ERRORS_RETURN, &z);
	CHECK(mtest_class(rc) == MPI_ERR_NOT_SAME,
		"T1: the call fails with MPI_ERR_NOT_SAME: %d",
		mtest_class(rc));
	CHECK(MPI_Wtime() - began < MTEST_SOON_S, "the wait ends after %.1f s",
		MPI_Wtime() - began);
	session_comm_take(group, "foobar3");
	CHECK(!finalize(&a) && !finalize(&b), "both finalizes succeed");
}

int main(int argc, char **argv)
{
	mtest_start(argv[0]);
	a = session_open();
	session_set_rank(a);
	switch (mtest_arg(argc, argv, "ex", 9)) {
	case 9:
		example_9(mtest_arg(argc, argv, "order", 0));
		break;
	case 10:
		disconnect_crossed();
		break;
	case 4:
		ring();
		break;
	case 1:
		literal_11_9();
		break;
	default:
		example_xyz();
	}
	return mtest_done();
}
