/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_test: the flags of each hint for each class of operation, delayed
 * operations and their release, refused posts and errors */
#include "rma/rma_priv.h"

#include "base/knob.h"
#include "transport/proc.h"
#include "test/fake/fakefab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define RATE (1ull << 60) /* flag FI_CXI_HRP */
#define ONCE (1ull << 61) /* flag FI_CXI_UNRELIABLE */
#define DC FI_DELIVERY_COMPLETE
#define COPY FI_INJECT

enum { HEAP_LEN = 4096, FAR_PE = 1 };

static struct fakefab fab;
static struct weft_boot idle_boot;
static char mine[HEAP_LEN], theirs[HEAP_LEN];
static struct weft_rma_pe pes[2];
static struct weft_rma_remote remotes[2];

/* The plan that prov_cxi.c makes. */
static const struct weft_plan cxi = {
	.name = "cxi",
	.rma_inject_len = 64,
	.rma_max_len = 1 << 20,
	.tx_len = 64,
	.cq_len = 64,
	.has_virt_addr = true,
	.has_fabric_amo = true,
	.flush_flags = FI_FENCE | DC,
	.fence_flags = FI_FENCE,
	.deliver_flags = DC,
	.batch_flags = FI_MORE,
	.rate_flags = RATE,
	.once_flags = ONCE,
};

/* The plan of a fabric without optional features. */
static const struct weft_plan plain = {
	.name = "other",
	.rma_inject_len = 64,
	.rma_max_len = 1 << 20,
	.tx_len = 64,
	.cq_len = 64,
	.has_virt_addr = true,
	.flush_flags = DC,
	.deliver_flags = DC,
};

static struct weft_rma_ctx *open_on(const struct weft_plan *plan)
{
	struct weft_rma_ctx *ctx = NULL;

	memset(&fab, 0, sizeof(fab));
	memset(mine, 0, sizeof(mine));
	memset(theirs, 0, sizeof(theirs));
	memset(remotes, 0, sizeof(remotes));
	fakefab_init(&fab);
	assert_int_equal(weft_rma_domain_open_take(fakefab_info(), &fab.fabric,
				 plan, &weft_rma_own.domain),
		0);
	for (int pe = 0; pe < 2; pe++)
		for (int span = 0; span < 2; span++)
			remotes[pe].spans[span].base =
				(uintptr_t)(pe ? theirs : mine);
	weft_rma = (struct weft_rma){
		.n_pes = 2,
		.pes = pes,
		.heap = { .base = mine, .len = HEAP_LEN },
	};
	pes[0].heap = mine;
	weft_rma_own.remotes = remotes;
	weft_rma_own.has_fabric_amo = plan->has_fabric_amo;
	weft_rma_own.has_put_order = plan->has_put_order;
	weft_list_init(&weft_rma_own.ctxs);
	assert_int_equal(weft_rma_ctx_create(0, &ctx), 0);
	weft_rma.ctx = ctx;
	return ctx;
}

static void close_it(struct weft_rma_ctx *ctx)
{
	weft_rma_ctx_destroy(ctx);
	weft_rma_domain_close(weft_rma_own.domain);
	weft_rma_own.domain = NULL;
	weft_rma.ctx = NULL;
	assert_int_equal(fab.n_live, 0);
}

static int setup(void **state)
{
	struct weft_vci *vci = &weft_proc.vci;

	(void)state;
	weft_knob_load();
	weft_knobs.unreliable = "on";
	vci->boot = &idle_boot;
	weft_list_init(&vci->pending_peers);
	weft_list_init(&vci->hooks);
	return 0;
}

static void start(struct weft_rma_ctx *ctx, unsigned hints)
{
	weft_rma_session_start(ctx, hints, SIZE_MAX, NULL, NULL);
}

static void put8(struct weft_rma_ctx *ctx, size_t at, uint64_t value)
{
	assert_int_equal(weft_rma_put(ctx, mine + at, &value, 8, FAR_PE), 0);
}

static void add8(struct weft_rma_ctx *ctx, size_t at)
{
	const struct weft_amo amo = { WEFT_AMO_ADD, 8, 1, 0 };

	assert_int_equal(weft_rma_amo(ctx, mine + at, &amo, FAR_PE), 0);
}

