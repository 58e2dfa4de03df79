/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files: a matrix, whose columns are distributed over the processes, is written
 * and read as one file. Each process has a view of its columns. The calls are
 * collective, so a few processes gather the short runs of all and access long
 * parts of the file.
 *
 *	mpicc -o files files.c
 *	mpiexec -n 4 ./files matrix.dat
 *	WEFT_STATS=1 mpiexec -n 4 ./files matrix.dat
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ROWS = 1000,
	COLUMNS = 8, /* of each process */
};

/* Errors of files are returned unless another error handler is set. */
static void check(int rc, const char *call)
{
	char text[MPI_MAX_ERROR_STRING];
	int len;

	if (rc == MPI_SUCCESS)
		return;
	MPI_Error_string(rc, text, &len);
	fprintf(stderr, "%s: %s\n", call, text);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "matrix.dat";
	double *mine = malloc(sizeof(double) * ROWS * COLUMNS);
	double *got = malloc(sizeof(double) * ROWS * COLUMNS);
	int rank, size, n_wrong = 0;
	MPI_Datatype columns;
	MPI_Status status;
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		mine[i] = rank + i / 10000.0;

	MPI_Type_create_subarray(2, (int[]){ ROWS, COLUMNS * size },
		(int[]){ ROWS, COLUMNS }, (int[]){ 0, COLUMNS * rank },
		MPI_ORDER_C, MPI_DOUBLE, &columns);
	MPI_Type_commit(&columns);
	check(MPI_File_open(MPI_COMM_WORLD, name,
		      MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
		"MPI_File_open");
	check(MPI_File_set_view(
		      file, 0, MPI_DOUBLE, columns, "native", MPI_INFO_NULL),
		"MPI_File_set_view");
	MPI_Type_free(&columns);

	check(MPI_File_write_at_all(
		      file, 0, mine, ROWS * COLUMNS, MPI_DOUBLE, &status),
		"MPI_File_write_at_all");
	check(MPI_File_read_at_all(
		      file, 0, got, ROWS * COLUMNS, MPI_DOUBLE, &status),
		"MPI_File_read_at_all");
	for (int i = 0; i < ROWS * COLUMNS; i++)
		n_wrong += got[i] != mine[i];
	printf("rank %d of %d: %d numbers, %d wrong\n", rank, size,
		ROWS * COLUMNS, n_wrong);

	check(MPI_File_close(&file), "MPI_File_close");
	free(mine);
	free(got);
	MPI_Finalize();
	return n_wrong != 0;
}
