/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_rings: cycles through derived communicators end with errors for all
 * members
 *
 * Needs WEFT_STALL_WARN=1. The processes make collective calls on two or more
 * communicators in an order that cannot complete. Every process of the cycle
 * gets an error from its call, whatever the length of the cycle, and can
 * continue.
 *
 * ex=1  two splits in opposite orders
 * ex=2  a split against the end of a session
 * ex=3  a cycle of splits through all processes, each of a pair
 * ex=4  an intercommunicator whose leaders wait in other calls
 * ex=5  a receive from a process that has left the communicator (rule S63 of
 *       test/conformance/rules.tsv)
 * ex=6  two cycles that share process 0: a cycle with process 1, and one with
 *       all others; the case is repeated n= times
 * vci=1  all sessions have VCIs of their own
 */
#include "session.h"

static MPI_Session a;
static const char *vci;

static MPI_Session open_one(void)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "weft_vci", vci));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	return session;
}

/* Checks that rc is an error, and that the call has ended within seconds. */
static bool is_error(int rc, double began, const char *what)
{
	bool is = CHECK(mtest_class(rc) == MPI_ERR_OTHER,
		"S76: %s is an error, got %s", what, mtest_error(rc));

	CHECK(MPI_Wtime() - began < MTEST_SOON_S, "%s ends soon: after %.1f s",
		what, MPI_Wtime() - began);
	return is;
}

static int split(MPI_Comm comm)
{
	MPI_Comm made = MPI_COMM_NULL;
	int rc = MPI_Comm_split(comm, 0, 0, &made);

	if (made != MPI_COMM_NULL)
		MPI_Comm_free(&made);
	return rc;
}

static void crossed(void)
{
	MPI_Comm x = session_comm(a, "mpi://WORLD", "x");
	MPI_Comm y = session_comm(a, "mpi://WORLD", "y");
	double began = MPI_Wtime();
	int rc = split(mtest.rank ? y : x);

	is_error(rc, began, "the first split");
	/* a later call matches the abandoned operation */
	began = MPI_Wtime();
	OK(split(mtest.rank ? x : y));
	OK(MPI_Comm_disconnect(&x));
	OK(MPI_Comm_disconnect(&y));
}

static void split_and_finalize(void)
{
	MPI_Session b = open_one();
	MPI_Comm x = session_comm(a, "mpi://WORLD", "x");
	MPI_Comm y = session_comm(mtest.rank ? b : a, "mpi://WORLD", "y");
	double began = MPI_Wtime();

	(void)y;
	if (mtest.rank == 0) {
		is_error(split(x), began, "the split");
		OK(MPI_Comm_disconnect(&y));
	} else {
		is_error(MPI_Session_finalize(&b), began, "the finalize");
		OK(split(x));
	}
	OK(MPI_Comm_disconnect(&x));
	if (mtest.rank == 0)
		OK(MPI_Session_finalize(&b));
}

/* Communicator i has the members i and i + 1. Each process first splits a
 * communicator whose other member first splits another communicator. */
static void ring(void)
{
	MPI_Comm pairs[2] = { MPI_COMM_NULL, MPI_COMM_NULL };
	double began;

	for (int i = 0; i < mtest.size; i++) {
		int ranks[2] = { i, (i + 1) % mtest.size };
		MPI_Group all, two;

		if (mtest.rank != ranks[0] && mtest.rank != ranks[1])
			continue;
		all = session_group(a, "mpi://WORLD");
		OK(MPI_Group_incl(all, 2, ranks, &two));
		MPI_Group_free(&all);
		pairs[mtest.rank == ranks[1]] = session_comm_take(two, "pair");
	}
	began = MPI_Wtime();
	is_error(split(pairs[0]), began, "everybody's split");
	OK(split(pairs[1]));
	OK(MPI_Comm_disconnect(&pairs[mtest.rank % 2]));
	OK(MPI_Comm_disconnect(&pairs[!(mtest.rank % 2)]));
}

/* Leader 0 calls MPI_Intercomm_create on x. Leader 1 does not, but splits y. */
static void bridge(void)
{
	MPI_Comm x = session_comm(a, "mpi://WORLD", "x");
	MPI_Comm y = session_comm(a, "mpi://WORLD", "y");
	MPI_Comm self = session_comm(a, "mpi://SELF", "self");
	MPI_Comm inter = MPI_COMM_NULL;
	double began = MPI_Wtime();
	int rc;

	if (mtest.rank == 0)
		rc = MPI_Intercomm_create(self, 0, x, 1, 3, &inter);
	else
		rc = split(y);
	is_error(rc, began, mtest.rank ? "the split" : "MPI_Intercomm_create");
	OK(MPI_Comm_disconnect(&self));
	OK(split(x));
	OK(MPI_Comm_disconnect(&x));
	if (mtest.rank == 0)
		OK(split(y));
	OK(MPI_Comm_disconnect(&y));
}

