/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_probe: Probe and Iprobe describe the next message and do not receive it
 */
#include "mtest.h"

static const int lens[] = { 0, 3, 500, 20000, 2000000 };

enum { N_LENS = sizeof(lens) / sizeof(lens[0]) };

static void send_each(int to)
{
	char *buf = mtest_alloc(lens[N_LENS - 1]);

	for (int i = 0; i < 2 * N_LENS; i++) {
		mtest_fill(buf, lens[i % N_LENS], i);
		OK(MPI_Send(buf, lens[i % N_LENS], MPI_BYTE, to, 10 + i,
			MPI_COMM_WORLD));
	}
	free(buf);
}

static void take(const MPI_Status *st, int i)
{
	int len = -1, again = -1;
	MPI_Status st2;
	char *buf;

	OK(MPI_Get_count(st, MPI_BYTE, &len));
	CHECK(len == lens[i % N_LENS], "probe returns %d B, got %d",
		lens[i % N_LENS], len);
	CHECK(st->MPI_SOURCE == 0 && st->MPI_TAG == 10 + i,
		"probe returns the envelope");
	buf = mtest_alloc(len);
	OK(MPI_Recv(buf, len, MPI_BYTE, st->MPI_SOURCE, st->MPI_TAG,
		MPI_COMM_WORLD, &st2));
	OK(MPI_Get_count(&st2, MPI_BYTE, &again));
	CHECK(again == len && mtest_same(buf, len, i),
		"the probed message is the one received");
	free(buf);
}

static void probe_each(void)
{
	for (int i = 0; i < 2 * N_LENS; i++) {
		int from = i % 2 ? MPI_ANY_SOURCE : 0;
		int tag = i % 3 ? MPI_ANY_TAG : 10 + i, flag = 0;
		MPI_Status st;

		if (i < N_LENS)
			OK(MPI_Probe(from, tag, MPI_COMM_WORLD, &st));
		while (i >= N_LENS && !flag)
			if (!OK(MPI_Iprobe(
				    from, tag, MPI_COMM_WORLD, &flag, &st)))
				break;
		OK(MPI_Iprobe(
			from, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
		CHECK(flag, "a probed message is found again");
		take(&st, i);
	}
}

static void nothing_there(void)
{
	MPI_Comm other;
	int flag = 1;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
	OK(MPI_Iprobe(
		MPI_ANY_SOURCE, MPI_ANY_TAG, other, &flag, MPI_STATUS_IGNORE));
	CHECK(!flag, "a communicator without messages has none to probe");
	OK(MPI_Barrier(other));
	if (mtest.rank == 0)
		OK(MPI_Send(&flag, 1, MPI_INT, 1, 4, MPI_COMM_WORLD));
	if (mtest.rank == 1) {
		OK(MPI_Probe(0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, other, &flag,
			MPI_STATUS_IGNORE));
		CHECK(!flag, "a message is visible on its communicator only");
		OK(MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
		CHECK(!flag, "no message with another tag is found");
		OK(MPI_Recv(&flag, 1, MPI_INT, 0, 4, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	}
	OK(MPI_Comm_free(&other));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(2);
	if (mtest.rank == 0)
		send_each(1);
	else if (mtest.rank == 1)
		probe_each();
	MPI_Barrier(MPI_COMM_WORLD);
	nothing_there();
	return mtest_finish();
}
