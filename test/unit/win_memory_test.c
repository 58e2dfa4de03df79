/* SPDX-License-Identifier: BSD-3-Clause */
/* win_memory_test: a slot is not reused if its window was freed without waiting
 * for all members; attached memory is found until it is detached; mappings of
 * other processes' files are kept */
#include "win/node_memory.h"

#include "base/err.h"
#include "core/comm.h"
#include "core/group.h"
#include "shm/share.h"
#include "transport/proc.h"
#include "transport/vci.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { PLACES = 65536, FILES = 1000, FILE_LEN = 65536 };

static const struct weft_win_config config = { .flavor = WEFT_WIN_SHARED,
	.disp_unit = 1 };
static char bytes[4096];

/* This process and another process of its node. */
static int both_local(
	struct weft_boot *boot, const uint32_t **ranks_out, size_t *n_out)
{
	static const uint32_t ranks[] = { 0, 1 };

	(void)boot;
	*ranks_out = ranks;
	*n_out = 2;
	return 0;
}

static const struct weft_boot_ops ops = { .local = both_local };
static struct weft_boot boot = { .ops = &ops };
static struct weft_vci vci;
static struct weft_comm comm = { .vci = &vci, .size = 2 };

static int setup(void **state)
{
	(void)state;
	weft_proc.boot = &boot;
	return weft_group_create_range(weft_proc.proc, 2, &comm.group);
}

static int teardown(void **state)
{
	(void)state;
	weft_group_put(comm.group);
	weft_proc.boot = NULL;
	return 0;
}

/* The record of the other member describes this process's memory. */
static int open_window(struct weft_win *win, struct weft_win_record *mine_out)
{
	struct weft_win_record records[2] = { { .data_fd = -1 } };
	int err;

	*win = (struct weft_win){ .comm = &comm,
		.comm_size = 2,
		.disp_unit = 1,
		.flavor = WEFT_WIN_SHARED };
	win->targets = calloc(1, sizeof(*win->targets));
	assert_non_null(win->targets);
	err = weft_win_memory_open(win, &config, &records[0]);
	records[1] = records[0];
	*mine_out = records[0];
	return err ? err : weft_win_memory_reach(win, records);
}

static void close_window(struct weft_win *win, bool is_waited_for)
{
	if (!is_waited_for)
		weft_win_memory_abandon(win);
	weft_win_targets_free(win);
	weft_win_memory_close(win);
}

static void no_window_has_the_slot_of_a_failed_one(void **state)
{
	struct weft_win_record failed, mine;
	struct weft_win win;

	(void)state;
	assert_int_equal(open_window(&win, &failed), 0);
	close_window(&win, false);
	for (int i = 0; i < PLACES; i++) {
		assert_int_equal(open_window(&win, &mine), 0);
		assert_int_not_equal(mine.slot, failed.slot);
		close_window(&win, true);
	}
}

static void attached_memory_is_found_until_detached(void **state)
{
	struct weft_win dynamic = {
		.comm = &comm, .disp_unit = 1, .flavor = WEFT_WIN_DYNAMIC
	};
	struct weft_win_record record = { .data_fd = -1 };

	(void)state;
	assert_int_equal(
		weft_win_memory_open(&dynamic,
			&(struct weft_win_config){
				.flavor = WEFT_WIN_DYNAMIC, .disp_unit = 1 },
			&record),
		0);
	assert_int_equal(weft_win_attach(&dynamic, bytes + 64, 64), 0);
	assert_int_equal(weft_win_attach(&dynamic, bytes + 128, 64), 0);
	assert_int_equal(
		weft_win_attach(&dynamic, bytes + 191, 2), WEFT_ERR_RMA_ATTACH);
	assert_int_equal(weft_win_attach(&dynamic, bytes + 192, 0), 0);
	assert_non_null(weft_win_place(
		&dynamic, (int64_t)(uintptr_t)(bytes + 64), 0, 128));
	assert_null(weft_win_place(
		&dynamic, (int64_t)(uintptr_t)(bytes + 64), 0, 129));
	assert_int_equal(
		weft_win_detach(&dynamic, bytes + 65), WEFT_ERR_RMA_ATTACH);
	assert_int_equal(weft_win_detach(&dynamic, bytes + 64), 0);
	weft_win_detach_all(&dynamic);
	weft_win_memory_close(&dynamic);
}

/* As many as 500 other processes of a node have. */
static void mappings_are_kept_without_users(void **state)
{
	static struct weft_win_mapped *m[FILES];
	int fd;

	(void)state;
	assert_int_equal(weft_share_file(FILE_LEN, &fd), 0);
	for (int i = 0; i < FILES; i++) {
		m[i] = weft_win_mapped_get(
			(uint64_t)i, weft_share_owner(), fd, FILE_LEN);
		assert_non_null(m[i]);
	}
	for (int i = 0; i < FILES; i++)
		weft_win_mapped_put(m[i]);
	for (int i = 0; i < FILES; i++) /* fails for memory without mapping */
		assert_int_equal(msync(m[i]->base, FILE_LEN, MS_ASYNC), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_window_has_the_slot_of_a_failed_one),
		cmocka_unit_test(attached_memory_is_found_until_detached),
		cmocka_unit_test(mappings_are_kept_without_users),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
