/* SPDX-License-Identifier: BSD-3-Clause */
/* win_epochs: synchronization of windows: fences, posts and starts, locks,
 * flushes; a target that computes meanwhile
 *
 * All calls are valid; win_misuse has the invalid ones. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "mtest.h"

#include <sched.h>

static int left, right;

/* A window of n ints, all 0, at each process. */
static int *make(int n, MPI_Win *win)
{
	int *memory;

	OK(MPI_Win_allocate((MPI_Aint)sizeof(int) * n, sizeof(int),
		MPI_INFO_NULL, MPI_COMM_WORLD, &memory, win));
	OK(MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN));
	memset(memory, 0, sizeof(int) * (size_t)n);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	return memory;
}

static MPI_Group group_of(const int *ranks, int n)
{
	MPI_Group world, group;

	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_incl(world, n, ranks, &group));
	OK(MPI_Group_free(&world));
	return group;
}

/* ---- fence ---- */

static void fences(void)
{
	int n = mtest.size, out = -1, value;
	MPI_Win win;
	int *memory = make(n, &win);

	OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
	for (int round = 1; round <= 20; round++) {
		value = 100 * round + mtest.rank;
		for (int to = 0; to < n; to++)
			OK(MPI_Put(&value, 1, MPI_INT, to, mtest.rank, 1,
				MPI_INT, win));
		OK(MPI_Win_fence(0, win));
		for (int i = 0; i < n; i++)
			CHECK(memory[i] == 100 * round + i,
				"round %d: the put of rank %d arrives: %d",
				round, i, memory[i]);
		OK(MPI_Get(&out, 1, MPI_INT, right, left, 1, MPI_INT, win));
		OK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win));
		CHECK(out == 100 * round + left,
			"round %d: the get returns the value of rank %d: %d",
			round, left, out);
	}
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	OK(MPI_Win_free(&win));
}

/* ---- post, start, complete, wait ---- */

static void ring(void)
{
	const int ends[] = { left, right };
	MPI_Group around = group_of(ends, left == right ? 1 : 2);
	int value, done;
	MPI_Win win;
	int *memory = make(mtest.size, &win);

	for (int round = 1; round <= 20; round++) {
		value = round;
		OK(MPI_Win_post(around, 0, win));
		OK(MPI_Win_start(around, 0, win));
		OK(MPI_Put(
			&value, 1, MPI_INT, left, mtest.rank, 1, MPI_INT, win));
		OK(MPI_Put(&value, 1, MPI_INT, right, mtest.rank, 1, MPI_INT,
			win));
		OK(MPI_Win_complete(win));
		done = 0;
		if (round % 2)
			OK(MPI_Win_wait(win));
		while (round % 2 == 0 && !done)
			OK(MPI_Win_test(win, &done));
		CHECK(memory[left] == round && memory[right] == round,
			"round %d: the puts of both neighbours arrive: %d, %d",
			round, memory[left], memory[right]);
	}
	OK(MPI_Group_free(&around));
	OK(MPI_Win_free(&win));
}

/* All processes access rank 0, some of them late. The groups are freed
 * immediately. */
static void star(void)
{
	int others[64], n = 0;
	MPI_Group group;
	MPI_Win win;
	int *memory = make(mtest.size, &win);

	for (int i = mtest.size - 1; i > 0; i--)
		others[n++] = i;
	for (int round = 1; round <= 5; round++) {
		group = mtest.rank ? group_of((int[]){ 0 }, 1)
				   : group_of(others, n);
		if (mtest.rank == 0) {
			OK(MPI_Win_post(group, 0, win));
			OK(MPI_Group_free(&group));
			OK(MPI_Win_wait(win));
			for (int i = 1; i < mtest.size; i++)
				CHECK(memory[i] == round,
					"the put of rank %d arrives: %d", i,
					memory[i]);
			continue;
		}
		if (mtest.rank == mtest.size - 1)
			mtest_linger(5);
		OK(MPI_Win_start(group, 0, win));
		OK(MPI_Group_free(&group));
		OK(MPI_Put(&round, 1, MPI_INT, 0, mtest.rank, 1, MPI_INT, win));
		OK(MPI_Win_complete(win));
	}
	OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
	OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
	OK(MPI_Win_complete(win));
	OK(MPI_Win_wait(win));
	OK(MPI_Win_free(&win));
}

