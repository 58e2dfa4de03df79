/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_cancel_send: a send without a receive is cancelled (S131-S135)
 *
 * late=0  rank 0 is slow: it cancels while rank 1 is in MPI_Finalize
 * late=1  rank 1 is slow: rank 0 cancels before rank 1 calls MPI_Finalize
 * len=    bytes of the message
 * how=    0: Isend, 1: Ibsend, 2: a persistent buffered send
 */
#include "mtest.h"

enum { ISEND, IBSEND, BSEND_INIT };

static void send_it(int how, const char *buf, int len, MPI_Request *req)
{
	const MPI_Comm world = MPI_COMM_WORLD;

	if (how == ISEND)
		OK(MPI_Isend(buf, len, MPI_BYTE, 1, 1, world, req));
	if (how != ISEND)
		OK(MPI_Buffer_attach(mtest_alloc(len + MPI_BSEND_OVERHEAD),
			len + MPI_BSEND_OVERHEAD));
	if (how == IBSEND)
		OK(MPI_Ibsend(buf, len, MPI_BYTE, 1, 1, world, req));
	if (how == BSEND_INIT) {
		OK(MPI_Bsend_init(buf, len, MPI_BYTE, 1, 1, world, req));
		OK(MPI_Start(req));
	}
}

/* Ends a buffered send. MPI_Buffer_detach() returns only if the cancelled
 * message was removed from the buffer. */
static void end_send(int how, MPI_Request *req)
{
	void *buffer;
	int len;

	if (how == BSEND_INIT)
		OK(MPI_Request_free(req));
	if (how == ISEND)
		return;
	OK(MPI_Buffer_detach(&buffer, &len));
	free(buffer);
}

int main(int argc, char **argv)
{
	int flag = 1, cancelled = 0, late, len, how;
	MPI_Request req;
	MPI_Status st;
	char *buf;

	mtest_init(&argc, &argv);
	mtest_need(2);
	late = mtest_arg(argc, argv, "late", 0);
	len = mtest_arg(argc, argv, "len", 10);
	how = (int)mtest_arg(argc, argv, "how", ISEND);
	buf = calloc(1, len + 1);
	if (mtest.rank == 0)
		send_it(how, buf, len, &req);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 1) {
		OK(MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
		CHECK(!flag, "S132: no message has the second tag");
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == late)
		mtest_linger(300);
	if (mtest.rank == 0) {
		OK(MPI_Cancel(&req));
		OK(MPI_Wait(&req, &st));
		OK(MPI_Test_cancelled(&st, &cancelled));
		CHECK(cancelled, "S131, S133, S134: the send is cancelled");
		end_send(how, &req);
	}
	if (mtest.rank == 0 && late == 0)
		CHECK(cancelled, "S135: rank 1 answers from MPI_Finalize");
	OK(MPI_Finalize());
	free(buf);
	return mtest_done();
}
