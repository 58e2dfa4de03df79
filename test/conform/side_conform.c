/* SPDX-License-Identifier: BSD-3-Clause */
/* side_conform: requirements for one-sided access on every provider
 *
 * Two sides in one process, an origin and a target. Both are polled, because
 * some providers need that to make progress. */
#include "net/rma_ep.h"

#include "base/clock.h"
#include "base/knob.h"
#include "test/conform/mr_cache.h"
#include "test/fake/cxi/stand_find.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
	MEM_LEN = 1 << 20,
	DEADLINE_S = 60,
	N_SMALL = 3000,
	N_MANY = 1000,
	PAGE = 4096,
};

struct pair {
	struct weft_rma_domain *a, *b;
	struct weft_rma_ep *more; /* another endpoint of side a */
	char *mem;		  /* memory that side b exposes */
	struct weft_rma_mr *mr;
	struct weft_rma_ep_target to;
};

struct wait {
	struct weft_op op;
	int n_done;
	int err;
};

static void on_done(struct weft_op *op, int err, size_t len)
{
	struct wait *w = weft_container_of(op, struct wait, op);

	(void)len;
	w->n_done++;
	w->err = err;
}

static struct pair pair;

static void turn(void)
{
	weft_rma_ep_poll(weft_rma_domain_ep(pair.a));
	if (pair.more)
		weft_rma_ep_poll(pair.more);
	weft_rma_ep_poll(weft_rma_domain_ep(pair.b));
}

static int finish(struct wait *w)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	while (!w->n_done && weft_now_ns() < end)
		turn();
	assert_int_equal(w->n_done, 1);
	return w->err;
}

#define POST(call)                                   \
	do {                                         \
		int rc_;                             \
                                                     \
		while ((rc_ = (call)) == WEFT_AGAIN) \
			turn();                      \
		assert_int_equal(rc_, 0);            \
	} while (0)

static int setup(void **state)
{
	struct weft_net_hints hints = { .provider = NET_PROVIDER,
		.is_one_host = true };
	struct weft_rma_ep_key key = { 0, 0 };
	char name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);

	(void)state;
	weft_knob_load();
	if (weft_rma_domain_open(&hints, &pair.a))
		return 0; /* each test reports that it is skipped */
	assert_int_equal(weft_rma_domain_open(&hints, &pair.b), 0);
	pair.mem = aligned_alloc(4096, MEM_LEN);
	memset(pair.mem, 0, MEM_LEN);
	assert_int_equal(weft_rma_domain_expose(
				 pair.b, pair.mem, MEM_LEN, &key, &pair.mr),
		0);
	assert_int_equal(weft_rma_domain_name(pair.b, name, &len), 0);
	assert_int_equal(
		weft_rma_domain_peer_add(pair.a, name, len, &pair.to.addr), 0);
	pair.to.remote = key.base;
	pair.to.key = key.key;
	return 0;
}

static int cleanup(void **state)
{
	(void)state;
	weft_rma_ep_close(pair.more);
	weft_rma_domain_close(pair.a);
	weft_rma_domain_close(pair.b);
	free(pair.mem);
	return 0;
}

static void need_provider(void)
{
	if (!pair.a) {
		print_message("# " NET_PROVIDER " is not offered here\n");
		skip();
	}
}

static struct weft_rma_ep_target at(size_t offset)
{
	struct weft_rma_ep_target to = pair.to;

	to.remote += offset;
	return to;
}

static void flush(struct weft_rma_ep *ep)
{
	struct wait w = { .op = { .done = on_done } };

	POST(weft_rma_ep_write(
		ep, &pair.to, NULL, 0, pair.a->plan.flush_flags, &w.op));
	assert_int_equal(finish(&w), 0);
}

/* No call waits for these operations; after a flush all of them are visible. */
static void small_puts(struct weft_rma_ep *ep, uint64_t salt)
{
	uint64_t *words = (uint64_t *)(void *)pair.mem;

	for (uint64_t i = 0; i < N_SMALL; i++) {
		struct weft_rma_ep_target to = at(i * 8);
		uint64_t value = i ^ salt;

		POST(weft_rma_ep_write(ep, &to, &value, 8, FI_INJECT, NULL));
	}
	flush(ep);
	for (uint64_t i = 0; i < N_SMALL; i++)
		assert_int_equal(words[i], i ^ salt);
}

