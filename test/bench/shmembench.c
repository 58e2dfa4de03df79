/* SPDX-License-Identifier: BSD-3-Clause */
/* shmembench: put, get, atomics, collectives of any OpenSHMEM
 *
 *   oshcc -O2 -o shmembench shmembench.c
 *   oshrun -n 2 ./shmembench [--pin] [--reps N] [--time MS] [workload...]
 *
 * A workload is the first letters of metrics ("put", "amo_"). Without a
 * workload, all metrics are measured. PE 0 prints a line for each metric: name,
 * value, unit. For accesses, PE 0 accesses PE 1 while the other PEs wait in a
 * barrier. All PEs execute the other workloads. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <shmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 64, BYTES_MAX = 1 << 20, REPS_MAX = 99, WORDS_MAX = 8192 };

struct load {
	const char *name, *unit; /* "us": time of one operation; otherwise
				  * operations or bytes per second */
	void (*op)(const struct load *load, long n);
	size_t len;
};

static struct {
	int me, n_pes, reps;
	double time_s;
	long seq;	     /* sequence number of the ping-pong, equal on both
			      * PEs */
	char *near, *far;    /* symmetric: source, target */
	long *word, *flag;   /* symmetric */
	long *plan;	     /* symmetric: number of iterations */
	long *from, *to;     /* symmetric: source and target of reductions and
			      * broadcasts */
	volatile long *peer; /* address of PE 1's word for plain loads and
			      * stores, or NULL */
	long *line;	     /* symmetric: two words that share a cache line */
	volatile long *peer_line; /* address of PE 1's line */
	volatile long sink;
} b;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void pingpong(const struct load *load, long n)
{
	int peer = !b.me;

	(void)load;
	if (b.me > 1)
		return;
	for (long i = 0; i < n; i++) {
		b.seq++;
		if (b.me)
			shmem_long_wait_until(b.flag, SHMEM_CMP_EQ, b.seq);
		shmem_long_p(b.flag, b.seq, peer);
		if (!b.me)
			shmem_long_wait_until(b.flag, SHMEM_CMP_EQ, b.seq);
	}
}

/* The limit of the machine: plain access to a cache line of another core. */
static void plain_store(const struct load *load, long n)
{
	(void)load;
	for (long i = 0; !b.me && i < n; i++)
		*b.peer = i;
}

static void plain_load(const struct load *load, long n)
{
	(void)load;
	for (long i = 0; !b.me && i < n; i++)
		b.sink = *b.peer;
}

/* --- one cache line that two PEs take from each other --------------------
 *
 * PE 0 writes the first word of PE 1's line, and PE 1 answers in the second.
 * Each access therefore transfers the line. The plain variant and each other
 * variant differ in one access only. A round has two transfers of the line. */

static void hold_on(volatile long *word, long value)
{
	for (long i = 1; *word != value; i++)
		if (i % 4096 == 0)
			sched_yield();
}

/* PE 1 in these workloads: waits for PE 0's word, and writes its own. */
static void answer(long n)
{
	volatile long *line = b.line;

	for (long i = 0; i < n; i++) {
		hold_on(&line[0], ++b.seq);
		line[1] = b.seq;
	}
}

static void line_store(const struct load *load, long n)
{
	(void)load;
	if (b.me == 1)
		answer(n);
	for (long i = 0; !b.me && i < n; i++) {
		b.peer_line[0] = ++b.seq;
		hold_on(&b.peer_line[1], b.seq);
	}
}

static void line_put(const struct load *load, long n)
{
	if (b.me == 1)
		answer(n);
	for (long i = 0; !b.me && i < n; i++) {
		b.seq++;
		shmem_putmem(b.line, &b.seq, load->len, 1);
		hold_on(&b.peer_line[1], b.seq);
	}
}

static void line_get(const struct load *load, long n)
{
	long got = 0;

	if (b.me == 1)
		answer(n);
	for (long i = 0; !b.me && i < n; i++) {
		b.peer_line[0] = ++b.seq;
		for (long k = 1; got != b.seq; k++) {
			shmem_getmem(&got, b.line + 1, load->len, 1);
			if (k % 4096 == 0)
				sched_yield();
		}
	}
}

static void put(const struct load *load, long n)
{
	for (long i = 0; !b.me && i < n; i++)
		shmem_putmem(b.far, b.near, load->len, 1);
	shmem_quiet();
}

static void put_quiet(const struct load *load, long n)
{
	for (long i = 0; !b.me && i < n; i++) {
		shmem_putmem(b.far, b.near, load->len, 1);
		shmem_quiet();
	}
}

