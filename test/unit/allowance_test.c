/* SPDX-License-Identifier: BSD-3-Clause */
/* allowance_test: quotas of simulated cgroups; a binding of this process */
#include "topo/allowance.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/weft-allowance-XXXXXX";

/* Writes a file below root, and creates the folders above it. */
static const char *make(const char *name, const char *text)
{
	static char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return path;
}

static unsigned quota(const char *groups)
{
	return weft_allowance_quota(make("groups", groups), root);
}

static int begin(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void version_2(void **state)
{
	(void)state;
	make("a/b/cpu.max", "max 100000\n");
	assert_int_equal(quota("0::/a/b\n"), 0);
	make("a/b/cpu.max", "250000 100000\n");
	assert_int_equal(quota("0::/a/b\n"), 2);
	/* an outer group has a smaller quota */
	make("a/cpu.max", "150000 100000\n");
	assert_int_equal(quota("0::/a/b\n"), 1);
	assert_int_equal(quota("0::/\n"), 0);
	/* a path of another namespace: the quota of the root applies */
	make("cpu.max", "400000 100000\n");
	assert_int_equal(quota("0::/system/not-here\n"), 4);
	make("cpu.max", "50000 100000\n");
	assert_int_equal(quota("0::/\n"), 1);
}

static void version_1(void **state)
{
	(void)state;
	make("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
	make("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
	assert_int_equal(quota("5:cpu,cpuacct:/job\n"), 0);
	make("cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
	assert_int_equal(quota("3:cpuset:/job\n5:cpu,cpuacct:/job\n"), 3);
	assert_int_equal(quota("5:cpuacct:/job\nnonsense\n:\n"), 0);
}

static void no_cgroups(void **state)
{
	(void)state;
	assert_int_equal(weft_allowance_quota("/nonexistent", root), 0);
	assert_true(weft_allowance_cpus() >= 1);
}

/* If this process and its child are bound to one processor, the child's
 * allowance is one. */
static void a_binding(void **state)
{
	cpu_set_t all, one;
	int status = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int i = 0; !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	pid = fork();
	if (pid == 0)
		_exit((int)weft_allowance_cpus());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

/* Caches that the first allowed processor shares with other allowed processors.
 */
static void caches(void **state)
{
	const unsigned n = weft_allowance_cpus();
	char name[64], shares[64];
	cpu_set_t all;
	int first = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(first, &all))
		first++;
	snprintf(name, sizeof(name), "cpu%d/cache/index2/shared_cpu_list",
		first);
	assert_int_equal(weft_allowance_caches("/nonexistent"), n);
	snprintf(shares, sizeof(shares), "%d,8000-8100\n", first);
	make(name, shares);
	assert_int_equal(weft_allowance_caches(root), n);
	make(name, "0-8191\n");
	assert_int_equal(weft_allowance_caches(root), 1);
	make(name, "nonsense");
	assert_int_equal(weft_allowance_caches(root), n);
}

/* The processors that share a cache, or else a package, with the processor of
 * this process. */
static void near(void **state)
{
	char name[64], list[64];
	cpu_set_t all;
	int first = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(first, &all))
		first++;
	assert_true(weft_allowance_near("/nonexistent", list, sizeof(list)));
	assert_string_equal(list, "");
	snprintf(
		name, sizeof(name), "cpu%d/topology/core_siblings_list", first);
	make(name, "0-8000\n");
	assert_true(weft_allowance_near(root, list, sizeof(list)));
	assert_string_equal(list, "0-8000");
	snprintf(name, sizeof(name), "cpu%d/cache/index3/shared_cpu_list",
		first);
	make(name, "7000,8100-8191\n");
	assert_false(weft_allowance_near(root, list, sizeof(list)));
	assert_string_equal(list, "7000,8100-8191");
	assert_false(weft_allowance_near(root, list, 4));
	assert_string_equal(list, "");
}

static void is_near(void **state)
{
	(void)state;
	assert_true(weft_allowance_is_near("0-3,8-11", "1,8-9"));
	assert_true(weft_allowance_is_near("0-3", "0-3"));
	assert_false(weft_allowance_is_near("0-3,8-11", "3-4"));
	assert_false(weft_allowance_is_near("0-3", "100000,4"));
	assert_true(weft_allowance_is_near("0-3", ""));
	assert_true(weft_allowance_is_near("", "5"));
	assert_true(weft_allowance_is_near("0-8191", NULL));
	assert_false(weft_allowance_is_near("8190", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_2),
		cmocka_unit_test(version_1),
		cmocka_unit_test(no_cgroups),
		cmocka_unit_test(a_binding),
		cmocka_unit_test(caches),
		cmocka_unit_test(near),
		cmocka_unit_test(is_near),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
