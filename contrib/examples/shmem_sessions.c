/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_sessions: hints about the use of a context
 *
 * Each PE counts numbers into a table that all PEs share: many atomic adds
 * without a result, in a session that says so. Then each PE sends a row of
 * numbers to its neighbour by small puts, in another session.
 *
 *	oshcc -o shmem_sessions shmem_sessions.c
 *	oshrun -n 4 ./shmem_sessions
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

enum {
	CELLS = 64, /* of the table, on each PE */
	ADDS = 10000,
	ROW = 1000,
};

static long table[CELLS], row[ROW]; /* symmetric */

/* All PEs add to all cells of the table, in an order of their own. */
static void count_numbers(int me, int n_pes)
{
	unsigned number = (unsigned)me + 1;

	shmemx_session_start(
		SHMEM_CTX_DEFAULT, SHMEM_SESSION_OP_AMO | SHMEM_SESSION_BUNDLE |
					   SHMEM_SESSION_UNIFORM_AMO);
	for (int i = 0; i < ADDS; i++) {
		number = number * 1664525u + 1013904223u;
		shmem_long_atomic_inc(&table[(number >> 8) % CELLS],
			(int)(number >> 16) % n_pes);
	}
	shmem_quiet(); /* the stop completes nothing */
	shmemx_session_stop(SHMEM_CTX_DEFAULT);
}

/* The neighbour's row becomes me, me + 1, and so on. */
static void send_row(int me, int n_pes)
{
	int to = (me + 1) % n_pes;
	shmem_ctx_t ctx;

	if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx))
		shmem_global_exit(1);
	shmemx_session_start(ctx, SHMEM_SESSION_OP_PUT | SHMEM_SESSION_BUNDLE);
	for (int i = 0; i < ROW; i++)
		shmem_ctx_long_p(ctx, &row[i], me + i, to);
	shmem_ctx_quiet(ctx);
	shmemx_session_stop(ctx);
	shmem_ctx_destroy(ctx);
}

int main(void)
{
	static long mine, sum;
	int me, n_pes, from, wrong = 0;

	shmem_init();
	me = shmem_my_pe();
	n_pes = shmem_n_pes();
	count_numbers(me, n_pes);
	send_row(me, n_pes);
	shmem_barrier_all();

	for (int i = 0; i < CELLS; i++)
		mine += table[i];
	shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
	from = (me + n_pes - 1) % n_pes;
	for (int i = 0; i < ROW; i++)
		wrong += row[i] != from + i;
	if (me == 0)
		printf("%d PEs counted %ld numbers\n", n_pes, sum);
	printf("PE %d received a row of PE %d, %d numbers wrong\n", me, from,
		wrong);
	shmem_finalize();
	return wrong || sum != (long)n_pes * ADDS;
}