static void put_nbi(const struct load *load, long n)
{
	for (long i = 0; !b.me && i < n; i++) {
		for (int k = 0; k < WINDOW; k++)
			shmem_putmem_nbi(b.far, b.near, load->len, 1);
		shmem_quiet();
	}
}

static void get(const struct load *load, long n)
{
	for (long i = 0; !b.me && i < n; i++)
		shmem_getmem(b.near, b.far, load->len, 1);
}

static void get_nbi(const struct load *load, long n)
{
	for (long i = 0; !b.me && i < n; i++) {
		for (int k = 0; k < WINDOW; k++)
			shmem_getmem_nbi(b.near, b.far, load->len, 1);
		shmem_quiet();
	}
}

/* As put_nbi(), in a session with the hint that many puts will follow. */
static void put_batch(const struct load *load, long n)
{
#ifdef SHMEM_CTX_SESSION_BATCH
	shmem_ctx_session_start(
		SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
	put_nbi(load, n);
	shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
#else
	(void)load, (void)n;
#endif
}

static void amo_fetch(const struct load *load, long n)
{
	(void)load;
	for (long i = 0; !b.me && i < n; i++)
		b.sink = shmem_long_atomic_fetch(b.word, 1);
}

static void amo_fadd(const struct load *load, long n)
{
	(void)load;
	for (long i = 0; !b.me && i < n; i++)
		b.sink = shmem_long_atomic_fetch_add(b.word, 1, 1);
}

static void amo_cswap(const struct load *load, long n)
{
	(void)load;
	for (long i = 0; !b.me && i < n; i++)
		b.sink = shmem_long_atomic_compare_swap(b.word, i, i + 1, 1);
}

static void amo_add(const struct load *load, long n)
{
	(void)load;
	for (long i = 0; !b.me && i < n; i++) {
		shmem_long_atomic_add(b.word, 1, 1);
		shmem_quiet();
	}
}

static void amo_add_many(const struct load *load, long n)
{
	(void)load;
	for (long i = 0; !b.me && i < n; i++) {
		for (int k = 0; k < WINDOW; k++)
			shmem_long_atomic_add(b.word, 1, 1);
		shmem_quiet();
	}
}

static void barrier(const struct load *load, long n)
{
	(void)load;
	while (n--)
		shmem_barrier_all();
}

static void sync_all(const struct load *load, long n)
{
	(void)load;
	while (n--)
		shmem_sync_all();
}

static void broadcast(const struct load *load, long n)
{
	while (n--)
		shmem_broadcastmem(
			SHMEM_TEAM_WORLD, b.to, b.from, load->len, 0);
}

static void sum(const struct load *load, long n)
{
	while (n--)
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, b.to, b.from,
			load->len / sizeof(long));
}

static const struct load loads[] = {
	{ "plain_store_8", "us", plain_store, 8 },
	{ "plain_load_8", "us", plain_load, 8 },
	{ "line_plain_8", "us", line_store, 8 },
	{ "line_put_8", "us", line_put, 8 },
	{ "line_get_8", "us", line_get, 8 },
	{ "pingpong_8", "us", pingpong, 8 },
	{ "put_8", "us", put, 8 },
	{ "put_quiet_8", "us", put_quiet, 8 },
	{ "put_quiet_4096", "us", put_quiet, 4096 },
	{ "get_8", "us", get, 8 },
	{ "get_4096", "us", get, 4096 },
	{ "put_rate_8", "M/s", put_nbi, 8 },
	{ "put_batch_rate_8", "M/s", put_batch, 8 },
	{ "get_rate_8", "M/s", get_nbi, 8 },
	{ "put_bw_65536", "MB/s", put_nbi, 65536 },
	{ "put_bw_1048576", "MB/s", put_nbi, BYTES_MAX },
	{ "get_bw_65536", "MB/s", get_nbi, 65536 },
	{ "get_bw_1048576", "MB/s", get_nbi, BYTES_MAX },
	{ "amo_fetch", "us", amo_fetch, 8 },
	{ "amo_fetch_add", "us", amo_fadd, 8 },
	{ "amo_compare_swap", "us", amo_cswap, 8 },
	{ "amo_add_quiet", "us", amo_add, 8 },
	{ "amo_add_rate", "M/s", amo_add_many, 8 },
	{ "barrier_all", "us", barrier, 0 },
	{ "sync_all", "us", sync_all, 0 },
	{ "broadcast_8", "us", broadcast, 8 },
	{ "broadcast_65536", "us", broadcast, 65536 },
	{ "sum_8", "us", sum, 8 },
	{ "sum_65536", "us", sum, 65536 },
};

