/* SPDX-License-Identifier: BSD-3-Clause */
/* file: helpers of the programs that test files */
#ifndef TEST_FILE_H
#define TEST_FILE_H

#include "mtest.h"

#include <sys/stat.h>

/* Returns a file name that is the same in all processes of this run, and in no
 * other run. */
static inline const char *file_named(const char *stem)
{
	static char name[4][96];
	static int n;
	char *to = name[n++ % 4];
	int id = (int)getpid();

	MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
	snprintf(to, sizeof(name[0]), "weft_%s.%d", stem, id);
	return to;
}

/* Opens a file for reading and writing, which is deleted when it is closed. */
static inline MPI_File file_scratch(const char *stem)
{
	MPI_File fh = MPI_FILE_NULL;

	OK(MPI_File_open(MPI_COMM_WORLD, file_named(stem),
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		MPI_INFO_NULL, &fh));
	return fh;
}

/* Returns the number of elements of a datatype in a status. */
static inline int file_count(const MPI_Status *status, MPI_Datatype type)
{
	int n = -7;

	MPI_Get_count(status, type, &n);
	return n;
}

/* Separates the writes of all processes from their reads. */
static inline void file_turn(MPI_File fh)
{
	OK(MPI_File_sync(fh));
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_sync(fh));
}

#endif
