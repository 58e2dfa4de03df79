/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_finalize: operations that finalize waits for, and others
 *
 * S55  if all communicators are disconnected, finalize waits for no process
 * S36  a freed, matched send is delivered
 * S32  pending traffic of another session does not matter
 * S52  processes that share nothing with the session are not needed
 */
#include "session.h"

enum { LEN = 3 << 20 };

static char *buf;

/* The path of a file that is a signal between processes of one launcher,
 * without MPI. */
static void sign_name(char *path, size_t len, const char *what)
{
	snprintf(path, len, "/tmp/weft-mtest-%s-%d", what, (int)getppid());
}

static void sign_set(const char *what)
{
	char path[64];
	FILE *file;

	sign_name(path, sizeof(path), what);
	file = fopen(path, "w");
	if (CHECK(file != NULL, "the shared file is open"))
		fclose(file);
}

/* Waits for a signal. False if it does not arrive in time. */
static bool sign_wait(const char *what)
{
	double end = mtest_now() + MTEST_SOON_S;
	char path[64];

	sign_name(path, sizeof(path), what);
	while (access(path, F_OK) != 0 && mtest_now() < end)
		mtest_linger(5);
	return access(path, F_OK) == 0;
}

static bool sign_seen(const char *what)
{
	char path[64];

	sign_name(path, sizeof(path), what);
	return access(path, F_OK) == 0;
}

static void sign_clear(const char *what)
{
	char path[64];

	sign_name(path, sizeof(path), what);
	unlink(path);
}

static void local_after_disconnect(void)
{
	MPI_Session session = session_open();
	MPI_Comm comm = session_comm(session, "mpi://WORLD", "S55");

	session_works(comm, "S55");
	OK(MPI_Comm_disconnect(&comm));
	if (mtest.rank)
		CHECK(sign_wait("closed"),
			"S55: rank 0 finalizes before the others do");
	session_close(&session);
	if (mtest.rank == 0)
		sign_set("closed");
}

/* A communicator is not disconnected: finalize returns at rank 0 only when the
 * last process calls finalize, too. */
static void waits_for_others(void)
{
	MPI_Session session = session_open();
	MPI_Comm comm = session_comm(session, "mpi://WORLD", "S61");

	session_works(comm, "S61");
	if (mtest.rank == mtest.size - 1) {
		mtest_linger(200);
		sign_set("ending");
	}
	session_close(&session);
	CHECK(mtest.rank || sign_seen("ending"),
		"S61, S63: finalize waits for the other processes");
}

static void freed_send(void)
{
	MPI_Session session = session_open();
	MPI_Comm comm = session_comm(session, "mpi://WORLD", "S36");
	MPI_Request req;

	if (mtest.rank == 0) {
		mtest_fill(buf, LEN, 36);
		OK(MPI_Isend(buf, LEN, MPI_BYTE, 1, 1, comm, &req));
		OK(MPI_Request_free(&req));
	} else if (mtest.rank == 1) {
		mtest_linger(300);
		memset(buf, 0, LEN);
		OK(MPI_Recv(buf, LEN, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(buf, LEN, 36),
			"S36: the message is delivered");
	}
	session_close(&session);
	if (mtest.rank == 0)
		memset(buf, 0, LEN);
}

static void other_session(void)
{
	MPI_Session first = session_open(), second = session_open();
	MPI_Comm quiet = session_comm(first, "mpi://WORLD", "S32 quiet");
	MPI_Comm busy = session_comm(second, "mpi://WORLD", "S32 busy");
	int right = (mtest.rank + 1) % mtest.size, got = -1;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	MPI_Request req[2];

	OK(MPI_Irecv(&got, 1, MPI_INT, left, 1, busy, &req[0]));
	OK(MPI_Issend(&mtest.rank, 1, MPI_INT, right, 1, busy, &req[1]));
	session_works(quiet, "quiet");
	session_close(&first);
	OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	CHECK(got == left, "S32: the message of the other session arrives, %d",
		got);
	OK(MPI_Comm_disconnect(&busy));
	session_close(&second);
}

/* Ranks 0 and 1 open and finalize a session of their own. The other processes
 * make no call for that. */
static void subset(void)
{
	MPI_Session all = session_open(), mine = MPI_SESSION_NULL;
	MPI_Comm world = session_comm(all, "mpi://WORLD", "S52 all");
	MPI_Group group, pair;

	if (mtest.rank < 2) {
		mine = session_open();
		group = session_group(mine, "mpi://WORLD");
		OK(MPI_Group_incl(group, 2, (int[]){ 0, 1 }, &pair));
		OK(MPI_Group_free(&group));
		session_works(session_comm_take(pair, "S52 pair"), "pair");
		session_close(&mine);
	}
	CHECK(MPI_Barrier(world) == MPI_SUCCESS,
		"S52: the other processes continue after the pair has "
		"finalized");
	session_works(world, "world");
	session_close(&all);
}

/* S17: opening a session is local: no other process has opened one yet. */
static void open_is_local(void)
{
	MPI_Session session;

	if (mtest.rank)
		CHECK(sign_wait("opened"),
			"S17: rank 0 opens a session before the others do");
	session = session_open();
	if (mtest.rank == 0)
		sign_set("opened");
	session_set_rank(session);
	session_close(&session);
}

int main(int argc, char **argv)
{
	MPI_Session keep;

	(void)argc;
	mtest_start(argv[0]);
	buf = calloc(1, LEN);
	open_is_local();
	keep = session_open();
	local_after_disconnect();
	waits_for_others();
	freed_send();
	other_session();
	subset();
	session_works(session_comm(keep, "mpi://WORLD", "end"), "end");
	session_close(&keep);
	if (mtest.rank == 0) {
		sign_clear("opened");
		sign_clear("closed");
		sign_clear("ending");
	}
	free(buf);
	return mtest_done();
}
