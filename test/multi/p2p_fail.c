/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_fail: a long message that one side cannot send or receive ends with an
 * error at both, and later messages succeed
 *
 * The fabric loses some of the data: the Slingshot stand-in with
 * CXISTAND_LOSE_MSG. memory=1: the receiver's memory is not writable. That case
 * needs a receiver that reads the sender's memory itself.
 */
#define _GNU_SOURCE
#include "session.h"

#include <sys/mman.h>
#include <sys/uio.h>

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

/* Checks that both processes report success, or neither. True for success. */
static bool arrived(int i, int rc)
{
	int mine = rc == MPI_SUCCESS, both;

	CHECK(mine || mtest_class(rc) == MPI_ERR_OTHER ||
			mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"message %d succeeds or fails with a known class: %s", i,
		mtest_error(rc));
	OK(MPI_Allreduce(&mine, &both, 1, MPI_INT, MPI_SUM, comm));
	CHECK(both == 0 || both == 2,
		"message %d succeeds or fails at both processes", i);
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
		CHECK(failures > 0 && failures < MANY,
			"some messages fail, and some do not: %d fail",
			failures);
	else
		CHECK(!failures, "no message fails: %d fail", failures);
}

/* True if the library receives long messages by reading the memory of the other
 * process: no variable prevents that, and the kernel permits it to both
 * processes. */
static bool is_read(void)
{
	static char target = 1;
	long mine[2] = { (long)getpid(), (long)(intptr_t)&target }, all[2][2];
	const long *other = all[!mtest.rank];
	char got = 0;
	struct iovec to = { &got, 1 };
	struct iovec from;
	int can, both;

	OK(MPI_Allgather(mine, 2, MPI_LONG, all, 2, MPI_LONG, comm));
	from = (struct iovec){ (void *)(intptr_t)other[1], 1 };
	can = !getenv("WEFT_SHM") && !getenv("WEFT_CMA") &&
	      !getenv("WEFT_NODES") &&
	      process_vm_readv((pid_t)other[0], &to, 1, &from, 1, 0) == 1;
	OK(MPI_Allreduce(&can, &both, 1, MPI_INT, MPI_SUM, comm));
	return both == 2;
}

static void memory(void)
{
	char *place =
		mmap(NULL, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!is_read())
		mtest_skip("the library does not read other processes' memory "
			   "here");
	CHECK(!arrived(0, transfer(place)),
		"a message to memory without permission fails");
	CHECK(try(1), "the next message arrives");
	munmap(place, LEN);
}

int main(int argc, char **argv)
{
	MPI_Session session;

	mtest_start(argv[0]);
	buf = mtest_alloc(LEN);
	session = session_open();
	session_set_rank(session);
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
