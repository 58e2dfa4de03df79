/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_test: a long wait queries every process that it needs, in turn */
#include "core/vci_core.h"
#include "base/clock.h"
#include "p2p/p2p.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "watchdog/request.h"
#include "watchdog/watchdog.h"
#include "test/fake/fakeboot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { JOB_SIZE = 250, LIMIT_S = 60 };

static struct weft_comm *comm;

static int on_open(struct weft_vci *vci)
{
	int err = weft_vci_core_open(vci);

	weft_watchdog_open(vci);
	return err ? err : weft_p2p_open(vci);
}

static int set_up(void **state)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_group *group;
	int err;

	(void)state;
	fakeboot_set_job(0, JOB_SIZE, 1);
	weft_proc.open_boot = fakeboot_open;
	err = weft_proc_get(on_open);
	if (err)
		return err;
	weft_vci_lock(vci);
	err = weft_group_create_range(weft_proc.proc, JOB_SIZE, &group);
	if (!err)
		err = weft_comm_create(vci, WEFT_CTX_WORLD, group, NULL, &comm);
	weft_vci_unlock(vci);
	return err;
}

static const struct weft_req *only(const void *arg, int i)
{
	(void)i;
	return arg;
}

/* Returns the number of ranks to which this process has sent a message. */
static int n_queried(struct weft_vci *vci)
{
	int n = 0;

	for (uint32_t i = 1; i < JOB_SIZE; i++)
		n += weft_map_get(&vci->peers, weft_proc.proc + i + 1) != NULL;
	return n;
}

/* No process of the job exists, so none is connected or answers. */
static void all_possible_sources_are_queried(void **state)
{
	struct weft_vci *vci = &weft_proc.vci;
	uint64_t end = weft_now_ns() + LIMIT_S * (uint64_t)WEFT_NS_PER_S;
	struct weft_request_loop loop = { .at = only, .n = 1 };
	struct weft_req *req = NULL;
	int word = 0, n = 0;
	struct weft_msg msg = { .comm = comm,
		.buf = &word,
		.count = sizeof(word),
		.type = weft_type_builtin(WEFT_TYPE_BYTE),
		.rank = WEFT_ANY_SOURCE,
		.tag = 1 };

	(void)state;
	weft_vci_lock(vci);
	assert_int_equal(weft_irecv_locked(&msg, &req), 0);
	loop.arg = req;
	while (n < JOB_SIZE - 1 && weft_now_ns() < end) {
		weft_progress(vci);
		assert_int_equal(weft_request_round(vci, &loop), 0);
		n = n_queried(vci);
	}
	weft_request_end(&loop);
	weft_vci_unlock(vci);
	assert_int_equal(n, JOB_SIZE - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_possible_sources_are_queried),
	};
	int failed;

	setenv("FI_TCP_IFACE", "lo", 0);
	setenv("WEFT_LOG", "error", 0);
	setenv("WEFT_FAIL_TIMEOUT", "1", 1);
	failed = cmocka_run_group_tests_name("wait", tests, set_up, NULL);
	fflush(NULL);
	_exit(failed); /* no finalize: the members do not exist */
}
