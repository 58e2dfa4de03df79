/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stencil_respawn: a stencil that replaces the processes that it loses
 *
 * Each process has a part of a rod and computes how heat spreads in it. After
 * some steps, all processes save the whole rod in memory and agree that all of
 * them have it. If some have died, the others start as many with
 * MPI_Comm_spawn, merge them into the communicator with the ranks of the lost
 * ones, and continue from the last save. The arguments are pairs of a rank and
 * the step in which that rank kills itself.
 *
 * The new processes are another job. Weft's mpiexec also reports failures to
 * the processes of other jobs, so all processes notice later failures, too.
 *
 *	mpicc -o stencil_respawn stencil_respawn.c
 *	mpiexec --continue -n 4 ./stencil_respawn 1 75 2 75
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

/* The state that a new process receives. */
static struct state {
	int done; /* steps at the last save */
	int n_replaced;
	int ranks[CELLS]; /* of the new processes of this time */
	double saved[CELLS + 2];
} state;

static double received[CELLS + 2];
static double part[CELLS + 2], next[CELLS + 2]; /* with both neighbours */
static MPI_Comm comm;
static int rank, size, n; /* of the cells of this process */
static int counts[CELLS], displs[CELLS];

/* Ends the job. */
static void stop(const char *why)
{
	fprintf(stderr, "stencil_respawn: %s\n", why);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void compute(double *to, const double *from, int count)
{
	for (int i = 1; i <= count; i++)
		to[i] = from[i] +
			0.25 * (from[i - 1] - 2 * from[i] + from[i + 1]);
}

/* The rod has a fixed cell at each end. */
static void start(double *rod)
{
	memset(rod, 0, (CELLS + 2) * sizeof(*rod));
	rod[0] = 100;
	rod[CELLS / 2] = 5000;
}

/* Divides the saved rod among the members of comm. */
static void divide(void)
{
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int r = 0; r < size; r++) {
		displs[r] = (int)((long)CELLS * r / size) + 1;
		counts[r] = (int)((long)CELLS * (r + 1) / size) + 1 - displs[r];
	}
	n = counts[rank];
	memcpy(part, state.saved + displs[rank] - 1,
		(size_t)(n + 2) * sizeof(*part));
}

/* Returns 1 if all calls succeeded. */
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

/* Gathers the rod at all processes. A process that got an error revokes the
 * communicator, which ends the calls of the others. All return 1 if all of them
 * have the rod. */
static int save(int ok, int *has_failure)
{
	ok &= !MPI_Allgatherv(part + 1, n, MPI_DOUBLE, received, counts, displs,
		MPI_DOUBLE, comm);
	if (!ok)
		MPIX_Comm_revoke(comm);
	*has_failure = MPIX_Comm_agree(comm, &ok) != MPI_SUCCESS;
	if (ok)
		memcpy(state.saved + 1, received + 1,
			CELLS * sizeof(*received));
	return ok;
}

/* Lists the ranks of comm that alive does not have. Returns their number. */
static int list_lost(MPI_Comm alive)
{
	MPI_Group all, live;
	int n_lost = 0;

	MPI_Comm_group(comm, &all);
	MPI_Comm_group(alive, &live);
	for (int r = 0; r < size; r++) {
		int where;

		MPI_Group_translate_ranks(all, 1, &r, live, &where);
		if (where == MPI_UNDEFINED)
			state.ranks[n_lost++] = r;
	}
	MPI_Group_free(&all);
	MPI_Group_free(&live);
	return n_lost;
}

/* Joins old and new processes. The old ones are first in the merged
 * communicator, and its rank 0 has the state. */
static void join(MPI_Comm inter, int is_new, int n_old)
{
	MPI_Comm merged;
	int key = rank, err;

	err = MPI_Intercomm_merge(inter, is_new, &merged);
	if (!err)
		err = MPI_Bcast(&state, sizeof(state), MPI_BYTE, 0, merged);
	if (!err && is_new) {
		MPI_Comm_rank(merged, &rank);
		MPI_Comm_remote_size(inter, &n_old);
		key = state.ranks[rank - n_old];
	}
	if (!err)
		err = MPI_Comm_split(merged, 0, key, &comm);
	if (err)
		stop("a process failed during the replacement");
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Comm_free(&merged);
	MPI_Comm_disconnect(&inter);
}

static void replace(char *program)
{
	MPI_Comm alive, inter;
	int n_lost;

	if (MPIX_Comm_shrink(comm, &alive))
		stop("the communicator cannot be shrunk");
	n_lost = list_lost(alive);
	state.n_replaced += n_lost;
	MPI_Comm_free(&comm);
	if (MPI_Comm_spawn(program, MPI_ARGV_NULL, n_lost, MPI_INFO_NULL, 0,
		    alive, &inter, MPI_ERRCODES_IGNORE))
		stop("the new processes cannot be started");
	join(inter, 0, 0);
	MPI_Comm_free(&alive);
}

/* Returns 0 if the result is that of one process. */
static int check(void)
{
	static double rod[CELLS + 2];
	int differ;

	start(rod);
	for (int s = 0; s < STEPS; s++) {
		compute(next, rod, CELLS);
		memcpy(rod + 1, next + 1, CELLS * sizeof(*rod));
	}
	differ = memcmp(rod, state.saved, sizeof(rod)) != 0;
	if (rank == 0)
		printf("%d processes, %d of them replaced, ended, and the "
		       "result is %s\n",
			size, state.n_replaced, differ ? "wrong" : "right");
	return differ;
}

int main(int argc, char **argv)
{
	MPI_Comm parent;
	int rc;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	start(state.saved);
	if (parent != MPI_COMM_NULL) {
		join(parent, 1, 0);
	} else {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	}
	MPI_Comm_size(comm, &size);
	if (size > CELLS)
		stop("there are more processes than cells");
	divide();
	while (state.done < STEPS) {
		int ok = 1, has_failure;

		for (int s = state.done; ok && s < state.done + EVERY; s++) {
			for (int i = 1; i + 1 < argc; i += 2)
				if (atoi(argv[i]) == rank &&
					atoi(argv[i + 1]) == s)
					raise(SIGKILL);
			ok = step();
		}
		if (save(ok, &has_failure))
			state.done += EVERY;
		else if (!has_failure)
			stop("a call failed although no process did");
		if (has_failure)
			replace(argv[0]);
		divide();
	}
	rc = check();
	MPI_Comm_disconnect(&comm);
	MPI_Finalize();
	return rc;
}
