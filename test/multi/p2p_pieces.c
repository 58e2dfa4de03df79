/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_pieces: long messages in pieces, several at the same time, in both
 * directions
 *
 * Over sockets, only some pieces to a process of the same host are in flight at
 * a time. Pieces of a message wait for pieces of other messages. Receives are
 * in any order, some have gaps, and messages are in flight in both directions.
 * If the receiving process dies, its messages end.
 *
 * kill=1 the last process dies with most of its messages in flight */
#include "mtest.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 6, LONGEST = 3 << 20, ROUNDS = 3 };

/* Lengths from less than a piece to many pieces. No length is a multiple of a
 * piece. */
static int len_of(int i)
{
	static const int lens[MESSAGES] = { 100001, 393217, 786431, 1048577,
		LONGEST - 3, 2097151 };

	return lens[i % MESSAGES];
}

static void fill(unsigned char *buf, int len, unsigned seed)
{
	for (int i = 0; i < len; i++)
		buf[i] = mtest_byte((size_t)i, seed);
}

static bool is_right(const unsigned char *buf, int len, unsigned seed)
{
	for (int i = 0; i < len; i++)
		if (buf[i] != mtest_byte((size_t)i, seed))
			return false;
	return true;
}

static unsigned char *room(void)
{
	unsigned char *at = calloc(2, LONGEST);

	if (!at)
		abort();
	return at;
}

static unsigned seed_of(int from, int to, int i)
{
	return (unsigned)(from * 64 + to * 8 + i);
}

/* All processes send to all at the same time. Receives are posted in the order
 * of the sends, or in reverse order. */
static void crowd(bool is_reversed)
{
	int n = mtest.size * MESSAGES;
	unsigned char **out = calloc((size_t)n, sizeof(*out));
	unsigned char **in = calloc((size_t)n, sizeof(*in));
	MPI_Request *reqs = malloc(2 * (size_t)n * sizeof(MPI_Request));

	for (int k = 0; k < n; k++) {
		int receiver = k / MESSAGES, i = k % MESSAGES;

		out[k] = room();
		in[k] = room();
		fill(out[k], len_of(i), seed_of(mtest.rank, receiver, i));
		OK(MPI_Isend(out[k], len_of(i), MPI_BYTE, receiver, i,
			MPI_COMM_WORLD, &reqs[k]));
	}
	for (int k = 0; k < n; k++) {
		int at = is_reversed ? n - 1 - k : k, i = at % MESSAGES;

		OK(MPI_Irecv(in[at], LONGEST, MPI_BYTE, at / MESSAGES, i,
			MPI_COMM_WORLD, &reqs[n + k]));
	}
	OK(MPI_Waitall(2 * n, reqs, MPI_STATUSES_IGNORE));
	for (int k = 0; k < n; k++) {
		int receiver = k / MESSAGES, i = k % MESSAGES;

		CHECK(is_right(in[k], len_of(i),
			      seed_of(receiver, mtest.rank, i)),
			"message %d of rank %d arrives", i, receiver);
		free(out[k]);
		free(in[k]);
	}
	free(out);
	free(in);
	free(reqs);
}

/* The receiver unpacks into every second byte. Then a message is truncated. */
static void with_gaps(void)
{
	int to = (mtest.rank + 1) % mtest.size, len = len_of(3), half = 200000;
	int from = (mtest.rank + mtest.size - 1) % mtest.size;
	unsigned char *out = room(), *in = room();
	MPI_Request req;
	MPI_Datatype type;
	bool right = true;

	fill(out, len, 5);
	OK(MPI_Type_vector(len, 1, 2, MPI_BYTE, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Irecv(in, 1, type, from, 1, MPI_COMM_WORLD, &req));
	OK(MPI_Send(out, len, MPI_BYTE, to, 1, MPI_COMM_WORLD));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	for (int i = 0; right && i < len; i++)
		right = in[2 * i] == mtest_byte((size_t)i, 5) && !in[2 * i + 1];
	CHECK(right, "the message with gaps arrives");
	OK(MPI_Type_free(&type));
	memset(in, 0, LONGEST);
	OK(MPI_Irecv(in, half, MPI_BYTE, from, 2, MPI_COMM_WORLD, &req));
	OK(MPI_Send(out, len, MPI_BYTE, to, 2, MPI_COMM_WORLD));
	CHECK(mtest_class(MPI_Wait(&req, MPI_STATUS_IGNORE)) ==
			MPI_ERR_TRUNCATE,
		"a message that is too long is truncated");
	CHECK(is_right(in, half, 5) && !in[half],
		"a truncated message fills its buffer and no more");
	free(out);
	free(in);
}

/* Rank 0 sends to two processes. The last one receives a part of the first
 * message, at most, and dies. */
static void lose_one(void)
{
	int last = mtest.size - 1, n = 2 * MESSAGES, n_lost = 0;
	unsigned char *out = room(), *in = room();
	MPI_Request reqs[2 * MESSAGES];

	fill(out, LONGEST, 9);
	if (mtest.rank == last) {
		OK(MPI_Irecv(
			in, LONGEST, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &reqs[0]));
		for (int i = 0, flag; i < 20; i++)
			OK(MPI_Test(&reqs[0], &flag, MPI_STATUS_IGNORE));
		raise(SIGKILL);
	}
	if (mtest.rank == 0) {
		for (int k = 0; k < n; k++)
			OK(MPI_Isend(out, LONGEST, MPI_BYTE, k % 2 ? 1 : last,
				k / 2, MPI_COMM_WORLD, &reqs[k]));
		for (int k = 0; k < n; k++) {
			int rc = MPI_Wait(&reqs[k], MPI_STATUS_IGNORE);

			n_lost += k % 2 == 0 && rc != MPI_SUCCESS;
			CHECK(k % 2 == 0 || rc == MPI_SUCCESS,
				"message %d to a surviving process is sent",
				k / 2);
		}
		CHECK(n_lost >= MESSAGES - 1,
			"most sends to the dead process fail: %d of %d", n_lost,
			MESSAGES);
	}
	for (int i = 0; mtest.rank == 1 && i < MESSAGES; i++) {
		OK(MPI_Recv(in, LONGEST, MPI_BYTE, 0, i, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(is_right(in, LONGEST, 9), "message %d arrives", i);
	}
	free(out);
	free(in);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	if (mtest_arg(argc, argv, "kill", 0)) {
		mtest_need(3);
		lose_one();
		MPI_Finalize();
		return mtest_done();
	}
	for (int i = 0; i < ROUNDS; i++)
		crowd(i % 2);
	with_gaps();
	return mtest_finish();
}
