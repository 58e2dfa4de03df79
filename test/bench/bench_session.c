/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_session: the cost of a session. "first": the first session of the
 * process; "cold": no other session is open; "kept": another session stays
 * open. Every rank times its own calls, and rank 0's times are reported. With
 * an MPI older than 4.0 the workload is skipped with a message.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#if MPI_VERSION >= 4

enum {
	N_COLD = 21,
	N_KEPT = 2001,
};

/* The steps of a cycle, in order. */
enum step {
	STEP_INIT,
	STEP_GROUP,
	STEP_CREATE,
	STEP_DISCONNECT,
	STEP_FINALIZE,
	N_STEPS,
};

static const char *const step_names[N_STEPS] = {
	[STEP_INIT] = "init",
	[STEP_GROUP] = "group",
	[STEP_CREATE] = "create",
	[STEP_DISCONNECT] = "disconnect",
	[STEP_FINALIZE] = "finalize",
};

/* Opens a session; steps_out may be NULL when the time does not matter. */
static MPI_Comm open_cycle(MPI_Session *session_out, double *steps_out)
{
	MPI_Group group;
	MPI_Comm comm;
	double t[4];

	t[0] = bench_now();
	bench_check(
		MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session_out),
		"MPI_Session_init");
	t[1] = bench_now();
	bench_check(MPI_Group_from_session_pset(
			    *session_out, "mpi://WORLD", &group),
		"MPI_Group_from_session_pset");
	t[2] = bench_now();
	bench_check(MPI_Comm_create_from_group(group, "bench", MPI_INFO_NULL,
			    MPI_ERRORS_RETURN, &comm),
		"MPI_Comm_create_from_group");
	t[3] = bench_now();
	MPI_Group_free(&group);
	for (int i = 0; steps_out && i < 3; i++)
		steps_out[i] = t[i + 1] - t[i];
	return comm;
}

static void close_cycle(MPI_Session *session, MPI_Comm comm, double *steps_out)
{
	double t0, t1;

	t0 = bench_now();
	bench_check(MPI_Comm_disconnect(&comm), "MPI_Comm_disconnect");
	t1 = bench_now();
	bench_check(MPI_Session_finalize(session), "MPI_Session_finalize");
	if (steps_out) {
		steps_out[STEP_DISCONNECT] = t1 - t0;
		steps_out[STEP_FINALIZE] = bench_now() - t1;
	}
}

static void report_cycles(
	struct bench *b, const char *kind, double (*cycles)[N_STEPS], int n)
{
	char name[64];
	double *v = b->t_call, whole = 0;

	for (int s = 0; s < N_STEPS; s++) {
		double median;

		for (int i = 0; i < n; i++)
			v[i] = cycles[i][s];
		median = bench_median(v, n);
		whole += median;
		snprintf(name, sizeof(name), "session_%s_%s", kind,
			step_names[s]);
		bench_report(b, name, median * 1e6, "us");
	}
	snprintf(name, sizeof(name), "session_%s_cycle", kind);
	bench_report(b, name, whole * 1e6, "us");
}

/* Returns the seconds of a barrier, to compare with those of a creation. */
static double barrier_seconds(MPI_Comm comm)
{
	const int n = 1000;
	double start;

	MPI_Barrier(comm);
	start = bench_now();
	for (int i = 0; i < n; i++)
		MPI_Barrier(comm);
	return (bench_now() - start) / n;
}

/* Returns the seconds of MPI_Session_init and MPI_Session_finalize without
 * calls between them. */
static double pair_seconds(void)
{
	const int n = 1000;
	MPI_Session session;
	double start = bench_now();

	for (int i = 0; i < n; i++) {
		bench_check(MPI_Session_init(
				    MPI_INFO_NULL, MPI_ERRORS_RETURN, &session),
			"MPI_Session_init");
		bench_check(
			MPI_Session_finalize(&session), "MPI_Session_finalize");
	}
	return (bench_now() - start) / n;
}

static void run_cycles(
	struct bench *b, const char *kind, double (*cycles)[N_STEPS], int n)
{
	MPI_Session session;
	MPI_Comm comm;

	for (int i = 0; i < n; i++) {
		comm = open_cycle(&session, cycles[i]);
		close_cycle(&session, comm, cycles[i]);
		if (i == 0)
			bench_progress(
				b, "session, %s, %d cycles ...", kind, n);
	}
	report_cycles(b, kind, cycles, n);
}

/* Measures new sessions while another session stays open, and a barrier for
 * comparison. */
static void run_kept(struct bench *b, double (*cycles)[N_STEPS])
{
	MPI_Session outer;
	MPI_Comm outer_comm = open_cycle(&outer, NULL);
	double pair, barrier, pair_of[5], barrier_of[5];

	run_cycles(b, "kept", cycles, N_KEPT);
	for (int i = 0; i < 5; i++) {
		pair_of[i] = pair_seconds();
		barrier_of[i] = barrier_seconds(outer_comm);
	}
	pair = bench_median(pair_of, 5);
	barrier = bench_median(barrier_of, 5);
	close_cycle(&outer, outer_comm, NULL);
	bench_report(b, "session_kept_init_finalize", pair * 1e6, "us");
	bench_report(b, "session_barrier", barrier * 1e6, "us");
}

/* Obtains the rank and the number of ranks without the World Model: from a
 * communicator of the first session. */
static void run_first(struct bench *b)
{
	double cycle[1][N_STEPS];
	MPI_Session session;
	MPI_Comm comm = open_cycle(&session, cycle[0]);

	MPI_Comm_rank(comm, &b->rank);
	MPI_Comm_size(comm, &b->n_ranks);
	bench_settle(b);
	close_cycle(&session, comm, cycle[0]);
	report_cycles(b, "first", cycle, 1);
}

int bench_session(struct bench *b)
{
	double(*cycles)[N_STEPS] = calloc(N_KEPT, sizeof(*cycles));

	b->t_call = calloc(N_KEPT, sizeof(*b->t_call));
	if (!cycles || !b->t_call) {
		fputs("bench: out of memory\n", stderr);
		exit(1);
	}
	run_first(b);
	if (b->cold)
		run_cycles(b, "cold", cycles, N_COLD);
	run_kept(b, cycles);
	free(b->t_call);
	free(cycles);
	return 0;
}

#else

int bench_session(struct bench *b)
{
	int rank;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	b->rank = rank;
	if (rank == 0)
		puts("# session: this MPI has no sessions");
	MPI_Finalize();
	return 0;
}

#endif
