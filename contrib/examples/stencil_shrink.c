/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stencil_shrink: a stencil that loses processes and ends with the right result
 *
 * Each process has a part of a rod and computes how heat spreads in it. After
 * some steps, all processes save the whole rod in memory and agree that all of
 * them have it. If one has died, the others shrink the communicator, divide the
 * rod again and continue from the last save. The arguments are pairs of a rank
 * and the step in which that rank kills itself.
 *
 *	mpicc -o stencil stencil_shrink.c
 *	mpiexec --continue -n 4 ./stencil 2 75 0 130
 */
#include <mpi-ext.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CELLS = 4000,
	STEPS = 200,
	EVERY = 20, /* steps between two saves */
	TAG = 1,
};

static double saved[CELLS + 2], received[CELLS + 2];
static double part[CELLS + 2], next[CELLS + 2]; /* with both neighbours */
static MPI_Comm comm;
static int rank, size, first, n; /* this process's cells */
static int counts[CELLS], displs[CELLS];

/* The cells before rank r; the rod has a fixed cell at each end. */
static int cells_before(int r)
{
	return (int)((long)CELLS * r / size);
}

/* Divides the saved rod among the members of comm. */
static void divide(void)
{
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int r = 0; r < size; r++) {
		displs[r] = cells_before(r) + 1;
		counts[r] = cells_before(r + 1) - cells_before(r);
	}
	first = displs[rank];
	n = counts[rank];
	memcpy(part, saved + first - 1, (size_t)(n + 2) * sizeof(*part));
}

static void compute(double *to, const double *from, int count)
{
	for (int i = 1; i <= count; i++)
		to[i] = from[i] +
			0.25 * (from[i - 1] - 2 * from[i] + from[i + 1]);
}

/* One step. A failed neighbour is an error, after which this process continues:
 * its other neighbour waits for it. Returns 1 if all calls succeeded. */
static int step(void)
{
	int left = rank ? rank - 1 : MPI_PROC_NULL;
	int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
	MPI_Request r[4] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL,
		MPI_REQUEST_NULL, MPI_REQUEST_NULL };
	int ok = 1;

	ok &= !MPI_Irecv(part, 1, MPI_DOUBLE, left, TAG, comm, &r[0]);
	ok &= !MPI_Irecv(part + n + 1, 1, MPI_DOUBLE, right, TAG, comm, &r[1]);
	ok &= !MPI_Isend(part + 1, 1, MPI_DOUBLE, left, TAG, comm, &r[2]);
	ok &= !MPI_Isend(part + n, 1, MPI_DOUBLE, right, TAG, comm, &r[3]);
	ok &= !MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	compute(next, part, n);
	memcpy(part + 1, next + 1, (size_t)n * sizeof(*part));
	return ok;
}

/* Gathers the rod at all processes. Returns 1 if all of them have it. */
static int save(int ok, int *has_failure)
{
	ok &= !MPI_Allgatherv(part + 1, n, MPI_DOUBLE, received, counts, displs,
		MPI_DOUBLE, comm);
	*has_failure = MPIX_Comm_agree(comm, &ok) != MPI_SUCCESS;
	if (ok)
		memcpy(saved + 1, received + 1, CELLS * sizeof(*saved));
	return ok;
}

/* Ends the job. */
static void stop(const char *why)
{
	fprintf(stderr, "stencil_shrink: %s\n", why);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Continues with the processes that live. */
static void shrink(void)
{
	MPI_Comm alive;

	if (MPIX_Comm_shrink(comm, &alive))
		stop("the communicator cannot be shrunk");
	MPI_Comm_free(&comm);
	comm = alive;
}

static void start(void)
{
	memset(saved, 0, sizeof(saved));
	saved[0] = 100;
	saved[CELLS / 2] = 5000;
}

/* Ends with 0 if the result is that of one process. */
static int check(int n_started)
{
	static double whole[CELLS + 2];
	int differ;

	memcpy(whole, saved, sizeof(whole));
	start();
	for (int s = 0; s < STEPS; s++) {
		compute(next, saved, CELLS);
		memcpy(saved + 1, next + 1, CELLS * sizeof(*saved));
	}
	differ = memcmp(saved, whole, sizeof(whole)) != 0;
	if (rank == 0)
		printf("%d of %d processes ended, and the result is %s\n", size,
			n_started, differ ? "wrong" : "right");
	return differ;
}

int main(int argc, char **argv)
{
	int world_rank, n_started, done = 0, rc;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n_started);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	if (n_started > CELLS)
		stop("there are more processes than cells");
	start();
	divide();
	while (done < STEPS) {
		int ok = 1, has_failure;

		for (int s = done; s < done + EVERY; s++) {
			for (int i = 1; i + 1 < argc; i += 2)
				if (atoi(argv[i]) == world_rank &&
					atoi(argv[i + 1]) == s)
					raise(SIGKILL);
			ok &= step();
		}
		if (save(ok, &has_failure))
			done += EVERY;
		else if (!has_failure)
			stop("a call failed although no process did");
		if (has_failure)
			shrink();
		divide();
	}
	rc = check(n_started);
	MPI_Comm_free(&comm);
	MPI_Finalize();
	return rc;
}
