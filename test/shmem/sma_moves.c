/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sma_moves: a wait that makes progress is not reported as a stall
 *
 * PE 1 adds to a word of PE 0, which waits for the sum; WEFT_STALL_WARN is two
 * seconds. PE 0 has a simulated clock: a second passes with each addition and
 * nearly no time otherwise, however slow the machine is.
 */
#include "stest.h"

#include <sys/syscall.h>
#include <time.h>

enum { STEPS = 10, READS = 100, READ_NS = 100 };

static long word;
static long n_reads; /* calls of the clock by the PE that waits */
static struct timespec frozen;
static _Thread_local bool is_waiting;

/* Replaces the function of the C library. Weft calls it, too. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	long n = __atomic_load_n(&n_reads, __ATOMIC_RELAXED);
	int rc = (int)syscall(SYS_clock_gettime, id, ts);

	if (id != CLOCK_MONOTONIC || rc)
		return rc;
	if (is_waiting)
		__atomic_store_n(&n_reads, n + 1, __ATOMIC_RELAXED);
	if (frozen.tv_sec)
		*ts = frozen;
	ts->tv_sec += __atomic_load_n(&word, __ATOMIC_RELAXED);
	ts->tv_nsec += n * READ_NS;
	ts->tv_sec += ts->tv_nsec / 1000000000;
	ts->tv_nsec %= 1000000000;
	return 0;
}

/* Before each addition, waits until PE 0 has read the clock READS times. */
static void add_slowly(void)
{
	for (int i = 0; i < STEPS; i++) {
		long seen = shmem_long_g(&n_reads, 0);

		while (shmem_long_g(&n_reads, 0) < seen + READS)
			usleep(1000);
		shmem_long_atomic_add(&word, 1, 0);
		shmem_quiet();
	}
}

static void wait_for_all(void)
{
	char text[4096];
	int kept = stest_listen();

	clock_gettime(CLOCK_MONOTONIC, &frozen);
	is_waiting = true;
	shmem_long_wait_until(&word, SHMEM_CMP_EQ, STEPS);
	is_waiting = false;
	frozen.tv_sec = 0; /* From here the clock is real again, plus the
			    * seconds of the additions. */
	stest_output(kept, text, sizeof(text));
	CHECK(!strstr(text, "STALL"),
		"a wait is not reported while its variable changes: %s", text);
	CHECK(n_reads >= STEPS * READS, "the clock was read: %ld", n_reads);
}

int main(int argc, char **argv)
{
	(void)argc;
	stest_init(argv);
	if (stest.me == 0)
		wait_for_all();
	if (stest.me == 1)
		add_slowly();
	return stest_done();
}
