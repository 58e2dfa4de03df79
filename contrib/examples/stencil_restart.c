/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stencil_restart: a stencil that saves its state in a file and can be started
 * again on another number of processes
 *
 * Each process has a part of a rod and computes how heat spreads in it. After
 * some steps, all processes write their parts to a file with MPI-IO. The file
 * has the rod in order, so its contents do not depend on the number of
 * processes. A job that finds the file continues from it. The arguments are the
 * name of the file, and pairs of a rank and the step in which that rank kills
 * itself.
 *
 *	mpicc -o stencil_restart stencil_restart.c
 *	mpiexec -n 4 ./stencil_restart rod 2 75
 *	mpiexec -n 3 ./stencil_restart rod
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

static double part[CELLS + 2], next[CELLS + 2]; /* with both neighbours */
static int rank, size, first, n; /* the cells of this process, from 1 */
static int done;		 /* steps at the last save */
static char new_name[4096];

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

static void step(void)
{
	int left = rank ? rank - 1 : MPI_PROC_NULL;
	int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

	MPI_Sendrecv(part + 1, 1, MPI_DOUBLE, left, TAG, part + n + 1, 1,
		MPI_DOUBLE, right, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(part + n, 1, MPI_DOUBLE, right, TAG, part, 1, MPI_DOUBLE,
		left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	compute(next, part, n);
	memcpy(part + 1, next + 1, (size_t)n * sizeof(*part));
}

/* The file has the steps, as one double, and the cells from 0 on. */
static MPI_Offset offset_of(int cell)
{
	return (MPI_Offset)sizeof(double) * (1 + cell);
}

/* Writes a new file and then replaces the old one, which is valid until then.
 */
static void save(const char *name)
{
	double steps = done += EVERY;
	int has_left = rank == 0, has_right = rank == size - 1;
	MPI_File file;

	MPI_File_open(MPI_COMM_WORLD, new_name,
		MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	MPI_File_write_at_all(file, offset_of(first - has_left),
		part + 1 - has_left, n + has_left + has_right, MPI_DOUBLE,
		MPI_STATUS_IGNORE);
	if (rank == 0)
		MPI_File_write_at(
			file, 0, &steps, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_File_close(&file);
	if (rank == 0 && rename(new_name, name)) {
		perror(name);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* Reads this process's part from the file, or starts if there is none. */
static void load(const char *name)
{
	static double rod[CELLS + 2];
	double steps;
	MPI_File file;

	if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL,
		    &file)) {
		start(rod);
		memcpy(part, rod + first - 1, (size_t)(n + 2) * sizeof(*part));
		return;
	}
	MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
	MPI_File_read_at_all(file, 0, &steps, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_read_at_all(file, offset_of(first - 1), part, n + 2,
		MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	done = (int)steps;
}

/* Returns 0 if this process's part is that of one process alone. */
static int check(int n_before)
{
	static double rod[CELLS + 2];
	int differ, any;

	start(rod);
	for (int s = 0; s < STEPS; s++) {
		compute(next, rod, CELLS);
		memcpy(rod + 1, next + 1, CELLS * sizeof(*rod));
	}
	differ = memcmp(rod + first, part + 1, (size_t)n * sizeof(*rod)) != 0;
	MPI_Allreduce(&differ, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d processes continued after step %d, and the result "
		       "is %s\n",
			size, n_before, any ? "wrong" : "right");
	return any;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "rod";
	int n_before, rc;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	snprintf(new_name, sizeof(new_name), "%s.new", name);
	if (size > CELLS) {
		fprintf(stderr, "there are more processes than cells\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	first = (int)((long)CELLS * rank / size) + 1;
	n = (int)((long)CELLS * (rank + 1) / size) + 1 - first;
	load(name);
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
	n_before = done;
	while (done < STEPS) {
		for (int s = done; s < done + EVERY; s++) {
			for (int i = 2; i + 1 < argc; i += 2)
				if (atoi(argv[i]) == rank &&
					atoi(argv[i + 1]) == s)
					raise(SIGKILL);
			step();
		}
		save(name);
	}
	rc = check(n_before);
	if (rank == 0)
		remove(name);
	MPI_Finalize();
	return rc;
}
