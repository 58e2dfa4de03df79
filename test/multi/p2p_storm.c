/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_storm: all processes send to all: sizes up to 200,000 bytes, five tags,
 * standard and synchronous sends; received with wildcards, some by MPI_Mprobe
 *
 * The sender and the receiver compute message k of their pair from seed=, so
 * that every message is checked. n= is the number of messages per pair.
 *
 * breaks= is the number of connections over sockets that each process breaks at
 * random moments, at most. All messages arrive nevertheless.
 */
#include "link.h"

enum { TAGS = 5, LARGEST = 200000, WINDOW = 24, EVERY = 50 };

static unsigned seed;
static int breaks, breaks_left;
static unsigned n_turns;

static unsigned hash(unsigned a, unsigned b, unsigned c, unsigned d)
{
	unsigned h = seed ^ a * 0x9e3779b1u ^ b * 0x85ebca6bu ^
		     c * 0xc2b2ae35u ^ d * 0x27d4eb2fu;

	h ^= h >> 15;
	h *= 0x2c1b3c6du;
	h ^= h >> 12;
	h *= 0x297a2d39u;
	return h ^ h >> 15;
}

static int len_of(int from, int to, int k)
{
	unsigned h = hash(from, to, k, 1);

	switch (h % 16) {
	case 0:
		return 0;
	case 1:
		return LARGEST;
	case 2:
	case 3:
		return (h >> 8) % 70000;
	case 4:
	case 5:
	case 6:
		return (h >> 8) % 9000;
	default:
		return (h >> 8) % 300;
	}
}

static int tag_of(int from, int to, int k)
{
	return hash(from, to, k, 2) % TAGS;
}

static int post(char *buf, int to, int k, MPI_Request *req)
{
	int len = len_of(mtest.rank, to, k), tag = tag_of(mtest.rank, to, k);

	mtest_fill(buf, len, hash(mtest.rank, to, k, 3));
	if (hash(mtest.rank, to, k, 4) % 4 == 0)
		return MPI_Issend(
			buf, len, MPI_BYTE, to, tag, MPI_COMM_WORLD, req);
	return MPI_Isend(buf, len, MPI_BYTE, to, tag, MPI_COMM_WORLD, req);
}

/* Returns the number of the first message of a sender with this tag that was
 * not received yet; -1: there is none. */
static int next_of(const char *done, int from, int tag, int n)
{
	for (int k = 0; k < n; k++)
		if (!done[k] && tag_of(from, mtest.rank, k) == tag)
			return k;
	return -1;
}

static void arrived(char *done, const char *buf, const MPI_Status *st, int n)
{
	int from = st->MPI_SOURCE, len = -1, k;

	k = next_of(done + from * n, from, st->MPI_TAG, n);
	OK(MPI_Get_count(st, MPI_BYTE, &len));
	if (!CHECK(k >= 0, "a message with tag %d from rank %d is expected",
		    st->MPI_TAG, from))
		return;
	done[from * n + k] = 1;
	CHECK(len == len_of(from, mtest.rank, k),
		"message %d from rank %d has %d B, got %d", k, from,
		len_of(from, mtest.rank, k), len);
	CHECK(mtest_same(buf, len, hash(from, mtest.rank, k, 3)),
		"message %d from rank %d is unchanged", k, from);
}

static void receive_one(char *done, char *buf, int n, int i)
{
	MPI_Message message;
	MPI_Status st;

	if (hash(mtest.rank, i, 9, 5) % 3 == 0) {
		OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			&message, &st));
		OK(MPI_Mrecv(buf, LARGEST, MPI_BYTE, &message, &st));
	} else {
		OK(MPI_Recv(buf, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
			MPI_COMM_WORLD, &st));
	}
	arrived(done, buf, &st, n);
}

/* Breaks one connection, in about one of EVERY turns. */
static void break_some(void)
{
	unsigned h = hash(mtest.rank, n_turns++, 7, 6);

	if (!breaks_left || h % EVERY)
		return;
	breaks_left -= link_break((int)(h >> 16) % mtest.size, 1,
		h & 0x8000 ? LINK_RESET : LINK_SHUTDOWN);
}

static void storm(int n)
{
	int total = n * mtest.size, sent = 0, got = 0;
	char *done = calloc(total, 1), *in = mtest_alloc(LARGEST);
	char *out = mtest_alloc((size_t)WINDOW * LARGEST);
	MPI_Request req[WINDOW];

	for (int i = 0; i < WINDOW; i++)
		req[i] = MPI_REQUEST_NULL;
	while (got < total || sent < total) {
		int flag = 0, slot = MPI_UNDEFINED;

		break_some();
		/* keep the window full, receive every incoming message */
		for (int i = 0; i < WINDOW && sent < total; i++)
			if (req[i] == MPI_REQUEST_NULL) {
				OK(post(out + (size_t)i * LARGEST,
					(sent + mtest.rank) % mtest.size,
					sent / mtest.size, &req[i]));
				sent++;
			}
		OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			&flag, MPI_STATUS_IGNORE));
		if (flag)
			receive_one(done, in, n, got++);
		OK(MPI_Testany(WINDOW, req, &slot, &flag, MPI_STATUS_IGNORE));
	}
	OK(MPI_Waitall(WINDOW, req, MPI_STATUSES_IGNORE));
	for (int i = 0; i < total; i++)
		CHECK(done[i], "message %d of rank %d arrives", i % n, i / n);
	free(done);
	free(in);
	free(out);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	seed = mtest_arg(argc, argv, "seed", 1);
	link_begin();
	breaks = breaks_left = (int)mtest_arg(argc, argv, "breaks", 0);
	storm(mtest_arg(argc, argv, "n", 300));
	CHECK(!breaks || breaks_left < breaks, "a connection was broken");
	return mtest_finish();
}
