/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_fail: a long message that one side cannot send or receive ends with an
 * error at both, and what comes after goes on
 *
 * The fabric loses some of the data: the Slingshot stand-in with
 * CXISTAND_LOSE_MSG. memory=1 the receiver's memory cannot be written; only
 * where it reads the sender's by itself.
 */
#include "session.h"

#include <sys/mman.h>

enum { TAG = 3, LEN = 1000003, MANY = 60 };

static MPI_Comm comm;
static char *buf;

static int transfer(void *place)
{
	MPI_Request request;

	if (mtest.rank)
		OK(MPI_Isend(place, LEN, MPI_BYTE, 0, TAG, comm, &request));
	else
		OK(MPI_Irecv(place, LEN, MPI_BYTE, 1, TAG, comm, &request));
	return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Both or none tell of success; which? */
static bool arrived(int i, int rc)
{
	int mine = rc == MPI_SUCCESS, both;

	CHECK(mine || mtest_class(rc) == MPI_ERR_OTHER ||
			mtest_class(rc) == MPI_ERR_PROC_ABORTED,
		"message %d: %s", i, mtest_error(rc));
	OK(MPI_Allreduce(&mine, &both, 1, MPI_INT, MPI_SUM, comm));
	CHECK(both == 0 || both == 2, "message %d succeeds for both", i);
	return mine;
}

static bool try(int i)
{
	bool has_arrived;

	mtest_fill(buf, LEN, (unsigned)(mtest.rank ? i : i + 1));
	has_arrived = arrived(i, transfer(buf));
	CHECK(!has_arrived || mtest_same(buf, LEN, (unsigned)i),
		"message %d arrives as it was sent", i);
	return has_arrived;
}

static void fabric(void)
{
	int failures = 0;

	for (int i = 0; i < MANY; i++)
		failures += !try(i);
	if (getenv("FI_PROVIDER_PATH"))
		CHECK(failures > 0 && failures < MANY, "%d fail", failures);
	else
		CHECK(!failures, "%d fail", failures);
}

static void on_fault(int sig)
{
	static const char why[] =
		"1..0 # SKIP data of other processes cannot be read here\n";
	ssize_t n = write(1, why, sizeof(why) - 1);

	(void)sig;
	_exit(n < 0 ? 1 : 77);
}

static void memory(void)
{
	char *place =
		mmap(NULL, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	signal(SIGSEGV, on_fault);
	CHECK(!arrived(0, transfer(place)), "nobody can write there");
	CHECK(try(1), "the next one arrives");
	munmap(place, LEN);
}

int main(int argc, char **argv)
{
	MPI_Session session;

	mtest_start(argv[0]);
	buf = mtest_alloc(LEN);
	session = session_open();
	session_who(session);
	comm = session_comm(session, "mpi://WORLD", "fail");
	if (mtest_arg(argc, argv, "memory", 0))
		memory();
	else
		fabric();
	OK(MPI_Comm_disconnect(&comm));
	OK(MPI_Session_finalize(&session));
	free(buf);
	return mtest_done();
}
