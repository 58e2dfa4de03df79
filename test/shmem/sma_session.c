/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_session: a session starts, accumulates options and stops; the library
 * reports its options, and they change no result. S146 and the like are rules
 * of test/conformance/rules.tsv */
#include "stest.h"

#include <pshmem.h>

static const long options[] = { SHMEM_SESSION_BUNDLE, SHMEM_SESSION_HRP,
	SHMEM_SESSION_STAMO, SHMEM_SESSION_NO_CNCR_TACCESS,
	SHMEM_SESSION_OP_PUT, SHMEM_SESSION_OP_AMO, SHMEM_SESSION_OP_FAMO,
	SHMEM_SESSION_OP_PWS, SHMEM_SESSION_DC };
static const char *const names[] = { "BUNDLE", "HRP", "STAMO",
	"NO_CNCR_TACCESS", "OP_PUT", "OP_AMO", "OP_FAMO", "OP_PWS", "DC" };

enum { N_OPTIONS = sizeof(options) / sizeof(*options), CELLS = 64 };

static long cells[CELLS], sums[CELLS];
static uint64_t sig;

/* Checks that the data of every class of operation on ctx arrives at the right
 * place. */
static void traffic(shmem_ctx_t ctx, const char *with)
{
	static long round;
	long src[CELLS], wrong = 0, was;
	int to = stest_next(), from = stest_before();

	round++;
	for (int i = 0; i < CELLS; i++) {
		src[i] = stest.me * 1000 + i + round;
		sums[i] = 0;
	}
	sig = 0;
	shmem_barrier_all();
	for (int i = 0; i < CELLS / 2; i++)
		shmem_ctx_long_p(ctx, &cells[i], src[i], to);
	shmem_ctx_long_put_nbi(
		ctx, &cells[CELLS / 2], &src[CELLS / 2], CELLS / 4, to);
	for (int i = 0; i < CELLS; i++)
		shmem_ctx_long_atomic_add(ctx, &sums[i], i + round, to);
	shmem_ctx_long_put_signal_nbi(ctx, &cells[CELLS / 4 * 3],
		&src[CELLS / 4 * 3], CELLS / 4, &sig, 1, SHMEM_SIGNAL_ADD, to);
	shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 1);
	for (int i = CELLS / 4 * 3; i < CELLS; i++)
		wrong += cells[i] != from * 1000 + i + round;
	CHECK(!wrong, "%ld elements are wrong after a signal with %s", wrong,
		with);
	shmem_ctx_quiet(ctx);
	was = shmem_ctx_long_atomic_fetch_add(ctx, &sums[0], 5, to);
	CHECK(was == round, "a fetch returns the value before: %ld with %s",
		was, with);
	shmem_ctx_quiet(ctx);
	shmem_barrier_all();
	for (int i = 0; i < CELLS; i++) {
		wrong += cells[i] != from * 1000 + i + round;
		wrong += sums[i] != i + round + (i ? 0 : 5);
	}
	CHECK(!wrong, "S151: %ld elements are wrong with %s", wrong, with);
	shmem_barrier_all();
}

static void values(void)
{
	long all = 0;

	for (int i = 0; i < N_OPTIONS; i++) {
		CHECK(options[i] && !(options[i] & (options[i] - 1)) &&
				!(options[i] & all),
			"S149: each option has its own bit: %s", names[i]);
		all |= options[i];
	}
	CHECK(sizeof(options[0]) == sizeof(long) &&
			_Generic(&shmemx_session_start,
				void (*)(shmem_ctx_t, long) : 1, default : 0) &&
			_Generic(&shmemx_session_stop,
				void (*)(shmem_ctx_t) : 1, default : 0),
		"S146, S148, S155: the calls are as documented");
	CHECK(SHMEM_SESSION_NO_CNCR_TACCESS != SHMEM_SESSION_STAMO &&
			!(SHMEM_SESSION_UNIFORM_AMO & all),
		"options of atomics have bits of their own");
}

/* Starts one session for each option, with this option only. */
static void each(void)
{
	static const char *const claims[] = { "S156: BUNDLE", "S157: HRP",
		"S158: STAMO", "S159: NO_CNCR_TACCESS", "S160: OP_PUT",
		"S161: OP_AMO", "S162: OP_FAMO", "S163: OP_PWS", "S164: DC" };

	for (int i = 0; i < N_OPTIONS; i++) {
		long before = stest.n_failed;

		shmemx_session_start(SHMEM_CTX_DEFAULT, options[i]);
		traffic(SHMEM_CTX_DEFAULT, names[i]);
		shmemx_session_stop(SHMEM_CTX_DEFAULT);
		CHECK(stest.n_failed == before, "%s changes no result",
			claims[i]);
	}
}

static void contexts(void)
{
	static const long kinds[] = { 0, SHMEM_CTX_PRIVATE,
		SHMEM_CTX_SERIALIZED, SHMEM_CTX_NOSTORE };
	shmem_ctx_t ctx[5];

	for (int i = 0; i < 4; i++)
		CHECK(!shmem_ctx_create(kinds[i], &ctx[i]),
			"context %d is created", i);
	CHECK(!shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &ctx[4]),
		"a context of a team is created");
	for (int i = 0; i < 5; i++)
		shmemx_ctx_session_start(ctx[i], options[i] | options[8 - i]);
	for (int i = 0; i < 5; i++)
		traffic(ctx[i], "a session on each of five contexts");
	CHECK(!stest.n_failed, "S147: any kind of context has one");
	for (int i = 0; i < 5; i++) {
		if (i % 2)
			shmemx_ctx_session_stop(ctx[i]);
		shmem_ctx_destroy(ctx[i]); /* also while a session is active */
	}
}

