/* SPDX-License-Identifier: BSD-3-Clause */
/* win_rows: no update is lost if several processes update a long array of
 * integers and single elements of it at the same time
 *
 * The updates are made with locks, between fences, and without a common lock:
 * with MPI_MODE_NOCHECK, through a second window, or through a dynamic one. */
#include "mtest.h"

enum { N = 512, ROUNDS = 400 };

static MPI_Win win;
static long *memory;

/* Adds one to every element at rank 0, and one more to one element. */
static void add(MPI_Win to, MPI_Aint disp, int unit, int round)
{
	static long ones[N], old[N], was;
	const long one = 1;
	MPI_Aint at = disp + (MPI_Aint)(round % N) * unit;

	for (int i = 0; i < N; i++)
		ones[i] = 1;
	if (round % 3)
		OK(MPI_Accumulate(
			ones, N, MPI_LONG, 0, disp, N, MPI_LONG, MPI_SUM, to));
	else
		OK(MPI_Get_accumulate(ones, N, MPI_LONG, old, N, MPI_LONG, 0,
			disp, N, MPI_LONG, MPI_SUM, to));
	OK(MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, at, MPI_SUM, to));
}

static void add_and_flush(MPI_Win to, MPI_Aint disp, int unit, int round)
{
	add(to, disp, unit, round);
	OK(MPI_Win_flush(0, to));
}

static void check(const char *what)
{
	long wrong = 0, first = 0;

	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mtest.rank, 0, win));
	for (int i = 0; i < N && !mtest.rank; i++) {
		long more = i < ROUNDS % N ? ROUNDS / N + 1 : ROUNDS / N;

		if (memory[i] == mtest.size * (ROUNDS + more))
			continue;
		first = wrong++ ? first : memory[i];
	}
	CHECK(!wrong, "%s: no update is lost: %ld elements differ, one is %ld",
		what, wrong, first);
	memset(memory, 0, N * sizeof(long));
	OK(MPI_Win_unlock(mtest.rank, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Shared and exclusive locks in turn, then lock_all. */
static void locks(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int kind = i % 8 == 7 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;

		OK(MPI_Win_lock(kind, 0, 0, win));
		add_and_flush(win, 0, 1, i);
		OK(MPI_Win_unlock(0, win));
	}
	check("locks");
	OK(MPI_Win_lock_all(0, win));
	for (int i = 0; i < ROUNDS; i++)
		add_and_flush(win, 0, 1, i);
	OK(MPI_Win_unlock_all(win));
	check("lock_all");
}

static void fences(void)
{
	OK(MPI_Win_fence(0, win));
	for (int i = 0; i < ROUNDS; i++) {
		add(win, 0, 1, i);
		OK(MPI_Win_fence(0, win));
	}
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	check("fences");
}

/* Odd ranks access the same memory through `other`, with this assert. */
static void two_ways(
	const char *what, MPI_Win other, MPI_Aint disp, int unit, int assert)
{
	bool is_other = mtest.rank % 2;
	MPI_Win mine = is_other ? other : win;

	OK(MPI_Win_lock_all(is_other ? assert : 0, mine));
	for (int i = 0; i < ROUNDS; i++)
		if (is_other)
			add_and_flush(other, disp, unit, i);
		else
			add_and_flush(win, 0, 1, i);
	OK(MPI_Win_unlock_all(mine));
	check(what);
}

static void aliases(void)
{
	MPI_Aint disp = 0;
	MPI_Win other;

	two_ways("with and without a lock", win, 0, 1, MPI_MODE_NOCHECK);
	OK(MPI_Win_create(memory, N * sizeof(long), sizeof(long), MPI_INFO_NULL,
		MPI_COMM_WORLD, &other));
	two_ways("a second window", other, 0, 1, 0);
	OK(MPI_Win_free(&other));
	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other));
	OK(MPI_Win_attach(other, memory, N * sizeof(long)));
	OK(MPI_Get_address(memory, &disp));
	OK(MPI_Bcast(&disp, 1, MPI_AINT, 0, MPI_COMM_WORLD));
	two_ways("a dynamic window", other, disp, (int)sizeof(long), 0);
	OK(MPI_Win_detach(other, memory));
	OK(MPI_Win_free(&other));
}

static void allocated(bool is_aliased)
{
	OK(MPI_Win_allocate(N * sizeof(long), sizeof(long), MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &win));
	memset(memory, 0, N * sizeof(long));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (is_aliased) {
		aliases();
	} else {
		locks();
		fences();
		locks();
	}
	OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	allocated(false);
	for (int i = 0; i < 3; i++)
		allocated(true);
	return mtest_finish();
}
