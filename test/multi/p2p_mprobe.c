/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_mprobe: a matched message is received only through its handle */
#include "mtest.h"

static const int lens[] = { 0, 4, 800, 30000, 1500000 };

enum { N_LENS = sizeof(lens) / sizeof(lens[0]) };

static void send_each(void)
{
	MPI_Request req[4 * N_LENS];
	char *buf[4 * N_LENS];

	for (int i = 0; i < 4 * N_LENS; i++) {
		buf[i] = mtest_alloc(lens[i % N_LENS]);
		mtest_fill(buf[i], lens[i % N_LENS], i);
		OK(MPI_Isend(buf[i], lens[i % N_LENS], MPI_BYTE, 1, 6,
			MPI_COMM_WORLD, &req[i]));
	}
	OK(MPI_Waitall(4 * N_LENS, req, MPI_STATUSES_IGNORE));
	for (int i = 0; i < 4 * N_LENS; i++)
		free(buf[i]);
}

static void receive(MPI_Message *message, int i, bool blocking)
{
	int len = lens[i % N_LENS], n = -1;
	char *buf = mtest_alloc(len);
	MPI_Request req;
	MPI_Status st;

	if (blocking) {
		OK(MPI_Mrecv(buf, len, MPI_BYTE, message, &st));
	} else {
		OK(MPI_Imrecv(buf, len, MPI_BYTE, message, &req));
		OK(MPI_Wait(&req, &st));
	}
	CHECK(*message == MPI_MESSAGE_NULL,
		"the handle of a received message is null");
	OK(MPI_Get_count(&st, MPI_BYTE, &n));
	CHECK(n == len && mtest_same(buf, len, i),
		"message %d has its own data", i);
	CHECK(st.MPI_SOURCE == 0 && st.MPI_TAG == 6,
		"the status of mrecv has source and tag");
	free(buf);
}

static MPI_Message probe(int i, bool blocking)
{
	MPI_Message message = MPI_MESSAGE_NULL;
	int flag = 0, n = -1;
	MPI_Status st;

	if (blocking)
		OK(MPI_Mprobe(0, 6, MPI_COMM_WORLD, &message, &st));
	while (!blocking && !flag)
		if (!OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			    &flag, &message, &st)))
			break;
	OK(MPI_Get_count(&st, MPI_BYTE, &n));
	CHECK(n == lens[i % N_LENS], "mprobe returns the length, got %d", n);
	CHECK(message != MPI_MESSAGE_NULL, "mprobe returns a message");
	return message;
}

static void nothing_there(void)
{
	MPI_Message message = MPI_MESSAGE_NULL;
	int flag = 1;

	OK(MPI_Improbe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, &message,
		MPI_STATUS_IGNORE));
	CHECK(!flag, "without a message the flag is false");
	CHECK(message == MPI_MESSAGE_NULL,
		"without a message the handle is null");
}

int main(int argc, char **argv)
{
	MPI_Message held[N_LENS];

	mtest_init(&argc, &argv);
	mtest_need(2);
	if (mtest.rank == 0)
		send_each();
	if (mtest.rank == 1) {
		for (int i = 0; i < 2 * N_LENS; i++) {
			held[0] = probe(i, i % 2);
			receive(&held[0], i, i % 3);
		}
		/* match five messages, then receive them in reverse order */
		for (int i = 0; i < N_LENS; i++)
			held[i] = probe(2 * N_LENS + i, i % 2);
		for (int i = N_LENS - 1; i >= 0; i--)
			receive(&held[i], 2 * N_LENS + i, i % 2);
		for (int i = 3 * N_LENS; i < 4 * N_LENS; i++) {
			held[0] = probe(i, true);
			receive(&held[0], i, true);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	nothing_there();
	return mtest_finish();
}
