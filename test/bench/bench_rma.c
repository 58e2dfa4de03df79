/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_rma: windows.  Rank 0 accesses rank 1 while the others wait in a
 * barrier, but for what says "all".  Each workload is run on memory of
 * MPI_Win_allocate and on the program's own, given to MPI_Win_create.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MANY_BYTES = 1 << 22, /* between two flushes, of long accesses */
	BUSY_MS = 20,	      /* that a target computes */
	LENS_MAX = 8,
};

/* The window under test.  Lives in run_on(). */
struct bench_window {
	MPI_Win win;
	char *base;
	MPI_Datatype strided; /* doubles, each with a gap behind it */
	MPI_Group other;      /* of two ranks that play ping-pong */
};

/* One metric on an open window. */
struct rma_load {
	const char *name;
	const char *unit; /* "us", "M/s" or "MB/s" */
	bench_run_fn run;
	bool passive;	       /* inside lock_all */
	bool strided;	       /* the type is made for each length */
	int per_iter;	       /* accesses of an iteration; 0: rma_many() */
	size_t lens[LENS_MAX]; /* up to a 0 */
};

static int rma_many(size_t len)
{
	return len * BENCH_WINDOW > MANY_BYTES && len ? (int)(MANY_BYTES / len)
						      : BENCH_WINDOW;
}

/* ---- one access, and its flush ---- */

static double run_put(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		MPI_Put(b->send_buf, (int)len, MPI_BYTE, 1, 0, (int)len,
			MPI_BYTE, win);
		MPI_Win_flush(1, win);
	}
	return bench_now() - start;
}

static double run_get(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		MPI_Get(b->recv_buf, (int)len, MPI_BYTE, 1, 0, (int)len,
			MPI_BYTE, win);
		MPI_Win_flush(1, win);
	}
	return bench_now() - start;
}

static double run_accumulate(
	struct bench *b, MPI_Datatype type, size_t len, long n_iters)
{
	int n = (int)(len / 8);
	MPI_Win win = b->window->win;
	double start = bench_now();

	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		MPI_Accumulate(
			b->send_buf, n, type, 1, 0, n, type, MPI_SUM, win);
		MPI_Win_flush(1, win);
	}
	return bench_now() - start;
}

static double run_acc_long(struct bench *b, size_t len, long n_iters)
{
	return run_accumulate(b, MPI_INT64_T, len, n_iters);
}

static double run_acc_double(struct bench *b, size_t len, long n_iters)
{
	return run_accumulate(b, MPI_DOUBLE, len, n_iters);
}

static double run_get_acc(struct bench *b, size_t len, long n_iters)
{
	int n = (int)(len / 8);
	MPI_Win win = b->window->win;
	double start = bench_now();

	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		MPI_Get_accumulate(b->send_buf, n, MPI_INT64_T, b->recv_buf, n,
			MPI_INT64_T, 1, 0, n, MPI_INT64_T, MPI_SUM, win);
		MPI_Win_flush(1, win);
	}
	return bench_now() - start;
}

static double run_fetch_op(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	(void)len;
	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		MPI_Fetch_and_op(b->send_buf, b->recv_buf, MPI_INT64_T, 1, 0,
			MPI_SUM, win);
		MPI_Win_flush(1, win);
	}
	return bench_now() - start;
}

static double run_compare_swap(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	(void)len;
	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		MPI_Compare_and_swap(b->send_buf, b->send_buf + 8, b->recv_buf,
			MPI_INT64_T, 1, 0, win);
		MPI_Win_flush(1, win);
	}
	return bench_now() - start;
}

/* ---- many, and a flush: rate and bandwidth ---- */

static double run_puts(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		for (int k = 0; k < rma_many(len); k++)
			MPI_Put(b->send_buf, (int)len, MPI_BYTE, 1, 0, (int)len,
				MPI_BYTE, win);
		MPI_Win_flush(1, win);
	}
	return bench_now() - start;
}

static double run_gets(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		for (int k = 0; k < rma_many(len); k++)
			MPI_Get(b->recv_buf, (int)len, MPI_BYTE, 1, 0, (int)len,
				MPI_BYTE, win);
		MPI_Win_flush(1, win);
	}
	return bench_now() - start;
}

static double run_accs(struct bench *b, size_t len, long n_iters)
{
	int n = (int)(len / 8);
	MPI_Win win = b->window->win;
	double start = bench_now();

	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		for (int k = 0; k < rma_many(len); k++)
			MPI_Accumulate(b->send_buf, n, MPI_DOUBLE, 1, 0, n,
				MPI_DOUBLE, MPI_SUM, win);
		MPI_Win_flush(1, win);
	}
	return bench_now() - start;
}

