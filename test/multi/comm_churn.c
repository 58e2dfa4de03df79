/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_churn: creates n= communicators, and frees or disconnects each, so that
 * context ids and memory are reused */
#include "mtest.h"

enum { ALIVE = 20 };

static void check_alive(MPI_Comm comm, int i)
{
	int value = mtest.rank == 0 ? i : -1;

	OK(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
	CHECK(value == i, "communicator %d carries its own message", i);
}

int main(int argc, char **argv)
{
	MPI_Comm held[ALIVE], comm;
	long before = 0, grown;
	int n;

	mtest_init(&argc, &argv);
	n = mtest_arg(argc, argv, "n", 3000);
	for (int i = 0; i < ALIVE; i++)
		OK(MPI_Comm_dup(MPI_COMM_WORLD, &held[i]));
	for (int i = 0; i < n; i++) {
		if (i % 3 == 0)
			OK(MPI_Comm_dup(held[i % ALIVE], &comm));
		else
			OK(MPI_Comm_split(
				held[i % ALIVE], mtest.rank % 2, 0, &comm));
		if (i % 50 == 0)
			check_alive(held[i % ALIVE], i);
		/* S100: ids are reused after free and after disconnect */
		if (i % 2)
			OK(MPI_Comm_free(&comm));
		else
			OK(MPI_Comm_disconnect(&comm));
		CHECK(comm == MPI_COMM_NULL, "S101: the handle is null");
		if (i == n / 2)
			before = mtest_filled_kib();
	}
	grown = mtest_filled_kib() - before;
	CHECK(grown < 2048,
		"S100: memory grows by less than 2048 KiB in the second half "
		"of the rounds, by %ld",
		grown);
	for (int i = 0; i < ALIVE; i++) {
		check_alive(held[i], i);
		OK(MPI_Comm_free(&held[i]));
	}
	return mtest_finish();
}
