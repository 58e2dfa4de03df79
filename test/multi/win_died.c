/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * win_died: a member of a window dies
 *
 * Every wait for that member ends with an error that names its rank and the
 * window. The other members can free the window.
 *
 * Each case runs in its own group, at the same time as the other cases. The
 * last member of the group dies, and the first member waits for it.
 */
#include "session.h"

enum { BIG = 20000 };

struct window {
	MPI_Comm comm;
	MPI_Win win;
	MPI_Group last; /* the process that dies */
	int victim;	/* rank of that process */
	bool is_mapped; /* the victim's memory is mapped here */
	char name[40];
};

struct died_case {
	const char *name;
	int n_members;
	bool is_created; /* by MPI_Win_create, otherwise by MPI_Win_allocate */
	void (*die)(struct window *w);
	int (*wait)(struct window *w);
};

static long from[BIG], to[BIG], memory[BIG];

/* ---- how the last member dies ---- */

static void at_once(struct window *w)
{
	(void)w;
	raise(SIGKILL);
}

/* Dies while other members access the window. */
static void meanwhile(struct window *w)
{
	OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, w->comm, MPI_STATUS_IGNORE));
	mtest_linger(20);
	raise(SIGKILL);
}

/* Dies with the lock of `target`, after it has notified the first member. */
static void with_lock(struct window *w, int target)
{
	OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win));
	OK(MPI_Put(from, 1, MPI_LONG, target, 0, 1, MPI_LONG, w->win));
	OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 0, w->comm));
	raise(SIGKILL);
}

static void with_lock_of_first(struct window *w)
{
	with_lock(w, 0);
}

static void with_lock_of_second(struct window *w)
{
	with_lock(w, 1);
}

/* ---- how the first member waits ---- */

/* Repeats the epoch until a call fails. */
static int put_unlock(struct window *w)
{
	int rc = MPI_SUCCESS, put = MPI_SUCCESS;

	while (!rc && !put) {
		rc = MPI_Win_lock(MPI_LOCK_SHARED, w->victim, 0, w->win);
		if (rc)
			return rc;
		put = MPI_Put(
			from, 1, MPI_LONG, w->victim, 0, 1, MPI_LONG, w->win);
		rc = MPI_Win_unlock(w->victim, w->win);
	}
	return put ? put : rc;
}

/* Requests the lock that the victim held when it died. The library may release
 * that lock in time, or the call fails. */
static int lock_unlock(struct window *w, int target)
{
	int rc;

	OK(MPI_Recv(
		NULL, 0, MPI_BYTE, w->victim, 0, w->comm, MPI_STATUS_IGNORE));
	rc = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win);
	return rc ? rc : MPI_Win_unlock(target, w->win);
}

static int lock_first(struct window *w)
{
	return lock_unlock(w, 0);
}

/* The second member frees the window after these calls. */
static int lock_second(struct window *w)
{
	int rc = lock_unlock(w, 1);

	OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 0, w->comm));
	return rc;
}

/* The second member may be in MPI_Win_free during these calls. */
static int lock_left(struct window *w)
{
	return lock_unlock(w, 1);
}

static int post_wait(struct window *w)
{
	int rc = MPI_Win_post(w->last, 0, w->win);

	if (rc)
		return rc;
	return MPI_Win_wait(w->win);
}

static int start(struct window *w)
{
	return MPI_Win_start(w->last, 0, w->win);
}

static int fence(struct window *w)
{
	int rc = MPI_Win_fence(0, w->win);

	return rc ? rc : MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
}

static int put_flush(struct window *w)
{
	int rc = MPI_Put(
		from, BIG, MPI_LONG, w->victim, 0, BIG, MPI_LONG, w->win);

	return rc ? rc : MPI_Win_flush(w->victim, w->win);
}