static void a_flush_covers_small_puts(void **state)
{
	(void)state;
	need_provider();
	small_puts(weft_rma_domain_ep(pair.a), 0x1234567890);
	small_puts(weft_rma_domain_ep(pair.a), 77);
}

static void long_puts_and_gets_complete(void **state)
{
	struct weft_rma_ep *ep;
	char *src, *back;
	struct wait put = { .op = { .done = on_done } };
	struct wait get = { .op = { .done = on_done } };

	(void)state;
	need_provider();
	src = malloc(MEM_LEN);
	back = calloc(1, MEM_LEN);
	ep = weft_rma_domain_ep(pair.a);
	for (size_t i = 0; i < MEM_LEN; i++)
		src[i] = (char)(i * 7 + i / 1000);
	POST(weft_rma_ep_write(ep, &pair.to, src, MEM_LEN, 0, &put.op));
	assert_int_equal(finish(&put), 0);
	flush(ep);
	assert_memory_equal(pair.mem, src, MEM_LEN);
	POST(weft_rma_ep_read(ep, &pair.to, back, MEM_LEN, 0, &get.op));
	assert_int_equal(finish(&get), 0);
	assert_memory_equal(back, src, MEM_LEN);
	free(src);
	free(back);
}

static void unsignalled_long_puts_are_covered_too(void **state)
{
	struct weft_rma_ep *ep;
	char *src;

	(void)state;
	need_provider();
	src = malloc(MEM_LEN);
	ep = weft_rma_domain_ep(pair.a);
	memset(src, 'u', MEM_LEN);
	for (size_t i = 0; i < MEM_LEN; i += MEM_LEN / 16) {
		struct weft_rma_ep_target to = at(i);

		POST(weft_rma_ep_write(
			ep, &to, src + i, MEM_LEN / 16, 0, NULL));
	}
	flush(ep);
	assert_memory_equal(pair.mem, src, MEM_LEN);
	free(src);
}

static void delivery_means_visible(void **state)
{
	uint64_t flags, value;

	(void)state;
	need_provider();
	flags = pair.a->plan.deliver_flags;
	for (value = 1; value < 200; value++) {
		struct wait w = { .op = { .done = on_done } };

		POST(weft_rma_ep_write(weft_rma_domain_ep(pair.a), &pair.to,
			&value, 8, flags | FI_INJECT, &w.op));
		assert_int_equal(finish(&w), 0);
		assert_memory_equal(pair.mem, &value, 8);
	}
}

static void further_endpoints_initiate(void **state)
{
	(void)state;
	need_provider();
	assert_int_equal(weft_rma_ep_open(pair.a, &pair.more), 0);
	small_puts(pair.more, 5);
	small_puts(weft_rma_domain_ep(pair.a), 6);
	small_puts(pair.more, 7);
}

/* ---- atomics of the fabric ---- */

static void need_amo(void)
{
	need_provider();
	if (!pair.a->plan.has_fabric_amo) {
		print_message(
			"# " NET_PROVIDER ": atomics are the target's CPU's\n");
		skip();
	}
}

static uint64_t word_at(size_t offset, uint32_t width)
{
	uint64_t value = 0;

	memcpy(&value, pair.mem + offset, width);
	return value;
}

/* Executes one atomic operation on the first word. Returns the previous value
 * if the operation fetches it. */
static uint64_t one_amo(enum weft_rma_ep_what what, uint32_t width,
	uint64_t operand, const uint64_t *compare, bool is_fetching)
{
	struct wait w = { .op = { .done = on_done } };
	uint64_t result = 0;
	struct weft_rma_ep_amo amo = {
		.what = what,
		.width = width,
		.operand = &operand,
		.compare = compare,
		.result = is_fetching ? &result : NULL,
	};

	POST(weft_rma_ep_amo(weft_rma_domain_ep(pair.a), &pair.to, &amo,
		is_fetching ? 0 : pair.a->plan.deliver_flags, &w.op));
	assert_int_equal(finish(&w), 0);
	return result;
}

