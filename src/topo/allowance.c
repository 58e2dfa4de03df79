/* SPDX-License-Identifier: BSD-3-Clause */
/* allowance: two bindings and a cgroup's quota, its parents' too */
#include "topo/allowance.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS_MAX = 8192, PATH_LEN = 1024 };

/* Reads two numbers, of one file or two; false where there is no quota. */
static bool read_numbers(const char *path, const char *format, long long *quota,
	long long *period)
{
	FILE *file = fopen(path, "re");
	int n = file ? fscanf(file, format, quota, period) : 0;

	if (file)
		fclose(file);
	return n > 0;
}

/* Of one group: version 2 has both in one file, version 1 each in its own. */
static unsigned quota_of_group(const char *dir)
{
	long long quota = -1, period = 0, unused;
	char path[PATH_LEN + 32];

	snprintf(path, sizeof(path), "%s/cpu.max", dir);
	if (!read_numbers(path, "%lld %lld", &quota, &period)) {
		snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", dir);
		read_numbers(path, "%lld", &quota, &unused);
		snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", dir);
		read_numbers(path, "%lld", &period, &unused);
	}
	if (quota <= 0 || period <= 0)
		return 0;
	return quota < period ? 1 : (unsigned)(quota / period);
}

static unsigned least(unsigned a, unsigned b)
{
	return !a || (b && b < a) ? b : a;
}

/* Of a group and all it is in, which begin at root. */
static unsigned quota_up(const char *root, const char *group)
{
	char dir[PATH_LEN];
	unsigned quota = 0;
	char *end;

	if (snprintf(dir, sizeof(dir), "%s%s", root, group) >= (int)sizeof(dir))
		return 0;
	while ((end = strrchr(dir, '/')) != NULL && end >= dir + strlen(root)) {
		quota = least(quota, quota_of_group(dir));
		*end = '\0';
	}
	return least(quota, quota_of_group(root));
}

static bool has_kind(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && !strncmp(list, word, len))
			return true;
	return false;
}

unsigned weft_allowance_quota(const char *groups, const char *root)
{
	FILE *file = fopen(groups, "re");
	char line[PATH_LEN], top[PATH_LEN];
	unsigned quota = 0;

	/* "0::/a/b" or "4:cpu,cpuacct:/a/b" */
	while (file && fgets(line, sizeof(line), file)) {
		char *kinds = strchr(line, ':');
		char *group = kinds ? strchr(kinds + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		kinds++;
		if (*kinds && !has_kind(kinds, "cpu"))
			continue;
		snprintf(top, sizeof(top), "%s%s%s", root, *kinds ? "/" : "",
			kinds);
		quota = least(quota, quota_up(top, group));
	}
	if (file)
		fclose(file);
	return quota;
}

unsigned weft_allowance_cpus(void)
{
	size_t len = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *mine = CPU_ALLOC(CPUS_MAX), *parents = CPU_ALLOC(CPUS_MAX);
	unsigned n = 0;

	if (mine && parents) {
		if (sched_getaffinity(0, len, mine))
			CPU_ZERO_S(len, mine);
		if (!sched_getaffinity(getppid(), len, parents))
			CPU_OR_S(len, mine, mine, parents);
		n = (unsigned)CPU_COUNT_S(len, mine);
	}
	if (mine)
		CPU_FREE(mine);
	if (parents)
		CPU_FREE(parents);
	return n ? n : 1;
}