static int rget_wait(struct window *w)
{
	MPI_Request request;
	int rc = MPI_Rget(to, BIG, MPI_LONG, w->victim, 0, BIG, MPI_LONG,
		w->win, &request);

	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int fetch_flush(struct window *w)
{
	int rc = MPI_Fetch_and_op(
		from, to, MPI_LONG, w->victim, 0, MPI_SUM, w->win);

	return rc ? rc : MPI_Win_flush(w->victim, w->win);
}

/* Repeats the access until it fails. An access to mapped memory need not
 * fail. */
static int stream(struct window *w, int (*access)(struct window *w))
{
	double end = MPI_Wtime() + 0.2;
	int rc = MPI_SUCCESS;

	OK(MPI_Win_lock_all(0, w->win));
	OK(MPI_Send(NULL, 0, MPI_BYTE, w->victim, 0, w->comm));
	while (!rc && (!w->is_mapped || MPI_Wtime() < end))
		rc = access(w);
	MPI_Win_unlock_all(w->win);
	return rc;
}

static int puts_wait(struct window *w)
{
	return stream(w, put_flush);
}

static int rgets_wait(struct window *w)
{
	return stream(w, rget_wait);
}

static int fetches_wait(struct window *w)
{
	return stream(w, fetch_flush);
}

static const struct died_case cases[] = {
	{ "put and unlock", 2, true, at_once, put_unlock },
	{ "lock of the first", 2, false, with_lock_of_first, lock_first },
	{ "lock of the second", 3, false, with_lock_of_second, lock_second },
	{ "lock of a freeing member", 3, false, with_lock_of_second,
		lock_left },
	{ "wait", 2, false, at_once, post_wait },
	{ "start", 2, true, at_once, start },
	{ "fence", 3, false, at_once, fence },
	{ "puts", 2, true, meanwhile, puts_wait },
	{ "request-based gets", 2, true, meanwhile, rgets_wait },
	{ "fetches", 2, true, meanwhile, fetches_wait },
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* ---- a case ---- */

static void window_open(
	struct window *w, const struct died_case *c, MPI_Comm comm)
{
	void *base = memory;
	MPI_Aint len;
	MPI_Group all;
	int unit;

	w->comm = comm;
	w->victim = c->n_members - 1;
	if (c->is_created)
		OK(MPI_Win_create(memory, sizeof(memory), sizeof(long),
			MPI_INFO_NULL, comm, &w->win));
	else
		OK(MPI_Win_allocate(sizeof(memory), sizeof(long), MPI_INFO_NULL,
			comm, &base, &w->win));
	OK(MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN));
	snprintf(w->name, sizeof(w->name), "of %s", c->name);
	OK(MPI_Win_set_name(w->win, w->name));
	OK(MPI_Win_shared_query(w->win, w->victim, &len, &unit, &base));
	w->is_mapped = base;
	OK(MPI_Comm_group(comm, &all));
	OK(MPI_Group_incl(all, 1, &w->victim, &w->last));
	OK(MPI_Group_free(&all));
}

/* The victim waits until all other members have created the window. */
static void window_ready(const struct window *w, int rank)
{
	if (rank != w->victim)
		OK(MPI_Send(NULL, 0, MPI_BYTE, w->victim, 1, w->comm));
	else
		for (int i = 0; i < w->victim; i++)
			OK(MPI_Recv(NULL, 0, MPI_BYTE, i, 1, w->comm,
				MPI_STATUS_IGNORE));
}

static bool may_succeed(const struct window *w, const struct died_case *c)
{
	return c->die == with_lock_of_first || c->die == with_lock_of_second ||
	       (w->is_mapped && c->die == meanwhile);
}

/* The error names the process and the window. */
static void check_error(
	const struct window *w, const struct died_case *c, int rc)
{
	char text[MPI_MAX_ERROR_STRING] = "", rank[16];
	int len;

	if (!rc && may_succeed(w, c))
		return;
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"%s: the wait ends because the victim failed, got %s", c->name,
		mtest_error(rc));
	if (c->wait == rgets_wait || c->wait == lock_left)
		return; /* the error of a request does not name its window */
	MPI_Error_string(rc, text, &len);
	snprintf(rank, sizeof(rank), "rank %d", w->victim);
	CHECK(strstr(text, rank) && strstr(text, w->name),
		"%s: the error names %s and the window: %s", c->name, rank,
		text);
}

static void died_run(const struct died_case *c, MPI_Comm comm)
{
	struct window w = { 0 };
	int rank, rc;

	OK(MPI_Comm_rank(comm, &rank));
	window_open(&w, c, comm);
	window_ready(&w, rank);
	if (rank == w.victim)
		c->die(&w);
	if (rank == 0 || c->wait == fence)
		check_error(&w, c, c->wait(&w));
	else if (c->wait == lock_second)
		OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
	OK(MPI_Group_free(&w.last));
	rc = MPI_Win_free(&w.win);
	CHECK((!rc || mtest_class(rc) == MPIX_ERR_PROC_FAILED) &&
			w.win == MPI_WIN_NULL,
		"%s: the window is freed, got %s", c->name, mtest_error(rc));
}

/* Returns the case of this process, and the first rank of its group. NULL: the
 * process has no case, or the job is too small for it. */
static const struct died_case *my_case(int *first_out)
{
	int first = 0;

	for (int i = 0; i < CASES; i++) {
		*first_out = first;
		first += cases[i].n_members;
		if (first > mtest.size)
			return NULL;
		if (mtest.rank < first)
			return &cases[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct died_case *c;
	MPI_Group world, group;
	int first = 0, range[1][3];
	MPI_Session session;
	MPI_Comm comm;

	(void)argc;
	mtest_start(argv[0]);
	session = session_open();
	session_set_rank(session);
	c = my_case(&first);
	if (c) {
		world = session_group(session, "mpi://WORLD");
		range[0][0] = first;
		range[0][1] = first + c->n_members - 1;
		range[0][2] = 1;
		OK(MPI_Group_range_incl(world, 1, range, &group));
		OK(MPI_Group_free(&world));
		comm = session_comm_take(group, c->name);
		died_run(c, comm);
		OK(MPI_Comm_free(&comm));
	}
	session_close(&session);
	return mtest_done();
}
