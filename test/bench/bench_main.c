/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_main: options and the table of workloads.
 *
 *	mpiexec -n 2 bench [options] workload...
 *
 * Any MPI compiles it: mpicc -O2 -o bench bench_*.c
 */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct bench_cmd cmds[] = {
	{ "table", "latency, bandwidth and message rate by size", true, 2,
		bench_table },
	{ "latency", "ping-pong, half round trip", true, 2, bench_latency },
	{ "any_source", "ping-pong into MPI_ANY_SOURCE", true, 2,
		bench_any_source },
	{ "posted", "ping-pong below 512 posted receives", true, 2,
		bench_posted },
	{ "unexpected", "receiving what has arrived already", true, 2,
		bench_unexpected },
	{ "bandwidth", "windows of 64 one way", true, 2, bench_bandwidth },
	{ "bidirectional", "windows of 64 both ways", true, 2,
		bench_bidirectional },
	{ "copy", "memcpy by one process, the limit of a copy", true, 1,
		bench_copy },
	{ "rate", "8 B messages per second", true, 2, bench_rate },
	{ "pt2pt", "all of the above but table and copy", true, 2,
		bench_pt2pt },
	{ "barrier", "MPI_Barrier", true, 1, bench_barrier },
	{ "allreduce", "MPI_Allreduce of doubles", true, 1, bench_allreduce },
	{ "bcast", "MPI_Bcast", true, 1, bench_bcast },
	{ "reduce", "MPI_Reduce of doubles", true, 1, bench_reduce },
	{ "alltoall", "MPI_Alltoall, size per peer", true, 1, bench_alltoall },
	{ "allgather", "MPI_Allgather, size per rank", true, 1,
		bench_allgather },
	{ "gather", "MPI_Gather, size per rank", true, 1, bench_gather },
	{ "scatter", "MPI_Scatter, size per rank", true, 1, bench_scatter },
	{ "reduce_scatter", "MPI_Reduce_scatter_block of doubles, size of all",
		true, 1, bench_reduce_scatter },
	{ "scan", "MPI_Scan of doubles", true, 1, bench_scan },
	{ "coll", "all collectives", true, 1, bench_coll },
	{ "agree", "MPIX_Comm_agree", true, 1, bench_agree },
	{ "shrink", "MPIX_Comm_shrink", true, 1, bench_shrink },
	{ "rma_latency", "one access to a window, and its flush", true, 2,
		bench_rma_latency },
	{ "rma_swap", "compare and swap", true, 2, bench_rma_swap },
	{ "rma_rate", "8 B accesses per second, 64 to a flush", true, 2,
		bench_rma_rate },
	{ "rma_bandwidth", "the same with long ones", true, 2,
		bench_rma_bandwidth },
	{ "rma_strided", "doubles with gaps at both ends", true, 2,
		bench_rma_strided },
	{ "rma_epochs", "put in fence, post/start, lock", true, 2,
		bench_rma_epochs },
	{ "rma_all", "all ranks access windows at once", true, 2,
		bench_rma_all },
	{ "rma_create", "windows made and freed", true, 2, bench_rma_create },
	{ "rma_busy", "put to a target that computes", true, 2,
		bench_rma_busy },
	{ "rma", "all on windows", true, 2, bench_rma },
	{ "session", "session cycles: first, cold, kept", false, 1,
		bench_session },
	{ "VCIs",
		"threads on sessions, or one communicator, that share a VCI or "
		"not",
		false, 1, bench_vcis },
	{ "startup", "MPI_Init, MPI_Finalize, memory", false, 1,
		bench_startup },
};

#define N_CMDS (sizeof(cmds) / sizeof(cmds[0]))

static void usage(FILE *f)
{
	fputs("usage: bench [options] workload...\n"
	      "  -r, --reps N       repetitions, their median is shown (5)\n"
	      "  -t, --time MS      length of one repetition (20)\n"
	      "  -s, --sizes A,B,.. message sizes in bytes\n"
	      "  -p, --pin          one process per core, by rank\n"
	      "      --multiple     with MPI_THREAD_MULTIPLE\n"
	      "      --rt           real-time priority while measuring\n"
	      "      --live, --plain  redraw the current line, or never\n"
	      "      --no-cold      session: leave the cold cycles out\n"
	      "workloads (session, VCIs and startup only alone):\n",
		f);
	for (size_t i = 0; i < N_CMDS; i++)
		fprintf(f, "  %-15s %s\n", cmds[i].name, cmds[i].what);
}

/* Parses a whole number from low to high. Ends the program with a message if
 * the text has no such number. */
