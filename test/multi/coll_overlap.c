/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_overlap: many active non-blocking collectives, and persistent
 * collectives that are started repeatedly */
#include "coll.h"

enum { N = 60, LEN = 500 };

/* N active operations on one communicator, completed in reverse order */
static void many_at_once(MPI_Comm comm)
{
	static int in[N][LEN], out[N][LEN];
	MPI_Request req[N];
	int bad = 0;

	for (int k = 0; k < N; k++) {
		for (int i = 0; i < LEN; i++)
			in[k][i] = mtest.rank + i + k;
		if (k % 3 == 0)
			OK(MPI_Iallreduce(in[k], out[k], LEN, MPI_INT, MPI_SUM,
				comm, &req[k]));
		else if (k % 3 == 1)
			OK(MPI_Ibcast(in[k], LEN, MPI_INT, k % mtest.size, comm,
				&req[k]));
		else
			OK(MPI_Ibarrier(comm, &req[k]));
	}
	for (int k = N - 1; k >= 0; k--)
		OK(MPI_Wait(&req[k], MPI_STATUS_IGNORE));
	for (int k = 0; k < N; k++)
		for (int i = 0; i < LEN; i++) {
			int sum = mtest.size * (mtest.size - 1) / 2;

			if (k % 3 == 0)
				bad += out[k][i] != sum + (i + k) * mtest.size;
			if (k % 3 == 1)
				bad += in[k][i] != k % mtest.size + i + k;
		}
	CHECK(bad == 0, "%d concurrent collectives: %d items are wrong", N,
		bad);
}

/* Posts more messages than the rings hold. When a message completes, its
 * collective starts sends to other members, whose rings may be full. */
static void more_than_fits(void)
{
	enum { MANY = 300, BLOCK = 1024, ROUNDS = 60 };
	const int sum = mtest.size * (mtest.size - 1) / 2;
	static int in[MANY][BLOCK], out[MANY][BLOCK];
	MPI_Request req[MANY];
	int bad = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (int k = 0; k < MANY; k++) {
			for (int i = 0; i < BLOCK; i++)
				in[k][i] = mtest.rank + i + round;
			OK(MPI_Iallreduce(in[k], out[k], BLOCK, MPI_INT,
				MPI_SUM, MPI_COMM_WORLD, &req[k]));
			if ((k + 7 * mtest.rank) % 97 == round % 20)
				usleep(200);
		}
		OK(MPI_Waitall(MANY, req, MPI_STATUSES_IGNORE));
		for (int k = 0; k < MANY; k++)
			for (int i = 0; i < BLOCK; i++)
				bad += out[k][i] !=
				       sum + (i + round) * mtest.size;
	}
	CHECK(bad == 0, "%d concurrent collectives: %d items are wrong", MANY,
		bad);
}

/* a barrier is not complete while one member is missing */
static void tested(void)
{
	MPI_Request req;
	int flag = 0, go = 1;

	if (mtest.rank == 0) {
		OK(MPI_Ibarrier(MPI_COMM_WORLD, &req));
		for (int i = 0; i < 1000 && !flag; i++)
			OK(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
		CHECK(!flag, "the barrier waits for the others");
		for (int r = 1; r < mtest.size; r++)
			OK(MPI_Send(&go, 1, MPI_INT, r, 1, MPI_COMM_WORLD));
	} else {
		OK(MPI_Recv(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		OK(MPI_Ibarrier(MPI_COMM_WORLD, &req));
	}
	while (!flag)
		if (!OK(MPI_Test(&req, &flag, MPI_STATUS_IGNORE)))
			break;
	CHECK(req == MPI_REQUEST_NULL,
		"the request of a completed barrier is null");
}

#if HAVE_PERSISTENT
/* Starts persistent requests repeatedly, with new data. */
static void restarted(void)
{
	int in = 0, out = 0, word = 0;
	MPI_Request req[3];
	int rc = MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM,
		MPI_COMM_WORLD, MPI_INFO_NULL, &req[0]);

	if (mtest_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION)
		return;
	OK(rc);
	OK(MPI_Bcast_init(&word, 1, MPI_INT, mtest.size - 1, MPI_COMM_WORLD,
		MPI_INFO_NULL, &req[1]));
	OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &req[2]));
	for (int i = 0; i < 100; i++) {
		in = i + mtest.rank;
		word = mtest.rank == mtest.size - 1 ? i * 5 : -1;
		OK(MPI_Startall(3, req));
		OK(MPI_Waitall(3, req, MPI_STATUSES_IGNORE));
		CHECK(out == i * mtest.size + mtest.size * (mtest.size - 1) / 2,
			"round %d: the sum is right: %d", i, out);
		CHECK(word == i * 5,
			"round %d: the word of the broadcast is right: %d", i,
			word);
	}
	for (int k = 0; k < 3; k++)
		OK(MPI_Request_free(&req[k]));
}
#else
static void restarted(void)
{
}
#endif

int main(int argc, char **argv)
{
	MPI_Comm dup;

	mtest_init(&argc, &argv);
	how = NONBLOCKING;
	mtest_offered(coll_barrier(MPI_COMM_WORLD), "MPI_Ibarrier");
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
	many_at_once(MPI_COMM_WORLD);
	many_at_once(dup);
	more_than_fits();
	tested();
	restarted();
	OK(MPI_Comm_free(&dup));
	return mtest_finish();
}