static const struct {
	enum weft_rma_ep_what what;
	uint64_t before, operand, after;
} amos[] = {
	{ WEFT_RMA_EP_SET, 5, 9, 9 },
	{ WEFT_RMA_EP_ADD, 5, 9, 14 },
	{ WEFT_RMA_EP_AND, 13, 7, 5 },
	{ WEFT_RMA_EP_OR, 9, 6, 15 },
	{ WEFT_RMA_EP_XOR, 13, 7, 10 },
};

static void atomics_do_what_they_say(void **state)
{
	(void)state;
	need_amo();
	for (uint32_t width = 4; width <= 8; width += 4)
		for (size_t i = 0; i < sizeof(amos) / sizeof(*amos); i++)
			for (int fetches = 0; fetches < 2; fetches++) {
				uint64_t got;

				memset(pair.mem, 0, 16);
				memcpy(pair.mem, &amos[i].before, width);
				got = one_amo(amos[i].what, width,
					amos[i].operand, NULL, fetches);
				assert_int_equal(
					got, fetches ? amos[i].before : 0);
				flush(weft_rma_domain_ep(pair.a));
				assert_int_equal(word_at(0, 8), amos[i].after);
			}
}

static void compare_and_swap_compares(void **state)
{
	uint64_t right = 20, wrong = 21;

	(void)state;
	need_amo();
	for (uint32_t width = 4; width <= 8; width += 4) {
		memset(pair.mem, 0, 16);
		memcpy(pair.mem, &right, width);
		assert_int_equal(
			one_amo(WEFT_RMA_EP_CSWAP, width, 30, &wrong, true),
			20);
		assert_int_equal(word_at(0, 8), 20);
		assert_int_equal(
			one_amo(WEFT_RMA_EP_CSWAP, width, 30, &right, true),
			20);
		assert_int_equal(word_at(0, 8), 30);
		assert_int_equal(
			one_amo(WEFT_RMA_EP_FETCH, width, 0, NULL, true), 30);
	}
}

static void no_addition_is_lost(void **state)
{
	uint64_t one = 1;
	struct weft_rma_ep_amo amo = {
		.what = WEFT_RMA_EP_ADD, .width = 8, .operand = &one
	};

	(void)state;
	need_amo();
	memset(pair.mem, 0, 8);
	for (int i = 0; i < N_SMALL; i++)
		POST(weft_rma_ep_amo(weft_rma_domain_ep(pair.a), &pair.to, &amo,
			WEFT_RMA_EP_COPY, NULL));
	flush(weft_rma_domain_ep(pair.a));
	assert_int_equal(word_at(0, 8), N_SMALL);
}

/* ---- last, because they may close the connection; each in a new pair ---- */

static void again(void)
{
	need_provider();
	cleanup(NULL);
	memset(&pair, 0, sizeof(pair));
	assert_int_equal(setup(NULL), 0);
}

/* The operation of the waiting process fails or never completes. It never
 * succeeds. */
static void in_vain(struct wait *w)
{
	uint64_t end = weft_now_ns() + WEFT_NS_PER_S / 5;

	while (!w->n_done && weft_now_ns() < end)
		turn();
	print_message("# %s\n", w->n_done ? "told" : "not told");
	assert_true(!w->n_done || w->err);
	for (size_t i = 0; i < MEM_LEN; i++)
		assert_int_equal(pair.mem[i], 0);
}

static void wrong_write(struct weft_rma_ep_target to)
{
	struct wait w = { .op = { .done = on_done } };
	uint64_t value = 0xbad;

	POST(weft_rma_ep_write(weft_rma_domain_ep(pair.a), &to, &value, 8,
		pair.a->plan.deliver_flags, &w.op));
	in_vain(&w);
}

static void wrong_read(struct weft_rma_ep_target from)
{
	struct wait w = { .op = { .done = on_done } };
	uint64_t value = 0xbad;

	POST(weft_rma_ep_read(
		weft_rma_domain_ep(pair.a), &from, &value, 8, 0, &w.op));
	in_vain(&w);
	assert_int_equal(value, 0xbad);
}

static void a_wrong_key_writes_nothing(void **state)
{
	struct weft_rma_ep_target to;

	(void)state;
	again();
	to = pair.to;
	to.key += 12345;
	wrong_write(to);
}