/* Starts a session. Returns the report of the library, which SHMEM_DEBUG
 * enables. */
static const char *report_of(shmem_ctx_t ctx, long opts, char *buf, size_t len)
{
	int kept = stest_listen();

	shmemx_session_start(ctx, opts);
	return stest_output(kept, buf, len);
}

/* Returns the number of lines that report the effect of an option. */
static int n_lines(const char *text, const char *name)
{
	char word[64];
	int n = 0;

	for (int k = 0; k < 2; k++) {
		const char *at = text;

		snprintf(word, sizeof(word), "SHMEM_SESSION_%s %s: ", name,
			k ? "applied" : "ignored");
		for (; (at = strstr(at, word)) != NULL; at++)
			n++;
	}
	return n;
}

static void reports_hints(void)
{
	char buf[8192], say[64];
	const char *text;

	text = report_of(SHMEM_CTX_DEFAULT, 0, buf, sizeof(buf));
	CHECK(strstr(text, "no options"), "S150: 0 is accepted: %s", text);
	for (int i = 0; i < N_OPTIONS; i++) {
		text = report_of(
			SHMEM_CTX_DEFAULT, options[i], buf, sizeof(buf));
		for (int k = 0; k < N_OPTIONS; k++)
			CHECK(n_lines(text, names[k]) == (k <= i),
				"S152, S166: %s after %s: %s", names[k],
				names[i], text);
	}
	traffic(SHMEM_CTX_DEFAULT, "all options");
	shmemx_session_stop(SHMEM_CTX_DEFAULT);
	text = report_of(SHMEM_CTX_DEFAULT, SHMEM_SESSION_DC, buf, sizeof(buf));
	snprintf(say, sizeof(say), "SHMEM_SESSION_BUNDLE");
	CHECK(n_lines(text, "DC") == 1 && !strstr(text, say),
		"S153: a stopped session leaves no option: %s", text);
	shmemx_session_stop(SHMEM_CTX_DEFAULT);
	shmemx_session_stop(SHMEM_CTX_DEFAULT);
	traffic(SHMEM_CTX_DEFAULT, "a session stopped twice");
	CHECK(!stest.n_failed, "S153: stopping twice does no harm");
}

static void odd(void)
{
	shmem_ctx_session_config_t config = { .total_ops = 100 };
	char buf[2048];
	const char *text;

	text = report_of(SHMEM_CTX_DEFAULT, SHMEM_SESSION_DC | 1L << 40, buf,
		sizeof(buf));
	CHECK(strstr(text, "10000000000") && strstr(text, "unknown") &&
			n_lines(text, "DC") == 1,
		"S154: an unknown bit is reported, the other bits are used: %s",
		text);
	traffic(SHMEM_CTX_DEFAULT, "an unknown bit");
	shmemx_session_start(SHMEM_CTX_INVALID, SHMEM_SESSION_DC);
	shmemx_session_stop(SHMEM_CTX_INVALID);
	shmem_ctx_session_start(SHMEM_CTX_INVALID, 0, NULL, 0);
	shmem_ctx_session_stop(SHMEM_CTX_INVALID);
	shmemx_session_stop(SHMEM_CTX_DEFAULT);
	shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH,
		&config, SHMEM_CTX_SESSION_TOTAL_OPS);
	traffic(SHMEM_CTX_DEFAULT, "a standard session");
	shmem_ctx_session_start(SHMEM_CTX_DEFAULT, 0, NULL, 0);
	traffic(SHMEM_CTX_DEFAULT, "a wrong number of operations");
	shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
	shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
}

/* A PE that enters a collective call first posts its bundled operations,
 * because other PEs may wait for them before they enter the call. */
static void meets(void)
{
	static long words[51]; /* one a round, because puts are not ordered */
	shmem_ctx_t ctx;

	CHECK(!shmem_ctx_create(0, &ctx), "a context is created");
	shmemx_session_start(ctx, SHMEM_SESSION_BUNDLE);
	for (long i = 1; i <= 50; i++) {
		shmem_p(ctx, &words[i], i, stest_next());
		if (stest.me)
			shmem_wait_until(&words[i], SHMEM_CMP_EQ, i);
		shmem_sync_all();
		shmem_wait_until(&words[i], SHMEM_CMP_EQ, i);
	}
	shmem_ctx_destroy(ctx);
	shmem_barrier_all();
	for (long i = 1; i <= 50; i++)
		CHECK(words[i] == i, "word %ld arrived: %ld", i, words[i]);
}

int main(int argc, char **argv)
{
	int kept;
	char buf[16384];

	(void)argc;
	setenv("SHMEM_DEBUG", "1", 1);
	stest_init(argv);
	values();
	kept = stest_listen();
	each();
	contexts();
	meets();
	fprintf(stderr, "%s",
		stest.n_failed ? stest_output(kept, buf, sizeof(buf))
			       : (stest_output(kept, buf, 2), ""));
	reports_hints();
	odd();
	return stest_done();
}
