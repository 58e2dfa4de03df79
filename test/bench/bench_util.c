/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_util: clock, median, the measuring loop and the output. */
#define _GNU_SOURCE 1
#include "bench.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	WARM_ITERS = 2,
	WARM_ROUNDS = 100,
};

double bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare_doubles);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double run_once(
	struct bench *b, bench_run_fn run, size_t len, long n_iters)
{
	MPI_Barrier(MPI_COMM_WORLD);
	return run(b, len, n_iters);
}

/* Repeats the workload until a repetition is not clearly faster than the
 * previous ones. The first repetitions also connect, fault pages in and fill
 * pipes, which must not count as the speed of the workload. */
static void warm_up(struct bench *b, bench_run_fn run, size_t len)
{
	double best = run_once(b, run, len, WARM_ITERS), seconds;
	int again = 1;

	for (int i = 0; again && i < WARM_ROUNDS; i++) {
		seconds = run_once(b, run, len, WARM_ITERS);
		again = seconds < best * 3 / 4;
		best = seconds < best ? seconds : best;
		MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
}

/* Rank 0 decides the number of further iterations; 0 ends the loop. */
static long next_iters(const struct bench *b, double seconds, long n_iters)
{
	long next = 0;

	if (b->rank == 0 && seconds < b->rep_s / 4 && n_iters < 1L << 24)
		next = n_iters * 4;
	MPI_Bcast(&next, 1, MPI_LONG, 0, MPI_COMM_WORLD);
	return next;
}

static long calibrate(struct bench *b, bench_run_fn run, size_t len)
{
	long n = 2, next = 2;
	double seconds = 0;

	warm_up(b, run, len);
	while (next) {
		n = next;
		seconds = run_once(b, run, len, n);
		next = next_iters(b, seconds, n);
	}
	if (b->rank == 0 && seconds > 0) {
		double fit = (double)n * b->rep_s / seconds;

		n = fit < 1 ? 1 : (long)fit;
	}
	MPI_Bcast(&n, 1, MPI_LONG, 0, MPI_COMM_WORLD);
	return n;
}

double bench_measure(struct bench *b, bench_run_fn run, size_t len)
{
	double t[BENCH_MAX_REPS];
	long n = calibrate(b, run, len);

	for (int i = 0; i < b->n_reps; i++)
		t[i] = run_once(b, run, len, n) / (double)n;
	return b->rank == 0 ? bench_median(t, b->n_reps) : 0;
}

void bench_report(
	const struct bench *b, const char *name, double value, const char *unit)
{
	if (b->rank)
		return;
	printf("%s%-32s %14.4f %s\n", b->live ? "\r\033[K" : "", name, value,
		unit);
	fflush(stdout);
}

void bench_report_len(const struct bench *b, const char *name, size_t len,
	double value, const char *unit)
{
	char full[64];

	snprintf(full, sizeof(full), "%s_%zu", name, len);
	bench_report(b, full, value, unit);
}

void bench_progress(const struct bench *b, const char *fmt, ...)
{
	va_list args;

	if (b->rank || !b->live)
		return;
	fputs("\r\033[K", stdout);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	fflush(stdout);
}

static void pin_to_core(int rank)
{
	long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)(rank % (n_cores > 0 ? n_cores : 1)), &set);
	if (sched_setaffinity(0, sizeof(set), &set) && rank == 0)
		perror("bench: sched_setaffinity");
}

void bench_settle(const struct bench *b)
{
	struct sched_param param = { .sched_priority = 10 };

	if (b->pin)
		pin_to_core(b->rank);
	if (b->rt && sched_setscheduler(0, SCHED_FIFO, &param) && b->rank == 0)
		perror("bench: sched_setscheduler");
}

int bench_lens(const struct bench *b, const size_t *defaults, int n_defaults,
	size_t *lens_out)
{
	int n = b->n_lens ? b->n_lens : n_defaults;

	memcpy(lens_out, b->n_lens ? b->lens : defaults,
		(size_t)n * sizeof(*lens_out));
	return n;
}

void bench_check(int rc, const char *call)
{
	if (rc == MPI_SUCCESS)
		return;
	fprintf(stderr, "bench: %s failed, error %d\n", call, rc);
	exit(1);
}
