/* SPDX-License-Identifier: BSD-3-Clause */
/* win_misuse: invalid uses of windows
 *
 * Each invalid call returns its error class and changes nothing, and the window
 * works afterwards. If only the target detects the error, the next flush
 * returns the error at the latest. */
#include "mtest.h"

enum { N = 16, LONG = 4096 };

static int left, right;
static int *memory;
static MPI_Win win;
static MPI_Group world, me;

static int put(int rank, MPI_Aint disp)
{
	static const int value = 77;

	return MPI_Put(&value, 1, MPI_INT, rank, disp, 1, MPI_INT, win);
}

/* Checks that the window works, once for each kind of epoch. */
static void still_works(void)
{
	static int round;
	int value = ++round * 100 + mtest.rank;

	OK(MPI_Win_fence(0, win));
	OK(MPI_Put(&value, 1, MPI_INT, right, 1, 1, MPI_INT, win));
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	CHECK(memory[1] == round * 100 + left,
		"a put between fences arrives: %d", memory[1]);
	OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
	OK(MPI_Put(&value, 1, MPI_INT, right, 2, 1, MPI_INT, win));
	OK(MPI_Win_unlock(right, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(memory[2] == round * 100 + left, "a put with a lock arrives: %d",
		memory[2]);
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- outside of epochs ---- */

static void without(void)
{
	int here = 1, out, flag = 5;
	MPI_Request r = MPI_REQUEST_NULL;

	FAILS(put(right, 0), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Get(&out, 1, MPI_INT, right, 0, 1, MPI_INT, win),
		MPI_ERR_RMA_SYNC);
	FAILS(MPI_Accumulate(
		      &here, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win),
		MPI_ERR_RMA_SYNC);
	FAILS(MPI_Fetch_and_op(&here, &out, MPI_INT, right, 0, MPI_SUM, win),
		MPI_ERR_RMA_SYNC);
	FAILS(MPI_Compare_and_swap(&here, &here, &out, MPI_INT, right, 0, win),
		MPI_ERR_RMA_SYNC);
	FAILS(MPI_Rput(&here, 1, MPI_INT, right, 0, 1, MPI_INT, win, &r),
		MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_unlock(right, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_flush(right, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_flush_local(right, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
	CHECK(flag == 5, "a failed test writes no result");
	OK(MPI_Win_sync(win)); /* MPI_Win_sync is permitted outside of epochs */
	still_works();
	/* still_works() leaves no epoch open */
	FAILS(put(right, 0), MPI_ERR_RMA_SYNC);
}

/* ---- asserts of other calls ---- */

static void with_asserts(void)
{
	FAILS(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
	FAILS(MPI_Win_fence(1 << 30, win), MPI_ERR_ASSERT);
	FAILS(MPI_Win_post(me, MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT);
	FAILS(MPI_Win_start(me, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
	FAILS(MPI_Win_lock(MPI_LOCK_SHARED, right, MPI_MODE_NOSTORE, win),
		MPI_ERR_ASSERT);
	FAILS(MPI_Win_lock_all(MPI_MODE_NOSUCCEED, win), MPI_ERR_ASSERT);
	still_works();
}

/* ---- in the wrong epoch ---- */

static void in_locks(void)
{
	MPI_Win copy = win;

	OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
	FAILS(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_start(me, 0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_free(&copy), MPI_ERR_RMA_SYNC);
	CHECK(copy == win, "a failed free leaves the handle unchanged");
	if (mtest.size > 2) {
		FAILS(put(left, 0), MPI_ERR_RMA_SYNC);
		FAILS(MPI_Win_flush(left, win), MPI_ERR_RMA_SYNC);
		FAILS(MPI_Win_unlock(left, win), MPI_ERR_RMA_SYNC);
	}
	OK(put(right, 0));
	OK(MPI_Win_unlock(right, win));
	FAILS(put(right, 0), MPI_ERR_RMA_SYNC);
	OK(MPI_Win_lock_all(0, win));
	FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_unlock(right, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_free(&copy), MPI_ERR_RMA_SYNC);
	OK(put(left, 0));
	OK(MPI_Win_unlock_all(win));
	still_works();
}

static void in_started(void)
{
	const int here = 1;
	MPI_Win copy = win;
	MPI_Request r;

	OK(MPI_Win_post(me, 0, win));
	FAILS(MPI_Win_post(me, 0, win), MPI_ERR_RMA_SYNC);
	OK(MPI_Win_start(me, 0, win));
	FAILS(MPI_Win_start(me, 0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_flush(mtest.rank, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Rput(&here, 1, MPI_INT, mtest.rank, 0, 1, MPI_INT, win, &r),
		MPI_ERR_RMA_SYNC);
	if (mtest.size > 1)
		FAILS(put(right, 0), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_free(&copy), MPI_ERR_RMA_SYNC);
	OK(put(mtest.rank, 0));
	OK(MPI_Win_complete(win));
	FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_free(&copy), MPI_ERR_RMA_SYNC);
	OK(MPI_Win_wait(win));
	FAILS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
	CHECK(memory[0] == 77, "the valid put arrives: %d", memory[0]);
	still_works();
}

static void in_fence(void)
{
	OK(MPI_Win_fence(0, win));
	OK(put(right, 0));
	FAILS(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_start(me, 0, win), MPI_ERR_RMA_SYNC);
	FAILS(MPI_Win_flush(right, win), MPI_ERR_RMA_SYNC);
	OK(MPI_Win_fence(0, win));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
	OK(put(right, 0));
	OK(MPI_Win_unlock(right, win));
	/* the lock has ended the epoch of the fence */
	FAILS(put(right, 0), MPI_ERR_RMA_SYNC);
	still_works();
}

/* ---- arguments ---- */

static void arguments(void)
{
	int here = 1, out = 0;
	double real = 1;
	MPI_Datatype fresh, mixed;
	MPI_Op own;
	const MPI_Aint at[] = { 0, 8 };

	FAILS(MPI_Win_lock(0, 0, 0, win), MPI_ERR_LOCKTYPE);
	FAILS(MPI_Win_lock(MPI_LOCK_SHARED, mtest.size, 0, win), MPI_ERR_RANK);
	FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 1 << 29, win), MPI_ERR_ASSERT);
	FAILS(MPI_Win_lock_all(1, win), MPI_ERR_ASSERT);
	FAILS(MPI_Win_fence(3, win), MPI_ERR_ASSERT);
	FAILS(MPI_Win_post(world, 5, win), MPI_ERR_ASSERT);
	FAILS(MPI_Win_start(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
	OK(MPI_Type_contiguous(1, MPI_INT, &fresh));
	OK(MPI_Type_create_struct(2, (int[]){ 1, 1 }, at,
		(MPI_Datatype[]){ MPI_INT, MPI_DOUBLE }, &mixed));
	OK(MPI_Type_commit(&mixed));
	OK(MPI_Op_create((MPI_User_function *)(uintptr_t)still_works, 1, &own));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
	FAILS(MPI_Put(&here, 1, fresh, right, 0, 1, MPI_INT, win),
		MPI_ERR_TYPE);
	FAILS(MPI_Get(&here, 1, MPI_INT, right, 0, 1, fresh, win),
		MPI_ERR_TYPE);
	FAILS(MPI_Put(&here, -1, MPI_INT, right, 0, 1, MPI_INT, win),
		MPI_ERR_COUNT);
	FAILS(MPI_Put(&here, 1, MPI_INT, -5, 0, 1, MPI_INT, win), MPI_ERR_RANK);
	FAILS(MPI_Accumulate(&here, 1, MPI_INT, right, 0, 1, MPI_INT, own, win),
		MPI_ERR_OP);
	FAILS(MPI_Accumulate(
		      &here, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_NO_OP, win),
		MPI_ERR_OP);
	FAILS(MPI_Accumulate(&real, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE,
		      MPI_BOR, win),
		MPI_ERR_OP);
	/* without elements, MPI_SUM of MPI_BYTE is no error */
	OK(MPI_Get_accumulate(&real, 0, MPI_BYTE, &out, 0, MPI_BYTE, right, 0,
		0, MPI_BYTE, MPI_SUM, win));
	FAILS(MPI_Accumulate(&real, 1, MPI_DOUBLE, right, 0, 1, MPI_LONG,
		      MPI_SUM, win),
		MPI_ERR_TYPE);
	FAILS(MPI_Accumulate(
		      memory, 1, mixed, right, 0, 1, mixed, MPI_SUM, win),
		MPI_ERR_TYPE);
	FAILS(MPI_Fetch_and_op(memory, &out, mixed, right, 0, MPI_REPLACE, win),
		MPI_ERR_TYPE);
	FAILS(MPI_Compare_and_swap(
		      &real, &real, &real, MPI_DOUBLE, right, 0, win),
		MPI_ERR_TYPE);
	OK(MPI_Win_unlock(right, win));
	OK(MPI_Op_free(&own));
	OK(MPI_Type_free(&fresh));
	OK(MPI_Type_free(&mixed));
	still_works();
}

/* ---- outside of the memory ---- */

/* The call or the flush returns the error. */
static void is_out(int rc)
{
	int at_flush = MPI_Win_flush(right, win);
	char text[MPI_MAX_ERROR_STRING];
	int len;

	CHECK(mtest_class(rc) == MPI_ERR_RMA_RANGE ||
			(rc == MPI_SUCCESS &&
				mtest_class(at_flush) == MPI_ERR_RMA_RANGE),
		"an access out of range is refused: class %d, then %d at the "
		"flush",
		mtest_class(rc), mtest_class(at_flush));
	OK(MPI_Error_string(rc ? rc : at_flush, text, &len));
	CHECK(strpbrk(text, "0123456789"), "the error has a number: %s", text);
	OK(MPI_Win_flush(right, win));
}

static void range(void)
{
	int here[N + 1] = { 1 }, out[N + 1] = { 0 };
	const MPI_Aint far = (MPI_Aint)1 << 61;

	OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
	is_out(put(right, N));
	is_out(put(right, -1));
	is_out(put(right, far));
	is_out(put(right, -far));
	is_out(MPI_Put(here, N + 1, MPI_INT, right, 0, N + 1, MPI_INT, win));
	is_out(MPI_Get(out, 2, MPI_INT, right, N - 1, 2, MPI_INT, win));
	is_out(MPI_Accumulate(
		here, 2, MPI_INT, right, N - 1, 2, MPI_INT, MPI_SUM, win));
	is_out(MPI_Get_accumulate(here, 1, MPI_INT, out, 1, MPI_INT, right, N,
		1, MPI_INT, MPI_SUM, win));
	is_out(MPI_Fetch_and_op(here, out, MPI_INT, right, N, MPI_SUM, win));
	is_out(MPI_Compare_and_swap(here, here, out, MPI_INT, right, N, win));
	OK(put(right, N - 1));
	OK(MPI_Win_unlock(right, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(memory[N - 1] == 77, "a put to the last element arrives: %d",
		memory[N - 1]);
	still_works();
}

/* A long access that the target refuses fails in its request, and changes no
 * result. */
static void long_refused(MPI_Aint there)
{
	static int in[LONG], out[LONG], before[LONG];

	memset(out, 0x5a, sizeof(out));
	memcpy(before, out, sizeof(out));
	for (int kind = 0; kind < 3; kind++) {
		MPI_Op op = kind == 1 ? MPI_SUM : MPI_NO_OP;
		MPI_Request r;
		int rc = kind == 0 ? MPI_Rget(out, LONG, MPI_INT, right, there,
					     LONG, MPI_INT, win, &r)
				   : MPI_Rget_accumulate(in, LONG, MPI_INT, out,
					     LONG, MPI_INT, right, there, LONG,
					     MPI_INT, op, win, &r);

		rc = rc ? rc : MPI_Wait(&r, MPI_STATUS_IGNORE);
		CHECK(mtest_class(rc) == MPI_ERR_RMA_RANGE,
			"a long access is refused: class %d, kind %d",
			mtest_class(rc), kind);
		CHECK(!memcmp(out, before, sizeof(out)),
			"a refused access changes no result, kind %d", kind);
		is_out(rc);
	}
}

/* Only the target knows which memory is attached, so it detects the error. */
static void detached(void)
{
	MPI_Aint mine, there;
	int here[4] = { 0 };

	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	OK(MPI_Get_address(here, &mine));
	OK(MPI_Sendrecv(&mine, 1, MPI_AINT, left, 0, &there, 1, MPI_AINT, right,
		0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(MPI_Win_attach(win, here, 2 * sizeof(int)));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
	is_out(put(right, there + 2 * (MPI_Aint)sizeof(int)));
	is_out(put(right, 64));
	long_refused(there);
	OK(put(right, there));
	OK(MPI_Win_flush(right, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(here[0] == 77 && here[2] == 0,
		"a put to attached memory arrives, and no other: %d, %d",
		here[0], here[2]);
	OK(MPI_Win_detach(win, here));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	is_out(put(right, there));
	OK(MPI_Win_unlock(right, win));
	OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	left = (mtest.rank + mtest.size - 1) % mtest.size;
	right = (mtest.rank + 1) % mtest.size;
	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_incl(world, 1, &mtest.rank, &me));
	OK(MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	without();
	with_asserts();
	in_locks();
	in_started();
	in_fence();
	arguments();
	range();
	OK(MPI_Win_free(&win));
	detached();
	OK(MPI_Group_free(&world));
	OK(MPI_Group_free(&me));
	return mtest_finish();
}
