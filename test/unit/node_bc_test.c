/* SPDX-License-Identifier: BSD-3-Clause */
/* node_bc_test: the table finds every process that stored a business card, and
 * no other
 *
 * This process is the first process of a node; a child is another process of
 * the node. */
#include "transport/node_bc.h"

#include "shm/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 5, OTHER = 3 };

static struct weft_node_bc table;

static void fill_in(struct weft_bc *bc, int fd)
{
	weft_bc_init(bc);
	bc->shm.pid = getpid();
	bc->shm.domain = weft_share_domain();
	bc->node_fd = fd;
	bc->name_len = 7;
	memcpy(bc->name, "address", 7);
}

/* Runs in the other process. Returns 0 if all checks pass. */
static int join(const struct weft_bc *first)
{
	struct weft_bc own, found;

	weft_node_bc_close(&table); /* closes the table of the parent */
	if (table.n)
		return 1;
	weft_node_bc_join(&table, first, N);
	if (!table.n || !weft_node_bc_find(&table, 0, &found) ||
		found.shm.pid != first->shm.pid ||
		weft_node_bc_find(&table, OTHER, &found))
		return 2;
	fill_in(&own, -1);
	weft_node_bc_put(&table, OTHER, &own);
	weft_node_bc_close(&table);
	return 0;
}

static void a_card_that_was_put_is_found(void **state)
{
	struct weft_bc first, found;
	int fd = weft_node_bc_open(&table, N), status = -1;
	pid_t child;

	(void)state;
	assert_true(fd >= 0 && table.n);
	fill_in(&first, fd);
	assert_false(weft_node_bc_find(&table, 0, &found));
	weft_node_bc_put(&table, 0, &first);
	child = fork();
	if (child == 0)
		_exit(join(&first));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* the other process has ended, and its card remains */
	assert_true(weft_node_bc_find(&table, OTHER, &found));
	assert_int_equal(found.shm.pid, child);
	assert_memory_equal(found.name, "address", 7);
	for (uint32_t i = 1; i < N + 2; i++)
		if (i != OTHER)
			assert_false(weft_node_bc_find(&table, i, &found));
	weft_node_bc_close(&table);
	assert_false(table.n);
}

static void invalid_names_are_not_found(void **state)
{
	struct weft_bc bc, found;
	int fd = weft_node_bc_open(&table, N);

	(void)state;
	fill_in(&bc, fd);
	bc.version++;
	weft_node_bc_put(&table, 1, &bc);
	assert_false(weft_node_bc_find(&table, 1, &found));
	bc.version--;
	weft_node_bc_put(&table, 2 * N, &bc); /* place 2 * N does not exist */
	assert_false(weft_node_bc_find(&table, 2 * N, &found));
	weft_node_bc_close(&table);
}

static void without_it_there_is_none(void **state)
{
	struct weft_bc first;

	(void)state;
	fill_in(&first, -1); /* a card without a table */
	weft_node_bc_join(&table, &first, N);
	assert_false(table.n);
	fill_in(&first, 9999);
	weft_node_bc_join(&table, &first, N);
	assert_false(table.n);
	first.shm.pid = 0; /* the process has no shared memory */
	first.node_fd = 0;
	weft_node_bc_join(&table, &first, N);
	assert_false(table.n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_card_that_was_put_is_found),
		cmocka_unit_test(invalid_names_are_not_found),
		cmocka_unit_test(without_it_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
