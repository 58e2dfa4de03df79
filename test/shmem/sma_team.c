/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_team: teams, their numbering, and contexts on them */
#include "stest.h"

static long word, words[16];

static void predefined(void)
{
	shmem_team_config_t config = { .num_contexts = -5 };
	int n_local = 0;

	CHECK(shmem_team_my_pe(SHMEM_TEAM_WORLD) == stest.me &&
			shmem_team_n_pes(SHMEM_TEAM_WORLD) == stest.n,
		"the world team has all PEs");
	CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 &&
			shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1,
		"SHMEM_TEAM_INVALID has no PEs");
	for (int pe = 0; pe < stest.n; pe++) {
		int there = shmem_team_translate_pe(
			SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED);
		void *ptr = shmem_ptr(&word, pe);

		n_local += there >= 0;
		CHECK((there >= 0) == (ptr != NULL || pe == stest.me),
			"PE %d shares memory with me: %d, %p", pe, there, ptr);
		CHECK(there < 0 || shmem_team_ptr(SHMEM_TEAM_SHARED, &word,
					   there) == ptr,
			"shmem_team_ptr is shmem_ptr of that PE");
	}
	CHECK(n_local == shmem_team_n_pes(SHMEM_TEAM_SHARED),
		"the shared team has the PEs that share memory");
	CHECK(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, &config) == 0 &&
			config.num_contexts == -5,
		"a mask of 0 requests no parameter");
	CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS,
		      &config) != 0,
		"SHMEM_TEAM_INVALID has no configuration");
	CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, &word, 0) == NULL,
		"SHMEM_TEAM_INVALID has no PEs");
}

/* Creates a team of every second PE. Checks its numbers, its configuration, and
 * accesses by numbers in the team. */
static void strided(void)
{
	shmem_team_config_t config = { .num_contexts = 2 };
	int size = (stest.n + 1) / 2;
	shmem_team_t even, back;
	shmem_ctx_t ctx;

	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, size, &config,
		      SHMEM_TEAM_NUM_CONTEXTS, &even) == 0,
		"a team of every second PE is created");
	CHECK((even != SHMEM_TEAM_INVALID) == !(stest.me & 1),
		"the right PEs are members");
	if (even != SHMEM_TEAM_INVALID) {
		int me = shmem_team_my_pe(even);

		CHECK(me == stest.me / 2 && shmem_team_n_pes(even) == size,
			"PEs have the right numbers in the team");
		CHECK(shmem_team_translate_pe(even, size - 1,
			      SHMEM_TEAM_WORLD) == 2 * (size - 1) &&
				shmem_team_translate_pe(
					SHMEM_TEAM_WORLD, 1, even) == -1 &&
				shmem_team_translate_pe(
					even, size, SHMEM_TEAM_WORLD) == -1,
			"PEs of the team are translated");
		config.num_contexts = 0;
		CHECK(!shmem_team_get_config(
			      even, SHMEM_TEAM_NUM_CONTEXTS, &config) &&
				config.num_contexts == 2,
			"the team has its configuration");
		CHECK(shmem_team_create_ctx(even, 0, &ctx) == 0,
			"a context is created");
		CHECK(shmem_ctx_get_team(ctx, &back) == 0 && back == even,
			"the context returns its team");
		shmem_ctx_long_p(ctx, &word, me + 100, (me + 1) % size);
		shmem_atomic_add(ctx, &words[me], 7L, 0);
		shmem_ctx_quiet(ctx);
		shmem_team_sync(even);
		CHECK(word == (me + size - 1) % size + 100,
			"a put by the number in the team arrives: %ld", word);
		for (int i = 0; me == 0 && i < size; i++)
			CHECK(words[i] == 7,
				"an atomic by the number in the team arrives");
		shmem_ctx_destroy(ctx);
	}
	shmem_team_destroy(even);
	shmem_barrier_all();
}

static void grid(void)
{
	shmem_team_t x, y, sub;
	int xrange = 3, row, column;

	CHECK(shmem_team_split_2d(
		      SHMEM_TEAM_WORLD, xrange, NULL, 0, &x, NULL, 0, &y) == 0,
		"a grid is created");
	row = stest.me / xrange;
	column = stest.me % xrange;
	CHECK(shmem_team_my_pe(x) == column && shmem_team_my_pe(y) == row,
		"row and column are right");
	CHECK(shmem_team_translate_pe(x, 0, SHMEM_TEAM_WORLD) == row * xrange &&
			shmem_team_translate_pe(y, 0, SHMEM_TEAM_WORLD) ==
				column,
		"rows and columns begin at the right PEs");
	CHECK(shmem_team_split_2d(
		      SHMEM_TEAM_WORLD, 100, NULL, 0, &sub, NULL, 0, &y) == 0 &&
			shmem_team_n_pes(sub) == stest.n &&
			shmem_team_n_pes(y) == 1,
		"a range larger than the team is reduced to its size");
	shmem_team_sync(sub);
	shmem_team_destroy(sub);
	CHECK(shmem_team_split_strided(x, shmem_team_n_pes(x) - 1, -1,
		      shmem_team_n_pes(x), NULL, 0, &sub) == 0 &&
			shmem_team_my_pe(sub) ==
				shmem_team_n_pes(x) - 1 - column,
		"a team of a team with a negative stride");
	shmem_team_destroy(sub);
}

static void refusals(void)
{
	shmem_team_t t = SHMEM_TEAM_WORLD, u = SHMEM_TEAM_WORLD;
	shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
	char text[512];
	int kept = stest_listen();
	int codes[3];

	codes[0] = shmem_team_split_strided(
		SHMEM_TEAM_WORLD, 0, 1, stest.n + 1, NULL, 0, &t);
	codes[1] = shmem_team_split_strided(
		SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &u);
	codes[2] = shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx);
	stest_output(kept, text, sizeof(text));
	CHECK(codes[0] && codes[1] && codes[2] && t == SHMEM_TEAM_INVALID &&
			u == SHMEM_TEAM_INVALID && ctx == SHMEM_CTX_INVALID,
		"invalid arguments return an error and create nothing");
	CHECK(strstr(text, "no team is created"), "the error is reported: %s",
		text);
	shmem_ctx_fence(SHMEM_CTX_INVALID);
	shmem_ctx_quiet(SHMEM_CTX_INVALID);
	shmem_ctx_destroy(SHMEM_CTX_INVALID);
	shmem_team_destroy(SHMEM_TEAM_INVALID);
	CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &t) != 0 &&
			shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &u) == 0 &&
			u == SHMEM_TEAM_WORLD,
		"a context returns its team");
}

int main(int argc, char **argv)
{
	shmem_ctx_t ctxs[8];

	(void)argc;
	stest_init(argv);
	predefined();
	strided();
	for (int i = 0; i < 3; i++)
		grid(); /* shmem_finalize() destroys the teams x and y */
	refusals();
	for (int i = 0; i < 8; i++) {
		CHECK(shmem_ctx_create(i, &ctxs[i]) == 0,
			"a context with the options %d is created", i);
		shmem_ctx_long_p(ctxs[i], &words[8 + i], i, stest_next());
	}
	for (int i = 0; i < 7; i++)
		shmem_ctx_destroy(ctxs[i]); /* completes its operations; one
					     * context is still open */
	shmem_ctx_quiet(ctxs[7]);
	shmem_barrier_all();
	for (int i = 0; i < 8; i++)
		CHECK(words[8 + i] == i, "a put on context %d arrives", i);
	return stest_done();
}
