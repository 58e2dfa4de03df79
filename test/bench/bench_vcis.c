/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_vcis: the message rate of threads that share no objects, each with a
 * session and a communicator of its own. "shared": the sessions use the shared
 * VCI; "dedicated": each has a VCI (info key weft_vci, which another MPI
 * ignores). "spread": one communicator for all threads, different tags, and the
 * assertion that lets an MPI separate them (WEFT_COMM_VCIS, MPICH's
 * MPIR_CVAR_CH4_NUM_VCIS). Each process sends 8 B messages to the next one,
 * with one process to itself. "waits": number of times that a thread waited for
 * a lock, per million messages, if the MPI reports it.
 */
#include "bench.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4

enum { MAX_THREADS = 2, WARM_ROUNDS = 200 };

/* Least duration of a run in seconds. The kernel starts all threads on one
 * core, which they would share for much of a shorter run. */
static const double LEAST_S = 0.1;

struct vci {
	pthread_t thread;
	pthread_barrier_t *gate;
	const char *kind;
	MPI_Comm spread; /* the communicator of all threads, or MPI_COMM_NULL */
	int number;	 /* number of the thread, also its tag */
	double seconds;	 /* duration of a run */
	double rate;	 /* messages per second */
	double waits;	 /* waits for locks per message; < 0: unknown */
};

static MPI_Session open_session(const char *kind)
{
	MPI_Session session;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
	MPI_Info_set(info, "weft_vci", kind);
	bench_check(MPI_Session_init(info, MPI_ERRORS_RETURN, &session),
		"MPI_Session_init");
	MPI_Info_free(&info);
	return session;
}

/* Sends one window of messages to the next process, and receives one. */
static void window(MPI_Comm comm, int tag, int rank, int size)
{
	char out[8] = { 0 }, in[BENCH_WINDOW][8];
	MPI_Request reqs[2 * BENCH_WINDOW];

	for (int i = 0; i < BENCH_WINDOW; i++) {
		MPI_Irecv(in[i], 8, MPI_BYTE, (rank + size - 1) % size, tag,
			comm, &reqs[i]);
		MPI_Isend(out, 8, MPI_BYTE, (rank + 1) % size, tag, comm,
			&reqs[BENCH_WINDOW + i]);
	}
	MPI_Waitall(2 * BENCH_WINDOW, reqs, MPI_STATUSES_IGNORE);
}

/* Returns how often threads have waited for locks; -1 if the MPI does not
 * report it. */
static double waits_of(MPI_Session session)
{
	char text[32] = "";
	int len = sizeof(text), flag = 0;
	MPI_Info info;

	MPI_Session_get_info(session, &info);
	MPI_Info_get_string(info, "weft_contended", &len, text, &flag);
	MPI_Info_free(&info);
	return flag ? atof(text) : -1;
}

/* All processes stop after the same number of rounds, which rank 0 decides. */
static long run_rounds(struct vci *l, MPI_Comm comm, int rank, int size)
{
	double start = bench_now();
	int go = 1;
	long n = 0;

	while (go) {
		for (int i = 0; i < 64; i++)
			window(comm, l->number, rank, size);
		n += 64;
		go = bench_now() - start < l->seconds;
		for (int i = 1; rank == 0 && i < size; i++)
			MPI_Send(&go, 1, MPI_INT, i, l->number, comm);
		if (rank)
			MPI_Recv(&go, 1, MPI_INT, 0, l->number, comm,
				MPI_STATUS_IGNORE);
	}
	l->rate = (double)n * BENCH_WINDOW / (bench_now() - start);
	return n * BENCH_WINDOW;
}

static MPI_Comm vcis_comm(MPI_Session session, int number, MPI_Info info)
{
	MPI_Group group;
	MPI_Comm comm;
	char tag[32];

	snprintf(tag, sizeof(tag), "VCI %d", number);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	bench_check(MPI_Comm_create_from_group(
			    group, tag, info, MPI_ERRORS_RETURN, &comm),
		"MPI_Comm_create_from_group");
	MPI_Group_free(&group);
	return comm;
}

