/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_copy: one memcpy by one process, the limit of every copy */
#include "bench.h"

#include <string.h>

static const size_t copy_lens[] = { 8, 64, 1024, 8192, 65536, 1 << 20,
	4 << 20 };

static double run_copy(struct bench *b, size_t len, long n_iters)
{
	double start = bench_now();

	for (long i = 0; i < n_iters && b->rank == 0; i++) {
		memcpy(b->recv_buf, b->send_buf, len);
		/* keeps the compiler from removing repeated copies */
		__asm__ volatile("" : : "r"(b->recv_buf) : "memory");
	}
	return bench_now() - start;
}

int bench_copy(struct bench *b)
{
	size_t lens[BENCH_MAX_LENS];
	int n = bench_lens(b, copy_lens,
		(int)(sizeof(copy_lens) / sizeof(copy_lens[0])), lens);

	for (int i = 0; i < n; i++) {
		double s;

		bench_progress(b, "copy %zu ...", lens[i]);
		s = bench_measure(b, run_copy, lens[i]);
		bench_report_len(b, "copy", lens[i],
			s > 0 ? (double)lens[i] / s / 1e6 : 0, "MB/s");
	}
	return 0;
}
