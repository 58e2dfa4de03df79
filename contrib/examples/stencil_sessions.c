/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stencil_sessions: a stencil that loses processes and continues in a new
 * session
 *
 * Each process has a part of a rod and computes how heat spreads in it. After
 * some steps, all processes save the whole rod in memory. A process that gets
 * an error finalizes its session, and then the others get one, too. They all
 * meet in a communicator of weft://alive, divide the rod again and continue
 * from the oldest of their last saves. The arguments are pairs of a rank and
 * the step in which that rank kills itself.
 *
 *	mpicc -o stencil_sessions stencil_sessions.c
 *	mpiexec --continue -n 4 ./stencil_sessions 2 75 0 130
 */
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

/* The last two saves: a process may miss the last save of another one, but no
 * process saves again before all have the save before. */
static double saved[2][CELLS + 2];
static int done;				/* steps at the last save */
static double part[CELLS + 2], next[CELLS + 2]; /* with both neighbours */
static MPI_Comm comm;
static int rank, size, n; /* of the cells of this process */
static int counts[CELLS], displs[CELLS];
static int world_rank, n_started, n_alive;

static void stop(const char *why)
{
	fprintf(stderr, "stencil_sessions: %s\n", why);
	exit(1);
}

static double *save_at(int steps)
{
	return saved[steps / EVERY % 2];
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

/* Divides the rod of the last save among the members of comm. */
static void divide(void)
{
	for (int r = 0; r < size; r++) {
		displs[r] = (int)((long)CELLS * r / size) + 1;
		counts[r] = (int)((long)CELLS * (r + 1) / size) + 1 - displs[r];
	}
	n = counts[rank];
	memcpy(part, save_at(done) + displs[rank] - 1,
		(size_t)(n + 2) * sizeof(*part));
}

/* The three functions below return 1 if all calls succeeded. */
static int step(void)
{
	int left = rank ? rank - 1 : MPI_PROC_NULL;
	int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

	if (MPI_Sendrecv(part + 1, 1, MPI_DOUBLE, left, TAG, part + n + 1, 1,
		    MPI_DOUBLE, right, TAG, comm, MPI_STATUS_IGNORE) ||
		MPI_Sendrecv(part + n, 1, MPI_DOUBLE, right, TAG, part, 1,
			MPI_DOUBLE, left, TAG, comm, MPI_STATUS_IGNORE))
		return 0;
	compute(next, part, n);
	memcpy(part + 1, next + 1, (size_t)n * sizeof(*part));
	return 1;
}

static int save(void)
{
	double *rod = save_at(done + EVERY);

	start(rod); /* the fixed cells */
	if (MPI_Allgatherv(part + 1, n, MPI_DOUBLE, rod, counts, displs,
		    MPI_DOUBLE, comm))
		return 0;
	done += EVERY;
	return 1;
}

/* All members continue from the oldest of their last saves. */
static int resume(void)
{
	int oldest;

	if (MPI_Allreduce(&done, &oldest, 1, MPI_INT, MPI_MIN, comm))
		return 0;
	done = oldest;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	divide();
	return 1;
}

static void run(int argc, char **argv)
{
	int ok = resume();

	while (ok && done < STEPS) {
		for (int s = done; ok && s < done + EVERY; s++) {
			for (int i = 1; i + 1 < argc; i += 2)
				if (atoi(argv[i]) == world_rank &&
					atoi(argv[i + 1]) == s)
					raise(SIGKILL);
			ok = step();
		}
		ok = ok && save();
	}
}

/* Runs in a communicator of the live processes until an error or the end. */
static void run_session(int argc, char **argv)
{
	MPI_Session session;
	MPI_Group group;

	if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session))
		stop("no session can be opened");
	if (!n_started) {
		MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
		MPI_Group_rank(group, &world_rank);
		MPI_Group_size(group, &n_started);
		MPI_Group_free(&group);
		if (n_started > CELLS)
			stop("there are more processes than cells");
	}
	if (MPI_Group_from_session_pset(session, "weft://alive", &group))
		stop("weft://alive is not known");
	MPI_Group_size(group, &size);
	if (size == n_alive)
		stop("a call failed although no process did");
	n_alive = size;
	if (!MPI_Comm_create_from_group(group, "stencil", MPI_INFO_NULL,
		    MPI_ERRORS_RETURN, &comm)) {
		run(argc, argv);
		MPI_Comm_free(&comm);
	}
	MPI_Group_free(&group);
	MPI_Session_finalize(&session); /* the others get an error */
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
	differ = memcmp(rod, save_at(STEPS), sizeof(rod)) != 0;
	if (rank == 0)
		printf("%d of %d processes ended, and the result is %s\n", size,
			n_started, differ ? "wrong" : "right");
	return differ;
}

int main(int argc, char **argv)
{
	start(saved[0]);
	while (done < STEPS)
		run_session(argc, argv);
	return check();
}