static uint64_t fetch8(struct weft_rma_ctx *ctx, size_t at)
{
	const struct weft_amo amo = { WEFT_AMO_ADD, 8, 1, 0 };
	uint64_t old = 0;

	assert_int_equal(
		weft_rma_amo_fetch(ctx, mine + at, &amo, &old, FAR_PE), 0);
	return old;
}

static void signal8(struct weft_rma_ctx *ctx, size_t at, size_t sig)
{
	uint64_t value = 9;

	assert_int_equal(weft_rma_put_signal(ctx, mine + at, &value, 8,
				 (uint64_t *)(void *)(mine + sig), WEFT_AMO_ADD,
				 1, FAR_PE, true),
		0);
}

static uint64_t there(size_t at)
{
	uint64_t word;

	memcpy(&word, theirs + at, 8);
	return word;
}

static void assert_posted(size_t i, const char *call, uint64_t flags)
{
	assert_true(i < fab.n_side);
	assert_string_equal(fab.side[i].call, call);
	assert_int_equal(fab.side[i].flags, flags);
}

/* The expected flags of one operation of each class, for hints without BUNDLE.
 */
struct golden {
	unsigned hints;
	uint64_t put, amo, fetch, data, signal;
};

static void check_golden(const struct golden *g)
{
	struct weft_rma_ctx *ctx = open_on(&cxi);

	start(ctx, g->hints);
	put8(ctx, 0, 5);
	add8(ctx, 8);
	fetch8(ctx, 8);
	signal8(ctx, 16, 24);
	assert_int_equal(weft_rma_quiet(ctx), 0);
	assert_posted(0, "write", g->put);
	assert_posted(1, "atomic", g->amo);
	assert_posted(2, "fetch", g->fetch);
	assert_posted(3, "write", g->data);
	assert_posted(4, "atomic", g->signal);
	assert_posted(5, "write", FI_COMPLETION | FI_FENCE | DC);
	assert_int_equal(fab.side[5].len, 0);
	assert_int_equal(fab.n_side, 6);
	assert_int_equal(there(0), 5);
	assert_int_equal(there(8), 2);
	assert_int_equal(there(16), 9);
	assert_int_equal(there(24), 1);
	weft_rma_session_stop(ctx);
	put8(ctx, 0, 6); /* the same put as before the session */
	assert_posted(6, "write", COPY);
	close_it(ctx);
}

