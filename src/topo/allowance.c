/* SPDX-License-Identifier: BSD-3-Clause */
/* allowance: affinity masks, and the quota of a cgroup and its ancestors */
#include "topo/allowance.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS_MAX = 8192, PATH_LEN = 1024, LIST_LEN = 4096 };

/* Reads one or two numbers from a file. False if the file has no number. */
static bool read_numbers(const char *path, const char *format, long long *quota,
	long long *period)
{
	FILE *file = fopen(path, "re");
	int n = file ? fscanf(file, format, quota, period) : 0;

	if (file)
		fclose(file);
	return n > 0;
}

/* Returns the quota of one group in processors, or 0. Cgroups of version 2 have
 * quota and period in one file, those of version 1 in two files. */
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

static unsigned min_quota(unsigned a, unsigned b)
{
	return !a || (b && b < a) ? b : a;
}

/* Returns the smallest quota of a group and its ancestors, up to root, or 0. */
static unsigned quota_of_ancestors(const char *root, const char *group)
{
	char dir[PATH_LEN];
	unsigned quota = 0;
	char *end;

	if (snprintf(dir, sizeof(dir), "%s%s", root, group) >= (int)sizeof(dir))
		return 0;
	while ((end = strrchr(dir, '/')) != NULL && end >= dir + strlen(root)) {
		quota = min_quota(quota, quota_of_group(dir));
		*end = '\0';
	}
	return min_quota(quota, quota_of_group(root));
}

static bool has_controller(const char *list, const char *word)
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

	/* a line is like "0::/a/b" or "4:cpu,cpuacct:/a/b" */
	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		controllers++;
		if (*controllers && !has_controller(controllers, "cpu"))
			continue;
		snprintf(top, sizeof(top), "%s%s%s", root,
			*controllers ? "/" : "", controllers);
		quota = min_quota(quota, quota_of_ancestors(top, group));
	}
	if (file)
		fclose(file);
	return quota;
}

/* Returns the set of the processors that weft_allowance_cpus() counts, for
 * CPUS_MAX processors. The caller frees it with CPU_FREE. NULL when out of
 * memory. */
static cpu_set_t *allowed_cpus(void)
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

static unsigned count_cpus(const cpu_set_t *cpus)
{
	int n = cpus ? CPU_COUNT_S(CPU_ALLOC_SIZE(CPUS_MAX), cpus) : 0;

	return n > 0 ? (unsigned)n : 1;
}

unsigned weft_allowance_cpus(void)
{
	cpu_set_t *cpus = allowed_cpus();
	unsigned n = count_cpus(cpus);

	if (cpus)
		CPU_FREE(cpus);
	return n;
}

/* Sets the processors of a list like "0-3,8", up to its first fault. */
static void cpus_of_list(const char *list, cpu_set_t *cpus)
{
	const size_t len = CPU_ALLOC_SIZE(CPUS_MAX);
	char *end;

	CPU_ZERO_S(len, cpus);
	for (; *list >= '0' && *list <= '9'; list = end + (*end == ',')) {
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < CPUS_MAX; first++)
			CPU_SET_S(first, len, cpus);
	}
}

static unsigned first_cpu_of(const cpu_set_t *cpus)
{
	const size_t len = CPU_ALLOC_SIZE(CPUS_MAX);
	unsigned cpu = 0;

	while (cpu < CPUS_MAX && !CPU_ISSET_S(cpu, len, cpus))
		cpu++;
	return cpu;
}

/* Reads a list of processors from a file of one processor below root. False and
 * "" if there is no such file. */
static bool read_cpu_list(
	const char *root, unsigned cpu, const char *file, char list[LIST_LEN])
{
	char path[PATH_LEN];
	FILE *from = NULL;

	list[0] = '\0';
	if (snprintf(path, sizeof(path), "%s/cpu%u/%s", root, cpu, file) <
		(int)sizeof(path))
		from = fopen(path, "re");
	if (!from)
		return false;
	if (!fgets(list, LIST_LEN, from))
		list[0] = '\0';
	fclose(from);
	list[strcspn(list, "\n")] = '\0';
	return list[0] != '\0';
}

/* True if `all` contains every processor of `part`. Removes the processors that
 * are not in `part` from `all`. */
static bool has_all_cpus(cpu_set_t *all, const cpu_set_t *part)
{
	const size_t len = CPU_ALLOC_SIZE(CPUS_MAX);

	CPU_AND_S(len, all, all, part);
	return CPU_EQUAL_S(len, all, part);
}

unsigned weft_allowance_caches(const char *root)
{
	const size_t len = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *cpus = allowed_cpus(), *sharers = CPU_ALLOC(CPUS_MAX);
	unsigned n_sharers = 0, n = count_cpus(cpus);
	char list[LIST_LEN];

	if (cpus && sharers &&
		read_cpu_list(root, first_cpu_of(cpus),
			"cache/index2/shared_cpu_list", list)) {
		cpus_of_list(list, sharers);
		CPU_AND_S(len, sharers, sharers, cpus);
		n_sharers = (unsigned)CPU_COUNT_S(len, sharers);
	}
	if (cpus)
		CPU_FREE(cpus);
	if (sharers)
		CPU_FREE(sharers);
	return n_sharers > 1 ? n / n_sharers : n;
}

bool weft_allowance_near(const char *root, char *list_out, size_t len)
{
	cpu_set_t *mine = CPU_ALLOC(CPUS_MAX), *near = CPU_ALLOC(CPUS_MAX);
	char list[LIST_LEN] = "";
	bool is_near = true;
	unsigned first;

	if (mine && near &&
		!sched_getaffinity(0, CPU_ALLOC_SIZE(CPUS_MAX), mine)) {
		first = first_cpu_of(mine);
		if (read_cpu_list(root, first, "cache/index3/shared_cpu_list",
			    list) ||
			read_cpu_list(root, first,
				"topology/core_siblings_list", list)) {
			cpus_of_list(list, near);
			is_near = has_all_cpus(near, mine);
		}
	}
	if (mine)
		CPU_FREE(mine);
	if (near)
		CPU_FREE(near);
	if (strlen(list) >= len)
		list[0] = '\0';
	strcpy(list_out, list);
	return is_near;
}

bool weft_allowance_is_near(const char *near, const char *cpus)
{
	cpu_set_t *all = CPU_ALLOC(CPUS_MAX), *part;
	bool is_near = true;

	part = cpus ? CPU_ALLOC(CPUS_MAX) : allowed_cpus();
	if (*near && all && part) {
		cpus_of_list(near, all);
		if (cpus)
			cpus_of_list(cpus, part);
		is_near = has_all_cpus(all, part);
	}
	if (all)
		CPU_FREE(all);
	if (part)
		CPU_FREE(part);
	return is_near;
}
