/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_pt2pt: messages between ranks 0 and 1; the other ranks only take part
 * in the barriers. Rank 0 measures all times.
 */
#include "bench.h"

#include <string.h>

enum {
	TAG_DATA = 1,
	TAG_ACK = 2,
	TAG_DECOY = 100,
	N_DECOYS = 512,
};

static const size_t latency_lens[] = { 8, 64, 1024, 8192, 65536, 1 << 20,
	4 << 20 };
static const size_t bandwidth_lens[] = { 1024, 8192, 65536, 1 << 20, 4 << 20 };

#define N_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

static void bounce(struct bench *b, size_t len, long n_iters, int source)
{
	int n = (int)len, peer = 1 - b->rank;

	for (long i = 0; i < n_iters; i++) {
		if (b->rank == 0)
			MPI_Send(b->send_buf, n, MPI_BYTE, peer, TAG_DATA,
				MPI_COMM_WORLD);
		MPI_Recv(b->recv_buf, n, MPI_BYTE, source, TAG_DATA,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (b->rank == 1)
			MPI_Send(b->send_buf, n, MPI_BYTE, peer, TAG_DATA,
				MPI_COMM_WORLD);
	}
}

/* Half round trips: one iteration counts as half of the time measured. */
double bench_run_pingpong(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	if (b->rank < 2)
		bounce(b, len, n_iters, 1 - b->rank);
	return (bench_now() - start) / 2;
}

static double run_any_source(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	if (b->rank < 2)
		bounce(b, len, n_iters, MPI_ANY_SOURCE);
	return (bench_now() - start) / 2;
}

/* Ping-pong behind a queue of posted receives that match none of its messages.
 */
static double run_posted(struct bench *b, size_t len, long n_iters)
{
	MPI_Request decoys[N_DECOYS];
	char sink[N_DECOYS];
	int peer = 1 - b->rank;
	double start, seconds = 0;

	if (b->rank < 2) {
		for (int i = 0; i < N_DECOYS; i++)
			MPI_Irecv(&sink[i], 1, MPI_BYTE, peer, TAG_DECOY + i,
				MPI_COMM_WORLD, &decoys[i]);
		start = bench_now();
		bounce(b, len, n_iters, peer);
		seconds = (bench_now() - start) / 2;
		for (int i = 0; i < N_DECOYS; i++)
			MPI_Send(b->send_buf, 1, MPI_BYTE, peer, TAG_DECOY + i,
				MPI_COMM_WORLD);
		MPI_Waitall(N_DECOYS, decoys, MPI_STATUSES_IGNORE);
	}
	return seconds;
}

static void post_window(
	struct bench *b, bool sends, int n, MPI_Request *requests)
{
	int peer = 1 - b->rank;

	for (int k = 0; k < BENCH_WINDOW; k++) {
		if (sends)
			MPI_Isend(b->send_buf, n, MPI_BYTE, peer, TAG_DATA,
				MPI_COMM_WORLD, &requests[k]);
		else
			MPI_Irecv(b->recv_buf, n, MPI_BYTE, peer, TAG_DATA,
				MPI_COMM_WORLD, &requests[k]);
	}
}

/* Receives windows of messages that have already arrived. */
static double run_unexpected(struct bench *b, size_t len, long n_iters)
{
	MPI_Request requests[BENCH_WINDOW];
	double start, seconds = 0;
	int n = (int)len;

	for (long i = 0; i < n_iters && b->rank < 2; i++) {
		if (b->rank == 1) {
			post_window(b, true, n, requests);
			MPI_Send(b->send_buf, 0, MPI_BYTE, 0, TAG_ACK,
				MPI_COMM_WORLD);
			MPI_Waitall(
				BENCH_WINDOW, requests, MPI_STATUSES_IGNORE);
			MPI_Recv(b->recv_buf, 0, MPI_BYTE, 0, TAG_ACK,
				MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			continue;
		}
		MPI_Recv(b->recv_buf, 0, MPI_BYTE, 1, TAG_ACK, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
		start = bench_now();
		for (int k = 0; k < BENCH_WINDOW; k++)
			MPI_Recv(b->recv_buf, n, MPI_BYTE, 1, TAG_DATA,
				MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		seconds += bench_now() - start;
		MPI_Send(b->send_buf, 0, MPI_BYTE, 1, TAG_ACK, MPI_COMM_WORLD);
	}
	return seconds;
}

/* Windows of messages from rank 0 to rank 1, each window acknowledged. */
double bench_run_stream(struct bench *b, size_t len, long n_iters)
{
	MPI_Request requests[BENCH_WINDOW];
	double start = bench_now();

	for (long i = 0; i < n_iters && b->rank < 2; i++) {
		post_window(b, b->rank == 0, (int)len, requests);
		MPI_Waitall(BENCH_WINDOW, requests, MPI_STATUSES_IGNORE);
		if (b->rank == 0)
			MPI_Recv(b->recv_buf, 0, MPI_BYTE, 1, TAG_ACK,
				MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		else
			MPI_Send(b->send_buf, 0, MPI_BYTE, 0, TAG_ACK,
				MPI_COMM_WORLD);
	}
	return bench_now() - start;
}

/* Sends a window of messages in each direction at the same time. */
double bench_run_bidir(struct bench *b, size_t len, long n_iters)
{
	MPI_Request requests[2 * BENCH_WINDOW];
	double start = bench_now();

	for (long i = 0; i < n_iters && b->rank < 2; i++) {
		post_window(b, false, (int)len, requests);
		post_window(b, true, (int)len, requests + BENCH_WINDOW);
		MPI_Waitall(2 * BENCH_WINDOW, requests, MPI_STATUSES_IGNORE);
	}
	return bench_now() - start;
}

static void run_lens(struct bench *b, const char *name, bench_run_fn run,
	const size_t *defaults, int n_defaults, double messages)
{
	size_t lens[BENCH_MAX_LENS];
	int n = bench_lens(b, defaults, n_defaults, lens);

	for (int i = 0; i < n; i++) {
		double s;

		bench_progress(b, "%s %zu ...", name, lens[i]);
		s = bench_measure(b, run, lens[i]);
		if (messages > 0)
			bench_report_len(b, name, lens[i],
				s > 0 ? messages * (double)lens[i] / s / 1e6
				      : 0,
				"MB/s");
		else
			bench_report_len(b, name, lens[i], s * 1e6, "us");
	}
}

int bench_latency(struct bench *b)
{
	run_lens(b, "latency", bench_run_pingpong, latency_lens,
		N_OF(latency_lens), 0);
	return 0;
}

int bench_any_source(struct bench *b)
{
	run_lens(b, "any_source", run_any_source, latency_lens, 1, 0);
	return 0;
}

int bench_posted(struct bench *b)
{
	run_lens(b, "posted_512", run_posted, latency_lens, 1, 0);
	return 0;
}

int bench_unexpected(struct bench *b)
{
	size_t lens[BENCH_MAX_LENS];
	int n = bench_lens(b, latency_lens, 1, lens);

	for (int i = 0; i < n; i++) {
		bench_progress(b, "unexpected %zu ...", lens[i]);
		bench_report_len(b, "unexpected", lens[i],
			bench_measure(b, run_unexpected, lens[i]) /
				BENCH_WINDOW * 1e6,
			"us");
	}
	return 0;
}

int bench_bandwidth(struct bench *b)
{
	run_lens(b, "bandwidth", bench_run_stream, bandwidth_lens,
		N_OF(bandwidth_lens), BENCH_WINDOW);
	return 0;
}

int bench_bidirectional(struct bench *b)
{
	run_lens(b, "bidirectional", bench_run_bidir, bandwidth_lens,
		N_OF(bandwidth_lens), 2 * BENCH_WINDOW);
	return 0;
}

int bench_rate(struct bench *b)
{
	double s;

	bench_progress(b, "message rate ...");
	s = bench_measure(b, bench_run_stream, 8);
	bench_report(b, "rate_8", s > 0 ? BENCH_WINDOW / s / 1e6 : 0, "M/s");
	return 0;
}

int bench_pt2pt(struct bench *b)
{
	bench_latency(b);
	bench_any_source(b);
	bench_posted(b);
	bench_unexpected(b);
	bench_bandwidth(b);
	bench_bidirectional(b);
	return bench_rate(b);
}