/* Distributes PE 0's number to all PEs. */
static long agree(long n)
{
	for (int pe = 0; !b.me && pe < b.n_pes; pe++)
		shmem_long_p(b.plan, n, pe);
	shmem_barrier_all();
	n = *(volatile long *)b.plan;
	shmem_barrier_all();
	return n;
}

static double timed(const struct load *load, long n)
{
	double begin;

	shmem_barrier_all();
	begin = now();
	load->op(load, n);
	begin = now() - begin;
	shmem_barrier_all();
	return begin;
}

/* Finds the number of iterations that fill the time of one repetition. */
static long calibrate(const struct load *load)
{
	for (long n = 1;;) {
		double took = timed(load, n);
		long next = took >= b.time_s || n > 1L << 30 ? -n
			    : took > b.time_s / 20
				    ? -(long)((double)n * b.time_s / took) - 1
				    : n * 4;

		next = agree(next);
		if (next < 0)
			return -next;
		n = next;
	}
}

static int by_value(const void *a, const void *c)
{
	double x = *(const double *)a, y = *(const double *)c;

	return (x > y) - (x < y);
}

static void measure(const struct load *load)
{
	long n = calibrate(load);
	double one[REPS_MAX], t;

	for (int i = 0; i < b.reps; i++)
		one[i] = timed(load, n) / (double)n;
	if (b.me)
		return;
	qsort(one, (size_t)b.reps, sizeof(*one), by_value);
	t = one[b.reps / 2];
	if (load->op == pingpong || !strncmp(load->name, "line_", 5))
		t /= 2;
	if (!strcmp(load->unit, "M/s"))
		t = WINDOW / t * 1e-6;
	else if (!strcmp(load->unit, "MB/s"))
		t = (double)load->len * WINDOW / t * 1e-6;
	else
		t *= 1e6;
	printf("%-24s %12.5g %s\n", load->name, t, load->unit);
	fflush(stdout);
}

static bool is_there(const struct load *load)
{
#ifndef SHMEM_CTX_SESSION_BATCH
	if (load->op == put_batch)
		return false;
#endif
	return b.peer || (strncmp(load->name, "plain_", 6) != 0 &&
				 strncmp(load->name, "line_", 5) != 0);
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)(b.me % (int)sysconf(_SC_NPROCESSORS_ONLN)), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Finds the addresses of PE 1's words for plain access. If PE 0 cannot access
 * them, no PE measures plain access. */
static void reach(void)
{
	b.peer = shmem_ptr(b.word, 1);
	if (!agree(b.peer != NULL))
		b.peer = NULL;
	else if (!b.peer)
		b.peer = b.word;
	b.peer_line = shmem_ptr(b.line, 1);
}

static void *memory(size_t len)
{
	void *p = shmem_malloc(len);

	if (!p) {
		fprintf(stderr, "shmembench: no memory for %zu bytes\n", len);
		shmem_global_exit(1);
	}
	memset(p, 0, len);
	return p;
}

static void begin(void)
{
	shmem_init();
	b.me = shmem_my_pe();
	b.n_pes = shmem_n_pes();
	if (b.n_pes < 2) {
		fprintf(stderr, "shmembench: needs two PEs\n");
		shmem_global_exit(2);
	}
	b.near = memory(BYTES_MAX);
	b.far = memory(BYTES_MAX);
	b.word = memory(4096);
	b.flag = memory(4096);
	b.line = memory(4096);
	b.plan = memory(4096);
	b.from = memory(WORDS_MAX * sizeof(long));
	b.to = memory(WORDS_MAX * sizeof(long));
	shmem_barrier_all();
}

/* Returns the first word after the options; these words select the workloads.
 */
static int options(int argc, char **argv)
{
	int i = 1;

	b.reps = 5;
	b.time_s = 0.02;
	for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
		if (!strcmp(argv[i], "--pin"))
			pin();
		else if (!strcmp(argv[i], "--reps") && i + 1 < argc)
			b.reps = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--time") && i + 1 < argc)
			b.time_s = atof(argv[++i]) * 1e-3;
	}
	if (b.reps < 1 || b.reps > REPS_MAX)
		b.reps = 5;
	return i;
}

static bool is_wanted(const struct load *load, int n, char **words)
{
	for (int i = 0; i < n; i++)
		if (!strncmp(load->name, words[i], strlen(words[i])))
			return true;
	return n <= 0;
}

int main(int argc, char **argv)
{
	int first;

	begin();
	first = options(argc, argv);
	reach();
	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++)
		if (is_there(&loads[i]) &&
			is_wanted(&loads[i], argc - first, argv + first))
			measure(&loads[i]);
	shmem_finalize();
	return 0;
}
