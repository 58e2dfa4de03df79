/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_spawn: a process is killed after its job has spawned other jobs; the
 * processes of all jobs get the failure reported and continue
 *
 * Each spawned job has two processes. Their ranks follow those of the parents
 * in a merged communicator, which spawns the next job.
 *
 * victim= the rank of the killed process   jobs= number of spawned jobs
 * root= the rank that spawns all jobs but the first
 * lost= number of processes that end: the victim, and ranks before it in its
 * job
 */
#include "mtest.h"

#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

enum { PARENTS = 3, CHILDREN = 2, LEN = 1 << 20, TAG = 5 };

static int rank, size; /* in the last merged communicator */
static int lost;

/* Even ranks receive from the victim, odd ranks send to it. */
static void use(MPI_Comm comm, int victim)
{
	char *data = mtest_alloc(LEN);
	double began = mtest_now();

	memset(data, 0, LEN);
	if (rank % 2)
		FAILS(MPI_Ssend(data, LEN, MPI_BYTE, victim, TAG, comm),
			MPIX_ERR_PROC_FAILED);
	else
		FAILS(MPI_Recv(data, LEN, MPI_BYTE, victim, TAG, comm,
			      MPI_STATUS_IGNORE),
			MPIX_ERR_PROC_FAILED);
	CHECK(mtest_now() - began < MTEST_SOON_S,
		"the call ends soon, not after %.1f s", mtest_now() - began);
	free(data);
}

static void check_shrunk(MPI_Comm comm)
{
	int one = 1, sum = 0, n = 0;
	MPI_Comm alive;

	if (!OK(MPIX_Comm_shrink(comm, &alive)))
		return;
	OK(MPI_Comm_size(alive, &n));
	OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, alive));
	CHECK(n == size - lost && sum == n,
		"the shrunk communicator has all but %d of %d processes: %d, "
		"and a sum of %d",
		lost, size, n, sum);
	OK(MPI_Comm_disconnect(&alive));
}

/* Merges the two groups. The new processes get the upper ranks. */
static MPI_Comm merge(MPI_Comm inter, int is_new)
{
	MPI_Comm merged = MPI_COMM_NULL;

	if (inter == MPI_COMM_NULL ||
		!OK(MPI_Intercomm_merge(inter, is_new, &merged)))
		exit(mtest_done());
	OK(MPI_Comm_free(&inter));
	OK(MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN));
	return merged;
}

/* Spawns a job from comm, and returns the merged communicator. */
static MPI_Comm grow(MPI_Comm comm, char **argv, int root)
{
	MPI_Comm inter = MPI_COMM_NULL;

	OK(MPI_Comm_spawn(argv[0], argv + 1, CHILDREN, MPI_INFO_NULL, root,
		comm, &inter, MPI_ERRCODES_IGNORE));
	OK(MPI_Comm_free(&comm));
	return merge(inter, 0);
}

static void lose(MPI_Comm comm, int victim)
{
	OK(MPI_Comm_rank(comm, &rank));
	mtest_connect_all(comm);
	if (rank == victim)
		raise(SIGKILL);
	while (rank > victim - lost && rank < victim)
		pause(); /* its launcher ends this process */
	for (int i = 0; i < lost; i++)
		use(comm, victim - i);
	check_shrunk(comm);
	OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
	int victim = (int)mtest_arg(argc, argv, "victim", 0);
	int jobs = (int)mtest_arg(argc, argv, "jobs", 1);
	int root = (int)mtest_arg(argc, argv, "root", 0);
	MPI_Comm comm, parent;
	int rc;

	lost = (int)mtest_arg(argc, argv, "lost", 1);
	mtest_init(&argc, &argv);
	OK(MPI_Comm_get_parent(&parent));
	if (parent != MPI_COMM_NULL) {
		comm = merge(parent, 1);
	} else {
		OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
		comm = grow(comm, argv, 0);
	}
	OK(MPI_Comm_size(comm, &size));
	for (; size < PARENTS + jobs * CHILDREN; size += CHILDREN)
		comm = grow(comm, argv, root);
	lose(comm, victim);
	rc = MPI_Finalize();
	CHECK(rc == MPI_SUCCESS, "finalize succeeds, %s", mtest_error(rc));
	return mtest_done();
}