static double run_fetch_ops(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	(void)len;
	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		for (int k = 0; k < BENCH_WINDOW; k++)
			MPI_Fetch_and_op(b->send_buf, b->recv_buf + 8 * k,
				MPI_INT64_T, 1, 0, MPI_SUM, win);
		MPI_Win_flush(1, win);
	}
	return bench_now() - start;
}

/* ---- doubles with gaps, at both ends ---- */

static double run_put_strided(struct bench *b, size_t len, long n_iters)
{
	struct bench_window *w = b->window;
	double start = bench_now();

	(void)len;
	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		MPI_Put(b->send_buf, 1, w->strided, 1, 0, 1, w->strided,
			w->win);
		MPI_Win_flush(1, w->win);
	}
	return bench_now() - start;
}

static double run_get_strided(struct bench *b, size_t len, long n_iters)
{
	struct bench_window *w = b->window;
	double start = bench_now();

	(void)len;
	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		MPI_Get(b->recv_buf, 1, w->strided, 1, 0, 1, w->strided,
			w->win);
		MPI_Win_flush(1, w->win);
	}
	return bench_now() - start;
}

static double run_acc_strided(struct bench *b, size_t len, long n_iters)
{
	struct bench_window *w = b->window;
	double start = bench_now();

	(void)len;
	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		MPI_Accumulate(b->send_buf, 1, w->strided, 1, 0, 1, w->strided,
			MPI_SUM, w->win);
		MPI_Win_flush(1, w->win);
	}
	return bench_now() - start;
}

/* ---- epochs ---- */

static double run_fence(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start;

	MPI_Win_fence(0, win);
	start = bench_now();
	for (long i = 0; i < n_iters; i++) {
		if (b->rank == 0 && len)
			MPI_Put(b->send_buf, (int)len, MPI_BYTE, 1, 0, (int)len,
				MPI_BYTE, win);
		MPI_Win_fence(0, win);
	}
	start = bench_now() - start;
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	return start;
}

static void put_started(struct bench *b, size_t len)
{
	struct bench_window *w = b->window;

	MPI_Win_start(w->other, 0, w->win);
	MPI_Put(b->send_buf, (int)len, MPI_BYTE, !b->rank, 0, (int)len,
		MPI_BYTE, w->win);
	MPI_Win_complete(w->win);
}

static void be_target(const struct bench_window *w)
{
	MPI_Win_post(w->other, 0, w->win);
	MPI_Win_wait(w->win);
}

/* Ping-pong: an iteration is both ways. */
static double run_pscw(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; b->rank < 2 && i < n_iters; i++) {
		if (b->rank == 0)
			put_started(b, len);
		be_target(b->window);
		if (b->rank == 1)
			put_started(b, len);
	}
	return (bench_now() - start) / 2;
}

static double lock_put_unlock(
	struct bench *b, int mode, int target, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	for (long i = 0; i < n_iters; i++) {
		MPI_Win_lock(mode, target, 0, win);
		MPI_Put(b->send_buf, (int)len, MPI_BYTE, target, 0, (int)len,
			MPI_BYTE, win);
		MPI_Win_unlock(target, win);
	}
	return bench_now() - start;
}

static double run_lock_shared(struct bench *b, size_t len, long n_iters)
{
	return b->rank ? 0
		       : lock_put_unlock(b, MPI_LOCK_SHARED, 1, len, n_iters);
}

static double run_lock_exclusive(struct bench *b, size_t len, long n_iters)
{
	return b->rank ? 0
		       : lock_put_unlock(
				 b, MPI_LOCK_EXCLUSIVE, 1, len, n_iters);
}

/* ---- all at once ---- */

static double run_all_locks(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	lock_put_unlock(b, MPI_LOCK_EXCLUSIVE, 0, len, n_iters);
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now() - start;
}

