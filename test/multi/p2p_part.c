/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_part: partitioned communication
 *
 * Rank 0 declares partitions ready in an order of its own; rank 1 cuts the
 * data differently. rounds=N starts, with and without gaps in the type.
 */
#include "mtest.h"

enum { PARTS = 12, PER = 50, TOTAL = PARTS * PER };

static int value(int round, int i)
{
	return round * 10000 + i;
}

static void sender(MPI_Datatype type, int stride, int rounds)
{
	static int data[2 * TOTAL];
	MPI_Request req;
	int list[2] = { 1, 3 };

	OK(MPI_Psend_init(data, PARTS, PER, type, 1, 5, MPI_COMM_WORLD,
		MPI_INFO_NULL, &req));
	FAILS(MPI_Pready(0, req), MPI_ERR_REQUEST);
	for (int round = 0; round < rounds; round++) {
		OK(MPI_Start(&req));
		for (int i = 0; i < TOTAL; i++)
			data[i * stride] = value(round, i);
		OK(MPI_Pready_range(4, PARTS - 1, req));
		OK(MPI_Pready_list(2, list, req));
		OK(MPI_Pready(2, req));
		FAILS(MPI_Pready(2, req), MPI_ERR_ARG);
		FAILS(MPI_Pready(PARTS, req), MPI_ERR_ARG);
		/* the first one only when the receiver saw another */
		OK(MPI_Recv(NULL, 0, MPI_INT, 1, 6, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		OK(MPI_Pready(0, req));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	}
	OK(MPI_Request_free(&req));
}

static void receiver(MPI_Datatype type, int stride, int n_parts, int rounds)
{
	static int data[2 * TOTAL];
	MPI_Request req;
	MPI_Status status;
	int flag, count, bad = 0;

	OK(MPI_Precv_init(data, n_parts, TOTAL / n_parts, type, 0, 5,
		MPI_COMM_WORLD, MPI_INFO_NULL, &req));
	for (int round = 0; round < rounds; round++) {
		memset(data, 0xff, sizeof(data));
		OK(MPI_Start(&req));
		flag = n_parts == 1; /* then all wait for the first one */
		while (!flag)
			if (!OK(MPI_Parrived(req, n_parts - 1, &flag)))
				break;
		bad += n_parts > 1 &&
		       data[(TOTAL - 1) * stride] != value(round, TOTAL - 1);
		OK(MPI_Parrived(req, 0, &flag));
		CHECK(!flag, "the first partition was not declared ready yet");
		OK(MPI_Send(NULL, 0, MPI_INT, 0, 6, MPI_COMM_WORLD));
		OK(MPI_Wait(&req, &status));
		OK(MPI_Get_count(&status, type, &count));
		CHECK(count == TOTAL && status.MPI_TAG == 5,
			"the status tells the whole, got %d", count);
		for (int i = 0; i < TOTAL; i++)
			bad += data[i * stride] != value(round, i);
	}
	CHECK(bad == 0, "%d items wrong in %d parts", bad, n_parts);
	OK(MPI_Request_free(&req));
}

/* an ordinary message with the same tag is none of theirs */
static void beside(void)
{
	int word = 77;
	MPI_Request req;

	if (mtest.rank == 0)
		OK(MPI_Isend(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &req));
	else
		OK(MPI_Irecv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	CHECK(word == 77, "the ordinary message");
}

int main(int argc, char **argv)
{
	static const int cuts[] = { PARTS, 1, 5, 50 };
	MPI_Datatype gappy;
	int rounds;

	mtest_init(&argc, &argv);
	mtest_need(2);
	rounds = mtest_arg(argc, argv, "rounds", 5);
	OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gappy));
	OK(MPI_Type_commit(&gappy));
	for (int i = 0; i < 4 && mtest.rank < 2; i++) {
		if (mtest.rank == 0) {
			sender(MPI_INT, 1, rounds);
			sender(gappy, 2, rounds);
		} else {
			receiver(gappy, 2, cuts[i], rounds);
			receiver(MPI_INT, 1, cuts[i], rounds);
		}
		beside();
	}
	OK(MPI_Type_free(&gappy));
	OK(MPI_Finalize());
	return mtest_done();
}