static long parse_number(
	const char *text, const char *what, long low, long high, char **end_out)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (end == text || errno || v < low || v > high ||
		(*end && !(end_out && *end == ','))) {
		fprintf(stderr, "bench: %s '%s' is not between %ld and %ld\n",
			what, text, low, high);
		exit(2);
	}
	if (end_out)
		*end_out = end;
	return v;
}

static void parse_sizes(struct bench *b, char *text)
{
	for (;;) {
		if (b->n_lens == BENCH_MAX_LENS) {
			fprintf(stderr, "bench: more than %d sizes\n",
				BENCH_MAX_LENS);
			exit(2);
		}
		b->lens[b->n_lens++] = (size_t)parse_number(
			text, "size", 0, BENCH_MAX_LEN, &text);
		if (*text++ != ',')
			return;
	}
}

static void parse_options(struct bench *b, int argc, char **argv)
{
	enum { OPT_RT = 256, OPT_MULTIPLE, OPT_LIVE, OPT_PLAIN, OPT_NO_COLD };
	static const struct option options[] = {
		{ "reps", required_argument, NULL, 'r' },
		{ "time", required_argument, NULL, 't' },
		{ "sizes", required_argument, NULL, 's' },
		{ "pin", no_argument, NULL, 'p' },
		{ "multiple", no_argument, NULL, OPT_MULTIPLE },
		{ "rt", no_argument, NULL, OPT_RT },
		{ "live", no_argument, NULL, OPT_LIVE },
		{ "plain", no_argument, NULL, OPT_PLAIN },
		{ "no-cold", no_argument, NULL, OPT_NO_COLD },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "r:t:s:ph", options, NULL)) != -1) {
		if (c == 'r')
			b->n_reps = (int)parse_number(
				optarg, "reps", 1, BENCH_MAX_REPS, NULL);
		else if (c == 't')
			b->rep_s = 1e-3 * (double)parse_number(optarg, "time",
						  1, 60000, NULL);
		else if (c == 's')
			parse_sizes(b, optarg);
		else if (c == 'p')
			b->pin = true;
		else if (c == OPT_MULTIPLE)
			b->level = MPI_THREAD_MULTIPLE;
		else if (c == OPT_RT)
			b->rt = true;
		else if (c == OPT_LIVE || c == OPT_PLAIN)
			b->live = c == OPT_LIVE;
		else if (c == OPT_NO_COLD)
			b->cold = false;
		else {
			usage(c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
}

static const struct bench_cmd *find_cmd(const char *name)
{
	for (size_t i = 0; i < N_CMDS; i++) {
		if (strcmp(cmds[i].name, name) == 0)
			return &cmds[i];
	}
	fprintf(stderr, "bench: no workload '%s'; --help lists them\n", name);
	exit(2);
}

static void allocate_buffers(struct bench *b)
{
	size_t len = (size_t)BENCH_MAX_LEN * (size_t)b->n_ranks;

	if (posix_memalign((void **)&b->send_buf, 4096, len) ||
		posix_memalign((void **)&b->recv_buf, 4096, len)) {
		fputs("bench: out of memory\n", stderr);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	memset(b->send_buf, 0, len);
	memset(b->recv_buf, 0, len);
}

static int run_cmd(struct bench *b, const struct bench_cmd *cmd)
{
	if (b->n_ranks >= cmd->min_ranks)
		return cmd->run(b);
	if (b->rank == 0)
		fprintf(stderr, "bench: %s needs %d processes, here are %d\n",
			cmd->name, cmd->min_ranks, b->n_ranks);
	return 2;
}

static int run_world(struct bench *b, int argc, char **argv)
{
	int rc = 0, provided;

	MPI_Init_thread(&argc, &argv, b->level, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &b->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &b->n_ranks);
	allocate_buffers(b);
	bench_settle(b);
	for (int i = optind; i < argc && rc == 0; i++)
		rc = run_cmd(b, find_cmd(argv[i]));
	MPI_Finalize();
	free(b->send_buf);
	free(b->recv_buf);
	return rc;
}

int main(int argc, char **argv)
{
	struct bench b = {
		.n_reps = 5,
		.rep_s = 0.02,
		.live = isatty(STDOUT_FILENO),
		.cold = true,
		.level = MPI_THREAD_SINGLE,
	};

	parse_options(&b, argc, argv);
	if (optind == argc) {
		usage(stderr);
		return 2;
	}
	for (int i = optind; i < argc; i++) {
		if (find_cmd(argv[i])->world)
			continue;
		if (argc - optind == 1)
			return find_cmd(argv[i])->run(&b);
		fprintf(stderr, "bench: %s runs only alone\n", argv[i]);
		return 2;
	}
	return run_world(&b, argc, argv);
}