static double run_all_fetch_op(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	(void)len;
	for (long i = 0; i < n_iters; i++) {
		MPI_Fetch_and_op(b->send_buf, b->recv_buf, MPI_INT64_T, 0, 0,
			MPI_SUM, win);
		MPI_Win_flush(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now() - start;
}

/* To the next rank, in a lock_all that each opens and closes. */
static double run_all_puts(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	int next = (b->rank + 1) % b->n_ranks;
	double start = bench_now();

	for (long i = 0; i < n_iters; i++) {
		MPI_Win_lock_all(0, win);
		MPI_Put(b->send_buf, (int)len, MPI_BYTE, next, 0, (int)len,
			MPI_BYTE, win);
		MPI_Win_unlock_all(win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now() - start;
}

/* ---- the table ---- */

static const struct rma_load latency_loads[] = {
	{ "put", "us", run_put, true, false, 1, { 8, 1024, 65536, 1 << 20 } },
	{ "get", "us", run_get, true, false, 1, { 8, 1024, 65536, 1 << 20 } },
	{ "acc_long", "us", run_acc_long, true, false, 1, { 8, 1024, 65536 } },
	{ "acc_double", "us", run_acc_double, true, false, 1,
		{ 8, 1024, 65536 } },
	{ "get_acc", "us", run_get_acc, true, false, 1, { 8, 1024, 65536 } },
	{ "fetch_op", "us", run_fetch_op, true, false, 1, { 8 } },
};

/* By itself: there are libraries that it ends. */
static const struct rma_load swap_loads[] = {
	{ "compare_swap", "us", run_compare_swap, true, false, 1, { 8 } },
};

static const struct rma_load rate_loads[] = {
	{ "put_rate", "M/s", run_puts, true, false, 0, { 8 } },
	{ "get_rate", "M/s", run_gets, true, false, 0, { 8 } },
	{ "acc_rate", "M/s", run_accs, true, false, 0, { 8 } },
	{ "fetch_op_rate", "M/s", run_fetch_ops, true, false, BENCH_WINDOW,
		{ 8 } },
};

static const struct rma_load bandwidth_loads[] = {
	{ "put_bw", "MB/s", run_puts, true, false, 0,
		{ 4096, 65536, 1 << 20, 4 << 20 } },
	{ "get_bw", "MB/s", run_gets, true, false, 0,
		{ 4096, 65536, 1 << 20, 4 << 20 } },
	{ "acc_bw", "MB/s", run_accs, true, false, 0,
		{ 4096, 65536, 1 << 20, 4 << 20 } },
};

static const struct rma_load strided_loads[] = {
	{ "put_strided", "us", run_put_strided, true, true, 1, { 512, 65536 } },
	{ "get_strided", "us", run_get_strided, true, true, 1, { 512, 65536 } },
	{ "acc_strided", "us", run_acc_strided, true, true, 1, { 512, 65536 } },
};

static const struct rma_load epoch_loads[] = {
	{ "fence_put", "us", run_fence, false, false, 1, { 8, 65536 } },
	{ "pscw_put", "us", run_pscw, false, false, 1, { 8, 65536 } },
	{ "lock_put", "us", run_lock_shared, false, false, 1, { 8, 65536 } },
	{ "lockx_put", "us", run_lock_exclusive, false, false, 1,
		{ 8, 65536 } },
};

static const struct rma_load all_loads[] = {
	{ "all_lockx_put", "us", run_all_locks, false, false, 1, { 8 } },
	{ "all_fetch_op", "us", run_all_fetch_op, true, false, 1, { 8 } },
	{ "all_lock_all_put", "us", run_all_puts, false, false, 1, { 8 } },
};

/* ---- running them ---- */

static double value_of(const struct rma_load *load, size_t len, double t)
{
	int n = load->per_iter ? load->per_iter : rma_many(len);

	if (!strcmp(load->unit, "us"))
		return t * 1e6;
	t = n / t * 1e-6;
	return strcmp(load->unit, "M/s") ? t * (double)len : t;
}

static void run_load(struct bench *b, const char *kind,
	const struct rma_load *load, size_t len)
{
	struct bench_window *w = b->window;
	char name[48];
	double t;

	snprintf(name, sizeof(name), "%s_%s", kind, load->name);
	bench_progress(b, "%s %zu ...", name, len);
	if (load->strided) {
		MPI_Type_vector((int)(len / 8), 1, 2, MPI_DOUBLE, &w->strided);
		MPI_Type_commit(&w->strided);
	}
	if (load->passive)
		MPI_Win_lock_all(0, w->win);
	t = bench_measure(b, load->run, len);
	if (load->passive)
		MPI_Win_unlock_all(w->win);
	if (load->strided)
		MPI_Type_free(&w->strided);
	bench_report_len(b, name, len, value_of(load, len, t), load->unit);
}

static void open_window(struct bench *b, struct bench_window *w, bool is_own)
{
	MPI_Group world;
	int other = !b->rank;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &other, &w->other);
	MPI_Group_free(&world);
	if (is_own) {
		if (posix_memalign((void **)&w->base, 4096, BENCH_MAX_LEN))
			MPI_Abort(MPI_COMM_WORLD, 1);
		MPI_Win_create(w->base, BENCH_MAX_LEN, 1, MPI_INFO_NULL,
			MPI_COMM_WORLD, &w->win);
	} else {
		MPI_Win_allocate(BENCH_MAX_LEN, 1, MPI_INFO_NULL,
			MPI_COMM_WORLD, (void *)&w->base, &w->win);
	}
	memset(w->base, 0, BENCH_MAX_LEN);
	b->window = w;
	MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(struct bench *b, struct bench_window *w, bool is_own)
{
	MPI_Win_free(&w->win);
	MPI_Group_free(&w->other);
	if (is_own)
		free(w->base);
	b->window = NULL;
}

static int run_loads(struct bench *b, const struct rma_load *loads, size_t n)
{
	struct bench_window w;

	for (int is_own = 0; is_own < 2; is_own++) {
		open_window(b, &w, is_own);
		for (size_t i = 0; i < n; i++)
			for (int k = 0; k < LENS_MAX && loads[i].lens[k]; k++)
				run_load(b, is_own ? "create" : "alloc",
					&loads[i], loads[i].lens[k]);
		close_window(b, &w, is_own);
	}
	return 0;
}

#define RUN_LOADS(b, loads) \
	run_loads(b, loads, sizeof(loads) / sizeof((loads)[0]))

int bench_rma_latency(struct bench *b)
{
	return RUN_LOADS(b, latency_loads);
}

int bench_rma_swap(struct bench *b)
{
	return RUN_LOADS(b, swap_loads);
}

int bench_rma_rate(struct bench *b)
{
	return RUN_LOADS(b, rate_loads);
}

int bench_rma_bandwidth(struct bench *b)
{
	return RUN_LOADS(b, bandwidth_loads);
}

int bench_rma_strided(struct bench *b)
{
	return RUN_LOADS(b, strided_loads);
}

int bench_rma_epochs(struct bench *b)
{
	return RUN_LOADS(b, epoch_loads);
}

int bench_rma_all(struct bench *b)
{
	return RUN_LOADS(b, all_loads);
}

/* ---- windows made and freed ---- */

static double run_win_allocate(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	(void)b;
	for (long i = 0; i < n_iters; i++) {
		MPI_Win win;
		void *base;

		MPI_Win_allocate((MPI_Aint)len, 1, MPI_INFO_NULL,
			MPI_COMM_WORLD, (void *)&base, &win);
		MPI_Win_free(&win);
	}
	return bench_now() - start;
}

static double run_win_create(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; i < n_iters; i++) {
		MPI_Win win;

		MPI_Win_create(b->recv_buf, (MPI_Aint)len, 1, MPI_INFO_NULL,
			MPI_COMM_WORLD, &win);
		MPI_Win_free(&win);
	}
	return bench_now() - start;
}

int bench_rma_create(struct bench *b)
{
	static const size_t lens[] = { 8, BENCH_MAX_LEN };

	for (int i = 0; i < 2; i++) {
		bench_report_len(b, "win_allocate", lens[i],
			bench_measure(b, run_win_allocate, lens[i]) * 1e6,
			"us");
		bench_report_len(b, "win_create", lens[i],
			bench_measure(b, run_win_create, lens[i]) * 1e6, "us");
	}
	return 0;
}

/* ---- a target that computes ---- */

static void compute(double seconds)
{
	double end = bench_now() + seconds;

	while (bench_now() < end)
		;
}

/* Rank 0's put and flush, while rank 1 calls nothing for BUSY_MS. */
static double busy_put(struct bench *b)
{
	double start;

	MPI_Barrier(MPI_COMM_WORLD);
	start = bench_now();
	if (b->rank == 1)
		compute(1e-3 * BUSY_MS);
	if (b->rank == 0) {
		compute(1e-3);
		start = bench_now();
		MPI_Put(b->send_buf, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE,
			b->window->win);
		MPI_Win_flush(1, b->window->win);
	}
	return bench_now() - start;
}

int bench_rma_busy(struct bench *b)
{
	struct bench_window w;
	double t[BENCH_MAX_REPS];

	open_window(b, &w, false);
	MPI_Win_lock_all(0, w.win);
	for (int i = 0; i < b->n_reps; i++)
		t[i] = busy_put(b);
	bench_report(
		b, "busy_target_put_8", bench_median(t, b->n_reps) * 1e6, "us");
	MPI_Win_unlock_all(w.win);
	close_window(b, &w, false);
	return 0;
}

int bench_rma(struct bench *b)
{
	bench_rma_latency(b);
	bench_rma_rate(b);
	bench_rma_bandwidth(b);
	bench_rma_strided(b);
	bench_rma_epochs(b);
	bench_rma_all(b);
	bench_rma_create(b);
	bench_rma_busy(b);
	return bench_rma_swap(b);
}
