/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_revoke_win: a window is revoked while its members wait in calls on it
 *
 * In each round the last rank revokes a new window. All others wait in a call
 * that only the revocation ends. Then every synchronization fails with the
 * class REVOKED, and the window can be freed.
 *
 * In further rounds, all members access each other without a pause until the
 * revocation ends an access, and then unmap their buffers.
 *
 * kill=1: in the last round the last rank is killed right after the revocation.
 */
#include "mtest.h"

#include <sys/mman.h>

enum { TAG = 3, LEN = 1 << 20, ROUNDS = 12 };

static MPI_Win win;
static int last; /* the rank that revokes */
static char *memory;
static char data[LEN];

/* ---- windows of each kind ---- */

enum kind { ALLOCATED, CREATED, DYNAMIC, N_KINDS };

static MPI_Aint addresses[64];

static void make_win(enum kind kind)
{
	MPI_Aint address;

	if (kind == ALLOCATED) {
		OK(MPI_Win_allocate(
			LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
	} else {
		memory = mtest_alloc(LEN);
		if (kind == CREATED)
			OK(MPI_Win_create(memory, LEN, 1, MPI_INFO_NULL,
				MPI_COMM_WORLD, &win));
		else
			OK(MPI_Win_create_dynamic(
				MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	}
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	OK(MPI_Get_address(memory, &address));
	if (kind == DYNAMIC)
		OK(MPI_Win_attach(win, memory, LEN));
	else
		address = 0;
	OK(MPI_Allgather(
		&address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD));
}

static void free_win(enum kind kind)
{
	OK(MPI_Win_free(&win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (kind != ALLOCATED)
		free(memory);
}

static MPI_Group group_of(int rank)
{
	MPI_Group all, one;

	OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
	OK(MPI_Group_incl(all, 1, &rank, &one));
	OK(MPI_Group_free(&all));
	return one;
}

/* ---- calls that only the revocation ends ---- */

static int fence(void)
{
	return MPI_Win_fence(0, win);
}

static int start(void)
{
	MPI_Group group = group_of(last);
	int rc = MPI_Win_start(group, 0, win);

	OK(MPI_Group_free(&group));
	return rc;
}

static int post(void)
{
	MPI_Group group = group_of(last);
	int rc = MPI_Win_post(group, 0, win);

	OK(MPI_Group_free(&group));
	return rc;
}

static int wait_posted(void)
{
	int rc = post();

	return rc ? rc : MPI_Win_wait(win);
}

static int test_posted(void)
{
	int rc = post(), flag = 0;

	while (!rc && !flag)
		rc = MPI_Win_test(win, &flag);
	return rc;
}

/* The last rank has its own lock. */
static int lock_put(void)
{
	int rc = MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);

	if (rc)
		return rc;
	rc = MPI_Put(
		data, 8, MPI_BYTE, last, addresses[last], 8, MPI_BYTE, win);
	if (!rc)
		rc = MPI_Win_flush(last, win);
	FAILS(MPI_Win_unlock(last, win), MPIX_ERR_REVOKED);
	return rc;
}

static int lock_all_get(void)
{
	int rc = MPI_Win_lock_all(0, win), get_rc;

	if (rc)
		return rc;
	get_rc = MPI_Get(
		data, LEN, MPI_BYTE, last, addresses[last], LEN, MPI_BYTE, win);
	rc = MPI_Win_flush_all(win);
	FAILS(MPI_Win_unlock_all(win), MPIX_ERR_REVOKED);
	return get_rc ? get_rc : rc;
}

static int lock_rget(void)
{
	int rc = MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
	MPI_Request request;

	if (rc)
		return rc;
	rc = MPI_Rget(data, 8, MPI_BYTE, last, addresses[last], 8, MPI_BYTE,
		win, &request);
	if (!rc)
		rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	FAILS(MPI_Win_unlock(last, win), MPIX_ERR_REVOKED);
	return rc;
}

typedef int call_fn(void);

static const struct {
	const char *name;
	call_fn *fn;
	bool is_for_lock;
} calls[] = {
	{ "fence", fence, false },
	{ "start", start, false },
	{ "wait", wait_posted, false },
	{ "test loop", test_posted, false },
	{ "lock and put", lock_put, true },
	{ "lock_all and get", lock_all_get, true },
	{ "lock and rget", lock_rget, true },
};

enum { N_CALLS = sizeof(calls) / sizeof(calls[0]) };

/* ---- after the revocation ---- */

static void all_fail(void)
{
	MPI_Group group;
	int size = -1;

	FAILS(MPI_Win_fence(0, win), MPIX_ERR_REVOKED);
	FAILS(start(), MPIX_ERR_REVOKED);
	FAILS(post(), MPIX_ERR_REVOKED);
	FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPIX_ERR_REVOKED);
	FAILS(MPI_Win_lock_all(0, win), MPIX_ERR_REVOKED);
	OK(MPIX_Win_revoke(win));
	OK(MPIX_Win_get_failed(win, &group));
	OK(MPI_Group_size(group, &size));
	CHECK(size >= 0, "the failed members of a revoked window are known");
	if (group != MPI_GROUP_EMPTY)
		OK(MPI_Group_free(&group));
}

/* ---- rounds ---- */

static void revoke_round(int i, enum kind kind, bool is_killed)
{
	double began;
	int rc;

	make_win(kind);
	if (mtest.rank == last && calls[i].is_for_lock)
		OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == last) {
		for (int r = 0; r < last; r++)
			OK(MPI_Recv(NULL, 0, MPI_INT, r, TAG, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
		OK(MPIX_Win_revoke(win));
		if (is_killed)
			raise(SIGKILL);
		for (int r = 0; r < last; r++) /* has the lock until then */
			OK(MPI_Recv(NULL, 0, MPI_INT, r, TAG, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
		if (calls[i].is_for_lock)
			FAILS(MPI_Win_unlock(last, win), MPIX_ERR_REVOKED);
	} else {
		OK(MPI_Send(NULL, 0, MPI_INT, last, TAG, MPI_COMM_WORLD));
		began = mtest_now();
		rc = calls[i].fn();
		CHECK(mtest_class(rc) == MPIX_ERR_REVOKED, "%s: got %s",
			calls[i].name, rc ? mtest_error(rc) : "success");
		CHECK(mtest_now() - began < MTEST_SOON_S, "%s ends soon",
			calls[i].name);
		if (!is_killed)
			OK(MPI_Send(
				NULL, 0, MPI_INT, last, TAG, MPI_COMM_WORLD));
	}
	all_fail();
	if (is_killed)
		OK(MPI_Win_free(&win));
	else
		free_win(kind);
}

/* One access of a length and a kind that n selects, and a flush. */
static int access_once(char *buf, int n)
{
	int lens[] = { 8, 1000, 20000, LEN }, len = lens[n % 4];
	int to = (mtest.rank + 1 + n) % mtest.size, rc;
	MPI_Aint at = addresses[to];

	if (n % 3 == 0)
		rc = MPI_Put(buf, len, MPI_BYTE, to, at, len, MPI_BYTE, win);
	else if (n % 3 == 1)
		rc = MPI_Get(buf, len, MPI_BYTE, to, at, len, MPI_BYTE, win);
	else
		rc = MPI_Accumulate(buf, len, MPI_BYTE, to, at, len, MPI_BYTE,
			MPI_BXOR, win);
	if (!rc && n % 2)
		rc = MPI_Win_flush(to, win);
	return rc;
}

static void busy_round(int round, enum kind kind)
{
	char *buf = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double began = mtest_now();
	int rc = 0, n = 0;

	CHECK(buf != MAP_FAILED, "memory");
	make_win(kind);
	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	while (!rc && mtest_now() - began < MTEST_SOON_S) {
		if (mtest.rank == last && n == 3 + round)
			OK(MPIX_Win_revoke(win));
		rc = access_once(buf, n++);
	}
	CHECK(mtest_class(rc) == MPIX_ERR_REVOKED, "an access ends: got %s",
		rc ? mtest_error(rc) : "success");
	FAILS(MPI_Win_unlock_all(win), MPIX_ERR_REVOKED);
	munmap(buf, LEN);
	free_win(kind);
}

int main(int argc, char **argv)
{
	bool is_killed;

	mtest_init(&argc, &argv);
	mtest_need(2);
	is_killed = mtest_arg(argc, argv, "kill", 0);
	last = mtest.size - 1;
	mtest_connect_all(MPI_COMM_WORLD);
	for (int i = 0; i < N_CALLS; i++)
		for (int kind = 0; kind < N_KINDS; kind++)
			revoke_round(i, (enum kind)kind, false);
	for (int i = 0; i < ROUNDS; i++)
		busy_round(i, (enum kind)(i % N_KINDS));
	if (is_killed)
		revoke_round(0, CREATED, true);
	return mtest_finish();
}
