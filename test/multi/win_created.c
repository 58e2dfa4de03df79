/* SPDX-License-Identifier: BSD-3-Clause */
/* win_created: accesses to windows of MPI_Win_create at a process of this node,
 * whose memory is not mapped here
 *
 * The kernel copies the data of long puts and gets, even if the target is
 * stopped. Short accesses and updates may wait until the target continues.
 * Results, order and errors are the same with both methods. The program is
 * skipped if the kernel refuses such copies. */
#define _GNU_SOURCE
#include "cma.h"

#include <dirent.h>

enum { N = 1 << 15, ROUNDS = 40, STEPS = 50, LONG = N - 3, DEADLINE = 60 };

static int64_t memory[N]; /* memory of the program: elements 0 to 2 for short
			   * accesses, the rest for long ones */
static MPI_Win win;
static pid_t its_pid;
static int64_t *its_memory;

/* ---- the target, as the origin observes it ---- */

static bool is_task_stopped(const char *tid)
{
	char path[300], line[512], *state;
	FILE *f;
	bool is_stopped = false;

	snprintf(
		path, sizeof(path), "/proc/%d/task/%s/stat", (int)its_pid, tid);
	f = fopen(path, "r");
	if (!f)
		return true; /* the process has ended */
	if (fgets(line, sizeof(line), f)) {
		state = strrchr(line, ')');
		is_stopped = state && (state[2] == 'T' || state[2] == 't');
	}
	fclose(f);
	return is_stopped;
}

static bool is_stopped(void)
{
	char path[64];
	struct dirent *task;
	bool are_all = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)its_pid);
	dir = opendir(path);
	CHECK(dir, "the tasks of the target can be read");
	while (dir && (task = readdir(dir)) != NULL)
		if (task->d_name[0] != '.')
			are_all &= is_task_stopped(task->d_name);
	if (dir)
		closedir(dir);
	return are_all;
}

static void stop_target(void)
{
	double begun = mtest_now();
	bool is_late = false;

	kill(its_pid, SIGSTOP);
	while (!is_stopped() && !is_late)
		is_late = mtest_now() - begun > DEADLINE;
	CHECK(!is_late, "the target stops within %d s", DEADLINE);
}

static void continue_target(void)
{
	kill(its_pid, SIGCONT);
}

/* Reads element i of the target's memory without the library; -1 if the kernel
 * refuses. */
static int64_t peek(int i)
{
	int64_t value = -1;
	struct iovec here = { &value, sizeof(value) };
	struct iovec there = { its_memory + i, sizeof(value) };

	if (process_vm_readv(its_pid, &here, 1, &there, 1, 0) != sizeof(value))
		return -1;
	return value;
}