static void each_hint_has_its_flags(void **state)
{
	static const uint64_t fc = FI_COMPLETION, sig = COPY | FI_FENCE | DC;
	static const struct golden all[] = {
		{ 0, COPY, COPY, fc, COPY | DC, sig },
		{ WEFT_RMA_HRP, COPY | RATE, COPY, fc, COPY | DC, sig },
		{ WEFT_RMA_HRP | WEFT_RMA_OP_AMO, COPY, COPY, fc, COPY | DC,
			sig },
		{ WEFT_RMA_STAMO, COPY, COPY | ONCE, fc, COPY | DC, sig },
		{ WEFT_RMA_STAMO | WEFT_RMA_OP_PUT, COPY, COPY, fc, COPY | DC,
			sig },
		{ WEFT_RMA_STAMO | WEFT_RMA_HRP, COPY | RATE,
			COPY | ONCE | RATE, fc, COPY | DC, sig },
		{ WEFT_RMA_DC, COPY | DC, COPY | DC, fc, COPY | DC, sig },
		{ WEFT_RMA_DC | WEFT_RMA_HRP, COPY | DC, COPY | DC, fc,
			COPY | DC, sig },
		{ WEFT_RMA_DC | WEFT_RMA_OP_PUT, COPY | DC, COPY, fc, COPY | DC,
			sig },
		{ WEFT_RMA_NO_CNCR_TACCESS | WEFT_RMA_UNIFORM_AMO, COPY, COPY,
			fc, COPY | DC, sig },
		{ WEFT_RMA_OP_FAMO | WEFT_RMA_HRP | WEFT_RMA_STAMO, COPY, COPY,
			fc, COPY | DC, sig },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		check_golden(&all[i]);
}

static void a_plain_fabric_gets_no_flags(void **state)
{
	struct weft_rma_ctx *ctx = open_on(&plain);

	(void)state;
	start(ctx, WEFT_RMA_HINTS & ~(unsigned)WEFT_RMA_DC);
	put8(ctx, 0, 5);
	assert_int_equal(weft_rma_quiet(ctx), 0);
	assert_posted(0, "write", COPY);
	assert_posted(1, "write", FI_COMPLETION | DC);
	assert_int_equal(fab.n_side, 2);
	close_it(ctx);
}

/* Each operation of a batch has the flag that more follows; the flush at its
 * end does not. */
static void a_batch_ends_without_more(void **state)
{
	struct weft_rma_ctx *ctx = open_on(&cxi);

	(void)state;
	start(ctx, WEFT_RMA_BUNDLE);
	for (uint64_t i = 0; i < 5; i++)
		put8(ctx, 8 * i, i + 1);
	assert_int_equal(fab.n_side, 5);
	assert_int_equal(fab.n_rung, 0);
	for (size_t i = 0; i < 5; i++)
		assert_posted(i, "write", COPY | FI_MORE);
	assert_int_equal(weft_rma_quiet(ctx), 0);
	assert_posted(5, "write", FI_COMPLETION | FI_FENCE | DC);
	assert_int_equal(fab.n_side, 6);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(there(8 * i), i + 1);
	close_it(ctx);
}

static void a_full_window_rings(void **state)
{
	struct weft_rma_ctx *ctx = open_on(&cxi);

	(void)state;
	weft_rma_session_start(ctx, WEFT_RMA_BUNDLE, 4, NULL, NULL);
	for (uint64_t i = 0; i < 9; i++)
		put8(ctx, 8 * i, i + 1);
	for (size_t i = 0; i < 8; i++)
		assert_posted(i, "write", i % 4 == 3 ? COPY : COPY | FI_MORE);
	assert_int_equal(fab.n_rung, 8);
	assert_int_equal(weft_rma_quiet(ctx), 0);
	close_it(ctx);
}

static void release_by_fence(struct weft_rma_ctx *ctx)
{
	assert_int_equal(weft_rma_fence(ctx), 0);
}

static void release_by_stop(struct weft_rma_ctx *ctx)
{
	weft_rma_session_stop(ctx);
}

static void release_by_restart(struct weft_rma_ctx *ctx)
{
	start(ctx, WEFT_RMA_OP_PUT);
}

static void release_by_wait(struct weft_rma_ctx *ctx)
{
	(void)ctx;
	weft_rma_relax(0);
}

static void release_by_call(struct weft_rma_ctx *ctx)
{
	(void)ctx;
	weft_rma_release();
}

static void release_by_get(struct weft_rma_ctx *ctx)
{
	uint64_t word;

	assert_int_equal(weft_rma_get(ctx, &word, mine + 512, 8, FAR_PE), 0);
}

static void release_by_fetch(struct weft_rma_ctx *ctx)
{
	fetch8(ctx, 512);
}

static void release_by_large_put(struct weft_rma_ctx *ctx)
{
	char data[200] = { 0 };

	assert_int_equal(
		weft_rma_put_nbi(ctx, mine + 512, data, 200, FAR_PE), 0);
}

/* The data is put by a blocking and by a non-blocking put. */
static void read_only_data_is_put_as_a_copy(void **state)
{
	struct weft_rma_ctx *ctx = open_on(&cxi);
	char data[200];

	(void)state;
	memset(data, 'c', sizeof(data));
	fab.readonly = data;
	for (int is_nbi = 0; is_nbi < 2; is_nbi++) {
		memset(theirs + 512, 0, sizeof(data));
		assert_int_equal(is_nbi ? weft_rma_put_nbi(ctx, mine + 512,
						  data, sizeof(data), FAR_PE)
					: weft_rma_put(ctx, mine + 512, data,
						  sizeof(data), FAR_PE),
			0);
		assert_int_equal(weft_rma_quiet(ctx), 0);
		assert_memory_equal(theirs + 512, data, sizeof(data));
	}
	fab.readonly = NULL;
	close_it(ctx);
}

static void release_by_quiet_pe(struct weft_rma_ctx *ctx)
{
	assert_int_equal(weft_rma_quiet_pe(ctx, FAR_PE), 0);
}

/* Posts an operation of a class that the session does not include. */
static void release_by_other_class(struct weft_rma_ctx *ctx)
{
	add8(ctx, 512);
	assert_int_equal(fab.n_rung, 4);
}

static void everything_that_waits_releases(void **state)
{
	static void (*const ways[])(struct weft_rma_ctx *
				    ctx) = { release_by_fence, release_by_stop,
		release_by_restart, release_by_wait, release_by_call,
		release_by_get, release_by_fetch, release_by_large_put,
		release_by_quiet_pe, release_by_other_class };

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct weft_rma_ctx *ctx = open_on(&cxi);

		start(ctx, WEFT_RMA_BUNDLE | WEFT_RMA_OP_PUT);
		for (uint64_t k = 0; k < 3; k++)
			put8(ctx, 8 * k, k + 1);
		assert_int_equal(fab.n_rung, 0);
		ways[i](ctx);
		assert_true(fab.n_rung >= 3);
		for (uint64_t k = 0; k < 3; k++)
			assert_int_equal(there(8 * k), k + 1);
		close_it(ctx);
	}
}

