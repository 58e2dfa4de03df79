/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_part: partitioned communication
 *
 * Rank 0 marks partitions as ready in a mixed order. Rank 1 divides the data
 * differently. Each request is started rounds=N times, with and without gaps in
 * the type. Other cases: requests without partitions, and calls that are
 * invalid for a partitioned request in its state.
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
		/* partition 0 is ready only after another one has arrived */
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
		flag = n_parts == 1; /* then the partition needs all data */
		while (!flag)
			if (!OK(MPI_Parrived(req, n_parts - 1, &flag)))
				break;
		bad += n_parts > 1 &&
		       data[(TOTAL - 1) * stride] != value(round, TOTAL - 1);
		OK(MPI_Parrived(req, 0, &flag));
		CHECK(!flag, "the first partition has not arrived");
		OK(MPI_Send(NULL, 0, MPI_INT, 0, 6, MPI_COMM_WORLD));
		OK(MPI_Wait(&req, &status));
		OK(MPI_Get_count(&status, type, &count));
		CHECK(count == TOTAL && status.MPI_TAG == 5,
			"the status has the whole count, got %d", count);
		for (int i = 0; i < TOTAL; i++)
			bad += data[i * stride] != value(round, i);
	}
	CHECK(bad == 0, "all items arrive, %d are wrong in %d partitions", bad,
		n_parts);
	OK(MPI_Request_free(&req));
}

