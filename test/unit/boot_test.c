/* SPDX-License-Identifier: BSD-3-Clause */
/* boot_test: the contract of boot.h, on the implementation without manager */
#include "base/err.h"
#include "boot/boot.h"
#include "boot/singleton.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct heard {
	int n;
	int err;
	char data[64];
	size_t len;
};

static void on_value(void *arg, int err, const void *data, size_t len)
{
	struct heard *heard = arg;

	heard->n++;
	heard->err = err;
	heard->len = len;
	if (len)
		memcpy(heard->data, data, len);
}

static void on_done(void *arg, int err)
{
	struct heard *heard = arg;

	heard->n++;
	heard->err = err;
}

/* Numbers of the process, and of a second process that does not exist. */
static uint64_t own_proc[2];

static int setup(void **state)
{
	struct weft_boot_facts facts;
	struct weft_boot *boot = NULL;

	if (weft_singleton_open(&boot, &facts))
		return -1;
	own_proc[0] = weft_boot_proc_number(facts.job, 0);
	own_proc[1] = weft_boot_proc_number(facts.job, 1);
	*state = boot;
	return 0;
}

static int teardown(void **state)
{
	weft_boot_close(*state, 1);
	return 0;
}

static void test_facts(void **state)
{
	struct weft_boot_facts a, b;
	struct weft_boot *boot = NULL;

	(void)state;
	assert_int_equal(weft_singleton_open(&boot, &a), 0);
	weft_boot_close(boot, 1);
	assert_int_equal(weft_singleton_open(&boot, &b), 0);
	weft_boot_close(boot, 0);
	assert_int_equal(a.rank, 0);
	assert_int_equal(a.size, 1);
	assert_int_equal(a.univ_size, 1);
	assert_int_equal(a.local_size, 1);
	assert_int_equal(a.n_nodes, 1);
	assert_string_equal(a.manager, "singleton");
	assert_true(strlen(a.host) > 0);
	assert_true(strlen(a.job) > 0);
	/* each process draws its own key */
	assert_memory_not_equal(a.own_key, b.own_key, sizeof(a.own_key));
}

static void test_no_manager_is_solo(void **state)
{
	struct weft_boot_facts facts;
	struct weft_boot *boot = NULL;

	(void)state;
	unsetenv("PMIX_NAMESPACE");
	unsetenv("PMIX_RANK");
	assert_int_equal(weft_boot_open(&boot, &facts), 0);
	assert_string_equal(facts.manager, "singleton");
	weft_boot_close(boot, 1);
}

static void test_lost_manager_is_error(void **state)
{
	struct weft_boot_facts facts;
	struct weft_boot *boot = NULL;

	(void)state;
	setenv("PMIX_NAMESPACE", "nobody", 1);
	setenv("PMIX_RANK", "0", 1);
	setenv("PMIX_SERVER_URI41", "nobody.0;tcp4://127.0.0.1:1", 1);
	assert_int_equal(weft_boot_open(&boot, &facts), WEFT_ERR_BOOT);
	assert_null(boot);
	assert_true(*weft_err_detail_peek(WEFT_ERR_BOOT));
	unsetenv("PMIX_NAMESPACE");
	unsetenv("PMIX_RANK");
	unsetenv("PMIX_SERVER_URI41");
}

static void test_put_get(void **state)
{
	struct weft_boot *boot = *state;
	struct heard heard = { 0 };

	assert_int_equal(weft_boot_put(boot, "card", "abc", 3), 0);
	assert_int_equal(weft_boot_commit(boot), 0);
	assert_int_equal(weft_boot_get(boot, 0, "card", on_value, &heard), 0);
	assert_int_equal(heard.n, 0); /* only poll calls back */
	assert_int_equal(weft_boot_poll(boot, NULL, NULL), 1);
	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.err, 0);
	assert_int_equal(heard.len, 3);
	assert_memory_equal(heard.data, "abc", 3);
	assert_int_equal(weft_boot_poll(boot, NULL, NULL), 0);
	assert_int_equal(heard.n, 1);
}

static void test_get_waits_for_commit(void **state)
{
	struct weft_boot *boot = *state;
	struct heard heard = { 0 };

	assert_int_equal(weft_boot_get(boot, 0, "k", on_value, &heard), 0);
	assert_int_equal(weft_boot_poll(boot, NULL, NULL), 0);
	assert_int_equal(weft_boot_put(boot, "k", "v", 1), 0);
	assert_int_equal(weft_boot_poll(boot, NULL, NULL), 0);
	assert_int_equal(heard.n, 0);
	assert_int_equal(weft_boot_commit(boot), 0);
	assert_int_equal(weft_boot_poll(boot, NULL, NULL), 1);
	assert_int_equal(heard.n, 1);
}

static void test_put_twice(void **state)
{
	struct weft_boot *boot = *state;

	assert_int_equal(weft_boot_put(boot, "k", "v", 1), 0);
	assert_int_equal(weft_boot_put(boot, "k", "w", 1), WEFT_ERR_NAME);
}

static void test_empty_value(void **state)
{
	struct weft_boot *boot = *state;
	struct heard heard = { .len = 9 };

	assert_int_equal(weft_boot_put(boot, "k", "", 0), 0);
	assert_int_equal(weft_boot_commit(boot), 0);
	assert_int_equal(weft_boot_get(boot, 0, "k", on_value, &heard), 0);
	weft_boot_poll(boot, NULL, NULL);
	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.len, 0);
}