static void departed(void)
{
	MPI_Comm x = session_comm(a, "mpi://WORLD", "x");
	double began = MPI_Wtime();
	int got = 0;

	if (mtest.rank == 0) {
		is_error(MPI_Recv(&got, 1, MPI_INT, 1, 7, x, MPI_STATUS_IGNORE),
			began, "a receive from who has left");
		began = MPI_Wtime();
		is_error(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 7, x,
				 MPI_STATUS_IGNORE),
			began, "a receive when nobody is left");
	}
	OK(MPI_Comm_disconnect(&x));
}

/* The communicator of two processes, or null in all others. */
static MPI_Comm pair(MPI_Session session, int i, int j, const char *tag)
{
	int ranks[2] = { i, j };
	MPI_Group all, two;

	if (mtest.rank != i && mtest.rank != j)
		return MPI_COMM_NULL;
	all = session_group(session, "mpi://WORLD");
	OK(MPI_Group_incl(all, 2, ranks, &two));
	OK(MPI_Group_free(&all));
	return session_comm_take(two, tag);
}

/* Disconnects both communicators. True if the first call returned an error. */
static int leave(MPI_Comm *first, MPI_Comm *second)
{
	double began = MPI_Wtime();
	int rc = MPI_Comm_disconnect(first);

	if (rc)
		is_error(rc, began, "a disconnect in a ring");
	if (*second != MPI_COMM_NULL)
		OK(MPI_Comm_disconnect(second));
	return rc != MPI_SUCCESS;
}

/* Checks each cycle: all its processes have an error, or none. The error of
 * process 0 in one cycle may end the waits of the other cycle before it is
 * proven. */
static void compare(int has_error)
{
	MPI_Session c = open_one();
	MPI_Comm all = session_comm(c, "mpi://WORLD", "all");
	int big, small = mtest.rank == 1 && has_error, n = mtest.size - 2;
	int in_big = mtest.rank > 1 && has_error;

	OK(MPI_Allreduce(&in_big, &big, 1, MPI_INT, MPI_SUM, all));
	OK(MPI_Allreduce(MPI_IN_PLACE, &small, 1, MPI_INT, MPI_SUM, all));
	CHECK(big == 0 || big == n,
		"S76: all %d members of the other ring get errors or none, not "
		"%d",
		n, big);
	CHECK(big || small, "S76: at least one ring ends with errors");
	OK(MPI_Comm_disconnect(&all));
	OK(MPI_Session_finalize(&c));
}

/* Pairs of processes have communicators: "a" and "c" have the processes 0 and
 * 1, "b" has 0 and 2, "d" has 0 and the last process. "chain" is a communicator
 * of i and i + 1 for each i from 2 on.
 *
 * Process 0 finalizes the session of "a" and "b" before that of "c" and "d".
 * Each other process first disconnects the communicator that its peer
 * disconnects second:
 *   process 1         "c"
 *   2 and later       its "chain" with i + 1
 *   the last process  "d"
 */
static void shared_rings(void)
{
	int last = mtest.size - 1;
	MPI_Session b = open_one();
	MPI_Comm pa = pair(a, 0, 1, "a"), pb = pair(a, 0, 2, "b");
	MPI_Comm pc = pair(b, 0, 1, "c"), pd = pair(b, 0, last, "d");
	MPI_Comm chain[2] = { MPI_COMM_NULL, MPI_COMM_NULL };
	double began;
	int has_error = 0;

	for (int i = 2; i < last; i++) {
		MPI_Comm comm = pair(a, i, i + 1, "chain");

		if (comm != MPI_COMM_NULL)
			chain[mtest.rank == i] = comm;
	}
	began = MPI_Wtime();
	if (mtest.rank == 0)
		is_error(MPI_Session_finalize(&a), began, "the shared one");
	else if (mtest.rank == 1)
		has_error = leave(&pc, &pa);
	else if (mtest.rank == 2)
		has_error = leave(&chain[1], &pb);
	else if (mtest.rank == last)
		has_error = leave(&pd, &chain[0]);
	else
		has_error = leave(&chain[1], &chain[0]);
	if (mtest.rank)
		OK(MPI_Session_finalize(&a));
	OK(MPI_Session_finalize(&b));
	compare(has_error);
}

static void share(int n)
{
	while (n--) {
		shared_rings();
		if (n)
			a = open_one();
	}
	a = open_one();
}

int main(int argc, char **argv)
{
	mtest_start(argv[0]);
	vci = mtest_arg(argc, argv, "vci", 0) ? "dedicated" : "shared";
	a = open_one();
	session_set_rank(a);
	switch (mtest_arg(argc, argv, "ex", 1)) {
	case 1:
		crossed();
		break;
	case 2:
		split_and_finalize();
		break;
	case 3:
		ring();
		break;
	case 4:
		bridge();
		break;
	case 6:
		share(mtest_arg(argc, argv, "n", 1));
		break;
	default:
		departed();
	}
	session_close(&a);
	return mtest_done();
}
