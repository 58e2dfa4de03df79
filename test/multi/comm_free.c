/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm_free: freeing does not wait, disconnecting does (S99, S103, S107,
 * S112, S116, S117)
 */
#include "mtest.h"

enum { LEN = 4 << 20, LATE_MS = 600 };

static char *buf;

/* S116: free returns before the receive is posted; the data still arrives */
static void free_with_pending(void)
{
	MPI_Request req;
	MPI_Comm comm;
	int freed = 0;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	if (mtest.rank == 0) {
		mtest_fill(buf, LEN, 1);
		OK(MPI_Isend(buf, LEN, MPI_BYTE, 1, 1, comm, &req));
		OK(MPI_Request_free(&req));
	} else if (mtest.rank == 1) {
		/* rank 0 sends this after MPI_Comm_free: if free waited for the
		 * receive below, the program would hang */
		OK(MPI_Recv(&freed, 1, MPI_INT, 0, 2, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		OK(MPI_Recv(buf, LEN, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE));
		CHECK(freed && mtest_same(buf, LEN, 1),
			"S116: free does not wait, and the data arrives");
	}
	OK(MPI_Comm_free(&comm));
	freed = 1;
	if (mtest.rank == 0)
		OK(MPI_Send(&freed, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* S99: disconnect returns when the buffer is no longer needed */
static void disconnect_with_pending(void)
{
	MPI_Request req;
	MPI_Comm comm;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	if (mtest.rank == 0) {
		mtest_fill(buf, LEN, 2);
		OK(MPI_Isend(buf, LEN, MPI_BYTE, 1, 1, comm, &req));
		OK(MPI_Request_free(&req));
	} else if (mtest.rank == 1) {
		mtest_linger(LATE_MS);
		OK(MPI_Recv(buf, LEN, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(buf, LEN, 2),
			"S99: the data was sent before disconnect returned");
	}
	OK(MPI_Comm_disconnect(&comm));
	CHECK(comm == MPI_COMM_NULL, "S101: the handle is null");
	if (mtest.rank == 0)
		memset(buf, 0xee, LEN);
}

/* S117: a persistent request outlives the free of its communicator */
static void persistent_after_free(void)
{
	int right = (mtest.rank + 1) % mtest.size, out = 0, in = -1;
	int left = (mtest.rank + mtest.size - 1) % mtest.size, rc;
	MPI_Request req[2], copy;
	MPI_Comm comm;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	rc = MPI_Send_init(&out, 1, MPI_INT, right, 1, comm, &req[0]);
	if (mtest_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION) {
		OK(MPI_Comm_free(&comm));
		return;
	}
	OK(rc);
	OK(MPI_Recv_init(&in, 1, MPI_INT, left, 1, comm, &req[1]));
	OK(MPI_Comm_free(&comm));
	for (int i = 0; i < 5; i++) {
		out = mtest.rank * 10 + i;
		OK(MPI_Startall(2, req));
		OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
		CHECK(in == left * 10 + i,
			"S117: a message of round %d arrives, got %d", i, in);
	}
	OK(MPI_Request_free(&req[0]));
	OK(MPI_Request_free(&req[1]));
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Send_init(&out, 1, MPI_INT, right, 1, comm, &req[0]));
	CHECK(MPI_Comm_disconnect(&comm) == MPI_SUCCESS,
		"S107: an inactive persistent request at disconnect is no "
		"error");
	CHECK(mtest_class(MPI_Start(&req[0])) == MPI_ERR_REQUEST,
		"S113: starting it afterwards is an error");
	copy = req[0];
	CHECK(mtest_class(MPI_Request_free(&copy)) == MPI_ERR_REQUEST,
		"S113: freeing it afterwards is an error");
}

static void refused(void)
{
	MPI_Comm world = MPI_COMM_WORLD, self = MPI_COMM_SELF;
	MPI_Comm none = MPI_COMM_NULL, stale, copy;

	FAILS(MPI_Comm_disconnect(&world), MPI_ERR_COMM);
	FAILS(MPI_Comm_disconnect(&self), MPI_ERR_COMM);
	FAILS(MPI_Comm_free(&world), MPI_ERR_COMM);
	FAILS(MPI_Comm_free(&none), MPI_ERR_COMM);
	CHECK(world == MPI_COMM_WORLD && self == MPI_COMM_SELF,
		"S103: the handles are unchanged");
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Comm_dup(MPI_COMM_SELF, &stale));
	copy = stale;
	OK(MPI_Comm_free(&stale));
	FAILS(MPI_Barrier(copy), MPI_ERR_COMM);
	FAILS(MPI_Comm_free(&copy), MPI_ERR_COMM);
}

/* a communicator freed while a receive on it is active still receives */
static void free_with_active(void)
{
	int right = (mtest.rank + 1) % mtest.size, in = -1;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	MPI_Request req[2];
	MPI_Comm comm;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Irecv(&in, 1, MPI_INT, left, 1, comm, &req[0]));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Isend(&mtest.rank, 1, MPI_INT, right, 1, comm, &req[1]));
	OK(MPI_Comm_free(&comm));
	OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	CHECK(in == left, "the pending receive is completed, got %d", in);
}

int main(int argc, char **argv)
{
	buf = calloc(1, LEN);
	mtest_init(&argc, &argv);
	mtest_need(2);
	free_with_pending();
	disconnect_with_pending();
	free_with_active();
	persistent_after_free();
	refused();
	free(buf);
	return mtest_finish();
}
