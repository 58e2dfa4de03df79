/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_examples: the printed programs on finalizing sessions, each order
 *
 * ex=8   S67: one session against two; order=0 (a, b), order=1 (b, a) (S72)
 * ex=9   S73 with equal tags; order=0: (a,b | b,a), order=1: (b,a | a,b),
 *        the two orders that complete (trap T2)
 * ex=10  S77: as ex=9, all communicators disconnected first; order=0..3
 * ex=3   S84: X, Y, Z; order=0: A then B on Y and Z, order=1: B then A
 */
#include "session.h"

static MPI_Session a, b;

static void open_both(bool two)
{
	a = session_open();
	b = two ? session_open() : MPI_SESSION_NULL;
	session_who(a);
}

static void finalize(int b_first)
{
	if (b_first && b != MPI_SESSION_NULL)
		session_close(&b);
	session_close(&a);
	if (b != MPI_SESSION_NULL)
		session_close(&b);
}

static MPI_Comm make(MPI_Session session, const char *tag)
{
	MPI_Comm comm = session_comm(session, "mpi://WORLD", tag);

	session_works(comm, tag);
	return comm;
}

static void example_8(int order)
{
	bool two;

	open_both(false);
	two = mtest.rank == 1;
	make(a, "foobar");
	if (two)
		b = session_open();
	make(two ? b : a, "foobar2");
	finalize(order);
}

static void example_9(int order, bool disconnect)
{
	MPI_Comm x, y, z;

	open_both(true);
	x = make(a, "foobar");
	y = make(mtest.rank ? b : a, "foobar2");
	z = make(mtest.rank ? a : b, "foobar3");
	if (disconnect) {
		/* S79: y belongs to different sessions at both ends */
		OK(MPI_Comm_disconnect(&y));
		OK(MPI_Comm_disconnect(&x));
		OK(MPI_Comm_disconnect(&z));
		finalize(order >> (mtest.rank != 0) & 1);
		return;
	}
	finalize(mtest.rank ? !order : order);
}

/* rank 0 is X with one session, the others have two */
static void example_xyz(int order)
{
	open_both(false);
	if (mtest.rank)
		b = session_open();
	make(a, "communicator_1");
	make(mtest.rank ? b : a, "communicator_2");
	finalize(order);
}

int main(int argc, char **argv)
{
	int order;

	mtest_start(argv[0]);
	order = mtest_arg(argc, argv, "order", 0);
	switch (mtest_arg(argc, argv, "ex", 8)) {
	case 8:
		example_8(order);
		break;
	case 9:
		example_9(order, false);
		break;
	case 10:
		example_9(order, true);
		break;
	default:
		example_xyz(order);
	}
	CHECK(a == MPI_SESSION_NULL && b == MPI_SESSION_NULL,
		"every session is closed");
	return mtest_done();
}