static void test_foreign_rank(void **state)
{
	struct weft_boot *boot = *state;
	char host[8] = "before";

	assert_int_equal(
		weft_boot_get(boot, 1, "k", on_value, NULL), WEFT_ERR_RANK);
	assert_int_equal(
		weft_boot_host_of(boot, 1, host, sizeof(host)), WEFT_ERR_RANK);
	assert_string_equal(host, "before");
	assert_false(weft_boot_is_local(boot, 1));
	assert_true(weft_boot_is_local(boot, 0));
}

static void test_fence(void **state)
{
	static const uint32_t me[] = { 0 }, other[] = { 1 };
	struct weft_boot *boot = *state;
	struct heard heard = { 0 };

	assert_int_equal(weft_boot_fence(boot, NULL, 0, on_done, &heard), 0);
	assert_int_equal(weft_boot_fence(boot, me, 1, on_done, &heard), 0);
	assert_int_equal(weft_boot_fence(boot, other, 1, on_done, &heard),
		WEFT_ERR_RANK);
	assert_int_equal(heard.n, 0);
	assert_int_equal(weft_boot_poll(boot, NULL, NULL), 2);
	assert_int_equal(heard.n, 2);
	assert_int_equal(heard.err, 0);
}

static void test_psets(void **state)
{
	struct weft_boot *boot = *state;
	char **names = (char **)state;
	uint64_t *procs = NULL;
	size_t n = 7;

	assert_int_equal(weft_boot_pset_list(boot, &names, &n), 0);
	assert_int_equal(n, 0);
	assert_null(names);
	assert_int_equal(weft_boot_pset_members(boot, "a", &procs, &n),
		WEFT_ERR_NOTFOUND);
	assert_null(procs);
}

/* A set that a process creates is immediately visible to it. An event announces
 * the set. */
struct news {
	int n;
	struct weft_boot_event last;
};

static void on_news(void *arg, const struct weft_boot_event *event)
{
	struct news *news = arg;

	news->n++;
	news->last = *event;
}

static void test_made_psets(void **state)
{
	struct weft_boot *boot = *state;
	const uint64_t *wrong = &own_proc[1], *self = own_proc;
	char **names = NULL;
	uint64_t *procs = NULL;
	struct news news = { 0 };
	size_t n = 7;

	assert_int_equal(weft_boot_pset_define(boot, "a", wrong, 1),
		WEFT_ERR_UNSUPPORTED);
	assert_int_equal(weft_boot_pset_delete(boot, "a"), WEFT_ERR_NAME);
	assert_int_equal(weft_boot_pset_define(boot, "a", self, 1), 0);
	assert_int_equal(weft_boot_pset_define(boot, "b", self, 1), 0);
	assert_int_equal(
		weft_boot_pset_define(boot, "a", self, 1), WEFT_ERR_NAME);
	assert_int_equal(weft_boot_pset_list(boot, &names, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(names[1], "b");
	free(names);
	assert_int_equal(weft_boot_pset_members(boot, "b", &procs, &n), 0);
	assert_int_equal(n, 1);
	assert_true(procs[0] == self[0]);
	free(procs);
	assert_int_equal(news.n, 0);
	weft_boot_poll(boot, on_news, &news);
	assert_int_equal(news.n, 2);
	assert_int_equal(news.last.kind, WEFT_BOOT_PSET_DEFINED);
	assert_string_equal(news.last.name, "b");
	assert_int_equal(weft_boot_pset_delete(boot, "a"), 0);
	weft_boot_poll(boot, on_news, &news);
	assert_int_equal(news.n, 3);
	assert_int_equal(news.last.kind, WEFT_BOOT_PSET_DELETED);
	assert_int_equal(weft_boot_pset_list(boot, &names, &n), 0);
	assert_int_equal(n, 1);
	free(names);
}

struct chain {
	struct weft_boot *boot;
	int n;
};

static void on_link(void *arg, int err)
{
	struct chain *chain = arg;

	assert_int_equal(err, 0);
	if (++chain->n < 3)
		assert_int_equal(
			weft_boot_fence(chain->boot, NULL, 0, on_link, chain),
			0);
}

/* A callback may request more values; they arrive in a later poll. */
static void test_callback_asks(void **state)
{
	struct chain chain = { .boot = *state };

	assert_int_equal(
		weft_boot_fence(chain.boot, NULL, 0, on_link, &chain), 0);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(weft_boot_poll(chain.boot, NULL, NULL), 1);
		assert_int_equal(chain.n, i);
	}
	assert_int_equal(weft_boot_poll(chain.boot, NULL, NULL), 0);
}

static void test_close_with_open_get(void **state)
{
	struct weft_boot_facts facts;
	struct weft_boot *boot = NULL;
	struct heard heard = { 0 };

	(void)state;
	assert_int_equal(weft_singleton_open(&boot, &facts), 0);
	assert_int_equal(weft_boot_get(boot, 0, "k", on_value, &heard), 0);
	weft_boot_close(boot, 1);
	assert_int_equal(heard.n, 0);
	weft_boot_close(NULL, 1);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_no_manager_is_solo),
		cmocka_unit_test(test_lost_manager_is_error),
		CASE(test_put_get),
		CASE(test_get_waits_for_commit),
		CASE(test_put_twice),
		CASE(test_empty_value),
		CASE(test_foreign_rank),
		CASE(test_fence),
		CASE(test_psets),
		CASE(test_made_psets),
		CASE(test_callback_asks),
		cmocka_unit_test(test_close_with_open_get),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
