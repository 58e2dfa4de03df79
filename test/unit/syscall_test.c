/* SPDX-License-Identifier: BSD-3-Clause */
/* syscall_test: system calls for files: transfers, locks, names and errors */
#include "io/syscall.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/weft_syscall_XXXXXX";
static char name[64];

static int group_setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(name, sizeof(name), "%s/file", dir);
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	unlink(name);
	return rmdir(dir);
}

static int open_file(void)
{
	int fd = -1;

	assert_int_equal(
		weft_syscall_open(name, O_RDWR | O_CREAT, 0600, &fd), 0);
	return fd;
}

static void a_read_ends_with_the_file(void **state)
{
	int fd = open_file();
	char data[10] = "0123456789", back[10] = "";
	struct weft_syscall_move move = { .fd = fd,
		.is_write = true,
		.name = name,
		.buf = data,
		.len = 10,
		.at = 5 };
	size_t moved;
	int64_t size;

	(void)state;
	assert_int_equal(weft_syscall_move(&move, &moved), 0);
	assert_int_equal(moved, 10);
	assert_int_equal(weft_syscall_size(fd, name, &size), 0);
	assert_int_equal(size, 15);
	move.is_write = false;
	move.buf = back;
	move.at = 8;
	assert_int_equal(weft_syscall_move(&move, &moved), 0);
	assert_int_equal(moved, 7);
	assert_memory_equal(back, "3456789", 7);
	move.at = INT64_MAX - 3;
	assert_int_equal(weft_syscall_move(&move, &moved), WEFT_ERR_IO);
	assert_int_equal(moved, 0);
	assert_int_equal(weft_syscall_close(fd, name), 0);
}

static void cached_pages_end_with_the_file(void **state)
{
	int fd = open_file();
	char byte;
	struct iovec to = { &byte, 1 };

	(void)state;
	assert_int_equal(pwrite(fd, "0123456789", 10, 0), 10);
	if (preadv2(fd, &to, 1, 9, RWF_NOWAIT) < 0) {
		print_message("no RWF_NOWAIT here: %s\n", strerror(errno));
		close(fd);
		skip();
	}
	assert_int_equal(weft_syscall_page(fd, 9), WEFT_SYSCALL_CACHED);
	assert_int_equal(weft_syscall_page(fd, 15), WEFT_SYSCALL_PAST_EOF);
	assert_int_equal(weft_syscall_close(fd, name), 0);
}

static void errors_have_the_class_and_the_name(void **state)
{
	char missing[80];
	int fd;

	(void)state;
	snprintf(missing, sizeof(missing), "%s/missing", dir);
	assert_int_equal(weft_syscall_open(missing, O_RDONLY, 0, &fd),
		WEFT_ERR_NO_SUCH_FILE);
	assert_non_null(
		strstr(weft_err_detail_peek(WEFT_ERR_NO_SUCH_FILE), missing));
	assert_int_equal(
		weft_syscall_open(dir, O_RDWR, 0, &fd), WEFT_ERR_BAD_FILE);
	assert_int_equal(weft_syscall_unlink(dir), WEFT_ERR_BAD_FILE);
	assert_int_equal(weft_syscall_unlink(missing), WEFT_ERR_NO_SUCH_FILE);
}

static void another_open_of_the_file_is_excluded(void **state)
{
	int one = open_file(), two = open_file();

	(void)state;
	assert_true(weft_syscall_try_lock(one, true, 10, 20));
	assert_false(weft_syscall_try_lock(two, false, 19, 25));
	assert_true(weft_syscall_try_lock(two, true, 20, 25));
	assert_true(weft_syscall_is_locked(two, 0, 11));
	assert_false(weft_syscall_is_locked(two, 0, 10));
	assert_int_equal(weft_syscall_unlock(one, name, 10, 20), 0);
	assert_false(weft_syscall_is_locked(two, 0, 11));
	assert_int_equal(weft_syscall_close(one, name), 0);
	assert_int_equal(weft_syscall_close(two, name), 0);
}

/* weft_syscall_lock_unless_posix() does not wait for a POSIX lock (F_SETLK).
 * Here this process holds one. It conflicts with the library's lock, which
 * belongs to the open file description (F_OFD_SETLK). */
static void a_process_lock_is_not_waited_for(void **state)
{
	int one = open_file(), two = open_file();
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool locked = true;

	(void)state;
	assert_int_equal(fcntl(one, F_SETLK, &all), 0);
	assert_int_equal(
		weft_syscall_lock_unless_posix(two, name, true, 0, 10, &locked),
		0);
	assert_false(locked);
	all.l_type = F_UNLCK;
	assert_int_equal(fcntl(one, F_SETLK, &all), 0);
	assert_int_equal(
		weft_syscall_lock_unless_posix(two, name, true, 0, 10, &locked),
		0);
	assert_true(locked);
	assert_int_equal(weft_syscall_close(one, name), 0);
	assert_int_equal(weft_syscall_close(two, name), 0);
}

static void only_the_opened_file_is_unlinked(void **state)
{
	int fd = open_file(), folder = -1;
	char moved[80];

	(void)state;
	assert_int_equal(weft_syscall_parent(name, &folder), 0);
	snprintf(moved, sizeof(moved), "%s/moved", dir);
	assert_int_equal(rename(name, moved), 0);
	close(open_file());
	assert_int_equal(weft_syscall_unlink_opened(folder, name, fd),
		WEFT_ERR_NO_SUCH_FILE);
	assert_int_equal(access(name, F_OK), 0);
	assert_int_equal(rename(moved, name), 0);
	assert_int_equal(weft_syscall_unlink_opened(folder, name, fd), 0);
	assert_int_equal(access(name, F_OK), -1);
	close(folder);
	close(fd);
}

static void long_names_show_their_end(void **state)
{
	char text[201];

	(void)state;
	memset(text, 'a', 200);
	text[199] = 'z';
	text[200] = 0;
	assert_int_equal(strlen(weft_syscall_short_name(text)), 90);
	assert_string_equal(weft_syscall_short_name("x/y"), "x/y");
	assert_int_equal(weft_syscall_short_name(text)[89], 'z');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_ends_with_the_file),
		cmocka_unit_test(cached_pages_end_with_the_file),
		cmocka_unit_test(errors_have_the_class_and_the_name),
		cmocka_unit_test(another_open_of_the_file_is_excluded),
		cmocka_unit_test(a_process_lock_is_not_waited_for),
		cmocka_unit_test(only_the_opened_file_is_unlinked),
		cmocka_unit_test(long_names_show_their_end),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
