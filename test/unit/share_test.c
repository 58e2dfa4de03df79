/* SPDX-License-Identifier: BSD-3-Clause */
/* share_test: the program's variables, shared with some processes and not with
 * other processes */
#include "shm/share.h"

#include "base/err.h"
#include "test/unit/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static volatile int filled = 42;
static volatile int zero;
static volatile char big[1 << 20];
static const char *const constant = "constant";

static volatile int *there(
	char *base, const struct weft_share *share, volatile int *variable)
{
	return (volatile int *)(void *)(base +
					((char *)variable - share->base));
}

static void fresh_memory_is_shared(void **state)
{
	struct weft_share share;
	char *other = NULL;

	(void)state;
	assert_int_equal(weft_share_create(5000, &share), 0);
	assert_true(share.len >= 5000);
	assert_int_equal(share.base[4999], 0);
	assert_int_equal(weft_share_map(weft_share_owner(), share.fd, 0,
				 share.len, &other),
		0);
	share.base[17] = 'x';
	assert_int_equal(other[17], 'x');
	weft_share_unmap(other, share.len);
	weft_share_destroy(&share);
	assert_int_equal(
		weft_share_map(weft_share_owner(), 9999, 0, 4096, &other),
		WEFT_ERR_PEER);
	assert_int_equal(
		weft_share_create(SIZE_MAX - 5, &share), WEFT_ERR_NOMEM);
}

static void fresh_memory_is_aligned_to_its_length(void **state)
{
	static const size_t mib[][2] = { { 1, 2 }, { 3, 2 }, { 4, 4 }, { 7, 4 },
		{ 8, 8 }, { 100, 64 } };
	struct weft_share share;

	(void)state;
	for (size_t i = 0; i < sizeof(mib) / sizeof(mib[0]); i++) {
		size_t align = weft_share_align(mib[i][0] << 20);

		assert_int_equal(align, mib[i][1] << 20);
		assert_int_equal(weft_share_create(mib[i][0] << 20, &share), 0);
		assert_int_equal((uintptr_t)share.base % align, 0);
		weft_share_destroy(&share);
	}
	assert_int_equal(weft_share_align(0), 2 << 20);
	assert_int_equal(weft_share_align((size_t)1 << 40), 1 << 30);
}

static void variables_keep_address_and_value(void **state)
{
	volatile int *const at = &filled;
	struct weft_share share, again;
	char *other = NULL;

	(void)state;
	zero = 7;
	big[1000] = 'b';
	assert_int_equal(weft_share_data(&share), 0);
	assert_int_equal(weft_share_data(&again), 0);
	assert_ptr_equal(share.base, again.base);
	assert_ptr_equal(at, &filled);
	assert_int_equal(filled, 42);
	assert_int_equal(zero, 7);
	assert_int_equal(big[1000], 'b');
	assert_int_equal(big[1001], 0);
	assert_string_equal(constant, "constant");
	assert_true((char *)&zero >= share.base &&
		    (char *)&zero < share.base + share.len);
	assert_int_equal(weft_share_map(weft_share_owner(), share.fd, 0,
				 share.len, &other),
		0);
	assert_int_equal(*there(other, &share, &filled), 42);
	*there(other, &share, &zero) = 99;
	assert_int_equal(zero, 99);
	weft_share_unmap(other, share.len);
}

static void a_child_has_its_own_variables(void **state)
{
	struct weft_share share;
	int go[2], status;
	char byte = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(weft_share_data(&share), 0);
	assert_int_equal(pipe(go), 0);
	zero = 1;
	pid = fork();
	if (pid == 0) {
		bool is_right = read(go[0], &byte, 1) == 1 && zero == 1 &&
				filled == 42 && big[1000] == 'b';

		zero = 3;
		filled = 4;
		_exit(is_right ? 0 : 1);
	}
	assert_true(pid > 0);
	zero = 2; /* the child must not see this store */
	assert_int_equal(write(go[1], &byte, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(zero, 2);
	assert_int_equal(filled, 42);
	close(go[0]);
	close(go[1]);
}

/* Without a pipe, the parent does not wait for the child's copy. */
static void a_fork_without_a_pipe_is_reported(void **state)
{
	struct weft_share share;
	struct capture capture;
	struct rlimit old, none;
	int status = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(weft_share_data(&share), 0);
	capture_start(&capture);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_non_null(strstr(capture_stop(&capture), "SHM-FORK"));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Programs that this process starts are not affected. */
static void programs_can_be_started(void **state)
{
	(void)state;
	assert_int_equal(system("true"), 0);
	assert_int_not_equal(system("false"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fresh_memory_is_shared),
		cmocka_unit_test(fresh_memory_is_aligned_to_its_length),
		cmocka_unit_test(variables_keep_address_and_value),
		cmocka_unit_test(a_child_has_its_own_variables),
		cmocka_unit_test(a_fork_without_a_pipe_is_reported),
		cmocka_unit_test(programs_can_be_started),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
