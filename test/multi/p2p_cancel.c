/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_cancel: a cancelled receive matches nothing, a matched receive completes;
 * other kinds of requests cannot be cancelled */
#include "mtest.h"

static void cancel_unmatched(void)
{
	int value = 5, cancelled = 0;
	MPI_Request req;
	MPI_Status st;

	OK(MPI_Irecv(
		&value, 1, MPI_INT, MPI_ANY_SOURCE, 700, MPI_COMM_WORLD, &req));
	OK(MPI_Cancel(&req));
	OK(MPI_Wait(&req, &st));
	OK(MPI_Test_cancelled(&st, &cancelled));
	CHECK(cancelled, "an unmatched receive is cancelled");
	CHECK(req == MPI_REQUEST_NULL, "the cancelled request is null");
	CHECK(value == 5, "the buffer is untouched");
}

/* A cancelled receive must not match the message for the next receive. */
static void cancelled_is_gone(void)
{
	int first = -1, second = -1, cancelled = 0, v = 31;
	MPI_Request req[2];
	MPI_Status st;

	if (mtest.rank == 1) {
		OK(MPI_Irecv(
			&first, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &req[0]));
		OK(MPI_Irecv(
			&second, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &req[1]));
		OK(MPI_Cancel(&req[0]));
		OK(MPI_Barrier(MPI_COMM_WORLD));
		OK(MPI_Wait(&req[0], &st));
		OK(MPI_Test_cancelled(&st, &cancelled));
		OK(MPI_Wait(&req[1], &st));
		CHECK(cancelled, "a receive without a message is cancelled");
		CHECK(second == 31 && first == -1, "the next receive matches");
		OK(MPI_Test_cancelled(&st, &cancelled));
		CHECK(!cancelled, "the next receive is not cancelled");
		return;
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 0)
		OK(MPI_Send(&v, 1, MPI_INT, 1, 3, MPI_COMM_WORLD));
}

/* A receive that has its message completes as if it was not cancelled. */
static void matched_completes(void)
{
	int v = 77, got = -1, cancelled = 1, flag = 0, n = 0;
	MPI_Request req;
	MPI_Status st;

	if (mtest.rank == 1)
		OK(MPI_Irecv(&got, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &req));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 0)
		OK(MPI_Ssend(&v, 1, MPI_INT, 1, 8, MPI_COMM_WORLD));
	if (mtest.rank == 1) {
		while (!flag)
			if (!OK(MPI_Request_get_status(req, &flag, &st)))
				break;
		OK(MPI_Cancel(&req));
		OK(MPI_Wait(&req, &st));
		OK(MPI_Test_cancelled(&st, &cancelled));
		OK(MPI_Get_count(&st, MPI_INT, &n));
		CHECK(!cancelled && n == 1 && got == 77,
			"a completed receive cannot be cancelled");
	}
}

/* MPI_Cancel refuses requests that are neither sends nor receives. Such a
 * request completes as if the call had not been made. */
static void not_a_message(void)
{
	int v = 6, got = -1, back = -1, other = 1 - mtest.rank;
	MPI_Request reqs[3];
	MPI_Comm dup = MPI_COMM_NULL;
	MPI_Win win;
	int *mem;

	OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &mem, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	*mem = 40 + mtest.rank;
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Rget(&got, 1, MPI_INT, other, 0, 1, MPI_INT, win, &reqs[0]));
	OK(MPI_Comm_idup(MPI_COMM_WORLD, &dup, &reqs[1]));
	OK(MPI_Isendrecv(&v, 1, MPI_INT, other, 4, &back, 1, MPI_INT, other, 4,
		MPI_COMM_WORLD, &reqs[2]));
	for (int i = 0; i < 3; i++)
		FAILS(MPI_Cancel(&reqs[i]), MPI_ERR_REQUEST);
	OK(MPI_Waitall(3, reqs, MPI_STATUSES_IGNORE));
	OK(MPI_Win_unlock_all(win));
	CHECK(got == 40 + other, "the get completes, got %d", got);
	CHECK(back == v, "the exchange completes, got %d", back);
	if (CHECK(dup != MPI_COMM_NULL, "the communicator is created"))
		OK(MPI_Comm_free(&dup));
	OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
	MPI_Request none = MPI_REQUEST_NULL;

	mtest_init(&argc, &argv);
	mtest_need(2);
	cancel_unmatched();
	OK(MPI_Barrier(MPI_COMM_WORLD));
	cancelled_is_gone();
	OK(MPI_Barrier(MPI_COMM_WORLD));
	matched_completes();
	not_a_message();
	FAILS(MPI_Cancel(&none), MPI_ERR_REQUEST);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	return mtest_finish();
}
