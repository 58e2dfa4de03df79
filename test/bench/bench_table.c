/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_table: the default table. One row per message size; on a terminal, each
 * cell is printed as soon as it is measured.
 */
#include "bench.h"

#include <stdio.h>
#include <unistd.h>

enum {
	N_CELLS = 4,
	BAR_CELLS = 20,
};

static const size_t table_lens[] = { 8, 64, 512, 4096, 32768, 262144, 1 << 20,
	4 << 20 };

#define N_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

static void print_size(size_t len)
{
	if (len >= 1 << 20)
		printf("%6zu MiB", len >> 20);
	else if (len >= 1024)
		printf("%6zu KiB", len >> 10);
	else
		printf("%6zu B  ", len);
}

/* Redraws one row: the n_known first cells, then dots, then a bar. */
static void draw_row(const struct bench *b, size_t len, const double *cells,
	int n_known, int n_done, int n_all)
{
	static const char *const formats[N_CELLS] = { "%13.2f", "%14.1f",
		"%14.1f", "%16.3f" };
	static const int widths[N_CELLS] = { 13, 14, 14, 16 };
	int filled = n_all ? n_done * BAR_CELLS / n_all : 0;

	if (b->rank || (!b->live && n_known < N_CELLS))
		return;
	if (b->live)
		fputs("\r\033[K", stdout);
	print_size(len);
	for (int i = 0; i < N_CELLS; i++) {
		if (i < n_known)
			printf(formats[i], cells[i]);
		else
			printf("%*s", widths[i], "...");
	}
	if (n_known == N_CELLS) {
		putchar('\n');
	} else {
		fputs("  [", stdout);
		for (int i = 0; i < BAR_CELLS; i++)
			putchar(i < filled ? '#' : '.');
		putchar(']');
	}
	fflush(stdout);
}

static void print_head(const struct bench *b)
{
	char host[64] = "?";

	if (b->rank)
		return;
	gethostname(host, sizeof(host) - 1);
	printf("two of %d processes on %s, median of %d runs each\n",
		b->n_ranks, host, b->n_reps);
	printf("%10s%13s%14s%14s%16s\n", "size", "latency", "bandwidth",
		"both ways", "message rate");
	printf("%10s%13s%14s%14s%16s\n", "", "us", "MB/s", "MB/s", "million/s");
	fflush(stdout);
}

static double per_second(double amount, double seconds)
{
	return seconds > 0 ? amount / seconds / 1e6 : 0;
}

static void run_row(struct bench *b, size_t len, int row, int n_rows)
{
	int done = row * 3, all = n_rows * 3;
	double window = (double)BENCH_WINDOW, bytes = window * (double)len;
	double cells[N_CELLS] = { 0 }, s;

	draw_row(b, len, cells, 0, done, all);
	cells[0] = bench_measure(b, bench_run_pingpong, len) * 1e6;
	draw_row(b, len, cells, 1, done + 1, all);
	s = bench_measure(b, bench_run_stream, len);
	cells[1] = per_second(bytes, s);
	cells[3] = per_second(window, s);
	draw_row(b, len, cells, 2, done + 2, all);
	cells[2] =
		per_second(2 * bytes, bench_measure(b, bench_run_bidir, len));
	draw_row(b, len, cells, N_CELLS, done + 3, all);
}

int bench_table(struct bench *b)
{
	size_t lens[BENCH_MAX_LENS];
	int n = bench_lens(b, table_lens, N_OF(table_lens), lens);

	print_head(b);
	for (int i = 0; i < n; i++)
		run_row(b, lens[i], i, n);
	return 0;
}
