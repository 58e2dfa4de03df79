/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world_programs: the programs that the standard prints about MPI_Finalize
 *
 * Arguments: len=N (bytes of a message), late=N (the receiver sleeps N ms).
 * ex=118  send; receive; finalize
 * ex=119  as 118 without the receive: erroneous, must not hang
 * ex=126  rank 0: send, free the request, barrier; rank 1: receive, barrier
 * ex=127  as 126 without barriers: erroneous, must not hang
 * ex=129  attach a buffer, send buffered, finalize, free
 * ex=128  as 129, by Ibsend with wait and by a persistent request
 * ex=145  rank 0 writes a file after MPI_Finalize
 */
#include "mtest.h"

enum { ROOM = 1000000 };

static char *data, *buffer;
static int len, late;

static void receive(int tag)
{
	memset(data, 0, len);
	OK(MPI_Recv(data, len, MPI_BYTE, 0, tag, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
}

static void plain(bool received)
{
	if (mtest.rank == 0) {
		OK(MPI_Send(data, len, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
		memset(data, 0xee, len);
	}
	if (mtest.rank == 1 && received) {
		mtest_linger(late);
		receive(1);
		CHECK(mtest_same(data, len, 1),
			"S118, S120, S138, S141: %d B of a completed send "
			"arrive unchanged",
			len);
	}
}

/* Rank 0 frees the request of a send. A barrier after the receive proves that
 * the send is complete; without it, rank 0 calls MPI_Finalize. */
static void freed(bool barrier)
{
	MPI_Request req;

	if (mtest.rank == 0) {
		OK(MPI_Isend(data, len, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req));
		OK(MPI_Request_free(&req));
		CHECK(req == MPI_REQUEST_NULL, "S121: the handle is null");
	}
	if (mtest.rank == 1) {
		mtest_linger(late);
		receive(1);
		if (barrier)
			CHECK(mtest_same(data, len, 1),
				"S122, S126: %d B of a freed send arrive "
				"unchanged",
				len);
		else
			CHECK(mtest_same(data, len, 1),
				"S127: a message of %d B is delivered", len);
	}
	if (barrier)
		OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void buffered(void)
{
	if (mtest.rank == 0) {
		OK(MPI_Buffer_attach(buffer, ROOM));
		OK(MPI_Bsend(data, len, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
		memset(data, 0xee, len);
	}
	if (mtest.rank == 1) {
		mtest_linger(late);
		receive(1);
		CHECK(mtest_same(data, len, 1),
			"S128, S129, S130: %d B of a buffered send arrive "
			"unchanged",
			len);
	}
}

static void buffered_others(void)
{
	MPI_Request req[2];

	if (mtest.rank == 0) {
		OK(MPI_Buffer_attach(buffer, ROOM));
		OK(MPI_Ibsend(
			data, len, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req[0]));
		OK(MPI_Bsend_init(
			data, len, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &req[1]));
		OK(MPI_Start(&req[1]));
		OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
		OK(MPI_Request_free(&req[1]));
		memset(data, 0xee, len);
	}
	if (mtest.rank == 1) {
		mtest_linger(late);
		for (int tag = 2; tag > 0; tag--) {
			receive(tag);
			CHECK(mtest_same(data, len, 1),
				"S128: the message of each kind of buffered "
				"send arrives, tag %d",
				tag);
		}
	}
}

/* Rank 0 writes the file, because only rank 0 certainly returns from
 * MPI_Finalize. */
static void results(void)
{
	char path[64], word[8] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/weft-mtest-out-%d", (int)getpid());
	file = fopen(path, "w");
	if (!CHECK(file != NULL, "S145: rank 0 can open a file"))
		return;
	fputs("done", file);
	fclose(file);
	file = fopen(path, "r");
	CHECK(file && fgets(word, sizeof(word), file) &&
			strcmp(word, "done") == 0,
		"S143, S145: rank 0 returns and its file is written");
	if (file)
		fclose(file);
	unlink(path);
}

int main(int argc, char **argv)
{
	int ex, flag = 0;

	mtest_init(&argc, &argv);
	mtest_need(2);
	ex = mtest_arg(argc, argv, "ex", 118);
	len = mtest_arg(argc, argv, "len", 1000);
	late = mtest_arg(argc, argv, "late", 0);
	data = mtest_alloc(len);
	buffer = mtest_alloc(ROOM);
	mtest_fill(data, len, 1);
	switch (ex) {
	case 118:
	case 119:
		plain(ex == 118);
		break;
	case 126:
	case 127:
		freed(ex == 126);
		break;
	case 128:
		buffered_others();
		break;
	case 129:
		buffered();
		break;
	}
	if (ex == 119)
		CHECK(mtest_class(MPI_Finalize()) ==
				(mtest.rank == 1 ? MPI_ERR_PENDING
						 : MPI_SUCCESS),
			"S119: a message without a receive is an error at its "
			"receiver and blocks no process");
	else
		CHECK(MPI_Finalize() == MPI_SUCCESS,
			"S140: all processes finalize");
	/* the library does not access the buffers after MPI_Finalize */
	memset(buffer, 0xee, ROOM);
	free(buffer);
	memset(data, 0xee, len);
	free(data);
	OK(MPI_Finalized(&flag));
	CHECK(flag, "MPI is finalized");
	if (ex == 145 && mtest.rank == 0)
		results();
	return mtest_done();
}
