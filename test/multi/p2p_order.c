/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_order: messages between two processes arrive in order, in any mix of
 * sizes */
#include "mtest.h"

enum { N = 400, LARGEST = 300000 };

static unsigned state;

static unsigned dice(void)
{
	state = state * 1103515245u + 12345u;
	return state >> 16;
}

static int size_of(int i)
{
	static const int sizes[] = { 0, 4, 64, 1000, 8000, 40000, 100000,
		LARGEST };

	state = i * 2654435761u;
	return sizes[dice() % 8];
}

static void send_sequence(int to)
{
	MPI_Request req[N];
	char **buf = calloc(N, sizeof(*buf));

	for (int i = 0; i < N; i++) {
		int len = size_of(i);

		buf[i] = mtest_alloc(len);
		mtest_fill(buf[i], len, i);
		if (i % 3 == 0)
			OK(MPI_Issend(buf[i], len, MPI_BYTE, to, 1,
				MPI_COMM_WORLD, &req[i]));
		else
			OK(MPI_Isend(buf[i], len, MPI_BYTE, to, 1,
				MPI_COMM_WORLD, &req[i]));
	}
	OK(MPI_Waitall(N, req, MPI_STATUSES_IGNORE));
	for (int i = 0; i < N; i++)
		free(buf[i]);
	free(buf);
}

static void expect(int i, const char *buf, const MPI_Status *st)
{
	int len = -1;

	OK(MPI_Get_count(st, MPI_BYTE, &len));
	CHECK(len == size_of(i), "message %d arrives in order: %d B, got %d", i,
		size_of(i), len);
	CHECK(mtest_same(buf, len, i), "message %d is unchanged", i);
}

/* Receives in order. All receives are posted before the messages are sent, or
 * each is posted when needed. */
static void receive_sequence(int from, bool posted)
{
	char *buf = mtest_alloc((size_t)(posted ? N : 1) * LARGEST);
	MPI_Request req[N];
	MPI_Status st[N];

	for (int i = 0; i < N && posted; i++)
		OK(MPI_Irecv(buf + (size_t)i * LARGEST, LARGEST, MPI_BYTE,
			i % 2 ? from : MPI_ANY_SOURCE, i % 5 ? 1 : MPI_ANY_TAG,
			MPI_COMM_WORLD, &req[i]));
	MPI_Barrier(MPI_COMM_WORLD);
	if (posted)
		OK(MPI_Waitall(N, req, st));
	for (int i = 0; i < N; i++) {
		if (!posted)
			OK(MPI_Recv(buf, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, 1,
				MPI_COMM_WORLD, &st[i]));
		expect(i, posted ? buf + (size_t)i * LARGEST : buf, &st[i]);
	}
	free(buf);
}

/* Many tags, received from the last to the first. */
static void reversed_tags(void)
{
	enum { TAGS = 200 };
	char *buf = mtest_alloc((size_t)TAGS * 10000);
	MPI_Request req[TAGS];

	for (int i = 0; i < TAGS && mtest.rank == 0; i++) {
		int len = i % 4 == 0 ? 10000 : i;

		mtest_fill(buf + i * 10000, len, i);
		OK(MPI_Isend(buf + i * 10000, len, MPI_BYTE, 1, i,
			MPI_COMM_WORLD, &req[i]));
	}
	for (int i = TAGS - 1; i >= 0 && mtest.rank == 1; i--) {
		int len = i % 4 == 0 ? 10000 : i, n = -1;
		MPI_Status st;

		OK(MPI_Recv(buf, 10000, MPI_BYTE, 0, i, MPI_COMM_WORLD, &st));
		OK(MPI_Get_count(&st, MPI_BYTE, &n));
		CHECK(n == len && mtest_same(buf, len, i),
			"tag %d is found behind the others", i);
	}
	if (mtest.rank == 0)
		OK(MPI_Waitall(TAGS, req, MPI_STATUSES_IGNORE));
	free(buf);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(2);
	for (int posted = 0; posted < 2; posted++) {
		if (mtest.rank != 1)
			MPI_Barrier(MPI_COMM_WORLD);
		if (mtest.rank == 0)
			send_sequence(1);
		if (mtest.rank == 1)
			receive_sequence(0, posted);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	reversed_tags();
	return mtest_finish();
}
