/* SPDX-License-Identifier: BSD-3-Clause */
/* win_forms: one-sided access with MPI_Count arguments */
#include "mtest.h"

enum { N = 4 };

static int origin[N], result[N], target;
static int *memory;

/* Sets the origin buffer to 1 to 4 and the window to 100 to 103, between two
 * fences. */
static void set_data(MPI_Win win)
{
	OK(MPI_Win_fence(0, win));
	for (int i = 0; i < N; i++) {
		origin[i] = i + 1;
		result[i] = -1;
		memory[i] = 100 + i;
	}
	OK(MPI_Win_fence(0, win));
}

static void check_items(const char *name, const int *got, int first, int step)
{
	for (int i = 0; i < N; i++)
		CHECK(got[i] == first + i * step,
			"%s: item %d is %d, expected %d", name, i, got[i],
			first + i * step);
}

static void check_fenced(MPI_Win win)
{
	set_data(win);
	OK(MPI_Put_c(origin, N, MPI_INT, target, 0, N, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	check_items("MPI_Put_c", memory, 1, 1);
	set_data(win);
	OK(MPI_Get_c(result, N, MPI_INT, target, 0, N, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	check_items("MPI_Get_c", result, 100, 1);
	set_data(win);
	OK(MPI_Accumulate_c(
		origin, N, MPI_INT, target, 0, N, MPI_INT, MPI_SUM, win));
	OK(MPI_Win_fence(0, win));
	check_items("MPI_Accumulate_c", memory, 101, 2);
	set_data(win);
	OK(MPI_Get_accumulate_c(origin, N, MPI_INT, result, N, MPI_INT, target,
		0, N, MPI_INT, MPI_SUM, win));
	OK(MPI_Win_fence(0, win));
	check_items("MPI_Get_accumulate_c", result, 100, 1);
	check_items("MPI_Get_accumulate_c", memory, 101, 2);
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* Requests are permitted in passive epochs only. */
static void check_requests(MPI_Win win)
{
	MPI_Request req;

	set_data(win);
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Rget_c(result, N, MPI_INT, target, 0, N, MPI_INT, win, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	check_items("MPI_Rget_c", result, 100, 1);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Raccumulate_c(
		origin, N, MPI_INT, target, 0, N, MPI_INT, MPI_SUM, win, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	OK(MPI_Win_flush(target, win));
	OK(MPI_Rget_accumulate_c(origin, N, MPI_INT, result, N, MPI_INT, target,
		0, N, MPI_INT, MPI_SUM, win, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	check_items("MPI_Rget_accumulate_c", result, 101, 2);
	OK(MPI_Win_flush(target, win));
	OK(MPI_Rput_c(origin, N, MPI_INT, target, 0, N, MPI_INT, win, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, mtest.rank, 0, win));
	check_items("MPI_Rput_c", memory, 1, 1);
	OK(MPI_Win_unlock(mtest.rank, win));
}

static void check_shared(void)
{
	MPI_Aint size = -1, unit = -1;
	MPI_Comm node;
	MPI_Win win;
	int *mine, *last, n;

	OK(MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
	OK(MPI_Comm_size(node, &n));
	OK(MPI_Win_allocate_shared_c(
		sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win));
	OK(MPI_Win_lock_all(0, win));
	*mine = 5;
	OK(MPI_Win_sync(win));
	OK(MPI_Barrier(node));
	OK(MPI_Win_sync(win));
	OK(MPI_Win_shared_query_c(win, n - 1, &size, &unit, &last));
	CHECK(size == sizeof(int) && unit == sizeof(int) && *last == 5,
		"the last part has %lld bytes in units of %lld, value %d",
		(long long)size, (long long)unit, *last);
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Win_free(&win));
	OK(MPI_Comm_free(&node));
}

int main(int argc, char **argv)
{
	MPI_Win win;

	mtest_init(&argc, &argv);
	target = (mtest.rank + 1) % mtest.size;
	OK(MPI_Win_allocate_c(N * sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &win));
	check_fenced(win);
	check_requests(win);
	OK(MPI_Win_free(&win));
	check_shared();
	return mtest_finish();
}
