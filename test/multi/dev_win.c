/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_win: one-sided accesses whose origin buffers are in device memory, and
 * windows on device memory */
#include "device.h"

enum { N = 3000, HALF = N / 2 };

static int ones[N], zeros[N];
static void *dev, *back; /* N integers on the device */
static MPI_Win win;
static void *base;	/* this process's memory in the window */
static bool is_dev;	/* base is device memory */
static int memory[N];	/* values of base: save() and load() copy them */
static MPI_Aint *bases; /* of all members, if the window is dynamic; or NULL */
static int peer;

static void save(void)
{
	if (is_dev)
		device_put(base, memory, sizeof(memory));
	else
		memcpy(base, memory, sizeof(memory));
}

static void load(void)
{
	if (is_dev)
		device_get(memory, base, sizeof(memory));
	else
		memcpy(memory, base, sizeof(memory));
}

/* The displacement of element i at a member. */
static MPI_Aint at(int rank, int i)
{
	return bases ? bases[rank] + i * (MPI_Aint)sizeof(int) : i;
}

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
	save();
	OK(MPI_Win_fence(0, win));
}

/* True if the process of `rank` put n elements into this process's window. */
static bool is_put_by(int rank, int n)
{
	load();
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
	OK(MPI_Put(dev, n, MPI_INT, peer, at(peer, 0), n, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	CHECK(is_put_by(from, n), "a put of %d from the device", n);
	reset();
	OK(MPI_Get(back, N, MPI_INT, peer, at(peer, 0), n, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	CHECK(is_got(n), "a get of %d to the device", n);
}

/* A derived datatype with gaps at the origin, and at the target. */
static void strided(int rank)
{
	MPI_Datatype every_second, two_of_four, resized;
	int got[N];
	bool is_good = true;

	reset();
	OK(MPI_Type_vector(HALF, 1, 2, MPI_INT, &every_second));
	OK(MPI_Type_commit(&every_second));
	OK(MPI_Type_vector(1, 2, 4, MPI_INT, &two_of_four));
	OK(MPI_Type_create_resized(two_of_four, 0, 4 * sizeof(int), &resized));
	OK(MPI_Type_free(&two_of_four));
	two_of_four = resized;
	OK(MPI_Type_commit(&two_of_four));
	OK(MPI_Get(
		back, 1, every_second, rank, at(rank, 0), HALF, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	device_get(got, back, sizeof(got));
	for (int i = 0; i < N; i++)
		is_good &= got[i] == (i % 2 ? 0 : -i / 2);
	CHECK(is_good, "a get with gaps at the origin, from rank %d", rank);
	OK(MPI_Get(
		back, HALF, MPI_INT, rank, at(rank, 0), 1, every_second, win));
	OK(MPI_Win_fence(0, win));
	device_get(got, back, sizeof(got));
	for (int i = 0; i < HALF; i++)
		is_good &= got[i] == -2 * i;
	CHECK(is_good, "a get with gaps at the target, from rank %d", rank);
	OK(MPI_Put(
		ones, HALF, MPI_INT, rank, at(rank, 0), 1, every_second, win));
	OK(MPI_Win_fence(0, win));
	OK(MPI_Accumulate(ones, HALF, MPI_INT, rank, at(rank, 1), HALF / 2,
		two_of_four, MPI_SUM, win));
	OK(MPI_Win_fence(0, win));
	load();
	for (int i = 0; i < N - 2; i++)
		is_good &= memory[i] == (i % 2 ? -i : 1) + ((i + 3) % 4 < 2);
	CHECK(is_good, "puts and accumulates with gaps at rank %d", rank);
	OK(MPI_Type_free(&two_of_four));
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
	OK(MPI_Put(dev, HALF, MPI_INT, peer, at(peer, 0), HALF, MPI_INT, win));
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
	OK(MPI_Accumulate(
		dev, n, MPI_INT, 0, at(0, 0), n, MPI_INT, MPI_SUM, win));
	OK(MPI_Win_fence(0, win));
	load();
	for (int i = 0; mtest.rank == 0 && i < N; i++)
		is_good &= memory[i] == (i < n ? mtest.size - i : -i);
	CHECK(is_good, "an accumulate of %d", n);
	OK(MPI_Win_fence(0, win));
	OK(MPI_Get_accumulate(dev, n, MPI_INT, back, n, MPI_INT, peer,
		at(peer, 0), n, MPI_INT, MPI_SUM, win));
	OK(MPI_Win_fence(0, win));
	load();
	device_get(got, back, sizeof(got));
	for (int i = 0; i < n; i++)
		is_good &= got[i] == (peer ? -i : mtest.size - i);
	for (int i = 0; i < n; i++)
		is_good &=
			memory[i] == (mtest.rank ? 1 - i : mtest.size + 1 - i);
	CHECK(is_good, "a get_accumulate of %d", n);
	OK(MPI_Win_fence(0, win));
	sum = 41;
	OK(MPI_Get_accumulate(NULL, 0, MPI_INT, back, 1, MPI_INT, mtest.rank,
		at(mtest.rank, 1), 1, MPI_INT, MPI_NO_OP, win));
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
	OK(MPI_Fetch_and_op(dev, back, MPI_INT, 0, at(0, 0), MPI_SUM, win));
	OK(MPI_Win_flush_local(0, win));
	device_get(got, back, sizeof(int));
	CHECK(got[0] >= 0 && got[0] < mtest.size, "fetch_and_op: %d", got[0]);
	/* element 2 has -2: swaps if compare is -2, which is on the device */
	got[0] = -2;
	device_put(back, got, sizeof(int));
	OK(MPI_Compare_and_swap(
		dev, back, (int *)back + 1, MPI_INT, peer, at(peer, 2), win));
	OK(MPI_Win_flush(peer, win));
	device_get(got, back, sizeof(got));
	CHECK(got[1] == -2 && got[2] == 0, "compare_and_swap: %d", got[1]);
	OK(MPI_Rput(dev, 1, MPI_INT, peer, at(peer, 3), 1, MPI_INT, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	OK(MPI_Raccumulate(dev, 1, MPI_INT, peer, at(peer, 4), 1, MPI_INT,
		MPI_SUM, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	OK(MPI_Win_flush(peer, win));
	device_put(back, zeros, sizeof(zeros));
	OK(MPI_Rget(back, 3, MPI_INT, peer, at(peer, 2), 2, MPI_INT, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	device_get(got, back, sizeof(got));
	CHECK(got[0] == 1 && got[1] == 1 && got[2] == 0,
		"rput and rget: %d, %d, %d", got[0], got[1], got[2]);
	OK(MPI_Rget_accumulate(dev, 1, MPI_INT, back, 1, MPI_INT, peer,
		at(peer, 4), 1, MPI_INT, MPI_REPLACE, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	device_get(got, back, sizeof(int));
	CHECK(got[0] == -3, "raccumulate and rget_accumulate: %d", got[0]);
	OK(MPI_Rput(dev, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_fence(0, win));
}

/* All members add to one counter of rank 0, which is a member itself. */
static void counted(void)
{
	enum { ADDS = 200 };
	const int one = 1;
	int was, last = -1;

	reset();
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	OK(MPI_Win_lock_all(0, win));
	for (int i = 0; i < ADDS; i++) {
		OK(MPI_Fetch_and_op(
			&one, &was, MPI_INT, 0, at(0, 0), MPI_SUM, win));
		OK(MPI_Win_flush(0, win));
		CHECK(was > last, "the counter was %d, then %d", last, was);
		last = was;
	}
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	load();
	CHECK(mtest.rank || memory[0] == ADDS * mtest.size, "the counter is %d",
		memory[0]);
	OK(MPI_Win_fence(0, win));
}

/* Elements with padding, which MPI_MINLOC compares and replaces. */
static void paired(void)
{
	struct pair {
		double value;
		int index;
	} mine = { -1.0 - mtest.rank, mtest.rank }, got[2];

	reset();
	memset(memory, 0, sizeof(got));
	save();
	OK(MPI_Win_fence(0, win));
	OK(MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, at(0, 4), 1,
		MPI_DOUBLE_INT, MPI_MINLOC, win));
	OK(MPI_Win_fence(0, win));
	load();
	memcpy(got, memory, sizeof(got));
	CHECK(mtest.rank || (got[1].value == -mtest.size &&
				    got[1].index == mtest.size - 1),
		"MPI_MINLOC: %g of %d", got[1].value, got[1].index);
	OK(MPI_Win_fence(0, win));
}

/* The owner frees the memory too early. Its window refuses the accesses. */
static void freed(void)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int len, rc;

	OK(MPI_Barrier(MPI_COMM_WORLD));
	device_free(base);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
	rc = MPI_Put(ones, 1, MPI_INT, peer, at(peer, 0), 1, MPI_INT, win);
	if (!rc)
		rc = MPI_Win_flush(peer, win);
	CHECK(mtest_class(rc) == MPI_ERR_BUFFER, "a put to freed memory");
	OK(MPI_Error_string(rc, text, &len));
	CHECK(strstr(text, "device memory"), "the text is \"%s\"", text);
	OK(MPI_Win_unlock(peer, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* frees: all members have device memory, and free it before the window. */
static void run(bool frees)
{
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	fenced(1);
	fenced(N);
	strided(peer);
	strided(mtest.rank);
	started();
	accumulated(1);
	accumulated(N);
	locked();
	counted();
	paired();
	if (frees)
		freed();
	OK(MPI_Win_free(&win));
}

static void create(void)
{
	OK(MPI_Win_create(base, sizeof(memory), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &win));
}

/* The target refuses an access to host memory and device memory. */
static void mixed(void)
{
	static int host[2];
	int lengths[2] = { 1, 1 };
	MPI_Aint mine[2], all[2];
	MPI_Datatype both;

	OK(MPI_Win_attach(win, host, sizeof(host)));
	OK(MPI_Get_address(host, &mine[0]));
	OK(MPI_Get_address(base, &mine[1]));
	OK(MPI_Sendrecv(mine, 2, MPI_AINT,
		(mtest.rank + mtest.size - 1) % mtest.size, 0, all, 2, MPI_AINT,
		peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(MPI_Type_create_hindexed(2, lengths, all, MPI_INT, &both));
	OK(MPI_Type_commit(&both));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win));
	OK(MPI_Put(ones, 2, MPI_INT, peer, 0, 1, both, win));
	FAILS(MPI_Win_flush(peer, win), MPI_ERR_RMA_RANGE);
	OK(MPI_Win_unlock(peer, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(!host[0], "host memory is unchanged");
	OK(MPI_Win_detach(win, host));
	OK(MPI_Type_free(&both));
}

static void dynamic(bool frees)
{
	MPI_Aint mine;

	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_attach(win, base, sizeof(memory)));
	bases = calloc((size_t)mtest.size, sizeof(*bases));
	OK(MPI_Get_address(base, &mine));
	OK(MPI_Allgather(
		&mine, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	if (is_dev)
		mixed();
	run(frees);
	free(bases);
	bases = NULL;
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
	OK(MPI_Win_allocate(sizeof(memory), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &base, &win));
	run(false);
	base = created;
	create();
	run(false);
	dynamic(false);
	is_dev = true;
	base = device_new(zeros, sizeof(zeros));
	create();
	run(true);
	base = device_new(zeros, sizeof(zeros));
	dynamic(true);
	/* only the first member has device memory */
	is_dev = !mtest.rank;
	base = is_dev ? device_new(zeros, sizeof(zeros)) : created;
	create();
	run(false);
	if (is_dev)
		device_free(base);
	device_free(dev);
	device_free(back);
	return mtest_finish();
}
