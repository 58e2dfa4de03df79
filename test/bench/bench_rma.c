/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_rma: windows. In most workloads rank 0 accesses rank 1, and the other
 * ranks wait in a barrier. In fence_put all ranks take part, in pscw_put ranks
 * 0 and 1 put to each other, and in all_* all ranks access one window. The
 * workloads in the tables run on memory of MPI_Win_allocate (alloc_*) and on
 * memory of the program (MPI_Win_create, create_*).
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MANY_BYTES = 1 << 22, /* bytes between two flushes, for long accesses */
	BUSY_MS = 20,	      /* time for which the target computes */
	LENS_MAX = 8,
};

/* The window under test, and the data of one access to it. */
struct bench_window {
	MPI_Win win;
	char *base;
	MPI_Group other; /* the partner of a ping-pong */
	MPI_Datatype type;
	int count;
	int n_many; /* accesses between two flushes */
};

enum rma_data {
	BYTES,
	LONGS,
	DOUBLES,
	GAPS, /* doubles, each followed by a gap, at the origin and the
	       * target */
};

/* One metric on an open window. */
struct rma_load {
	const char *name;
	const char *unit; /* "us", "M/s" or "MB/s" */
	bench_run_fn run;
	enum rma_data data;
	bool is_passive;       /* the workload runs inside a lock_all epoch */
	bool is_many;	       /* accesses in a row, then a flush */
	size_t lens[LENS_MAX]; /* the list ends at the first 0 */
};

/* ---- rank 0 accesses rank 1: one access or many, then a flush ---- */

/* Starts the k-th access since the last flush. */
typedef void (*rma_access)(struct bench *b, int k);

static inline __attribute__((always_inline)) double access_loop(
	struct bench *b, rma_access access, long n_iters)
{
	struct bench_window *w = b->window;
	double start = bench_now();

	for (long i = 0; b->rank == 0 && i < n_iters; i++) {
		for (int k = 0; k < w->n_many; k++)
			access(b, k);
		MPI_Win_flush(1, w->win);
	}
	return bench_now() - start;
}

static void put_to(struct bench *b, int target)
{
	struct bench_window *w = b->window;

	MPI_Put(b->send_buf, w->count, w->type, target, 0, w->count, w->type,
		w->win);
}

static void do_put(struct bench *b, int k)
{
	(void)k;
	put_to(b, 1);
}

static void do_get(struct bench *b, int k)
{
	struct bench_window *w = b->window;

	(void)k;
	MPI_Get(b->recv_buf, w->count, w->type, 1, 0, w->count, w->type,
		w->win);
}

static void do_acc(struct bench *b, int k)
{
	struct bench_window *w = b->window;

	(void)k;
	MPI_Accumulate(b->send_buf, w->count, w->type, 1, 0, w->count, w->type,
		MPI_SUM, w->win);
}

static void do_get_acc(struct bench *b, int k)
{
	struct bench_window *w = b->window;

	(void)k;
	MPI_Get_accumulate(b->send_buf, w->count, w->type, b->recv_buf,
		w->count, w->type, 1, 0, w->count, w->type, MPI_SUM, w->win);
}

static void do_fetch_op(struct bench *b, int k)
{
	MPI_Fetch_and_op(b->send_buf, b->recv_buf + 8 * k, MPI_INT64_T, 1, 0,
		MPI_SUM, b->window->win);
}

static void do_swap(struct bench *b, int k)
{
	MPI_Compare_and_swap(b->send_buf, b->send_buf + 8, b->recv_buf + 8 * k,
		MPI_INT64_T, 1, 0, b->window->win);
}

/* One function for each procedure. access_loop() is inlined in it, and so calls
 * the procedure directly, not through a pointer. */
