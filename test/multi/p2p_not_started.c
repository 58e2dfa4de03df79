/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_not_started: a process that has not started blocks none of the others
 *
 * Rank late= (1) begins MPI only when a file exists. The other ranks all send
 * to it first, and then exchange messages with each other. The lowest of these
 * ranks then creates the file.
 */
#include "mtest.h"

#include <fcntl.h>

static char path[256];

static void find_path(void)
{
	const char *dir = getenv("TMPDIR"), *job = getenv("PMIX_NAMESPACE");

	snprintf(path, sizeof(path), "%s/p2p_not_started.", dir ? dir : "/tmp");
	for (char *p = path + strlen(path);
		job && *job && p < path + sizeof(path) - 1; job++)
		*p++ = *job == '/' ? '.' : *job;
}

int main(int argc, char **argv)
{
	const char *rank = getenv("PMIX_RANK");
	MPI_Request request = MPI_REQUEST_NULL;
	int x = 0, fd, late = (int)mtest_arg(argc, argv, "late", 1);

	find_path();
	for (int ms = 0; rank && atoi(rank) == late && access(path, F_OK) &&
			 ms < 2 * MTEST_SOON_S * 1000;
		ms++)
		usleep(1000);
	mtest_init(&argc, &argv);
	if (mtest.rank != late)
		OK(MPI_Isend(&mtest.rank, 1, MPI_INT, late, 0, MPI_COMM_WORLD,
			&request));
	for (int i = 0; mtest.rank != late && i < mtest.size; i++)
		if (i != late && i != mtest.rank) {
			OK(MPI_Sendrecv(&mtest.rank, 1, MPI_INT, i, 1, &x, 1,
				MPI_INT, i, 1, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
			CHECK(x == i, "the word of rank %d arrives: %d", i, x);
		}
	if (mtest.rank == !late) { /* rank 0, or 1 if rank 0 is late */
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
		CHECK(fd >= 0, "%s is created", path);
		close(fd);
	}
	for (int i = 0; mtest.rank == late && i < mtest.size; i++)
		if (i != late) {
			OK(MPI_Recv(&x, 1, MPI_INT, i, 0, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
			CHECK(x == i, "the word of rank %d arrives: %d", i, x);
		}
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 0)
		unlink(path);
	return mtest_finish();
}
