/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_check: can any other thread of this process make MPI calls? */
#include "transport/thread_check.h"

#include "base/lock.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_TASKS = 64 };

/* PF_IO_WORKER of the kernel's include/linux/sched.h: a kernel thread of
 * io_uring. */
enum { KERNEL_WORKER = 0x10 };

/* A thread; its number may be reused, so the start time identifies it too. */
struct task {
	long tid;
	unsigned flags;
	unsigned long long started; /* clock ticks since boot */
};

/* The helper threads. Only weft_thread_check_end() writes this, and only if the
 * application has one thread. */
static struct {
	struct task tasks[MAX_TASKS];
	int n;
} helpers;

static bool read_task(const char *name, struct task *task_out)
{
	char path[64], line[512];
	const char *at;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/stat", name);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[n] = 0;
	at = strrchr(line, ')');
	task_out->tid = strtol(name, NULL, 10);
	/* fields 9 and 22; field 2 is the name, in brackets */
	return at && sscanf(at + 1,
			     " %*s %*s %*s %*s %*s %*s %u %*s %*s %*s %*s "
			     "%*s %*s %*s %*s %*s %*s %*s %*s %llu",
			     &task_out->flags, &task_out->started) == 2;
}

/* Lists all threads except the calling one; -1 if that fails. */
static int list_others(struct task tasks[MAX_TASKS])
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	long self = syscall(SYS_gettid);
	int n = 0;

	if (!dir)
		return -1;
	while (n >= 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' ||
			strtol(entry->d_name, NULL, 10) == self)
			continue;
		if (n == MAX_TASKS || !read_task(entry->d_name, &tasks[n]))
			n = -1;
		else if (!(tasks[n].flags & KERNEL_WORKER))
			n++;
	}
	closedir(dir);
	return n;
}

static bool is_helper(const struct task *task)
{
	for (int i = 0; i < helpers.n; i++)
		if (helpers.tasks[i].tid == task->tid &&
			helpers.tasks[i].started == task->started)
			return true;
	return false;
}

static bool has_program_threads(void)
{
	struct task tasks[MAX_TASKS];
	int n = list_others(tasks);

	for (int i = 0; i < n; i++)
		if (!is_helper(&tasks[i]))
			return true;
	return n < 0;
}

bool weft_thread_check_begin(void)
{
	return !has_program_threads();
}

void weft_thread_check_end(bool began)
{
	struct task tasks[MAX_TASKS];
	int n;

	if (!began)
		return;
	n = list_others(tasks);
	if (n < 0)
		return;
	memcpy(helpers.tasks, tasks, (size_t)n * sizeof(tasks[0]));
	helpers.n = n;
}

bool weft_thread_check_is_single(void)
{
	return !weft_lock_is_mt() || !has_program_threads();
}
