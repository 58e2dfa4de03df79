/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_batch: bursts of short messages, which may be sent together
 *
 * All messages arrive in order. Some of them are long, synchronous, blocking or
 * cancelled, and they have several types. The library sends a burst also while
 * the sender computes.
 */
#include "mtest.h"

enum { BURST = 300, LONGEST = 20000, COLS = 3, AWAY = 6 };

static char out[BURST][LONGEST], in[LONGEST];
static MPI_Datatype column;

static int len_of(int i)
{
	static const int lens[] = { 8, 0, 1, 512, 7, 513, 64, 300, LONGEST,
		200 };

	return lens[i % 10];
}

static void send_one(int i, int to, MPI_Request *req)
{
	int len = len_of(i);

	*req = MPI_REQUEST_NULL;
	mtest_fill(out[i], len, i);
	if (i % 41 == 40)
		OK(MPI_Send(out[i], len, MPI_BYTE, to, 1, MPI_COMM_WORLD));
	else if (i % 37 == 36)
		OK(MPI_Issend(
			out[i], len, MPI_BYTE, to, 1, MPI_COMM_WORLD, req));
	else
		OK(MPI_Isend(
			out[i], len, MPI_BYTE, to, 1, MPI_COMM_WORLD, req));
}

static void receive_all(int from)
{
	for (int i = 0; i < BURST; i++) {
		MPI_Status st;
		int len = -1;

		OK(MPI_Recv(
			in, LONGEST, MPI_BYTE, from, 1, MPI_COMM_WORLD, &st));
		OK(MPI_Get_count(&st, MPI_BYTE, &len));
		CHECK(len == len_of(i), "message %d has its length, got %d", i,
			len);
		CHECK(mtest_same(in, len, i), "message %d is unchanged", i);
	}
}

/* Rank 0 sends to all others. Each of them receives the messages in order. */
static void one_way(void)
{
	static MPI_Request reqs[BURST];

	if (mtest.rank) {
		receive_all(0);
		return;
	}
	for (int to = 1; to < mtest.size; to++) {
		for (int i = 0; i < BURST; i++)
			send_one(i, to, &reqs[i]);
		OK(MPI_Waitall(BURST, reqs, MPI_STATUSES_IGNORE));
	}
}

/* Each process sends columns of a matrix to both neighbours. */
static void around(void)
{
	int right = (mtest.rank + 1) % mtest.size;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	int mine[COLS][COLS], other[2 * BURST][COLS];
	MPI_Request reqs[4 * BURST];

	for (int i = 0; i < COLS * COLS; i++)
		mine[i / COLS][i % COLS] = 100 * mtest.rank + i;
	for (int i = 0; i < BURST; i++) {
		OK(MPI_Irecv(other[2 * i], COLS, MPI_INT, left, 2,
			MPI_COMM_WORLD, &reqs[4 * i]));
		OK(MPI_Irecv(other[2 * i + 1], COLS, MPI_INT, right, 3,
			MPI_COMM_WORLD, &reqs[4 * i + 1]));
		OK(MPI_Isend(&mine[0][i % COLS], 1, column, right, 2,
			MPI_COMM_WORLD, &reqs[4 * i + 2]));
		OK(MPI_Isend(&mine[0][i % COLS], 1, column, left, 3,
			MPI_COMM_WORLD, &reqs[4 * i + 3]));
	}
	OK(MPI_Waitall(4 * BURST, reqs, MPI_STATUSES_IGNORE));
	for (int i = 0; i < BURST; i++)
		for (int k = 0; k < COLS; k++) {
			int at = COLS * k + i % COLS;

			CHECK(other[2 * i][k] == 100 * left + at,
				"the item of the left neighbour arrives: %d",
				other[2 * i][k]);
			CHECK(other[2 * i + 1][k] == 100 * right + at,
				"the item of the right neighbour arrives: %d",
				other[2 * i + 1][k]);
		}
}

/* Cancels one message of a burst. The message may have been sent. */
static void cancelled(void)
{
	int value[4] = { 0, 1, 2, 3 }, is_gone = 0, got = -1;
	MPI_Request reqs[4];
	MPI_Status st;

	if (mtest.rank == 0) {
		for (int i = 0; i < 4; i++)
			OK(MPI_Isend(&value[i], 1, MPI_INT, 1, 4,
				MPI_COMM_WORLD, &reqs[i]));
		OK(MPI_Cancel(&reqs[2]));
		OK(MPI_Wait(&reqs[2], &st));
		OK(MPI_Test_cancelled(&st, &is_gone));
		OK(MPI_Waitall(4, reqs, MPI_STATUSES_IGNORE));
		OK(MPI_Send(&is_gone, 1, MPI_INT, 1, 5, MPI_COMM_WORLD));
	} else if (mtest.rank == 1) {
		OK(MPI_Recv(&is_gone, 1, MPI_INT, 0, 5, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		for (int i = 0; i < 4; i++) {
			if (i == 2 && is_gone)
				continue;
			OK(MPI_Recv(&got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
			CHECK(got == i,
				"messages arrive in order: %d in place of %d",
				got, i);
		}
	}
}

/* The sender makes no call until the receiver has all messages and removes a
 * file. */
static void computing(void)
{
	char name[] = "/tmp/p2p_batch.XXXXXX";
	const struct timespec pause = { .tv_nsec = 2000000 };
	MPI_Request reqs[AWAY];
	int got = -1;

	if (mtest.rank == 0) {
		int fd = mkstemp(name);

		CHECK(fd >= 0, "the file is created");
		close(fd);
	}
	OK(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD));
	if (mtest.rank == 0) {
		static const int value[AWAY] = { 10, 11, 12, 13, 14, 15 };

		for (int i = 0; i < AWAY; i++)
			OK(MPI_Isend(&value[i], 1, MPI_INT, 1, 6,
				MPI_COMM_WORLD, &reqs[i]));
		while (access(name, F_OK) == 0)
			nanosleep(&pause, NULL);
		OK(MPI_Waitall(AWAY, reqs, MPI_STATUSES_IGNORE));
	} else if (mtest.rank == 1) {
		for (int i = 0; i < AWAY; i++) {
			OK(MPI_Recv(&got, 1, MPI_INT, 0, 6, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
			CHECK(got == 10 + i,
				"the value %d is that of message %d", got, i);
		}
		unlink(name);
	}
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	OK(MPI_Type_vector(COLS, 1, COLS, MPI_INT, &column));
	OK(MPI_Type_commit(&column));
	for (int i = 0; i < 3; i++) {
		one_way();
		around();
		cancelled();
		computing();
	}
	OK(MPI_Type_free(&column));
	return mtest_finish();
}
