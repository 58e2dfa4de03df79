/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_procnull: communication with MPI_PROC_NULL returns immediately without
 * effect */
#include "mtest.h"

static int value = 42;

static void check_status(const MPI_Status *st, const char *what)
{
	int n = -1;

	CHECK(st->MPI_SOURCE == MPI_PROC_NULL,
		"%s: the source is MPI_PROC_NULL", what);
	CHECK(st->MPI_TAG == MPI_ANY_TAG, "%s: the tag is MPI_ANY_TAG", what);
	OK(MPI_Get_count(st, MPI_INT, &n));
	CHECK(n == 0, "%s: the count is 0, got %d", what, n);
	CHECK(value == 42, "%s: the buffer is untouched", what);
}

static void sends(MPI_Comm comm)
{
	MPI_Request req = MPI_REQUEST_NULL;
	int to = MPI_PROC_NULL;

	OK(MPI_Send(&value, 1, MPI_INT, to, 0, comm));
	OK(MPI_Ssend(&value, 1, MPI_INT, to, 0, comm));
	OK(MPI_Rsend(&value, 1, MPI_INT, to, 0, comm));
	OK(MPI_Isend(&value, 1, MPI_INT, to, 0, comm, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	OK(MPI_Issend(&value, 1, MPI_INT, to, 0, comm, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	OK(MPI_Irsend(&value, 1, MPI_INT, to, 0, comm, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

static void receives(MPI_Comm comm)
{
	MPI_Request req = MPI_REQUEST_NULL;
	MPI_Message message = MPI_MESSAGE_NULL;
	MPI_Status st;
	int from = MPI_PROC_NULL, flag = 0;

	OK(MPI_Recv(&value, 1, MPI_INT, from, 0, comm, &st));
	check_status(&st, "recv");
	OK(MPI_Irecv(&value, 1, MPI_INT, from, 0, comm, &req));
	OK(MPI_Test(&req, &flag, &st));
	CHECK(flag, "irecv is complete immediately");
	if (!flag)
		OK(MPI_Wait(&req, &st));
	check_status(&st, "irecv");
	OK(MPI_Probe(from, 0, comm, &st));
	check_status(&st, "probe");
	OK(MPI_Iprobe(from, 0, comm, &flag, &st));
	CHECK(flag, "iprobe finds the null message");
	check_status(&st, "iprobe");
	OK(MPI_Mprobe(from, 0, comm, &message, &st));
	CHECK(message == MPI_MESSAGE_NO_PROC,
		"mprobe returns MPI_MESSAGE_NO_PROC");
	check_status(&st, "mprobe");
	OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &st));
	CHECK(message == MPI_MESSAGE_NULL, "mrecv sets the message to null");
	check_status(&st, "mrecv");
	OK(MPI_Improbe(from, 0, comm, &flag, &message, &st));
	CHECK(flag && message == MPI_MESSAGE_NO_PROC,
		"improbe returns MPI_MESSAGE_NO_PROC");
	OK(MPI_Imrecv(&value, 1, MPI_INT, &message, &req));
	OK(MPI_Wait(&req, &st));
	check_status(&st, "imrecv");
}

/* The processes are a chain. At each end, one neighbour is MPI_PROC_NULL. */
static void chain(void)
{
	int left = mtest.rank ? mtest.rank - 1 : MPI_PROC_NULL;
	int right =
		mtest.rank + 1 < mtest.size ? mtest.rank + 1 : MPI_PROC_NULL;
	int got = -7;
	MPI_Status st;

	OK(MPI_Sendrecv(&mtest.rank, 1, MPI_INT, right, 5, &got, 1, MPI_INT,
		left, 5, MPI_COMM_WORLD, &st));
	CHECK(got == (mtest.rank ? mtest.rank - 1 : -7),
		"the chain ends at the null process, got %d", got);
	CHECK(st.MPI_SOURCE == left, "the source is the left neighbour");
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	sends(MPI_COMM_WORLD);
	sends(MPI_COMM_SELF);
	receives(MPI_COMM_WORLD);
	receives(MPI_COMM_SELF);
	chain();
	return mtest_finish();
}
