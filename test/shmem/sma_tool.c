/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_tool: a tool replaces a procedure of the library and intercepts
 * type-generic calls, too */
#include "stest.h"

#include <pshmem.h>

static long n_seen;

void shmem_long_put(long *dest, const long *source, size_t nelems, int pe)
{
	n_seen++;
	pshmem_long_put(dest, source, nelems, pe);
}

int main(int argc, char **argv)
{
	static long dest[2];
	long src[2] = { 3, 4 };

	(void)argc;
	stest_init(argv);
	shmem_long_put(dest, src, 1, stest_next());
	shmem_put(&dest[1], &src[1], 1, stest_next());
	pshmem_barrier_all();
	CHECK(n_seen == 2, "the tool intercepts 2 calls, got %ld", n_seen);
	CHECK(dest[0] == 3 && dest[1] == 4,
		"the calls through the tool have their effect");
	return stest_done();
}
