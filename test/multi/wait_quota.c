/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_quota: if the quota of a cgroup is smaller than the number of spinning
 * processes, a waiting process sleeps, for a message and for a collective
 *
 * Each process first enters a cgroup of its own with a quota of one processor.
 * The job has more processes than that. */
#define _GNU_SOURCE
#include "mtest.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAITS = 4, WAIT_MS = 300, ROUNDS = 50, PATH_LEN = 600 };

static char parent[PATH_LEN], group[PATH_LEN + 40];

static int put(const char *dir, const char *file, const char *text)
{
	char path[PATH_LEN + 80];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		n = write(fd, text, strlen(text));
	if (fd >= 0)
		close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* Finds the path of the cgroup of this process. *version_out is 1 if a
 * hierarchy of version 1 controls processors. */
static int find_parent(int *version_out)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[512];

	*version_out = 0;
	while (file && fgets(line, sizeof(line), file)) {
		char *kinds = strchr(line, ':'), *at;

		if (!kinds || !(at = strchr(kinds + 1, ':')))
			continue;
		*at++ = '\0';
		at[strcspn(at, "\n")] = '\0';
		kinds++;
		if (!strcmp(kinds, "cpu") || !strncmp(kinds, "cpu,", 4)) {
			snprintf(parent, sizeof(parent), "/sys/fs/cgroup/%s%s",
				kinds, at);
			*version_out = 1;
			break;
		}
		if (!*kinds) {
			snprintf(
				parent, sizeof(parent), "/sys/fs/cgroup%s", at);
			*version_out = 2;
		}
	}
	if (file)
		fclose(file);
	return *version_out ? 0 : -1;
}

static void leave(void)
{
	if (put(parent, "cgroup.procs", "0"))
		fprintf(stderr, "# %s: %s\n", parent, strerror(errno));
	rmdir(group);
}

/* Enters a cgroup of its own. False if that is not permitted. */
static bool enter(void)
{
	int version;

	if (find_parent(&version))
		return false;
	snprintf(group, sizeof(group), "%s/wait_quota.%d", parent,
		(int)getpid());
	if (mkdir(group, 0700))
		return false;
	if (version == 1 ? put(group, "cpu.cfs_period_us", "100000") ||
				   put(group, "cpu.cfs_quota_us", "100000")
			 : put(group, "cpu.max", "100000 100000"))
		goto fail;
	if (put(group, "cgroup.procs", "0"))
		goto fail;
	atexit(leave);
	return true;
fail:
	rmdir(group);
	return false;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* A late message arrives, and so does the late result of a collective. */
static void wait_once(bool is_coll)
{
	int mine = mtest.rank + 1, word = 0, sum = 0;

	if (mtest.rank == 0)
		mtest_linger(WAIT_MS);
	if (is_coll) {
		OK(MPI_Allreduce(
			&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
		CHECK(sum == mtest.size * (mtest.size + 1) / 2,
			"the sum is right: %d", sum);
	} else if (mtest.rank == 0) {
		word = 17;
		for (int i = 1; i < mtest.size; i++)
			OK(MPI_Send(&word, 1, MPI_INT, i, 1, MPI_COMM_WORLD));
	} else {
		OK(MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(word == 17, "the word arrives: %d", word);
	}
}

/* Uses the best of several measurements, because a stall of the machine counts
 * as processor time. */
static void wait_idle(bool is_coll)
{
	double best = 1;

	for (int i = 0; i < WAITS; i++) {
		double cpu = cpu_s(), wall = MPI_Wtime(), share;

		wait_once(is_coll);
		wall = MPI_Wtime() - wall;
		share = (cpu_s() - cpu) / wall;
		best = share < best ? share : best;
	}
	if (mtest.rank == 0)
		return;
	printf("# %.4f of the core, waiting for a %s\n", best,
		is_coll ? "collective" : "message");
	CHECK(best < 0.3, "a waiting process uses little of its core: %.3f",
		best);
}

/* Waits that are too short to sleep. The later collectives then use a
 * segment. */
static void many(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int to = (mtest.rank + 1) % mtest.size, sum = 0, got = -1;
		int from = (mtest.rank + mtest.size - 1) % mtest.size;

		OK(MPI_Sendrecv(&i, 1, MPI_INT, to, 2, &got, 1, MPI_INT, from,
			2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		CHECK(got == i, "the word of round %d arrives, got %d", i, got);
		OK(MPI_Allreduce(
			&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
		CHECK(sum == i * mtest.size, "the sum of round %d is right: %d",
			i, sum);
	}
}

int main(int argc, char **argv)
{
	int is_in = enter(), all_in = 0;
	cpu_set_t cpus; /* the processors of the launcher: each process may be
			 * bound to one */

	mtest_init(&argc, &argv);
	OK(MPI_Allreduce(&is_in, &all_in, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
	if (!all_in)
		mtest_skip("this process has no right to create a cgroup with "
			   "a quota");
	if (sched_getaffinity(getppid(), sizeof(cpus), &cpus) ||
		CPU_COUNT(&cpus) < mtest.size)
		mtest_skip("fewer processors than processes");
	many();
	wait_idle(false);
	wait_idle(true);
	many();
	return mtest_finish();
}
