/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_examples: the standard's example programs of finalizing sessions, in each
 * order
 *
 * ex=8   rank 1 has the sessions a and b, the other process has only a. Rank 1
 *        finalizes a before b (order=0), or b before a (order=1)
 * ex=9   crossed sessions, equal tags; order=0: (a,b | b,a), order=1:
 *        (b,a | a,b), the two orders that complete
 * ex=10  as ex=9, all communicators disconnected first; order=0..3
 * ex=3   processes X, Y and Z; order=0: Y and Z finalize session A before B,
 *        order=1: B before A
 */
#include "session.h"

static MPI_Session a, b;

static void open_both(bool two)
{
	a = session_open();
	b = two ? session_open() : MPI_SESSION_NULL;
	session_set_rank(a);
}

static void finalize(int b_first)
{
	if (b_first && b != MPI_SESSION_NULL)
		session_close(&b);
	session_close(&a);
	if (b != MPI_SESSION_NULL)
		session_close(&b);
}

static bool closed(void)
{
	return a == MPI_SESSION_NULL && b == MPI_SESSION_NULL;
}

static MPI_Comm make(MPI_Session session, const char *tag)
{
	MPI_Comm comm = session_comm(session, "mpi://WORLD", tag);

	session_works(comm, tag);
	return comm;
}

static void example_8(int order)
{
	int rank = -1;
	MPI_Comm x, y;
	bool two;

	open_both(false);
	two = mtest.rank == 1;
	x = make(a, "foobar");
	if (two)
		b = session_open();
	CHECK(!two || b != MPI_SESSION_NULL,
		"S69: one side opens a second session without the other");
	y = make(two ? b : a, "foobar2");
	CHECK(MPI_Comm_rank(x, &rank) == MPI_SUCCESS && rank == mtest.rank &&
			MPI_Barrier(y) == MPI_SUCCESS,
		"S53, S68: members of a communicator use different sessions");
	finalize(order);
	if (order)
		CHECK(closed(),
			"S71, S72: one finalize matches those of b and a");
	else
		CHECK(closed(),
			"S67, S70: one finalize matches those of a and b");
	CHECK(closed(),
		"S50, S62, S63: all communicators are disconnected together");
}

static void crossed(MPI_Comm *x, MPI_Comm *y, MPI_Comm *z)
{
	open_both(true);
	*x = make(a, "foobar");
	*y = make(mtest.rank ? b : a, "foobar2");
	*z = make(mtest.rank ? a : b, "foobar3");
}

static void example_9(int order)
{
	MPI_Comm x, y, z;

	crossed(&x, &y, &z);
	finalize(mtest.rank ? !order : order);
	CHECK(closed(),
		"S65, S73, S75: crossed sessions are finalized in order %d",
		order);
}

static void example_10(int order)
{
	MPI_Comm x, y, z;

	crossed(&x, &y, &z);
	OK(MPI_Comm_disconnect(&x));
	CHECK(MPI_Comm_disconnect(&y) == MPI_SUCCESS,
		"S79: the members disconnect in different sessions");
	OK(MPI_Comm_disconnect(&z));
	finalize(order >> (mtest.rank != 0) & 1);
	CHECK(closed(),
		"S77, S78: disconnecting before finalize completes in order %d",
		order);
}

/* Rank 0 is process X, which has one session. The others have two. */
static void example_xyz(int order)
{
	open_both(false);
	if (mtest.rank)
		b = session_open();
	make(a, "communicator_1");
	make(mtest.rank ? b : a, "communicator_2");
	finalize(order);
	CHECK(closed(), "S84, S85: Y and Z finalize their sessions in order %d",
		order);
	if (mtest.rank == 0)
		CHECK(closed(), "S87: X finalizes its session after Y and Z");
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
		example_9(order);
		break;
	case 10:
		example_10(order);
		break;
	default:
		example_xyz(order);
	}
	CHECK(closed(), "all sessions are finalized");
	return mtest_done();
}
