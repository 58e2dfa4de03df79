/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_wildcard: receives with wildcards get each message once, in order */
#include "mtest.h"

enum { ROUNDS = 50, BIG = 100000 };

/* Each rank except 0 sends ROUNDS messages with its own tags. */
static void send_all(void)
{
	int *big = mtest_alloc(BIG * sizeof(int));

	for (int i = 0; i < ROUNDS; i++) {
		int n = i % 10 == 9 ? BIG : 1;

		big[0] = mtest.rank * 1000 + i;
		big[n - 1] = big[0];
		OK(MPI_Send(big, n, MPI_INT, 0, mtest.rank * 100 + i,
			MPI_COMM_WORLD));
	}
	free(big);
}

static void receive_any(bool any_tag)
{
	int total = (mtest.size - 1) * ROUNDS;
	int *next = calloc(mtest.size, sizeof(int));
	int *buf = mtest_alloc(BIG * sizeof(int));

	for (int k = 0; k < total; k++) {
		int from = MPI_ANY_SOURCE, tag = MPI_ANY_TAG, n = 0;
		MPI_Status st;

		/* with a tag, receive rank 1's messages in their order */
		if (!any_tag && next[1] < ROUNDS)
			tag = 100 + next[1];
		OK(MPI_Recv(buf, BIG, MPI_INT, from, tag, MPI_COMM_WORLD, &st));
		from = st.MPI_SOURCE;
		if (!CHECK(from > 0 && from < mtest.size,
			    "the source is a sender, got %d", from))
			break;
		OK(MPI_Get_count(&st, MPI_INT, &n));
		CHECK(st.MPI_TAG == from * 100 + next[from],
			"messages of one sender stay in order");
		CHECK(buf[0] == from * 1000 + next[from] &&
				buf[n - 1] == buf[0],
			"the payload belongs to the envelope");
		CHECK(n == (next[from] % 10 == 9 ? BIG : 1),
			"the count belongs to the envelope, got %d", n);
		next[from]++;
	}
	for (int r = 1; r < mtest.size; r++)
		CHECK(next[r] == ROUNDS,
			"all messages of rank %d arrive, got %d", r, next[r]);
	free(next);
	free(buf);
}

/* Of a posted receive with wildcards and one without, the earlier one matches.
 */
static void posted_order(void)
{
	int got[3] = { -1, -1, -1 }, v;
	MPI_Request req[3];
	MPI_Status st[3];

	MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == 0) {
		OK(MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 7,
			MPI_COMM_WORLD, &req[0]));
		OK(MPI_Irecv(
			&got[1], 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &req[1]));
		OK(MPI_Irecv(&got[2], 1, MPI_INT, 1, MPI_ANY_TAG,
			MPI_COMM_WORLD, &req[2]));
		MPI_Barrier(MPI_COMM_WORLD);
		OK(MPI_Waitall(3, req, st));
		CHECK(got[0] == 1,
			"the receive posted first gets the first message, %d",
			got[0]);
		CHECK(got[1] == 2,
			"the receive posted second gets the second message, %d",
			got[1]);
		CHECK(got[2] == 3,
			"the receive posted third gets the third message, %d",
			got[2]);
		CHECK(st[2].MPI_TAG == 9,
			"a receive with any tag returns the tag");
		return;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank != 1)
		return;
	for (v = 1; v <= 3; v++)
		OK(MPI_Send(&v, 1, MPI_INT, 0, v < 3 ? 7 : 9, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(2);
	for (int any_tag = 0; any_tag < 2; any_tag++) {
		if (mtest.rank == 0)
			receive_any(any_tag);
		else
			send_all();
		MPI_Barrier(MPI_COMM_WORLD);
	}
	posted_order();
	return mtest_finish();
}
