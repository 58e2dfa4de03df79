/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_rings: rings through derived communicators end with errors for all
 *
 * Wants WEFT_STALL_WARN=1. Everybody makes its collective calls on two or more
 * communicators in an order that can never end; every process of the ring gets
 * an error from its call, however long the ring, and can go on.
 *
 * ex=1  two splits in opposite orders
 * ex=2  a split against the end of a session
 * ex=3  a ring of splits through all processes, each of a pair
 * ex=4  an intercommunicator whose leaders wait elsewhere
 * ex=5  a receive from who has left for good: S63
 * lane=1  all on lanes of their own
 */
#include "session.h"

static MPI_Session a;
static const char *lane;

static MPI_Session open_one(void)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "weft_lane", lane));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	return session;
}

/* an error that came within seconds */
static bool is_error(int rc, double began, const char *what)
{
	bool is = CHECK(mtest_class(rc) == MPI_ERR_OTHER,
		"S76: %s is an error, got %s", what, mtest_error(rc));

	CHECK(MPI_Wtime() - began < 40, "%s after %.1f s", what,
		MPI_Wtime() - began);
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
	/* what was begun in vain is taken up by who comes later */
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

/* communicator i joins processes i and i + 1; everybody first splits the one
 * whose other member first splits another */
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

/* the leaders 0 and 1 meet on x, but 1 splits y first */
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

static void forsaken(void)
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

int main(int argc, char **argv)
{
	mtest_start(argv[0]);
	lane = mtest_arg(argc, argv, "lane", 0) ? "dedicated" : "shared";
	a = open_one();
	session_who(a);
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
	default:
		forsaken();
	}
	session_close(&a);
	return mtest_done();
}