/* In this test, PE OTHER is on another node, too. */
static void quiet_pe_flushes_that_pe_only(void **state)
{
	struct weft_rma_ctx *ctx = open_on(&cxi);
	enum { OTHER = 0 };
	uint64_t word = 3;

	(void)state;
	pes[OTHER].heap = NULL;
	assert_int_equal(weft_rma_put(ctx, mine + 2048, &word, 8, OTHER), 0);
	put8(ctx, 0, 5);
	assert_int_equal(fab.n_side, 2);
	assert_int_equal(weft_rma_quiet_pe(ctx, FAR_PE), 0);
	assert_posted(2, "write", FI_COMPLETION | FI_FENCE | DC);
	assert_int_equal(fab.n_side, 3);
	assert_int_equal(weft_rma_quiet_pe(ctx, FAR_PE), 0);
	assert_int_equal(fab.n_side, 3);
	assert_int_equal(weft_rma_quiet(ctx), 0);
	assert_posted(3, "write", FI_COMPLETION | FI_FENCE | DC);
	assert_int_equal(fab.n_side, 4);
	put8(ctx, 0, 6); /* FAR_PE must be flushed again */
	assert_int_equal(weft_rma_quiet_pe(ctx, FAR_PE), 0);
	assert_int_equal(fab.n_side, 6);
	close_it(ctx);
	pes[OTHER].heap = mine;
}

static void destroying_a_context_releases(void **state)
{
	struct weft_rma_ctx *ctx = open_on(&cxi);

	(void)state;
	start(ctx, WEFT_RMA_BUNDLE);
	put8(ctx, 0, 77);
	put8(ctx, 8, 78);
	close_it(ctx);
	assert_int_equal(there(0), 77);
	assert_int_equal(there(8), 78);
}

static void pairs_stay_pairs_in_a_batch(void **state)
{
	struct weft_rma_ctx *ctx = open_on(&cxi);
	const uint64_t signal = COPY | FI_FENCE | DC;

	(void)state;
	start(ctx, WEFT_RMA_BUNDLE | WEFT_RMA_OP_PWS);
	signal8(ctx, 0, 64);
	signal8(ctx, 8, 64);
	assert_int_equal(fab.n_rung, 0);
	assert_int_equal(weft_rma_quiet(ctx), 0);
	assert_posted(0, "write", COPY | DC | FI_MORE);
	assert_posted(1, "atomic", signal | FI_MORE);
	assert_posted(2, "write", COPY | DC | FI_MORE);
	assert_posted(3, "atomic", signal | FI_MORE);
	assert_posted(4, "write", FI_COMPLETION | FI_FENCE | DC);
	assert_int_equal(there(64), 2);
	close_it(ctx);
}

/* The first operation to a PE after a fence has the fence flag. The library
 * posts a flush before it, which makes the earlier operations visible. */