static void meet(void)
{
	struct {
		int64_t *memory;
		pid_t pid;
	} mine = { memory, getpid() }, its;

	OK(MPI_Sendrecv(&mine, sizeof(mine), MPI_BYTE, !mtest.rank, 0, &its,
		sizeof(its), MPI_BYTE, !mtest.rank, 0, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	its_pid = its.pid;
	its_memory = its.memory;
}

/* ---- one access of each kind to element 0 ---- */

enum kind { PUT, ACC, GET, FETCH, SWAP, KINDS };
static const char *const names[] = { "put", "accumulate", "get", "fetch_and_op",
	"compare_and_swap" };

/* Starts an access that changes the element to value, which is one more than
 * before. *old gets the former value if the access returns it. */
static void start(enum kind kind, const int64_t *value, int64_t *old)
{
	static const int64_t one = 1;
	static int64_t was;

	was = *value - 1;
	if (kind == PUT)
		OK(MPI_Put(value, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, win));
	else if (kind == ACC)
		OK(MPI_Accumulate(&one, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T,
			MPI_SUM, win));
	else if (kind == GET)
		OK(MPI_Get(old, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, win));
	else if (kind == FETCH)
		OK(MPI_Fetch_and_op(
			&one, old, MPI_INT64_T, 1, 0, MPI_SUM, win));
	else
		OK(MPI_Compare_and_swap(
			value, &was, old, MPI_INT64_T, 1, 0, win));
}

static void check(enum kind kind, int64_t value, int64_t old)
{
	int64_t now = peek(0);
	int64_t expected = value - (kind == GET);

	CHECK(now == expected, "%s: the element is %lld, expected %lld",
		names[kind], (long long)now, (long long)expected);
	if (kind >= GET)
		CHECK(old == value - 1, "%s returns %lld, expected %lld",
			names[kind], (long long)old, (long long)value - 1);
}

static void outside_is_refused(void)
{
	int64_t value = 1;

	FAILS(MPI_Put(&value, 1, MPI_INT64_T, 1, N, 1, MPI_INT64_T, win),
		MPI_ERR_RMA_RANGE);
	FAILS(MPI_Accumulate(&value, 1, MPI_INT64_T, 1, -1, 1, MPI_INT64_T,
		      MPI_SUM, win),
		MPI_ERR_RMA_RANGE);
	FAILS(MPI_Fetch_and_op(&value, &value, MPI_INT64_T, 1, N, MPI_SUM, win),
		MPI_ERR_RMA_RANGE);
}

/* A stopped target makes no call, and its progress thread is stopped, too. */
static void long_without_the_target(void)
{
	static int64_t in[LONG], out[LONG];

	stop_target();
	for (int round = 1; round < ROUNDS; round++) {
		for (int j = 0; j < LONG; j++)
			in[j] = round + j;
		OK(MPI_Put(
			in, LONG, MPI_INT64_T, 1, 3, LONG, MPI_INT64_T, win));
		OK(MPI_Win_flush(1, win));
		OK(MPI_Get(
			out, LONG, MPI_INT64_T, 1, 3, LONG, MPI_INT64_T, win));
		OK(MPI_Win_flush(1, win));
		CHECK(!memcmp(in, out, sizeof(in)) && peek(3) == round,
			"a long put and get complete while the target is "
			"stopped, round %d",
			round);
	}
	continue_target();
}

/* Each kind of access starts while the target is stopped, and completes after
 * the target continues. */
static void short_at_stopped_target(void)
{
	int64_t value = peek(0), old;

	for (int round = 0; round < ROUNDS; round++)
		for (enum kind kind = PUT; kind < KINDS; kind++) {
			int64_t next = value + 1;

			old = -1;
			stop_target();
			start(kind, &next, &old);
			outside_is_refused();
			continue_target();
			OK(MPI_Win_flush(1, win));
			check(kind, next, old);
			value += kind != GET;
		}
}

/* A fetch after an update returns the new value. The target is in a call during
 * some of these accesses only. */
static void in_order(void)
{
	int64_t old, k = peek(2);

	for (int i = 0; i < ROUNDS; i++) {
		for (int step = 0; step < STEPS; step++) {
			k++;
			OK(MPI_Accumulate(&k, 1, MPI_INT64_T, 1, 2, 1,
				MPI_INT64_T, MPI_REPLACE, win));
			OK(MPI_Fetch_and_op(
				NULL, &old, MPI_INT64_T, 1, 2, MPI_NO_OP, win));
			OK(step % 5 ? MPI_Win_flush_local(1, win)
				    : MPI_Win_flush(1, win));
			CHECK(old == k, "a fetch returns %lld, expected %lld",
				(long long)old, (long long)k);
		}
		OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
	}
}

/* Long accesses in order: the last element of one is the first element of the
 * next. */
static void long_in_order(void)
{
	static int64_t in[LONG], out[LONG];
	int64_t k = 0, old;

	for (int i = 0; i < ROUNDS; i++) {
		for (int step = 0; step < 4; step++) {
			int n = LONG >> step;

			k++;
			for (int j = 0; j < n; j++)
				in[j] = k + j;
			OK(MPI_Accumulate(in, n, MPI_INT64_T, 1, 3, n,
				MPI_INT64_T, MPI_REPLACE, win));
			OK(MPI_Fetch_and_op(NULL, &old, MPI_INT64_T, 1, n + 2,
				MPI_NO_OP, win));
			OK(MPI_Get_accumulate(NULL, 0, MPI_INT64_T, out, n,
				MPI_INT64_T, 1, 3, n, MPI_INT64_T, MPI_NO_OP,
				win));
			OK(MPI_Win_flush_local(1, win));
			CHECK(old == k + n - 1,
				"the last element is %lld, expected %lld",
				(long long)old, (long long)k + n - 1);
			CHECK(!memcmp(in, out, (size_t)n * sizeof(*in)),
				"a fetch returns the %d elements that were "
				"written",
				n);
		}
		OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
	}
}

/* A long and a short put to a target that computes until the short one
 * arrives. */
static void computing_target(void)
{
	static int64_t in[LONG];
	int64_t value = peek(3) + 1;

	OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
	in[0] = value;
	OK(MPI_Put(in, LONG, MPI_INT64_T, 1, 3, LONG, MPI_INT64_T, win));
	OK(MPI_Win_flush(1, win));
	CHECK(peek(3) == value, "a long put arrives while the target computes");
	value = 1;
	OK(MPI_Put(&value, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, win));
	OK(MPI_Win_flush(1, win));
}

/* Computes until an access changes the memory. */
static void compute(void)
{
	double begun;
	bool is_late = false;

	OK(MPI_Recv(
		NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	begun = mtest_now();
	while (!__atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) && !is_late)
		is_late = mtest_now() - begun > DEADLINE;
	CHECK(!is_late, "a short put arrives within %d s", DEADLINE);
}

static void be_in_and_out(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		mtest_linger(1);
	}
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	if (!cma_is_permitted(MPI_COMM_WORLD))
		mtest_skip("the kernel refuses copies between processes");
	meet();
	OK(MPI_Win_create(memory, sizeof(memory), sizeof(*memory),
		MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	OK(MPI_Win_lock_all(0, win));
	if (mtest.rank == 0) {
		long_without_the_target();
		short_at_stopped_target();
		OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
		in_order();
		long_in_order();
		OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		computing_target();
	} else {
		OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		be_in_and_out();
		be_in_and_out();
		memory[0] = 0;
		OK(MPI_Win_sync(win));
		OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
		compute();
	}
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Win_free(&win));
	return mtest_finish();
}
