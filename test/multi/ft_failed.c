/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_failed: the failed members of communicators, and their acknowledgement
 *
 * Of four processes, rank 3 is killed, and then rank 1. The others list the
 * failures in an order that does not change, on intracommunicators and on an
 * intercommunicator, and acknowledge them on each communicator separately.
 * Errors name a failure that is not acknowledged.
 */
#include "mtest.h"

#include <mpi-ext.h>
#include <signal.h>

enum { TAG = 4 };

static MPI_Comm copy, inter;

static void make_comms(void)
{
	int is_high = mtest.rank >= 2;
	MPI_Comm half;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
	OK(MPI_Comm_split(MPI_COMM_WORLD, is_high, 0, &half));
	OK(MPI_Intercomm_create(
		half, 0, MPI_COMM_WORLD, is_high ? 0 : 2, TAG, &inter));
	OK(MPI_Comm_free(&half));
}

/* Checks a group of failed members, given as ranks in MPI_COMM_WORLD; frees it.
 */
static void check_group(
	MPI_Group group, const int *ranks, int n, const char *what)
{
	int all[4] = { 0, 1, 2, 3 }, found[4], size = -1;
	MPI_Group world;

	OK(MPI_Group_size(group, &size));
	CHECK(size == n, "%s: the group has %d members, not %d", what, n, size);
	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_translate_ranks(group, size, all, world, found));
	for (int i = 0; i < n && i < size; i++)
		CHECK(found[i] == ranks[i], "%s: member %d is rank %d, not %d",
			what, i, ranks[i], found[i]);
	OK(MPI_Group_free(&world));
	if (size > 0)
		OK(MPI_Group_free(&group));
}

static void check_failed(
	MPI_Comm comm, const int *ranks, int n, const char *what)
{
	MPI_Group group;

	OK(MPIX_Comm_get_failed(comm, &group));
	check_group(group, ranks, n, what);
}

static void check_acked(
	MPI_Comm comm, const int *ranks, int n, const char *what)
{
	MPI_Group group;

	OK(MPIX_Comm_failure_get_acked(comm, &group));
	check_group(group, ranks, n, what);
}

/* Waits until this process knows n failed members. */
static void wait_failed(MPI_Comm comm, int n)
{
	double began = mtest_now();
	int size = 0;

	while (size < n && mtest_now() - began < MTEST_SOON_S) {
		MPI_Group group;

		OK(MPIX_Comm_get_failed(comm, &group));
		OK(MPI_Group_size(group, &size));
		if (size)
			OK(MPI_Group_free(&group));
	}
	CHECK(size >= n, "%d failures are known soon", n);
}

static int acked(MPI_Comm comm, int num_to_ack)
{
	int n = -1;

	OK(MPIX_Comm_ack_failed(comm, num_to_ack, &n));
	return n;
}

static void first_failure(void)
{
	static const int ranks[] = { 3 };
	int x = 0;

	CHECK(acked(copy, 9) == 0, "no failure is acknowledged yet");
	check_failed(
		MPI_COMM_WORLD, NULL, 0, "a communicator without failures");
	if (mtest.rank == 3) {
		for (int i = 0; i < 3; i++)
			OK(MPI_Recv(&x, 0, MPI_INT, i, TAG, copy,
				MPI_STATUS_IGNORE));
		raise(SIGKILL);
	}
	OK(MPI_Send(&x, 0, MPI_INT, 3, TAG, copy));
	wait_failed(inter, 1);
	wait_failed(copy, 1);
	check_failed(MPI_COMM_WORLD, ranks, 1, "after the first failure");
	check_failed(MPI_COMM_SELF, NULL, 0, "MPI_COMM_SELF");
	check_acked(copy, NULL, 0, "nothing acknowledged");
	CHECK(acked(copy, 0) == 0, "the number 0 acknowledges no failure");
	CHECK(acked(copy, 1) == 1, "one failure is acknowledged");
	check_acked(copy, ranks, 1, "acknowledged");
	check_acked(MPI_COMM_WORLD, NULL, 0, "another communicator");
	/* rank 1 dies when all survivors know the first failure */
	if (mtest.rank == 1) {
		OK(MPI_Recv(&x, 1, MPI_INT, 0, TAG, copy, MPI_STATUS_IGNORE));
		OK(MPI_Recv(&x, 1, MPI_INT, 2, TAG, copy, MPI_STATUS_IGNORE));
		raise(SIGKILL);
	}
	OK(MPI_Send(&x, 1, MPI_INT, 1, TAG, copy));
}

/* A receive from any source names the failure that is not acknowledged. */
static void name_unacked(void)
{
	MPI_Request request;
	int x = 0, rc;

	OK(MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, TAG, copy, &request));
	rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED_PENDING &&
			strstr(mtest_error(rc), "rank 1 of"),
		"the error names rank 1: %s", mtest_error(rc));
	OK(MPI_Cancel(&request));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void second_failure(void)
{
	static const int ranks[] = { 3, 1 };
	int n = 0;

	wait_failed(copy, 2);
	check_failed(copy, ranks, 2, "after the second failure");
	check_failed(inter, ranks, 2, "both groups of the intercommunicator");
	check_acked(copy, ranks, 1, "only the first is acknowledged");
	name_unacked();
	CHECK(acked(copy, 9) == 2,
		"a number above that of the failures acknowledges all");
	CHECK(acked(copy, 1) == 2, "an acknowledgement is not withdrawn");
	check_acked(inter, NULL, 0, "the intercommunicator");
	OK(MPIX_Comm_failure_ack(inter));
	check_acked(inter, ranks, 2, "all acknowledged");
	CHECK(acked(inter, 0) == 2,
		"MPIX_Comm_ack_failed counts the failures that "
		"MPIX_Comm_failure_ack acknowledged");
	FAILS(MPIX_Comm_ack_failed(copy, -1, &n), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_connect_all(MPI_COMM_WORLD);
	make_comms();
	first_failure();
	second_failure();
	OK(MPI_Comm_free(&copy));
	OK(MPI_Comm_free(&inter));
	return mtest_finish();
}
