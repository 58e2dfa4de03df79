/* SPDX-License-Identifier: BSD-3-Clause */
/* file_large: accesses of more than 2 GiB, the limit of a system call
 *
 * The accesses use /dev/null, and a tmpfs file if there is enough memory. */
#define _GNU_SOURCE
#include "file.h"

#include <stdlib.h>
#include <sys/mman.h>

#define MIB ((size_t)1 << 20)

enum { PIECES = 2200 }; /* pieces of 1 MiB */

static char *at_places[5]; /* offsets of bytes that are checked */
static char *area;

static MPI_Count count_of(const MPI_Status *status)
{
	MPI_Count n = -7;

	MPI_Get_count_c(status, MPI_BYTE, &n);
	return n;
}

/* Writes an area that was never written before, so it needs no memory. */
static void nowhere(void)
{
	const MPI_Count all = (MPI_Count)(PIECES * MIB);
	MPI_Datatype piece;
	MPI_Request request;
	MPI_Status status;
	MPI_File fh;

	OK(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY,
		MPI_INFO_NULL, &fh));
	OK(MPI_File_write_at_c(fh, 0, area, all, MPI_BYTE, &status));
	CHECK(count_of(&status) == all, "the length in bytes is right: %lld",
		(long long)count_of(&status));
	OK(MPI_File_iwrite_all_c(fh, area, all, MPI_BYTE, &request));
	OK(MPI_Wait(&request, &status));
	CHECK(count_of(&status) == all,
		"the length of a nonblocking access is right: %lld",
		(long long)count_of(&status));
	MPI_Type_contiguous((int)MIB, MPI_BYTE, &piece);
	MPI_Type_commit(&piece);
	OK(MPI_File_write_at(fh, 0, area, PIECES, piece, &status));
	CHECK(count_of(&status) == all && file_count(&status, piece) == PIECES,
		"the length of an access with a long datatype is right: %lld, "
		"%d",
		(long long)count_of(&status), file_count(&status, piece));
	CHECK(file_count(&status, MPI_BYTE) == MPI_UNDEFINED,
		"the count does not fit into an int: %d",
		file_count(&status, MPI_BYTE));
	MPI_Type_free(&piece);
	OK(MPI_File_close(&fh));
}

static bool is_possible(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	long long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lld", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib > 8 << 20;
}

static void mark(void)
{
	for (int i = 0; i < 5; i++)
		*at_places[i] = (char)(11 * i + 7);
}

static void clear(void)
{
	for (int i = 0; i < 5; i++)
		*at_places[i] = 0;
}

static bool is_marked(void)
{
	int n = 0;

	for (int i = 0; i < 5; i++)
		n += *at_places[i] == (char)(11 * i + 7);
	return n == 5;
}

static void file(void)
{
	const MPI_Count all = (MPI_Count)(PIECES * MIB);
	int fd = memfd_create("large", MFD_CLOEXEC);
	MPI_File fh;
	MPI_Status status;
	MPI_Offset len;
	MPI_Request request;
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	OK(MPI_File_open(
		MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
	mark();
	OK(MPI_File_write_at_all_c(fh, 0, area, all, MPI_BYTE, &status));
	CHECK(count_of(&status) == all, "all bytes were written: %lld",
		(long long)count_of(&status));
	OK(MPI_File_get_size(fh, &len));
	CHECK(len == all, "the file has all bytes: %lld", (long long)len);
	clear();
	OK(MPI_File_iread_at_c(fh, 0, area, all + 9, MPI_BYTE, &request));
	OK(MPI_Wait(&request, &status));
	CHECK(count_of(&status) == all && is_marked(),
		"a nonblocking read ends at the end of the file: %lld",
		(long long)count_of(&status));
	OK(MPI_File_close(&fh));
	close(fd);
}

int main(int argc, char **argv)
{
	const size_t len = PIECES * MIB + 4096;

	mtest_init(&argc, &argv);
	area = mmap(NULL, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(area != MAP_FAILED, "an area of %zu bytes is mapped", len);
	if (area != MAP_FAILED) {
		at_places[0] = area;
		at_places[1] = area + 0x7ffff000 - 1;
		at_places[2] = area + 0x7ffff000;
		at_places[3] = area + 0x80000000;
		at_places[4] = area + PIECES * MIB - 1;
		nowhere();
		if (is_possible())
			file();
		else
			printf("# only /dev/null: a file of 2200 MiB needs 8 "
			       "GiB of memory\n");
		munmap(area, len);
	}
	return mtest_finish();
}
