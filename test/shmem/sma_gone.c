/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sma_gone: the other PEs do not wait for a PE that died
 *
 * how=OP: PE 1 is killed while the other PEs repeat OP; the manifest has the
 * text that they must print. stopped=1: PE 1 is stopped first. When PE 0 has
 * reported a long wait in OP, a child of PE 1 prints that report and kills
 * PE 1. Operations that begin with "ext_" access an external heap. refused=1:
 * PE 1 closes the socket that its fabric listens on and stops, which PE 0
 * cannot distinguish from a failed PE that no manager reports.
 */
#include "stest.h"
#include "../multi/ports.h"
#include "devdata.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { WORDS = 1 << 16, LEN = 4096, SKIP = 77 };

static long words[WORDS], here[WORDS];
static long word;
static uint64_t sig;
static long lock;
static int waiter; /* process id of PE 0 */
static long *heap; /* external, LEN bytes */
static void *device_private;

static void op_put(void)
{
	shmem_long_put(words, here, WORDS, 1);
	shmem_quiet();
}

static void op_get(void)
{
	shmem_long_get(here, words, WORDS, 1);
}

static void op_put_nbi(void)
{
	shmem_long_put_nbi(words, here, WORDS, 1);
	shmem_quiet();
}

static void op_get_nbi(void)
{
	shmem_long_get_nbi(here, words, WORDS, 1);
	shmem_quiet();
}

static void op_p(void)
{
	shmem_long_p(&word, 1, 1);
	shmem_fence();
}

static void op_quiet(void)
{
	shmem_long_p(&word, 1, 1);
	shmem_quiet();
}

static void op_fetch(void)
{
	shmem_long_atomic_fetch_add(&word, 1, 1);
}

static void op_add(void)
{
	shmem_long_atomic_add(&word, 1, 1);
	shmem_quiet();
}

static void op_signal(void)
{
	shmem_long_put_signal(words, here, WORDS, &sig, 1, SHMEM_SIGNAL_ADD, 1);
	shmem_quiet();
}

static void op_wait(void)
{
	shmem_long_wait_until(&word, SHMEM_CMP_EQ, 7);
}

static void op_signal_wait(void)
{
	shmem_signal_wait_until(&sig, SHMEM_CMP_GE, 7);
}

static void op_wait_some(void)
{
	size_t indices[8];

	shmem_long_wait_until_some(words, 8, indices, NULL, SHMEM_CMP_EQ, 7);
}

static void op_lock(void)
{
	shmem_set_lock(&lock);
	shmem_clear_lock(&lock);
}

static void op_sum(void)
{
	if (shmem_long_sum_reduce(SHMEM_TEAM_WORLD, words, here, 4))
		shmem_global_exit(3);
}

static void op_ext_put(void)
{
	shmem_long_put(heap, here, 1, 1);
}

static void op_ext_get(void)
{
	shmem_getmem(device_private, heap, LEN, 1);
}

static void op_ext_fetch(void)
{
	shmem_long_atomic_fetch_add(heap, 1, 1);
}

static const struct {
	const char *name;
	void (*run)(void);
} ops[] = {
	{ "put", op_put },
	{ "get", op_get },
	{ "put_nbi", op_put_nbi },
	{ "get_nbi", op_get_nbi },
	{ "p", op_p },
	{ "quiet", op_quiet },
	{ "fetch", op_fetch },
	{ "add", op_add },
	{ "signal", op_signal },
	{ "wait", op_wait },
	{ "signal_wait", op_signal_wait },
	{ "wait_some", op_wait_some },
	{ "lock", op_lock },
	{ "barrier", shmem_barrier_all },
	{ "sync", shmem_sync_all },
	{ "sum", op_sum },
	{ "finalize", shmem_finalize },
	{ "ext_put", op_ext_put },
	{ "ext_get", op_ext_get },
	{ "ext_fetch", op_ext_fetch },
};

/* Waits until process `from` has reported a long wait, and prints the report.
 */
static void read_stall(pid_t from)
{
	char path[64], text[4096] = "";
	struct stat st;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)from);
	do {
		usleep(20000);
		/* stderr is not yet the file of stest_listen() */
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		fd = open(path, O_RDONLY);
		n = pread(fd, text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = 0;
		close(fd);
	} while (!strstr(text, "STALL"));
	fputs(text, stderr);
}

/* Starts a child that kills the victim when PE 0 has reported a long wait.
 * Returns the pipe on which the child expects the process id of PE 0. */
static int start_killer(pid_t victim)
{
	int ends[2], from;

	if (pipe(ends))
		exit(4);
	if (fork() == 0) {
		close(ends[1]);
		if (read(ends[0], &from, sizeof(from)) == sizeof(from)) {
			read_stall(from);
			kill(victim, SIGKILL);
		}
		_exit(0);
	}
	close(ends[0]);
	return ends[1];
}

static void die(int killer, bool is_refused)
{
	if (is_refused) {
		close_ports();
		raise(SIGSTOP);
	}
	if (killer < 0)
		raise(SIGKILL);
	if (write(killer, &waiter, sizeof(waiter)) != sizeof(waiter))
		exit(5);
	raise(SIGSTOP);
	exit(6);
}

/* PE 1 waits until the other PEs have left the barrier, so that it dies in none
 * of their barriers. Files notify it, because a message could still be under
 * way when it dies. */
static void meet(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[256];

	for (int pe = 0; pe < stest.n; pe++) {
		snprintf(path, sizeof(path), "%s/sma_gone.%d.%d",
			tmp ? tmp : "/tmp", (int)getppid(), pe);
		if (stest.me != 1 && pe == stest.me)
			close(creat(path, 0600));
		while (stest.me == 1 && pe != 1 && unlink(path))
			usleep(20000);
	}
}

/* As shmem_init(), with an external heap. False if there is no driver of a
 * device. */
static bool init_with_heap(void)
{
	(void)device_library();
	shmemx_heap_preinit();
	if (!device_load())
		return false;
	heap = device_new(NULL, LEN);
	device_private = device_new(NULL, LEN);
	shmemx_heap_create(heap, LEN, heap_type(), 0);
	shmemx_heap_postinit();
	return true;
}

int main(int argc, char **argv)
{
	const char *how = "";
	bool is_stopped = false, is_refused = false;
	int killer = -1;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "how=", 4))
			how = argv[i] + 4;
		if (!strcmp(argv[i], "stopped=1"))
			is_stopped = true;
		if (!strcmp(argv[i], "refused=1"))
			is_refused = true;
	}
	stest_start(argv[0]);
	if (is_stopped)
		killer = start_killer(getpid());
	if (strncmp(how, "ext_", 4)) {
		shmem_init();
	} else if (!init_with_heap()) {
		printf("# SKIP %s: there is no driver of a device\n",
			stest.name);
		return SKIP;
	}
	stest_set_pe();
	if (stest.me == 1)
		shmem_set_lock(&lock);
	if (stest.me == 0)
		shmem_int_p(&waiter, getpid(), 1);
	shmem_barrier_all();
	meet();
	if (stest.me == 1)
		die(killer, is_refused);
	if (stest.me == 0 && is_stopped)
		stest_listen();
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		while (!strcmp(ops[i].name, how))
			ops[i].run();
	CHECK(0, "%s is an operation", how);
	return 7;
}