/* A process is its own target. Then all processes start epochs with
 * MPI_MODE_NOCHECK, after a barrier that follows the posts. */
static void self_and_nocheck(void)
{
	MPI_Group me = group_of(&mtest.rank, 1), all;
	int value = 9;
	MPI_Win win;
	int *memory = make(1, &win);

	OK(MPI_Win_post(me, 0, win));
	OK(MPI_Win_start(me, 0, win));
	OK(MPI_Put(&value, 1, MPI_INT, mtest.rank, 0, 1, MPI_INT, win));
	OK(MPI_Win_complete(win));
	OK(MPI_Win_wait(win));
	CHECK(memory[0] == 9, "a put to the own rank arrives");
	OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
	OK(MPI_Win_post(all, MPI_MODE_NOCHECK, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_start(all, MPI_MODE_NOCHECK, win));
	value = 1;
	OK(MPI_Accumulate(
		&value, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win));
	OK(MPI_Win_complete(win));
	OK(MPI_Win_wait(win));
	CHECK(memory[0] == 10, "an update with MPI_MODE_NOCHECK arrives: %d",
		memory[0]);
	OK(MPI_Group_free(&me));
	OK(MPI_Group_free(&all));
	OK(MPI_Win_free(&win));
}

/* ---- locks ---- */

/* Under an exclusive lock, each process reads a counter and writes it in two
 * accesses. */
static void exclusive(int n)
{
	int value;
	MPI_Win win;
	int *memory = make(1, &win);

	for (int i = 0; i < n; i++) {
		OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
		OK(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
		OK(MPI_Win_flush(0, win));
		value++;
		OK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
		OK(MPI_Win_unlock(0, win));
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, mtest.rank, 0, win));
	CHECK(mtest.rank || memory[0] == n * mtest.size,
		"no increment is lost: %d of %d", memory[0], n * mtest.size);
	OK(MPI_Win_unlock(mtest.rank, win));
	OK(MPI_Win_free(&win));
}

/* A process that holds the lock on itself loads and stores directly. */
static void own(int n)
{
	int one = 1;
	MPI_Win win;
	int *memory = make(1, &win);

	for (int i = 0; i < n; i++) {
		if (mtest.rank == 0) {
			OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
			memory[0] += 1;
			OK(MPI_Win_unlock(0, win));
			continue;
		}
		OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
		OK(MPI_Accumulate(
			&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
		OK(MPI_Win_unlock(0, win));
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
	CHECK(mtest.rank || memory[0] == n * mtest.size,
		"no increment is lost: %d of %d", memory[0], n * mtest.size);
	OK(MPI_Win_unlock(0, win));
	OK(MPI_Win_free(&win));
}

/* Locks on several targets at the same time: nested, and with
 * MPI_MODE_NOCHECK. */
static void several(void)
{
	int value = mtest.rank + 1, out = 0;
	MPI_Win win;
	int *memory = make(mtest.size, &win);

	for (int to = 0; to < mtest.size; to++)
		OK(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
	for (int to = 0; to < mtest.size; to++)
		OK(MPI_Put(
			&value, 1, MPI_INT, to, mtest.rank, 1, MPI_INT, win));
	OK(MPI_Win_flush_all(win));
	for (int to = mtest.size - 1; to >= 0; to--)
		OK(MPI_Win_unlock(to, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (int i = 0; i < mtest.size; i++)
		CHECK(memory[i] == i + 1, "the put of rank %d arrives: %d", i,
			memory[i]);
	OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, MPI_MODE_NOCHECK, win));
	OK(MPI_Get(&out, 1, MPI_INT, right, mtest.rank, 1, MPI_INT, win));
	OK(MPI_Win_flush_local(right, win));
	CHECK(out == value, "flush_local completes the get");
	OK(MPI_Win_unlock(right, win));
	OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
	OK(MPI_Fetch_and_op(NULL, &out, MPI_INT, right, left, MPI_NO_OP, win));
	OK(MPI_Win_flush_local_all(win));
	CHECK(out == left + 1, "flush_local_all completes the fetch");
	OK(MPI_Win_sync(win));
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Win_free(&win));
}

/* A fence without accesses does not prevent epochs of other kinds. */
static void mixed(void)
{
	MPI_Group me = group_of(&mtest.rank, 1);
	int value = 3;
	MPI_Win win;
	int *memory = make(1, &win);

	OK(MPI_Win_fence(0, win));
	OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
	OK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win));
	OK(MPI_Win_unlock(right, win));
	OK(MPI_Win_fence(0, win));
	CHECK(memory[0] == 3, "a put with a lock arrives: %d", memory[0]);
	OK(MPI_Win_fence(0, win));
	OK(MPI_Win_post(me, 0, win));
	OK(MPI_Win_start(me, 0, win));
	OK(MPI_Win_complete(win));
	OK(MPI_Win_wait(win));
	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Group_free(&me));
	OK(MPI_Win_free(&win));
}

/* ---- tickets ---- */

/* All processes increment one counter. Each value below n is a ticket. */
static void tickets(int n)
{
	char *seen = mtest_alloc((size_t)n);
	int one = 1, ticket = 0, drawn = 0, all = 0;
	MPI_Win win;

	make(1, &win);
	OK(MPI_Win_lock_all(0, win));
	for (;;) {
		OK(MPI_Fetch_and_op(
			&one, &ticket, MPI_INT, 0, 0, MPI_SUM, win));
		OK(MPI_Win_flush(0, win));
		if (ticket >= n)
			break;
		seen[ticket]++;
		drawn++;
	}
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Allreduce(MPI_IN_PLACE, seen, n, MPI_SIGNED_CHAR, MPI_SUM,
		MPI_COMM_WORLD));
	OK(MPI_Allreduce(&drawn, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	CHECK(all == n && mtest_all(seen, (size_t)n, 1),
		"each ticket is drawn once: %d of %d", all, n);
	OK(MPI_Win_free(&win));
	free(seen);
}

/* ---- queued updates ---- */

/* After many short updates the library may queue an update. The next fetch
 * returns its result, and the end of the epoch posts it. */
static void rows(void)
{
	const int one = 1;
	int seen = -1, n_done = 0;
	MPI_Win win;
	int *memory = make(2, &win);

	for (int i = 0; i < 40; i++) {
		int n = i % 4 == 3 ? 1 : 9;

		OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
		for (int j = 0; j < 9; j++)
			OK(MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1,
				MPI_INT, MPI_SUM, win));
		OK(i % 2 ? MPI_Win_flush(right, win)
			 : MPI_Win_flush_local(right, win));
		for (int j = 0; j < n; j++)
			OK(MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1,
				MPI_INT, MPI_SUM, win));
		n_done += 9 + n;
		if (i % 3 == 0) {
			OK(MPI_Fetch_and_op(NULL, &seen, MPI_INT, right, 0,
				MPI_NO_OP, win));
			OK(MPI_Win_flush_local(right, win));
			CHECK(seen == n_done, "%d updates are visible, not %d",
				seen, n_done);
		}
		if (i % 3 == 1)
			OK(MPI_Put(
				&one, 1, MPI_INT, right, 1, 1, MPI_INT, win));
		OK(MPI_Win_unlock(right, win));
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, mtest.rank, 0, win));
	CHECK(memory[0] == n_done,
		"all updates are visible after all epochs: %d, not %d",
		memory[0], n_done);
	CHECK(memory[1] == 1, "the value that was put is 1, got %d", memory[1]);
	OK(MPI_Win_unlock(mtest.rank, win));
	for (int i = 0; i < 3; i++) {
		OK(MPI_Win_fence(0, win));
		for (int j = 0; j < 9 - 4 * i; j++)
			OK(MPI_Put(
				&i, 1, MPI_INT, right, j % 2, 1, MPI_INT, win));
		OK(MPI_Win_fence(0, win));
		CHECK(memory[0] == i, "after fence %d the value is %d", i,
			memory[0]);
	}
	OK(MPI_Win_free(&win));
}