static void a_wrong_key_reads_nothing(void **state)
{
	struct weft_rma_ep_target to;

	(void)state;
	again();
	to = pair.to;
	to.key += 12345;
	wrong_read(to);
}

static void nothing_is_written_past_the_end(void **state)
{
	(void)state;
	again();
	wrong_write(at(MEM_LEN - 4));
}

static void nothing_is_read_past_the_end(void **state)
{
	(void)state;
	again();
	wrong_read(at(MEM_LEN - 4));
}

static void a_wrong_key_adds_nothing(void **state)
{
	struct wait w = { .op = { .done = on_done } };
	struct weft_rma_ep_target to;
	uint64_t one = 1;
	struct weft_rma_ep_amo amo = {
		.what = WEFT_RMA_EP_ADD, .width = 8, .operand = &one
	};

	(void)state;
	need_amo();
	again();
	to = pair.to;
	to.key += 12345;
	POST(weft_rma_ep_amo(weft_rma_domain_ep(pair.a), &to, &amo,
		pair.a->plan.deliver_flags, &w.op));
	in_vain(&w);
}

/* Withdraws b's memory and exposes other memory instead; pair.to becomes the
 * target of an access to the withdrawn memory. */
static char *replace_exposed(void)
{
	struct weft_rma_ep_key key;
	char *other;

	again();
	if (mr_cache_keeps(pair.a->plan.provider)) {
		print_message("# libfabric's cache keeps what was exposed\n");
		skip();
	}
	other = aligned_alloc(PAGE, MEM_LEN);
	memset(other, 0, MEM_LEN);
	weft_rma_domain_withdraw(pair.b, pair.mr);
	assert_int_equal(
		weft_rma_domain_expose(pair.b, other, MEM_LEN, &key, &pair.mr),
		0);
	return other;
}

static void what_is_withdrawn_is_not_written(void **state)
{
	char *other = replace_exposed();

	(void)state;
	wrong_write(pair.to);
	for (size_t i = 0; i < MEM_LEN; i++)
		assert_int_equal(other[i], 0);
	free(pair.mem);
	pair.mem = other;
}

static void what_is_withdrawn_is_not_read(void **state)
{
	char *other = replace_exposed();

	(void)state;
	wrong_read(pair.to);
	free(pair.mem);
	pair.mem = other;
}

/* The provider may refuse registrations; then the earlier registrations remain
 * valid. */
static void many_regions_are_exposed_or_refused(void **state)
{
	static struct weft_rma_mr *mrs[N_MANY];
	struct weft_rma_ep_key key;
	char *memory;
	int n = 0;

	(void)state;
	again();
	memory = aligned_alloc(PAGE, (size_t)N_MANY * PAGE);
	while (n < N_MANY &&
		!weft_rma_domain_expose(
			pair.b, memory + (size_t)n * PAGE, PAGE, &key, &mrs[n]))
		n++;
	print_message("# %d regions\n", n);
	assert_true(n > 0);
	small_puts(weft_rma_domain_ep(pair.a), 8);
	for (int i = 0; i < n; i++)
		weft_rma_domain_withdraw(pair.b, mrs[i]);
	small_puts(weft_rma_domain_ep(pair.a), 9);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flush_covers_small_puts),
		cmocka_unit_test(long_puts_and_gets_complete),
		cmocka_unit_test(unsignalled_long_puts_are_covered_too),
		cmocka_unit_test(delivery_means_visible),
		cmocka_unit_test(further_endpoints_initiate),
		cmocka_unit_test(atomics_do_what_they_say),
		cmocka_unit_test(compare_and_swap_compares),
		cmocka_unit_test(no_addition_is_lost),
		cmocka_unit_test(a_wrong_key_writes_nothing),
		cmocka_unit_test(a_wrong_key_reads_nothing),
		cmocka_unit_test(nothing_is_written_past_the_end),
		cmocka_unit_test(nothing_is_read_past_the_end),
		cmocka_unit_test(a_wrong_key_adds_nothing),
		cmocka_unit_test(what_is_withdrawn_is_not_written),
		cmocka_unit_test(what_is_withdrawn_is_not_read),
		cmocka_unit_test(many_regions_are_exposed_or_refused),
	};

	stand_find(NET_PROVIDER);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, cleanup);
}
