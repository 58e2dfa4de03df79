/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_win: one-sided accesses whose origin buffers are in device memory, and
 * windows on device memory, which are refused at all members */
#include "device.h"

enum { N = 3000, HALF = N / 2 };

static int ones[N], zeros[N];
static void *dev, *back; /* N integers on the device */
static MPI_Win win;
static int *memory; /* this process's memory in the window */
static int peer;

static void reset(void)
{
	int mine[N];

	for (int i = 0; i < N; i++)
		mine[i] = mtest.rank * N + i;
	device_put(dev, mine, sizeof(mine));
	device_put(back, zeros, sizeof(zeros));
	OK(MPI_Win_fence(0, win));
	for (int i = 0; i < N; i++)
		memory[i] = -i;
	OK(MPI_Win_fence(0, win));
}

/* True if the process of `rank` put n elements into this process's window. */
static bool is_put_by(int rank, int n)
{
	for (int i = 0; i < N; i++)
		if (memory[i] != (i < n ? rank * N + i : -i))
			return false;
	return true;
}

/* True if `back` has the first n initial elements of a window. */
static bool is_got(int n)
{
	int got[N];

	device_get(got, back, sizeof(got));
	for (int i = 0; i < N; i++)
		if (got[i] != (i < n ? -i : 0))
			return false;
	return true;
}

