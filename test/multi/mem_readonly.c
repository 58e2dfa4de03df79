/* SPDX-License-Identifier: BSD-3-Clause */
/* mem_readonly: send buffers may be read-only memory, such as constants and
 * mapped files; all sizes, all protocols */
#include "mtest.h"

#include <sys/mman.h>

enum { MAX = 1 << 20 };

static const size_t lens[] = { 4, 200, 4 << 10, 64 << 10, MAX };

static char *constants; /* MAX bytes of read-only memory */

static void fill_constants(void)
{
	constants = mmap(NULL, MAX, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (constants == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	mtest_fill(constants, MAX, 7);
	CHECK(!mprotect(constants, MAX, PROT_READ), "the memory is read-only");
}

static void messages(size_t len, char *in)
{
	int right = (mtest.rank + 1) % mtest.size;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	MPI_Request request;

	memset(in, 0, len);
	OK(MPI_Irecv(
		in, (int)len, MPI_BYTE, left, 1, MPI_COMM_WORLD, &request));
	OK(MPI_Send(constants, (int)len, MPI_BYTE, right, 1, MPI_COMM_WORLD));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	CHECK(mtest_same(in, len, 7), "a message of %zu bytes arrives", len);
	memset(in, 0, len);
	OK(MPI_Allreduce(
		constants, in, (int)len, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
	CHECK(mtest_same(in, len, 7), "a reduction of %zu bytes is right", len);
}

static void puts_to(MPI_Win win, size_t len, const char *memory)
{
	int right = (mtest.rank + 1) % mtest.size;

	OK(MPI_Win_fence(0, win));
	OK(MPI_Put(constants, (int)len, MPI_BYTE, right, 0, (int)len, MPI_BYTE,
		win));
	OK(MPI_Win_fence(0, win));
	CHECK(mtest_same(memory, len, 7), "a put of %zu bytes arrives", len);
	OK(MPI_Accumulate(constants, (int)len, MPI_BYTE, right, 0, (int)len,
		MPI_BYTE, MPI_REPLACE, win));
	OK(MPI_Win_fence(0, win));
	CHECK(mtest_same(memory, len, 7), "an accumulate of %zu bytes arrives",
		len);
}

int main(int argc, char **argv)
{
	char *memory = mtest_alloc(MAX);
	MPI_Win win;

	mtest_init(&argc, &argv);
	fill_constants();
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		messages(lens[i], memory);
	OK(MPI_Win_create(memory, MAX, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		memset(memory, 0, MAX);
		puts_to(win, lens[i], memory);
	}
	OK(MPI_Win_free(&win));
	munmap(constants, MAX);
	free(memory);
	return mtest_finish();
}
