/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_sweep: with every combination of session options, the data that arrives
 * is the same, and no call hangs */
#include "stest.h"

enum { CELLS = 32, COMBINATIONS = 1 << 9, EXTRA = 1 << 9 };

/* sums and bits are different words, because an addition and a xor of one word
 * could arrive in any order. */
static uint64_t cells[CELLS], sums[CELLS], bits[CELLS], box[CELLS], sig;

/* Runs one round of mixed traffic. Returns a sum over all data that arrived. */
static uint64_t round_of(shmem_ctx_t ctx)
{
	uint64_t src[CELLS], was[4], sum = 0;
	int to = stest_next();

	for (uint64_t i = 0; i < CELLS; i++) {
		src[i] = (i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)stest.me;
		cells[i] = sums[i] = bits[i] = box[i] = 0;
	}
	sig = 0;
	shmem_barrier_all();
	for (int i = 0; i < CELLS / 2; i++)
		shmem_p(ctx, &cells[i], src[i], to);
	shmem_put_nbi(ctx, &cells[CELLS / 2], &src[CELLS / 2], CELLS / 2, to);
	for (int i = 0; i < CELLS; i++) {
		shmem_atomic_add(ctx, &sums[i], src[i], to);
		shmem_ctx_uint64_atomic_xor(ctx, &bits[i], src[i], to);
	}
	shmem_ctx_fence(ctx);
	for (int i = 0; i < 4; i++)
		shmem_atomic_fetch_add_nbi(ctx, &was[i], &sums[0], 1ul, to);
	shmem_put_signal_nbi(
		ctx, box, src, CELLS, &sig, 3ul, SHMEM_SIGNAL_SET, to);
	shmem_wait_until(&sig, SHMEM_CMP_EQ, 3ul);
	for (int i = 0; i < CELLS; i++)
		sum = sum * 31 + box[i];
	shmem_ctx_quiet(ctx);
	/* the four results are 0, 1, 2 and 3 above the sum at the fence */
	sum += was[0] + was[1] + was[2] + was[3] - 4 * src[0] - 6;
	CHECK(was[0] + was[1] + was[2] + was[3] == 4 * src[0] + 6,
		"atomics after a fence fetch the values before it");
	shmem_barrier_all();
	for (int i = 0; i < CELLS; i++)
		sum = sum * 31 + cells[i] * 7 + sums[i] * 3 + bits[i];
	shmem_barrier_all();
	return sum;
}

int main(int argc, char **argv)
{
	shmem_ctx_t ctxs[2] = { SHMEM_CTX_DEFAULT };
	uint64_t plain, wrong = 0;

	(void)argc;
	stest_init(argv);
	CHECK(!shmem_ctx_create(0, &ctxs[1]), "a context is created");
	plain = round_of(SHMEM_CTX_DEFAULT);
	CHECK(plain == round_of(ctxs[1]),
		"another context has the same result");
	for (long options = 0; options < COMBINATIONS; options++) {
		shmem_ctx_t ctx = ctxs[options % 2];

		shmemx_session_start(ctx, options | (options % 3 ? 0 : EXTRA));
		wrong += round_of(ctx) != plain;
		if (options % 5)
			shmemx_session_stop(ctx);
		CHECK(!wrong, "S165: options %#lx do not change the result",
			(unsigned long)options);
		if (!(options % 5))
			shmemx_session_stop(ctx);
	}
	shmem_ctx_destroy(ctxs[1]);
	return stest_done();
}
