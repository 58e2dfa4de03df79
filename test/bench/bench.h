/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench: common parts of the workload files: the settings of a run, the
 * measuring loop and the output. Standard MPI C only, so that the same source
 * builds with any MPI. No header of the library may be included here.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <mpi.h>

enum bench_limits {
	BENCH_MAX_LENS = 32,
	BENCH_MAX_REPS = 64,
	BENCH_WINDOW = 64,
	BENCH_MAX_LEN = 4 << 20,
};

/* One run of one workload. A variable of main(); every rank has its own. */
struct bench {
	int rank;
	int n_ranks;
	int n_reps;   /* repetitions; their median is reported */
	double rep_s; /* seconds one repetition should take */
	bool live;    /* the current line is redrawn */
	bool pin;     /* one process per core, by rank */
	bool rt;      /* real-time priority while measuring */
	bool cold;    /* cold session cycles are measured, too */
	int level;    /* requested thread level */
	int n_lens;   /* requested sizes; 0: the sizes of the workload */
	size_t lens[BENCH_MAX_LENS]; /* requested sizes in bytes */
	char *send_buf;		     /* BENCH_MAX_LEN bytes per peer */
	char *recv_buf;
	double *t_call;		     /* scratch of the session workload */
	struct bench_window *window; /* the window under test, or NULL */
};

/* Runs n_iters of a workload on every rank; returns the seconds of rank 0. */
typedef double (*bench_run_fn)(struct bench *b, size_t len, long n_iters);

/* A subcommand. run() is collective. world: it needs MPI_Init. */
struct bench_cmd {
	const char *name;
	const char *what;
	bool world;
	int min_ranks;
	int (*run)(struct bench *b);
};

/* Returns the seconds of a monotonic clock, independent of the MPI under test.
 */
double bench_now(void);

/* Sorts the n values at v and returns their median. */
double bench_median(double *v, int n);

/*
 * Collective over MPI_COMM_WORLD: finds how many iterations fill rep_s, runs
 * n_reps of them and returns the median seconds per iteration on rank 0, and 0
 * on the other ranks.
 */
double bench_measure(struct bench *b, bench_run_fn run, size_t len);

/* Rank 0 prints one result line "name value unit"; the other ranks do nothing.
 */
void bench_report(const struct bench *b, const char *name, double value,
	const char *unit);

/* As bench_report(), with the name "name_len". */
void bench_report_len(const struct bench *b, const char *name, size_t len,
	double value, const char *unit);

/* Shows the current workload if b->live is set. Rank 0 only. */
void bench_progress(const struct bench *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Binds the process to a core and raises its priority, as b requests. */
void bench_settle(const struct bench *b);

/* Writes the sizes to run: those of the user, otherwise the defaults. Returns
 * their number. */
int bench_lens(const struct bench *b, const size_t *defaults, int n_defaults,
	size_t *lens_out);

/* Ends the job with a message if an MPI call failed outside the World Model. */
void bench_check(int rc, const char *call);

/* pt2pt workloads that the table subcommand reuses */
double bench_run_pingpong(struct bench *b, size_t len, long n_iters);
double bench_run_stream(struct bench *b, size_t len, long n_iters);
double bench_run_bidir(struct bench *b, size_t len, long n_iters);

/* subcommands, one group per file */
int bench_latency(struct bench *b);
int bench_any_source(struct bench *b);
int bench_posted(struct bench *b);
int bench_unexpected(struct bench *b);
int bench_bandwidth(struct bench *b);
int bench_bidirectional(struct bench *b);
int bench_rate(struct bench *b);
int bench_pt2pt(struct bench *b);
int bench_copy(struct bench *b);
int bench_barrier(struct bench *b);
int bench_allreduce(struct bench *b);
int bench_bcast(struct bench *b);
int bench_reduce(struct bench *b);
int bench_alltoall(struct bench *b);
int bench_allgather(struct bench *b);
int bench_gather(struct bench *b);
int bench_scatter(struct bench *b);
int bench_reduce_scatter(struct bench *b);
int bench_scan(struct bench *b);
int bench_coll(struct bench *b);
int bench_agree(struct bench *b);
int bench_shrink(struct bench *b);
int bench_rma_latency(struct bench *b);
int bench_rma_swap(struct bench *b);
int bench_rma_rate(struct bench *b);
int bench_rma_bandwidth(struct bench *b);
int bench_rma_strided(struct bench *b);
int bench_rma_epochs(struct bench *b);
int bench_rma_all(struct bench *b);
int bench_rma_create(struct bench *b);
int bench_rma_busy(struct bench *b);
int bench_rma(struct bench *b);
int bench_session(struct bench *b);
int bench_vcis(struct bench *b);
int bench_startup(struct bench *b);
int bench_table(struct bench *b);

#endif
