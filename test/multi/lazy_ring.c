/* SPDX-License-Identifier: BSD-3-Clause */
/* lazy_ring: a process that communicates with its neighbours only has no other
 * connections
 *
 * late=N: rank 1 begins N seconds after the others, which wait for it */
#include "mtest.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int count_sockets(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	char path[300], to[64];
	int n = 0;

	while (dir && (e = readdir(dir)) != NULL) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		len = readlink(path, to, sizeof(to) - 1);
		n += len > 7 && !strncmp(to, "socket:", 7);
	}
	if (dir)
		closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int before, ring, all, sum = 0, from = -1, right, left;

	mtest_start(argv[0]);
	if (mtest.rank == 1)
		mtest_linger(1000 * (int)mtest_arg(argc, argv, "late", 0));
	mtest_init(&argc, &argv);
	right = (mtest.rank + 1) % mtest.size;
	left = (mtest.rank + mtest.size - 1) % mtest.size;
	before = count_sockets();
	for (int i = 0; i < 10; i++)
		OK(MPI_Sendrecv(&mtest.rank, 1, MPI_INT, right, 1, &from, 1,
			MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(from == left, "the message is from %d, the neighbour is %d", from,
		left);
	ring = count_sockets() - before;
	/* two connections may exist if both sides connect at the same time */
	CHECK(ring <= 4, "two neighbours need at most four connections: %d",
		ring);
	/* No process may open further connections before all have counted.
	 * After i exchanges, the i processes to the left have counted. */
	for (int i = 0; i < mtest.size; i++)
		OK(MPI_Sendrecv(&mtest.rank, 1, MPI_INT, right, 1, &from, 1,
			MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	for (int i = 1; i < mtest.size; i++) {
		int to = (mtest.rank + i) % mtest.size;
		int of = (mtest.rank + mtest.size - i) % mtest.size;

		OK(MPI_Sendrecv(&mtest.rank, 1, MPI_INT, to, 2, &from, 1,
			MPI_INT, of, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		sum += from;
	}
	CHECK(sum == mtest.size * (mtest.size - 1) / 2 - mtest.rank,
		"one message arrived from each process");
	all = count_sockets() - before;
	CHECK(all >= mtest.size - 1,
		"a message to all opens connections to all: %d for %d "
		"processes",
		all, mtest.size - 1);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	return mtest_finish();
}