static void a_fence_marks_the_next_operation(void **state)
{
	struct weft_rma_ctx *ctx = open_on(&cxi);

	(void)state;
	put8(ctx, 0, 1);
	assert_int_equal(weft_rma_fence(ctx), 0);
	assert_int_equal(fab.n_side, 1);
	put8(ctx, 8, 2);
	put8(ctx, 16, 3);
	assert_posted(1, "write", FI_FENCE | DC);
	assert_posted(2, "write", COPY | FI_FENCE);
	assert_posted(3, "write", COPY);
	close_it(ctx);
}

/* If the fabric has no fence flag, a fence waits for the flush. If the fabric
 * keeps the order of puts, a fence has no effect. */
static void a_fence_without_flags_waits(void **state)
{
	struct weft_plan plan = plain;

	(void)state;
	for (int has_order = 0; has_order < 2; has_order++) {
		struct weft_rma_ctx *ctx;

		plan.has_put_order = has_order;
		ctx = open_on(&plan);
		put8(ctx, 0, 1);
		assert_int_equal(weft_rma_fence(ctx), 0);
		put8(ctx, 8, 2);
		if (!has_order)
			assert_posted(1, "write", FI_COMPLETION | DC);
		assert_posted(has_order ? 1 : 2, "write", COPY);
		close_it(ctx);
	}
}

/* Executes all kinds of operations. Returns the result of quiet. */
static int mixed(struct weft_rma_ctx *ctx)
{
	static char large[300];
	const struct weft_amo swap = { WEFT_AMO_CSWAP, 8, 50, 3 };
	uint64_t old = 0, word = 0, late = 0;
	int err = 0, one;

	memset(large, 'L', sizeof(large));
	for (uint64_t i = 0; i < 3 && !err; i++)
		err = weft_rma_put(ctx, mine + 8 * i, &i, 8, FAR_PE);
	if (!err)
		err = weft_rma_put(ctx, mine + 512, large, 300, FAR_PE);
	if (!err)
		err = weft_rma_put_nbi(ctx, mine + 1024, large, 300, FAR_PE);
	if (!err)
		err = weft_rma_amo(ctx, mine + 64,
			&(struct weft_amo){ WEFT_AMO_SET, 8, 3, 0 }, FAR_PE);
	if (!err)
		err = weft_rma_fence(ctx);
	if (!err)
		err = weft_rma_amo_fetch(ctx, mine + 64, &swap, &old, FAR_PE);
	if (!err)
		err = weft_rma_amo_fetch_nbi(
			ctx, mine + 64, &swap, &late, FAR_PE);
	if (!err)
		err = weft_rma_get(ctx, &word, mine + 64, 8, FAR_PE);
	if (!err)
		err = weft_rma_get_nbi(ctx, &word, mine + 8, 8, FAR_PE);
	if (!err)
		err = weft_rma_put_signal(ctx, mine + 128, large, 8,
			(uint64_t *)(void *)(mine + 136), WEFT_AMO_ADD, 4,
			FAR_PE, false);
	one = weft_rma_quiet(ctx);
	if (!err && !one) {
		assert_int_equal(old, 3);
		assert_int_equal(late, 50);
		assert_int_equal(word, 1);
		assert_int_equal(there(136), 4);
		assert_memory_equal(theirs + 512, large, 300);
		assert_memory_equal(theirs + 1024, large, 300);
	}
	return err ? err : one;
}

/* Each post in turn is refused once: every operation takes effect exactly once.
 */
static void refusals_are_waited_out(void **state)
{
	size_t n_posts = 1;

	(void)state;
	for (unsigned hints = 0; hints < 2; hints++)
		for (int n = 1; (size_t)n <= n_posts; n++) {
			struct weft_rma_ctx *ctx = open_on(&cxi);

			start(ctx, hints ? WEFT_RMA_BUNDLE : 0);
			fab.refuse_side = n;
			assert_int_equal(mixed(ctx), 0);
			n_posts = fab.n_side;
			assert_true(n_posts > 12);
			close_it(ctx);
		}
}

