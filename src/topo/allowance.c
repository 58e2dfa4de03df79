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

/* CPUS_MAX of them, for the caller to free with CPU_FREE; NULL without memory.
 */
static cpu_set_t *allowed(void)
{
	size_t len = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *mine = CPU_ALLOC(CPUS_MAX), *parents = CPU_ALLOC(CPUS_MAX);

	if (mine && parents) {
		if (sched_getaffinity(0, len, mine))
			CPU_ZERO_S(len, mine);
		if (!sched_getaffinity(getppid(), len, parents))
			CPU_OR_S(len, mine, mine, parents);
	}
	if (parents)
		CPU_FREE(parents);
	else if (mine)
		CPU_FREE(mine);
	return parents ? mine : NULL;
}

static unsigned n_of(const cpu_set_t *cpus)
{
	int n = cpus ? CPU_COUNT_S(CPU_ALLOC_SIZE(CPUS_MAX), cpus) : 0;

	return n > 0 ? (unsigned)n : 1;
}

unsigned weft_allowance_cpus(void)
{
	cpu_set_t *cpus = allowed();
	unsigned n = n_of(cpus);

	if (cpus)
		CPU_FREE(cpus);
	return n;
}

/* Those of a list like 0-3,8 that are in the set. */
static unsigned n_listed(FILE *list, const cpu_set_t *cpus)
{
	const size_t len = CPU_ALLOC_SIZE(CPUS_MAX);
	unsigned first, last, n = 0;

	while (fscanf(list, "%u", &first) == 1) {
		last = first;
		if (fscanf(list, "-%u", &last) < 0)
			last = first;
		for (unsigned i = first; i <= last && i < CPUS_MAX; i++)
			n += CPU_ISSET_S(i, len, cpus) != 0;
		if (fgetc(list) != ',')
			break;
	}
	return n;
}

unsigned weft_allowance_caches(const char *root)
{
	const size_t len = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *cpus = allowed();
	unsigned cpu = 0, n_sharers = 0, n = n_of(cpus);
	char path[PATH_LEN];
	FILE *list = NULL;

	while (cpus && cpu < CPUS_MAX && !CPU_ISSET_S(cpu, len, cpus))
		cpu++;
	if (cpus && snprintf(path, sizeof(path),
			    "%s/cpu%u/cache/index2/shared_cpu_list", root,
			    cpu) < (int)sizeof(path))
		list = fopen(path, "re");
	if (list) {
		n_sharers = n_listed(list, cpus);
		fclose(list);
	}
	if (cpus)
		CPU_FREE(cpus);
	return n_sharers > 1 ? n / n_sharers : n;
}
