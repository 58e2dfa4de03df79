/* SPDX-License-Identifier: BSD-3-Clause */
/* input_test: kinds of files that are read, and no file that blocks */
#include "base/input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/weft-input-XXXXXX", name[64];

static const char *in_dir(const char *file)
{
	snprintf(name, sizeof(name), "%s/%s", dir, file);
	return name;
}

/* Opens a file and returns its first line, or the reason of the refusal. */
static const char *first_line(const char *path, bool accepts_pipe)
{
	static char line[64];
	const char *why = "not written";
	FILE *file = weft_input_open(path, accepts_pipe, &why);

	if (!file)
		return why;
	assert_null(why);
	if (!fgets(line, sizeof(line), file))
		line[0] = 0;
	fclose(file);
	return line;
}

static void a_regular_file_is_read(void **state)
{
	FILE *file = fopen(in_dir("plain"), "w");

	(void)state;
	assert_non_null(file);
	fputs("words", file);
	fclose(file);
	assert_string_equal(first_line(in_dir("plain"), false), "words");
	assert_string_equal(first_line(in_dir("plain"), true), "words");
	unlink(in_dir("plain"));
	assert_string_equal(first_line(in_dir("plain"), false),
		"No such file or directory");
}

static void a_fifo_is_refused_at_once(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_non_null(strstr(first_line(in_dir("fifo"), false), "a FIFO"));
	assert_non_null(strstr(first_line(in_dir("fifo"), true), "a FIFO"));
	unlink(in_dir("fifo"));
	assert_non_null(strstr(first_line(dir, true), "a directory"));
}

/* A pipe, as a shell creates for <(command); its data may arrive later. */
static void a_pipe_is_waited_for(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", fds[0]);
	assert_non_null(strstr(first_line(name, false), "a FIFO"));
	if (fork() == 0) {
		usleep(100000);
		_exit(write(fds[1], "late", 4) != 4);
	}
	close(fds[1]);
	assert_string_equal(first_line(name, true), "late");
	close(fds[0]);
	assert_string_equal(first_line("/dev/null", true), "");
	assert_non_null(strstr(first_line("/dev/null", false), "a device"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_regular_file_is_read),
		cmocka_unit_test(a_fifo_is_refused_at_once),
		cmocka_unit_test(a_pipe_is_waited_for),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests_name("input", tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
