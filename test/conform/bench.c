/* SPDX-License-Identifier: BSD-3-Clause */
/* bench: latency and bandwidth of one provider */
#include "test/conform/conform.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static double median(double *v, int n)
{
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && v[j - 1] > v[j]; j--) {
			double t = v[j];

			v[j] = v[j - 1];
			v[j - 1] = t;
		}
	return v[n / 2];
}

static void one_untagged(struct side *s, unsigned char *buf, size_t len)
{
	struct wait_op w;

	if (len <= s->net->plan.inject_len) {
		send_inject(s, buf, len);
		return;
	}
	post_send(s, buf, len, 0, &w);
	op_wait(s, &w, "bench send");
}

static double ping_untagged(
	struct side *s, unsigned char *buf, size_t len, int n)
{
	uint64_t start = weft_now_ns();

	for (int i = 0; i < n; i++) {
		if (s->rank == 0)
			one_untagged(s, buf, len);
		s->n_pings++; /* before the loop: the next message may already
			       * have arrived */
		while (s->n_got < s->n_pings)
			weft_net_poll(s->net);
		if (s->rank == 1)
			one_untagged(s, buf, len);
	}
	return (double)(weft_now_ns() - start) / n / 2000;
}

static double ping_tagged(struct side *s, unsigned char *buf, size_t len, int n)
{
	uint64_t start = weft_now_ns();
	struct wait_op tx;
	struct wait_op rx;

	for (int i = 0; i < n; i++) {
		post_trecv(s, buf, len, 7, &rx);
		if (s->rank == 0)
			post_tsend(s, buf, len, 7, &tx);
		op_wait(s, &rx, "bench tagged");
		if (s->rank == 1)
			post_tsend(s, buf, len, 7, &tx);
		op_wait(s, &tx, "bench tagged send");
	}
	return (double)(weft_now_ns() - start) / n / 2000;
}

static double bandwidth(struct side *s, unsigned char *buf, size_t len)
{
	enum { WINDOW = 16, ROUNDS = 6 };
	uint64_t start = weft_now_ns();
	struct wait_op w[WINDOW];

	for (int r = 0; r < ROUNDS; r++) {
		for (uint64_t i = 0; i < WINDOW; i++)
			if (s->rank == 0)
				post_tsend(s, buf, len, i, &w[i]);
			else
				post_trecv(s, buf, len, i, &w[i]);
		for (int i = 0; i < WINDOW; i++)
			op_wait(s, &w[i], "bandwidth");
	}
	sync_sides(s);
	return (double)len * WINDOW * ROUNDS / (double)(weft_now_ns() - start) *
	       1000;
}

/* Binds each side to a core, so that the scheduler does not affect the
 * result. */
static void pin(const struct side *s)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)s->rank, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		printf("# not pinned\n");
}

void bench(struct side *s)
{
	static const size_t sizes[] = { 8, 64, 256, 1024, 4096, 8192, 16384,
		32768, 65536 };
	unsigned char *buf = calloc(1, BIG);
	double v[9];

	pin(s);
	expect(s, SIZE_MAX);
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		size_t len = sizes[k];
		int n = len > 16384 ? 60 : 300;
		double u = -1;

		ping_tagged(s, buf, len, 50);
		for (int r = 0; r < 9; r++)
			v[r] = ping_tagged(s, buf, len, n);
		sync_sides(s);
		if (len <= s->net->plan.recv_len) {
			double x[9];

			for (int r = 0; r < 9; r++)
				x[r] = ping_untagged(s, buf, len, n);
			u = median(x, 9);
		}
		if (s->rank == 0)
			printf("# %6zu B half round trip us: untagged %.2f "
			       "tagged %.2f\n",
				len, u, median(v, 9));
		sync_sides(s);
	}
	for (int r = 0; r < 5; r++)
		v[r] = bandwidth(s, buf, 1 << 20);
	if (s->rank == 0)
		printf("# 1 MiB tagged MB/s %.0f; idle poll %u ns\n",
			median(v, 5), s->net->plan.poll_ns);
	free(buf);
}