/* Creates a communicator whose messages use several VCIs, by their tags. */
static MPI_Comm spread_comm(MPI_Session session)
{
	MPI_Comm comm;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
	MPI_Info_set(info, "mpi_assert_no_any_source", "true");
	comm = vcis_comm(session, -1, info);
	MPI_Info_free(&info);
	return comm;
}

static void *body(void *arg)
{
	struct vci *l = arg;
	bool is_spread = l->spread != MPI_COMM_NULL;
	MPI_Session session = open_session(is_spread ? "shared" : l->kind);
	MPI_Comm comm = is_spread
				? l->spread
				: vcis_comm(session, l->number, MPI_INFO_NULL);
	int rank, size;
	double before;
	long n;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int i = 0; i < WARM_ROUNDS; i++)
		window(comm, l->number, rank, size);
	pthread_barrier_wait(l->gate);
	before = waits_of(session);
	n = run_rounds(l, comm, rank, size);
	l->waits = before < 0 ? -1 : (waits_of(session) - before) / (double)n;
	pthread_barrier_wait(l->gate);
	if (!is_spread)
		MPI_Comm_disconnect(&comm);
	MPI_Session_finalize(&session);
	return NULL;
}

/* One repetition; messages per second of all threads together. */
static double run(struct bench *b, MPI_Comm spread, int n, const char *kind,
	double *waits_out)
{
	struct vci vcis[MAX_THREADS];
	pthread_barrier_t gate;
	double rate = 0;

	*waits_out = 0;
	pthread_barrier_init(&gate, NULL, (unsigned)n);
	for (int i = 0; i < n; i++) {
		vcis[i] = (struct vci){ .gate = &gate,
			.kind = kind,
			.spread = spread,
			.number = i,
			.seconds = b->rep_s > LEAST_S ? b->rep_s : LEAST_S };
		pthread_create(&vcis[i].thread, NULL, body, &vcis[i]);
	}
	for (int i = 0; i < n; i++) {
		pthread_join(vcis[i].thread, NULL);
		rate += vcis[i].rate;
		*waits_out += vcis[i].waits;
	}
	pthread_barrier_destroy(&gate);
	return rate;
}

static void measure(struct bench *b, MPI_Comm spread, int n, const char *kind)
{
	double rates[BENCH_MAX_REPS], waits[BENCH_MAX_REPS];
	char name[48];

	for (int i = 0; i < b->n_reps; i++) {
		bench_progress(b, "%d threads, %s, %d of %d ...", n, kind,
			i + 1, b->n_reps);
		rates[i] = run(b, spread, n, kind, &waits[i]);
	}
	snprintf(name, sizeof(name), "threads_%d_%s", n, kind);
	bench_report(b, name, bench_median(rates, b->n_reps) / 1e6, "M/s");
	snprintf(name, sizeof(name), "waits_%d_%s", n, kind);
	if (waits[0] >= 0)
		bench_report(
			b, name, bench_median(waits, b->n_reps) * 1e6, "per M");
}

int bench_vcis(struct bench *b)
{
	/* open during all runs, so that they do not measure the first opening
	 */
	MPI_Session session = open_session("shared");
	MPI_Comm spread = spread_comm(session);

	MPI_Comm_rank(spread, &b->rank);
	for (int n = 1; n <= MAX_THREADS; n++) {
		measure(b, MPI_COMM_NULL, n, "shared");
		measure(b, MPI_COMM_NULL, n, "dedicated");
		measure(b, spread, n, "spread");
	}
	MPI_Comm_disconnect(&spread);
	MPI_Session_finalize(&session);
	return 0;
}

#else

int bench_vcis(struct bench *b)
{
	if (b->rank == 0)
		printf("# VCIs: skipped, this MPI has no sessions\n");
	return 0;
}

#endif