#define ACCESS_RUN(what)                                                    \
	static double run_##what(struct bench *b, size_t len, long n_iters) \
	{                                                                   \
		(void)len;                                                  \
		return access_loop(b, do_##what, n_iters);                  \
	}

ACCESS_RUN(put)
ACCESS_RUN(get)
ACCESS_RUN(acc)
ACCESS_RUN(get_acc)
ACCESS_RUN(fetch_op)
ACCESS_RUN(swap)

/* ---- epochs ---- */

static double run_fence(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start;

	(void)len;
	MPI_Win_fence(0, win);
	start = bench_now();
	for (long i = 0; i < n_iters; i++) {
		if (b->rank == 0)
			put_to(b, 1);
		MPI_Win_fence(0, win);
	}
	start = bench_now() - start;
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	return start;
}

static void put_started(struct bench *b)
{
	struct bench_window *w = b->window;

	MPI_Win_start(w->other, 0, w->win);
	put_to(b, !b->rank);
	MPI_Win_complete(w->win);
}

static void be_target(const struct bench_window *w)
{
	MPI_Win_post(w->other, 0, w->win);
	MPI_Win_wait(w->win);
}

/* Ping-pong: one iteration is an epoch in each direction. */
static double run_pscw(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	(void)len;
	for (long i = 0; b->rank < 2 && i < n_iters; i++) {
		if (b->rank == 0)
			put_started(b);
		be_target(b->window);
		if (b->rank == 1)
			put_started(b);
	}
	return (bench_now() - start) / 2;
}

static double lock_put_unlock(
	struct bench *b, int mode, int target, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	for (long i = 0; i < n_iters; i++) {
		MPI_Win_lock(mode, target, 0, win);
		put_to(b, target);
		MPI_Win_unlock(target, win);
	}
	return bench_now() - start;
}

static double run_lock_shared(struct bench *b, size_t len, long n_iters)
{
	(void)len;
	return b->rank ? 0 : lock_put_unlock(b, MPI_LOCK_SHARED, 1, n_iters);
}

static double run_lock_exclusive(struct bench *b, size_t len, long n_iters)
{
	(void)len;
	return b->rank ? 0 : lock_put_unlock(b, MPI_LOCK_EXCLUSIVE, 1, n_iters);
}

/* ---- all ranks at the same time ---- */

static double run_all_locks(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	(void)len;
	lock_put_unlock(b, MPI_LOCK_EXCLUSIVE, 0, n_iters);
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

/* Puts to the next rank. Each iteration opens and closes a lock_all epoch. */
static double run_all_puts(struct bench *b, size_t len, long n_iters)
{
	MPI_Win win = b->window->win;
	double start = bench_now();

	(void)len;
	for (long i = 0; i < n_iters; i++) {
		MPI_Win_lock_all(0, win);
		put_to(b, (b->rank + 1) % b->n_ranks);
		MPI_Win_unlock_all(win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now() - start;
}

/* ---- the table ---- */

#define SHORT_AND_LONG         \
	{                      \
		8, 1024, 65536 \
	}
#define LATENCY_LENS                    \
	{                               \
		8, 1024, 65536, 1 << 20 \
	}
#define BANDWIDTH_LENS                        \
	{                                     \
		4096, 65536, 1 << 20, 4 << 20 \
	}

static const struct rma_load latency_loads[] = {
	{ "put", "us", run_put, BYTES, true, false, LATENCY_LENS },
	{ "get", "us", run_get, BYTES, true, false, LATENCY_LENS },
	{ "acc_long", "us", run_acc, LONGS, true, false, SHORT_AND_LONG },
	{ "acc_double", "us", run_acc, DOUBLES, true, false, SHORT_AND_LONG },
	{ "get_acc", "us", run_get_acc, LONGS, true, false, SHORT_AND_LONG },
	{ "fetch_op", "us", run_fetch_op, LONGS, true, false, { 8 } },
};

/* A table of its own: some MPI libraries end the job in this workload. */
static const struct rma_load swap_loads[] = {
	{ "compare_swap", "us", run_swap, LONGS, true, false, { 8 } },
};

static const struct rma_load rate_loads[] = {
	{ "put_rate", "M/s", run_put, BYTES, true, true, { 8 } },
	{ "get_rate", "M/s", run_get, BYTES, true, true, { 8 } },
	{ "acc_rate", "M/s", run_acc, DOUBLES, true, true, { 8 } },
	{ "fetch_op_rate", "M/s", run_fetch_op, LONGS, true, true, { 8 } },
};

static const struct rma_load bandwidth_loads[] = {
	{ "put_bw", "MB/s", run_put, BYTES, true, true, BANDWIDTH_LENS },
	{ "get_bw", "MB/s", run_get, BYTES, true, true, BANDWIDTH_LENS },
	{ "acc_bw", "MB/s", run_acc, DOUBLES, true, true, BANDWIDTH_LENS },
};

static const struct rma_load strided_loads[] = {
	{ "put_strided", "us", run_put, GAPS, true, false, { 512, 65536 } },
	{ "get_strided", "us", run_get, GAPS, true, false, { 512, 65536 } },
	{ "acc_strided", "us", run_acc, GAPS, true, false, { 512, 65536 } },
};

static const struct rma_load epoch_loads[] = {
	{ "fence_put", "us", run_fence, BYTES, false, false, { 8, 65536 } },
	{ "pscw_put", "us", run_pscw, BYTES, false, false, { 8, 65536 } },
	{ "lock_put", "us", run_lock_shared, BYTES, false, false,
		{ 8, 65536 } },
	{ "lockx_put", "us", run_lock_exclusive, BYTES, false, false,
		{ 8, 65536 } },
};

static const struct rma_load all_loads[] = {
	{ "all_lockx_put", "us", run_all_locks, BYTES, false, false, { 8 } },
	{ "all_fetch_op", "us", run_all_fetch_op, LONGS, true, false, { 8 } },
	{ "all_lock_all_put", "us", run_all_puts, BYTES, false, false, { 8 } },
};

/* ---- running them ---- */

static double value_of(
	const struct rma_load *load, int n_many, size_t len, double t)
{
	if (!strcmp(load->unit, "us"))
		return t * 1e6;
	t = n_many / t * 1e-6;
	return strcmp(load->unit, "M/s") ? t * (double)len : t;
}

static void set_data(struct bench_window *w, enum rma_data data, size_t len)
{
	int n = (int)(len / 8);

	w->type = data == LONGS	    ? MPI_INT64_T
		  : data == DOUBLES ? MPI_DOUBLE
				    : MPI_BYTE;
	w->count = data == GAPS ? 1 : data == BYTES ? (int)len : n;
	if (data == GAPS) {
		MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &w->type);
		MPI_Type_commit(&w->type);
	}
}

static void run_load(struct bench *b, const char *kind,
	const struct rma_load *load, size_t len)
{
	struct bench_window *w = b->window;
	char name[48];
	double t;

	snprintf(name, sizeof(name), "%s_%s", kind, load->name);
	bench_progress(b, "%s %zu ...", name, len);
	set_data(w, load->data, len);
	w->n_many = !load->is_many		      ? 1
		    : len * BENCH_WINDOW > MANY_BYTES ? (int)(MANY_BYTES / len)
						      : BENCH_WINDOW;
	if (load->is_passive)
		MPI_Win_lock_all(0, w->win);
	t = bench_measure(b, load->run, len);
	if (load->is_passive)
		MPI_Win_unlock_all(w->win);
	if (load->data == GAPS)
		MPI_Type_free(&w->type);
	bench_report_len(
		b, name, len, value_of(load, w->n_many, len, t), load->unit);
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

/* ---- windows are created and freed ---- */

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

/* Rank 0's put and flush, while rank 1 makes no MPI call for BUSY_MS. */
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
		put_to(b, 1);
		MPI_Win_flush(1, b->window->win);
	}
	return bench_now() - start;
}

int bench_rma_busy(struct bench *b)
{
	struct bench_window w;
	double t[BENCH_MAX_REPS];

	open_window(b, &w, false);
	set_data(&w, BYTES, 8);
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
