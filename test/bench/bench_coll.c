/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_coll: collectives over all ranks, microseconds per call on rank 0. */
#include "bench.h"

static const size_t coll_lens[] = { 8, 1024, 65536, 1 << 20 };

#define N_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

static double run_barrier(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	(void)b;
	(void)len;
	for (long i = 0; i < n_iters; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	return bench_now() - start;
}

static double run_allreduce(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; i < n_iters; i++)
		MPI_Allreduce(b->send_buf, b->recv_buf, (int)(len / 8),
			MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return bench_now() - start;
}

/* The barrier at the end adds the time in which other ranks still forward the
 * last broadcasts. */
static double run_bcast(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; i < n_iters; i++)
		MPI_Bcast(b->send_buf, (int)len, MPI_BYTE, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now() - start;
}

static double run_reduce(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; i < n_iters; i++)
		MPI_Reduce(b->send_buf, b->recv_buf, (int)(len / 8), MPI_DOUBLE,
			MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now() - start;
}

static double run_alltoall(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; i < n_iters; i++)
		MPI_Alltoall(b->send_buf, (int)len, MPI_BYTE, b->recv_buf,
			(int)len, MPI_BYTE, MPI_COMM_WORLD);
	return bench_now() - start;
}

static double run_allgather(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; i < n_iters; i++)
		MPI_Allgather(b->send_buf, (int)len, MPI_BYTE, b->recv_buf,
			(int)len, MPI_BYTE, MPI_COMM_WORLD);
	return bench_now() - start;
}

static double run_gather(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; i < n_iters; i++)
		MPI_Gather(b->send_buf, (int)len, MPI_BYTE, b->recv_buf,
			(int)len, MPI_BYTE, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now() - start;
}

static double run_scatter(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; i < n_iters; i++)
		MPI_Scatter(b->send_buf, (int)len, MPI_BYTE, b->recv_buf,
			(int)len, MPI_BYTE, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now() - start;
}

/* len: bytes that each member contributes, a block for each member. A block has
 * at least one double. */
static double run_reduce_scatter(struct bench *b, size_t len, long n_iters)
{
	int count = (int)(len / 8) / b->n_ranks;
	double start = bench_now();

	count = count ? count : 1;
	for (long i = 0; i < n_iters; i++)
		MPI_Reduce_scatter_block(b->send_buf, b->recv_buf, count,
			MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return bench_now() - start;
}

static double run_scan(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; i < n_iters; i++)
		MPI_Scan(b->send_buf, b->recv_buf, (int)(len / 8), MPI_DOUBLE,
			MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now() - start;
}

static int run_lens(struct bench *b, const char *name, bench_run_fn run)
{
	size_t lens[BENCH_MAX_LENS];
	int n = bench_lens(b, coll_lens, N_OF(coll_lens), lens);

	for (int i = 0; i < n; i++) {
		bench_progress(b, "%s %zu ...", name, lens[i]);
		bench_report_len(b, name, lens[i],
			bench_measure(b, run, lens[i]) * 1e6, "us");
	}
	return 0;
}

int bench_barrier(struct bench *b)
{
	bench_progress(b, "barrier ...");
	bench_report(
		b, "barrier", bench_measure(b, run_barrier, 0) * 1e6, "us");
	return 0;
}

int bench_allreduce(struct bench *b)
{
	return run_lens(b, "allreduce", run_allreduce);
}

int bench_bcast(struct bench *b)
{
	return run_lens(b, "bcast", run_bcast);
}

int bench_reduce(struct bench *b)
{
	return run_lens(b, "reduce", run_reduce);
}

int bench_alltoall(struct bench *b)
{
	return run_lens(b, "alltoall", run_alltoall);
}

int bench_allgather(struct bench *b)
{
	return run_lens(b, "allgather", run_allgather);
}

int bench_gather(struct bench *b)
{
	return run_lens(b, "gather", run_gather);
}

int bench_scatter(struct bench *b)
{
	return run_lens(b, "scatter", run_scatter);
}

int bench_reduce_scatter(struct bench *b)
{
	return run_lens(b, "reduce_scatter", run_reduce_scatter);
}

int bench_scan(struct bench *b)
{
	return run_lens(b, "scan", run_scan);
}

int bench_coll(struct bench *b)
{
	bench_barrier(b);
	bench_allreduce(b);
	bench_bcast(b);
	bench_reduce(b);
	bench_alltoall(b);
	bench_allgather(b);
	bench_gather(b);
	bench_scatter(b);
	bench_reduce_scatter(b);
	return bench_scan(b);
}