/* Each operation in turn fails: quiet, or the waiting call, returns the error,
 * and the next quiet does not. */
static void errors_are_reported(void **state)
{
	(void)state;
	for (unsigned hints = 0; hints < 2; hints++)
		for (int n = 1;; n++) {
			struct weft_rma_ctx *ctx = open_on(&cxi);
			bool is_over;

			start(ctx, hints ? WEFT_RMA_BUNDLE : 0);
			fab.fail_side = n;
			is_over = mixed(ctx) == 0;
			assert_true(!is_over || fab.fail_side > 0);
			fab.fail_side = 0;
			assert_int_equal(weft_rma_quiet(ctx), 0);
			close_it(ctx);
			if (is_over) {
				assert_true(n > 12);
				break;
			}
		}
}

struct said {
	char names[200];
	char last_how[256];
	int n_applied;
};

static void note(void *arg, const char *hint, bool is_applied, const char *how)
{
	struct said *said = arg;
	size_t used = strlen(said->names);

	snprintf(said->names + used, sizeof(said->names) - used, "%s%c ", hint,
		is_applied ? '+' : '-');
	snprintf(said->last_how, sizeof(said->last_how), "%s", how);
	said->n_applied += is_applied;
}

static void each_start_reports_its_options(void **state)
{
	struct weft_rma_ctx *ctx = open_on(&cxi);
	struct said said = { .n_applied = 0 };

	(void)state;
	weft_rma_session_start(
		ctx, WEFT_RMA_OP_PUT | WEFT_RMA_HRP, SIZE_MAX, note, &said);
	assert_string_equal(said.names, "OP_PUT+ HRP+ ");
	assert_string_equal(said.last_how, "FI_CXI_HRP for puts");
	said = (struct said){ .n_applied = 0 };
	weft_rma_session_start(
		ctx, WEFT_RMA_STAMO | WEFT_RMA_BUNDLE, 5, note, &said);
	assert_string_equal(said.names, "BUNDLE+ STAMO- ");
	said = (struct said){ .n_applied = 0 };
	weft_rma_session_start(ctx, 0, 5, note, &said);
	assert_string_equal(said.names, "");
	close_it(ctx);
	weft_rma_hints_explain(NULL, WEFT_RMA_HINTS, note, &said);
	assert_int_equal(said.n_applied, 0);
	weft_rma_hints_explain(
		&plain, WEFT_RMA_BUNDLE | WEFT_RMA_HRP, note, &said);
	assert_int_equal(said.n_applied, 0);
}

static void strange_addresses_are_refused(void **state)
{
	struct weft_rma_ctx *ctx = open_on(&cxi);
	uint64_t word = 0;

	(void)state;
	assert_int_equal(
		weft_rma_put(ctx, &word, &word, 8, FAR_PE), WEFT_ERR_ARG);
	assert_int_equal(
		weft_rma_get(ctx, &word, mine + HEAP_LEN - 4, 8, FAR_PE),
		WEFT_ERR_ARG);
	assert_int_equal(
		weft_rma_amo(ctx, mine + 4,
			&(struct weft_amo){ WEFT_AMO_ADD, 8, 1, 0 }, FAR_PE),
		WEFT_ERR_ARG);
	assert_int_equal(fab.n_side, 0);
	close_it(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_hint_has_its_flags),
		cmocka_unit_test(a_plain_fabric_gets_no_flags),
		cmocka_unit_test(a_batch_ends_without_more),
		cmocka_unit_test(a_full_window_rings),
		cmocka_unit_test(everything_that_waits_releases),
		cmocka_unit_test(read_only_data_is_put_as_a_copy),
		cmocka_unit_test(quiet_pe_flushes_that_pe_only),
		cmocka_unit_test(destroying_a_context_releases),
		cmocka_unit_test(pairs_stay_pairs_in_a_batch),
		cmocka_unit_test(a_fence_marks_the_next_operation),
		cmocka_unit_test(a_fence_without_flags_waits),
		cmocka_unit_test(refusals_are_waited_out),
		cmocka_unit_test(errors_are_reported),
		cmocka_unit_test(each_start_reports_its_options),
		cmocka_unit_test(strange_addresses_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, NULL);
}
