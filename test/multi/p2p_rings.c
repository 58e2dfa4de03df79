/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_rings: the memory of a node's rings is limited
 *
 * Each process exchanges WINDOW long messages at a time, and then short ones,
 * with every other process. The shared memory of all processes together is at
 * most max=BYTES. Every byte is compared.
 */
#include "mtest.h"

#include <string.h>

enum { WINDOW = 16, LEN = 8192, SHORT = 128, ROUNDS = 2, TAG = 3 };

static unsigned char out[LEN], in[WINDOW][LEN];

static int byte_of(int from, int to, int i)
{
	return (from * 7 + to * 3 + i) % 251;
}

static void exchange_window(int to, int from)
{
	MPI_Request reqs[2 * WINDOW];

	memset(out, byte_of(mtest.rank, to, 0), LEN);
	for (int i = 0; i < WINDOW; i++)
		OK(MPI_Isend(
			out, LEN, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &reqs[i]));
	for (int i = 0; i < WINDOW; i++)
		OK(MPI_Irecv(in[i], LEN, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
			&reqs[WINDOW + i]));
	OK(MPI_Waitall(2 * WINDOW, reqs, MPI_STATUSES_IGNORE));
	memset(out, byte_of(from, mtest.rank, 0), LEN);
	for (int i = 0; i < WINDOW; i++)
		CHECK(!memcmp(in[i], out, LEN),
			"message %d from rank %d arrives", i, from);
}

static void exchange_short(int to, int from)
{
	for (int i = 0; i < SHORT; i++) {
		int mine = byte_of(mtest.rank, to, i), other = -1;

		OK(MPI_Sendrecv(&mine, 1, MPI_INT, to, TAG, &other, 1, MPI_INT,
			from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		CHECK(other == byte_of(from, mtest.rank, i),
			"short message %d from rank %d arrives", i, from);
	}
}

/* Returns this process's share of the shared memory that it has mapped, in KiB.
 * -1: the kernel does not report it. */
static long shared_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "Pss_Shmem:", 10))
			kib = strtol(line + 10, NULL, 10);
	if (file)
		fclose(file);
	return kib;
}

int main(int argc, char **argv)
{
	long max, mine, all = 0, least = 0;

	mtest_init(&argc, &argv);
	mtest_need(3);
	max = mtest_arg(argc, argv, "max", 1L << 28);
	for (int i = 0; i < ROUNDS * mtest.size; i++) {
		int to = (mtest.rank + i) % mtest.size;
		int from = (mtest.rank + ROUNDS * mtest.size - i) % mtest.size;

		if (to == mtest.rank)
			continue;
		exchange_window(to, from);
		exchange_short(to, from);
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	mine = shared_kib();
	OK(MPI_Reduce(&mine, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
	OK(MPI_Reduce(&mine, &least, 1, MPI_LONG, MPI_MIN, 0, MPI_COMM_WORLD));
	if (!mtest.rank && least < 0) {
		printf("# the limit is not checked: the kernel reports no "
		       "Pss_Shmem\n");
	} else if (!mtest.rank) {
		printf("# %ld KiB of shared memory\n", all);
		CHECK(all <= max / 1024,
			"%ld KiB of shared memory are at most %ld KiB", all,
			max / 1024);
	}
	return mtest_finish();
}