/* Partitioned requests do not match an ordinary message with the same tag. */
static void beside(void)
{
	int word = 77;
	MPI_Request req;

	if (mtest.rank == 0)
		OK(MPI_Isend(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &req));
	else
		OK(MPI_Irecv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	CHECK(word == 77, "the ordinary message arrives");
}

/* A request without partitions, or with empty ones, completes immediately. */
static void empty(int n_sent, int n_received)
{
	MPI_Request req;
	MPI_Status status;
	int count = -1;

	if (mtest.rank == 0)
		OK(MPI_Psend_init(NULL, n_sent, n_sent ? 0 : 3, MPI_INT, 1, 7,
			MPI_COMM_WORLD, MPI_INFO_NULL, &req));
	else
		OK(MPI_Precv_init(NULL, n_received, n_received ? 0 : 3, MPI_INT,
			0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
	for (int round = 0; round < 2; round++) {
		OK(MPI_Start(&req));
		if (mtest.rank == 0 && n_sent)
			OK(MPI_Pready_range(0, n_sent - 1, req));
		else if (mtest.rank == 0)
			FAILS(MPI_Pready(0, req), MPI_ERR_ARG);
		OK(MPI_Wait(&req, &status));
		if (mtest.rank == 1) {
			OK(MPI_Get_count(&status, MPI_INT, &count));
			CHECK(count == 0 && status.MPI_TAG == 7,
				"an empty message has count 0, got %d", count);
		}
	}
	OK(MPI_Request_free(&req));
}

/* A message does not fit into a receive without partitions. */
static void too_long(void)
{
	int word = 0;
	MPI_Request req;

	if (mtest.rank == 0) {
		OK(MPI_Psend_init(&word, 1, 1, MPI_INT, 1, 8, MPI_COMM_WORLD,
			MPI_INFO_NULL, &req));
		OK(MPI_Request_free(&req));
		return;
	}
	OK(MPI_Precv_init(NULL, 0, 1, MPI_INT, 0, 8, MPI_COMM_WORLD,
		MPI_INFO_NULL, &req));
	OK(MPI_Start(&req));
	FAILS(MPI_Wait(&req, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
	OK(MPI_Request_free(&req));
}

static bool says(int rc, const char *word)
{
	return rc && strstr(mtest_error(rc), word);
}

static void bad_arguments(void)
{
	int data[4] = { 0 }, rc;
	MPI_Request req;

	FAILS(MPI_Psend_init(data, -1, 1, MPI_INT, 0, 5, MPI_COMM_WORLD,
		      MPI_INFO_NULL, &req),
		MPI_ERR_ARG);
	FAILS(MPI_Precv_init(data, 0, -1, MPI_INT, 0, 5, MPI_COMM_WORLD,
		      MPI_INFO_NULL, &req),
		MPI_ERR_COUNT);
	rc = MPI_Psend_init(data, 1, -((MPI_Count)1 << 32), MPI_INT, 0, 5,
		MPI_COMM_WORLD, MPI_INFO_NULL, &req);
	FAILS(rc, MPI_ERR_COUNT);
	CHECK(says(rc, "-4294967296"),
		"the error has all 64 bits of the count: %s", mtest_error(rc));
	FAILS(MPI_Precv_init(data, 1, -((MPI_Count)1 << 32), MPI_INT, 0, 5,
		      MPI_COMM_WORLD, MPI_INFO_NULL, &req),
		MPI_ERR_COUNT);
	rc = MPI_Precv_init(data, 4, 1, MPI_INT, MPI_ANY_SOURCE, 5,
		MPI_COMM_WORLD, MPI_INFO_NULL, &req);
	FAILS(rc, MPI_ERR_RANK);
	CHECK(says(rc, "source"), "the error names the source: %s",
		mtest_error(rc));
	rc = MPI_Psend_init(data, 4, 1, MPI_INT, mtest.size, 5, MPI_COMM_WORLD,
		MPI_INFO_NULL, &req);
	FAILS(rc, MPI_ERR_RANK);
	CHECK(says(rc, "dest"), "the error names the destination: %s",
		mtest_error(rc));
}

/* Each of these calls is refused, and the request stays active. */
static void refuse_active(MPI_Request *req)
{
	int flag;

	FAILS(MPI_Cancel(req), MPI_ERR_REQUEST);
	FAILS(MPI_Request_free(req), MPI_ERR_REQUEST);
	FAILS(MPI_Start(req), MPI_ERR_REQUEST);
	FAILS(MPI_Startall(1, req), MPI_ERR_REQUEST);
	if (mtest.rank == 0)
		FAILS(MPI_Parrived(*req, 0, &flag), MPI_ERR_REQUEST);
	else
		FAILS(MPI_Pready(0, *req), MPI_ERR_REQUEST);
}

/* An active partitioned request can be neither cancelled nor freed (MPI-5.0,
 * 4.2.1). */
static void wrong_states(void)
{
	int data[4] = { 0 };
	MPI_Request req;
	MPI_Status status;

	if (mtest.rank == 0)
		OK(MPI_Psend_init(data, 4, 1, MPI_INT, 1, 9, MPI_COMM_WORLD,
			MPI_INFO_NULL, &req));
	else
		OK(MPI_Precv_init(data, 4, 1, MPI_INT, 0, 9, MPI_COMM_WORLD,
			MPI_INFO_NULL, &req));
	FAILS(MPI_Cancel(&req), MPI_ERR_REQUEST);
	for (int round = 0; round < 2; round++) {
		int flag = 1;

		OK(MPI_Start(&req));
		refuse_active(&req);
		OK(MPI_Sendrecv(NULL, 0, MPI_INT, 1 - mtest.rank, 6, NULL, 0,
			MPI_INT, 1 - mtest.rank, 6, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		for (int i = 0; mtest.rank == 0 && i < 4; i++) {
			data[i] = 40 + i;
			OK(MPI_Pready(i, req));
		}
		OK(MPI_Wait(&req, &status));
		OK(MPI_Test_cancelled(&status, &flag));
		CHECK(!flag && data[0] == 40 && data[3] == 43,
			"the data arrives, %d and %d", data[0], data[3]);
	}
	OK(MPI_Request_free(&req));
}

/* Partitioned calls on other kinds of requests. */
static void wrong_kinds(void)
{
	MPI_Request reqs[3];
	int word = 0, zero = 0, flag;

	OK(MPI_Irecv(&word, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &reqs[0]));
	OK(MPI_Send_init(&word, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &reqs[1]));
	OK(MPI_Barrier_init(MPI_COMM_SELF, MPI_INFO_NULL, &reqs[2]));
	for (int i = 0; i < 3; i++) {
		FAILS(MPI_Pready(0, reqs[i]), MPI_ERR_REQUEST);
		FAILS(MPI_Pready_range(0, 0, reqs[i]), MPI_ERR_REQUEST);
		FAILS(MPI_Pready_list(1, &zero, reqs[i]), MPI_ERR_REQUEST);
		FAILS(MPI_Parrived(reqs[i], 0, &flag), MPI_ERR_REQUEST);
	}
	FAILS(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
	FAILS(MPI_Start(&reqs[0]), MPI_ERR_REQUEST);
	OK(MPI_Cancel(&reqs[0]));
	OK(MPI_Wait(&reqs[0], MPI_STATUS_IGNORE));
	OK(MPI_Request_free(&reqs[1]));
	OK(MPI_Request_free(&reqs[2]));
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
	if (mtest.rank < 2) {
		empty(0, 0);
		empty(0, 4);
		empty(4, 0);
		empty(3, 2);
		too_long();
		bad_arguments();
		wrong_states();
		wrong_kinds();
	}
	OK(MPI_Finalize());
	return mtest_done();
}
