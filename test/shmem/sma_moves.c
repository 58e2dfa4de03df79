/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sma_moves: a wait that gets nearer to its end is not said to stall
 *
 * PE 1 adds to a word of PE 0, which waits for the sum, every third of a
 * second; WEFT_STALL_WARN is two seconds.
 */
#include "stest.h"

enum { STEPS = 10, STEP_US = 330000 };

static long word;

/* What the library said meanwhile; standard error goes on afterwards. */
static char *heard(int from)
{
	static char text[4096];
	ssize_t n = pread(from, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	fputs(text, stderr);
	return text;
}

int main(int argc, char **argv)
{
	FILE *file = tmpfile();
	int said = file ? fileno(file) : -1, old = dup(2);

	(void)argc;
	stest_init(argv);
	if (stest.me == 0)
		dup2(said, 2);
	if (stest.me == 0)
		shmem_long_wait_until(&word, SHMEM_CMP_EQ, STEPS);
	for (int i = 0; stest.me == 1 && i < STEPS; i++) {
		usleep(STEP_US);
		shmem_long_atomic_add(&word, 1, 0);
		shmem_quiet();
	}
	dup2(old, 2);
	if (stest.me == 0)
		CHECK(!strstr(heard(said), "STALL"),
			"a wait whose word moves is not reported");
	return stest_done();
}
