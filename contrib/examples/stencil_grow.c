/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stencil_grow: a stencil whose job grows and shrinks
 *
 * Each process has a part of a rod and computes how heat spreads in it. Twice
 * the members request another number of processes. Joined processes run the
 * same program. They find the new set in their first session, and receive their
 * parts of the rod. The arguments are the numbers of processes: first those of
 * mpiexec -n, then those after a third and after two thirds of the steps. The
 * job does not change between two equal numbers.
 *
 *	mpicc -o stencil_grow stencil_grow.c
 *	mpiexec -n 2 --max 6 ./stencil_grow 2 6 3
 */
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CELLS = 4000,
	STEPS = 60, /* between two changes */
	TAG = 1,
};

static double part[CELLS + 2], next[CELLS + 2]; /* with both neighbours */
static MPI_Session session;
static MPI_Comm comm;
static int rank, size, n; /* of the cells of this process */

static void stop(const char *why)
{
	fprintf(stderr, "stencil_grow: %s\n", why);
	exit(1);
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

/* First cell of a rank among n_ranks; no cell for ranks above. */
static long first_of(int of, int n_ranks)
{
	return of < n_ranks ? (long)CELLS * of / n_ranks : CELLS;
}

static int count_of(int of, int n_ranks)
{
	return (int)(first_of(of + 1, n_ranks) - first_of(of, n_ranks));
}

static void run(void)
{
	int left = rank ? rank - 1 : MPI_PROC_NULL;
	int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

	for (int s = 0; s < STEPS; s++) {
		if (!rank)
			part[0] = 100;
		MPI_Sendrecv(part + 1, 1, MPI_DOUBLE, left, TAG, part + n + 1,
			1, MPI_DOUBLE, right, TAG, comm, MPI_STATUS_IGNORE);
		MPI_Sendrecv(part + n, 1, MPI_DOUBLE, right, TAG, part, 1,
			MPI_DOUBLE, left, TAG, comm, MPI_STATUS_IGNORE);
		if (rank == size - 1)
			part[n + 1] = 0;
		compute(next, part, n);
		memcpy(part + 1, next + 1, (size_t)n * sizeof(*part));
	}
}

/* Moves the rod from n_old to n_new of the members of both. */
static void move(MPI_Comm both, int n_old, int n_new)
{
	int of;

	MPI_Comm_rank(both, &of);
	memcpy(next, part, sizeof(next));
	MPIX_Redistribute_block(next + 1, count_of(of, n_old), part + 1,
		count_of(of, n_new), MPI_DOUBLE, both);
}

/* Makes the members of a set the current ones. */
static void enter(const char *pset)
{
	MPI_Group group;

	MPI_Group_from_session_pset(session, pset, &group);
	MPI_Comm_create_from_group(group, "stencil_grow", MPI_INFO_NULL,
		MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Group_free(&group);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	n = count_of(rank, size);
}

/* Returns the generation of the newest set of the job, and its name. Sets
 * *joined to 1 if this process was started for that set. */
static int newest(char *pset, int *joined)
{
	char value[32], name[MPIX_MAX_JOB_PSET];
	int n_psets, len, flag, generation = 0;
	MPI_Info info;

	*pset = 0;
	MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n_psets);
	for (int i = 0; i < n_psets; i++) {
		len = sizeof(name);
		MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, name);
		if (!strncmp(name, "weft://job/", 11))
			snprintf(pset, MPIX_MAX_JOB_PSET, "%s", name);
	}
	if (!*pset)
		stop("start it with mpiexec --max");
	MPI_Session_get_pset_info(session, pset, &info);
	len = sizeof(value);
	MPI_Info_get_string(info, "weft_generation", &len, value, &flag);
	generation = atoi(value);
	len = sizeof(value);
	MPI_Info_get_string(info, "weft_joined", &len, value, &flag);
	*joined = flag && !strcmp(value, "yes");
	MPI_Info_free(&info);
	return generation;
}

/* Returns the number of the arguments before the change that began this
 * generation. */
static int start_of(int generation, char **argv)
{
	int k = 0;

	for (int g = 0; g < generation; k++)
		g += atoi(argv[k + 1]) != atoi(argv[k + 2]);
	return k;
}

/* Becomes a job of n_new processes. Returns 0 if this process leaves. */
static int become(int n_new)
{
	char pset[MPIX_MAX_JOB_PSET];
	MPI_Comm old = comm;
	int n_old = size, leaves = rank >= n_new;
	MPI_Request request;

	MPIX_Session_resize(
		session, old, n_new - n_old, MPI_INFO_NULL, pset, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (n_new < n_old)
		move(old, n_old, n_new);
	if (!leaves)
		enter(pset);
	if (n_new > n_old)
		move(comm, n_old, n_new);
	MPI_Comm_disconnect(&old);
	if (!leaves)
		MPIX_Session_resize_done(session, comm, pset);
	return !leaves;
}

/* Returns a number that depends on all bits of the rod. */
static unsigned hash(const double *rod)
{
	const unsigned char *byte = (const unsigned char *)rod;
	unsigned sum = 0;

	for (size_t i = 0; i < CELLS * sizeof(*rod); i++)
		sum = sum * 31 + byte[i];
	return sum;
}

/* Returns 0 if the result is that of one process. */
static int check(int n_steps)
{
	static double rod[CELLS + 2], all[CELLS + 2];
	static int counts[CELLS], displs[CELLS];
	int differ = 0;

	start(rod);
	for (int s = 0; s < n_steps; s++) {
		compute(next, rod, CELLS);
		memcpy(rod + 1, next + 1, CELLS * sizeof(*rod));
	}
	for (int r = 0; r < size; r++) {
		counts[r] = count_of(r, size);
		displs[r] = (int)first_of(r, size);
	}
	MPI_Gatherv(part + 1, n, MPI_DOUBLE, all + 1, counts, displs,
		MPI_DOUBLE, 0, comm);
	if (rank == 0) {
		differ = memcmp(rod + 1, all + 1, CELLS * sizeof(*rod)) != 0;
		printf("%d processes ended, and the result is %s\n"
		       "hash of the result: %08x\n",
			size, differ ? "wrong" : "right", hash(all + 1));
	}
	return differ;
}

int main(int argc, char **argv)
{
	char pset[MPIX_MAX_JOB_PSET];
	int k, joined, is_in = 1, differ = 0;

	if (argc < 2)
		stop("the arguments are numbers of processes");
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	k = start_of(newest(pset, &joined), argv);
	enter(pset);
	if (joined) {
		move(comm, atoi(argv[k]), size);
		MPIX_Session_resize_done(session, comm, pset);
	} else {
		start(next);
		memcpy(part, next + first_of(rank, size),
			(size_t)(n + 2) * sizeof(*part));
	}
	for (; is_in; k++) {
		run();
		if (k + 2 >= argc)
			break;
		if (atoi(argv[k + 2]) != size)
			is_in = become(atoi(argv[k + 2]));
	}
	if (is_in) {
		differ = check((argc - 1) * STEPS);
		MPI_Comm_disconnect(&comm);
	}
	MPI_Session_finalize(&session);
	return differ;
}