/* ---- a target that computes ---- */

static bool is_unified(MPI_Win win)
{
	int *model, flag;

	OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag));
	return flag && *model == MPI_WIN_UNIFIED;
}

/* A plain load while other processes update the word. The unified memory model
 * permits that, so it is no data race. */
static
#ifdef __SANITIZE_THREAD__
	__attribute__((no_sanitize("thread")))
#endif
	int
	load(const int *memory)
{
	return *(const volatile int *)memory;
}

/* Rank 0 makes no call until all other processes have updated a counter in
 * their second epoch. It polls that counter in its own memory. */
static void computing(bool is_created)
{
	int memory_here[64] = { 0 }, one = 1, out = 0, *memory = memory_here;
	MPI_Win win;

	if (is_created)
		OK(MPI_Win_create(memory, sizeof(memory_here), sizeof(int),
			MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	else
		memory = make(64, &win);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank) {
		OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
		OK(MPI_Put(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
		OK(MPI_Win_flush(0, win));
		OK(MPI_Get(&out, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
		OK(MPI_Win_flush(0, win));
		CHECK(out == 1, "a get returns the value that was put, %d",
			out);
		OK(MPI_Accumulate(
			&one, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win));
		OK(MPI_Win_unlock(0, win));
		OK(MPI_Win_lock_all(0, win));
		OK(MPI_Fetch_and_op(&one, &out, MPI_INT, 0, 0, MPI_SUM, win));
		OK(MPI_Win_unlock_all(win));
	} else {
		CHECK(is_unified(win), "the memory model is unified");
		while (load(&memory[0]) < mtest.size - 1)
			;
		CHECK(load(&memory[2]) == mtest.size - 1,
			"the updates of all processes are visible: %d",
			load(&memory[2]));
	}
	OK(MPI_Win_free(&win));
}

/* Binds this process to its first core, or (false) to its former cores. */
static void share_core(bool is_shared, cpu_set_t *all)
{
	cpu_set_t one;
	int cpu = 0;

	if (is_shared)
		OK(sched_getaffinity(0, sizeof(*all), all));
	while (!CPU_ISSET(cpu, all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	OK(sched_setaffinity(0, sizeof(one), is_shared ? &one : all));
}

/* Processes on one core acquire a lock repeatedly to poll a value. They do not
 * starve rank 0, which needs the lock to change the value. */
static void chase(int n)
{
	int memory = 0, seen;
	cpu_set_t all;
	MPI_Aint at;
	MPI_Win win;

	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	OK(MPI_Win_attach(win, &memory, sizeof(memory)));
	OK(MPI_Get_address(&memory, &at));
	OK(MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD));
	share_core(true, &all);
	for (int i = 1; i <= n; i++) {
		OK(MPI_Barrier(MPI_COMM_WORLD));
		if (!mtest.rank) {
			mtest_linger(2);
			OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
			memory = i;
			OK(MPI_Win_unlock(0, win));
		}
		for (seen = 0; mtest.rank && seen < i;) {
			OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
			OK(MPI_Get(&seen, 1, MPI_INT, 0, at, 1, MPI_INT, win));
			OK(MPI_Win_unlock(0, win));
		}
	}
	share_core(false, &all);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_detach(win, &memory));
	OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	left = (mtest.rank + mtest.size - 1) % mtest.size;
	right = (mtest.rank + 1) % mtest.size;
	fences();
	if (mtest.size > 1) {
		ring();
		star();
	}
	self_and_nocheck();
	exclusive(50);
	own(50);
	several();
	mixed();
	tickets(200);
	rows();
	computing(false);
	computing(true);
	chase(5);
	return mtest_finish();
}
