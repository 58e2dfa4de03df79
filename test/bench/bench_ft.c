/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_ft: agreement and shrink of all ranks, without a failure. An MPI
 * without mpi-ext.h or without these functions skips them with a message.
 */
#include "bench.h"

#include <stdio.h>

#ifdef __has_include
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

#if defined(MPIX_ERR_PROC_FAILED) || defined(MPIX_HAVE_FT)

static double run_agree(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();
	int flag = 1;

	(void)b;
	(void)len;
	for (long i = 0; i < n_iters; i++)
		bench_check(MPIX_Comm_agree(MPI_COMM_WORLD, &flag),
			"MPIX_Comm_agree");
	return bench_now() - start;
}

/* The time of MPI_Comm_free does not count. */
static double run_shrink(struct bench *b, size_t len, long n_iters)
{
	double sum = 0;

	(void)b;
	(void)len;
	for (long i = 0; i < n_iters; i++) {
		double start = bench_now();
		MPI_Comm made;

		bench_check(MPIX_Comm_shrink(MPI_COMM_WORLD, &made),
			"MPIX_Comm_shrink");
		sum += bench_now() - start;
		bench_check(MPI_Comm_free(&made), "MPI_Comm_free");
	}
	return sum;
}

int bench_agree(struct bench *b)
{
	bench_progress(b, "agree ...");
	bench_report(b, "agree", bench_measure(b, run_agree, 0) * 1e6, "us");
	return 0;
}

int bench_shrink(struct bench *b)
{
	bench_progress(b, "shrink ...");
	bench_report(b, "shrink", bench_measure(b, run_shrink, 0) * 1e6, "us");
	return 0;
}

#else

static int skip(const struct bench *b, const char *name)
{
	if (b->rank == 0)
		printf("# %s: this MPI has no such function\n", name);
	return 0;
}

int bench_agree(struct bench *b)
{
	return skip(b, "agree");
}

int bench_shrink(struct bench *b)
{
	return skip(b, "shrink");
}

#endif
