/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_again: jobs are spawned, merged with their parents and left, one after
 * the other
 *
 * From the second job on, the parents have connections to processes that
 * exited. turns= is the number of jobs. Two compute loads on the same machine
 * make failures more likely. */
#include "mtest.h"

/* Each process sends to all others for the first time, at the same time. */
static void work(MPI_Comm inter, int is_high)
{
	int rank = -1, size = 0, one = 1, sum = 0, *all;
	MPI_Comm merged;

	OK(MPI_Intercomm_merge(inter, is_high, &merged));
	OK(MPI_Comm_rank(merged, &rank));
	OK(MPI_Comm_size(merged, &size));
	OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged));
	CHECK(sum == size, "all processes contribute: %d of %d", sum, size);
	all = mtest_alloc((size_t)size * sizeof(*all));
	OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, merged));
	for (int i = 0; i < size; i++)
		CHECK(all[i] == i, "element %d is from that rank: %d", i,
			all[i]);
	free(all);
	OK(MPI_Comm_disconnect(&merged));
	OK(MPI_Barrier(inter));
	OK(MPI_Comm_disconnect(&inter));
}

int main(int argc, char **argv)
{
	int turns = (int)mtest_arg(argc, argv, "turns", 3);
	MPI_Comm parent, inter;
	int rc = MPI_SUCCESS;

	mtest_init(&argc, &argv);
	OK(MPI_Comm_get_parent(&parent));
	if (parent != MPI_COMM_NULL) {
		work(parent, 1);
		return mtest_finish();
	}
	for (int i = 0; !rc && i < turns; i++) {
		rc = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0,
			i % 2 ? MPI_COMM_SELF : MPI_COMM_WORLD, &inter,
			MPI_ERRCODES_IGNORE);
		if (!i && mtest_class(rc) == MPI_ERR_SPAWN &&
			!getenv("WEFT_JOB"))
			mtest_skip("this launcher starts no further processes");
		if (OK(rc))
			work(inter, 0);
	}
	return mtest_finish();
}