/* Puts and gets in the epoch of a fence, long and short. */
static void fenced(int n)
{
	const int from = (mtest.rank + mtest.size - 1) % mtest.size;

	reset();
	OK(MPI_Put(dev, n, MPI_INT, peer, 0, n, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	CHECK(is_put_by(from, n), "a put of %d from the device", n);
	reset();
	OK(MPI_Get(back, N, MPI_INT, peer, 0, n, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	CHECK(is_got(n), "a get of %d to the device", n);
}

/* A derived datatype with gaps at the origin. */
static void strided(void)
{
	MPI_Datatype every_second;
	int got[N];
	bool is_good = true;

	reset();
	OK(MPI_Type_vector(HALF, 1, 2, MPI_INT, &every_second));
	OK(MPI_Type_commit(&every_second));
	OK(MPI_Get(back, 1, every_second, peer, 0, HALF, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	device_get(got, back, sizeof(got));
	for (int i = 0; i < N; i++)
		is_good &= got[i] == (i % 2 ? 0 : -i / 2);
	CHECK(is_good, "a get with gaps");
	OK(MPI_Type_free(&every_second));
}

static void started(void)
{
	const int from = (mtest.rank + mtest.size - 1) % mtest.size;
	MPI_Group all, to, of;

	reset();
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
	OK(MPI_Group_incl(all, 1, &peer, &to));
	OK(MPI_Group_incl(all, 1, &from, &of));
	OK(MPI_Win_post(of, 0, win));
	OK(MPI_Win_start(to, 0, win));
	OK(MPI_Put(dev, HALF, MPI_INT, peer, 0, HALF, MPI_INT, win));
	OK(MPI_Win_complete(win));
	OK(MPI_Win_wait(win));
	CHECK(is_put_by(from, HALF), "a put after MPI_Win_start");
	OK(MPI_Group_free(&all));
	OK(MPI_Group_free(&to));
	OK(MPI_Group_free(&of));
}

/* All members add to rank 0. */
static void accumulated(int n)
{
	int got[N], sum;
	bool is_good = true;

	reset();
	device_put(dev, ones, sizeof(ones));
	OK(MPI_Accumulate(dev, n, MPI_INT, 0, 0, n, MPI_INT, MPI_SUM, win));
	OK(MPI_Win_fence(0, win));
	for (int i = 0; mtest.rank == 0 && i < N; i++)
		is_good &= memory[i] == (i < n ? mtest.size - i : -i);
	CHECK(is_good, "an accumulate of %d", n);
	OK(MPI_Win_fence(0, win));
	OK(MPI_Get_accumulate(dev, n, MPI_INT, back, n, MPI_INT, peer, 0, n,
		MPI_INT, MPI_SUM, win));
	OK(MPI_Win_fence(0, win));
	device_get(got, back, sizeof(got));
	for (int i = 0; i < n; i++)
		is_good &= got[i] == (peer ? -i : mtest.size - i);
	for (int i = 0; i < n; i++)
		is_good &=
			memory[i] == (mtest.rank ? 1 - i : mtest.size + 1 - i);
	CHECK(is_good, "a get_accumulate of %d", n);
	OK(MPI_Win_fence(0, win));
	sum = 41;
	OK(MPI_Get_accumulate(NULL, 0, MPI_INT, back, 1, MPI_INT, mtest.rank, 1,
		1, MPI_INT, MPI_NO_OP, win));
	OK(MPI_Win_fence(0, win));
	device_get(&sum, back, sizeof(sum));
	CHECK(sum == memory[1], "MPI_NO_OP fetches %d", sum);
}

/* Operations on one element, and operations with a request, under a lock. */
static void locked(void)
{
	int got[3];
	MPI_Request r;

	reset();
	device_put(dev, ones, sizeof(ones));
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Fetch_and_op(dev, back, MPI_INT, 0, 0, MPI_SUM, win));
	OK(MPI_Win_flush_local(0, win));
	device_get(got, back, sizeof(int));
	CHECK(got[0] >= 0 && got[0] < mtest.size, "fetch_and_op: %d", got[0]);
	/* element 2 has -2: swaps if compare is -2, which is on the device */
	got[0] = -2;
	device_put(back, got, sizeof(int));
	OK(MPI_Compare_and_swap(
		dev, back, (int *)back + 1, MPI_INT, peer, 2, win));
	OK(MPI_Win_flush(peer, win));
	device_get(got, back, sizeof(got));
	CHECK(got[1] == -2 && got[2] == 0, "compare_and_swap: %d", got[1]);
	OK(MPI_Rput(dev, 1, MPI_INT, peer, 3, 1, MPI_INT, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	OK(MPI_Raccumulate(
		dev, 1, MPI_INT, peer, 4, 1, MPI_INT, MPI_SUM, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	OK(MPI_Win_flush(peer, win));
	device_put(back, zeros, sizeof(zeros));
	OK(MPI_Rget(back, 3, MPI_INT, peer, 2, 2, MPI_INT, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	device_get(got, back, sizeof(got));
	CHECK(got[0] == 1 && got[1] == 1 && got[2] == 0,
		"rput and rget: %d, %d, %d", got[0], got[1], got[2]);
	OK(MPI_Rget_accumulate(dev, 1, MPI_INT, back, 1, MPI_INT, peer, 4, 1,
		MPI_INT, MPI_REPLACE, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	device_get(got, back, sizeof(int));
	CHECK(got[0] == -3, "raccumulate and rget_accumulate: %d", got[0]);
	OK(MPI_Rput(dev, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_fence(0, win));
}

/* Only the last member passes device memory: the call fails at all members. */
static void refused(void)
{
	void *base = mtest.rank == mtest.size - 1 ? dev : (void *)ones;
	char text[MPI_MAX_ERROR_STRING];
	MPI_Win made = MPI_WIN_NULL;
	int len, rc;

	rc = MPI_Win_create(
		base, sizeof(ones), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
	CHECK(mtest_class(rc) == MPI_ERR_BUFFER && made == MPI_WIN_NULL,
		"a window on device memory is refused");
	OK(MPI_Error_string(rc, text, &len));
	CHECK(base != dev || (strstr(text, "CUDA device memory") &&
				     strstr(text, "expose host memory")),
		"the text is \"%s\"", text);
	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &made));
	OK(MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN));
	FAILS(MPI_Win_attach(made, dev, sizeof(ones)), MPI_ERR_BUFFER);
	OK(MPI_Win_free(&made));
}

static void run(void)
{
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	fenced(1);
	fenced(N);
	strided();
	started();
	accumulated(1);
	accumulated(N);
	locked();
	OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
	static int created[N];

	mtest_init(&argc, &argv);
	device_start();
	peer = (mtest.rank + 1) % mtest.size;
	for (int i = 0; i < N; i++)
		ones[i] = 1;
	dev = device_new(zeros, sizeof(zeros));
	back = device_new(zeros, sizeof(zeros));
	OK(MPI_Win_allocate(sizeof(zeros), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &win));
	run();
	memory = created;
	OK(MPI_Win_create(created, sizeof(created), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &win));
	run();
	refused();
	device_free(dev);
	device_free(back);
	return mtest_finish();
}
