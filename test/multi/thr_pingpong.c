/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * thr_pingpong: many threads of two processes exchange messages at the same
 * time
 *
 * how=0 one communicator, a tag per thread; how=1 a communicator per thread;
 * how=2 all threads share tag and communicator (any message to any thread)
 */
#include "mtest.h"
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 300, LARGEST = 100000 };

static int how;
static MPI_Comm comms[THREADS];
static _Atomic long received;

static int size_of(int i)
{
	return i % 50 == 49 ? LARGEST : i % 7 == 6 ? 3000 : 8;
}

static void pingpong(int me, MPI_Comm comm, char *buf)
{
	int peer = 1 - mtest.rank, n = -1;
	MPI_Status st;

	for (int i = 0; i < ROUNDS; i++) {
		int len = size_of(i);

		for (int turn = 0; turn < 2; turn++)
			if (turn == mtest.rank) {
				mtest_fill(buf, len, me * 7 + i);
				OK(MPI_Send(
					buf, len, MPI_BYTE, peer, me, comm));
			} else {
				memset(buf, 0, len);
				OK(MPI_Recv(buf, LARGEST, MPI_BYTE, peer, me,
					comm, &st));
				OK(MPI_Get_count(&st, MPI_BYTE, &n));
				CHECK(n == len && mtest_same(
							  buf, len, me * 7 + i),
					"thread %d: the message of round %d "
					"arrives",
					me, i);
			}
	}
}

/* every thread sends and receives; any thread may get any message */
static void anybody(int me, char *buf)
{
	int peer = 1 - mtest.rank;
	MPI_Request req;
	MPI_Status st;
	int n = 0;
	char out[64];

	for (int i = 0; i < ROUNDS; i++) {
		memset(out, me, sizeof(out));
		OK(MPI_Isend(out, 64, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &req));
		OK(MPI_Recv(buf, 64, MPI_BYTE, MPI_ANY_SOURCE, 5,
			MPI_COMM_WORLD, &st));
		OK(MPI_Get_count(&st, MPI_BYTE, &n));
		CHECK(n == 64 && mtest_all(buf, 64, buf[0]),
			"a message has the data of one thread");
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		received++;
	}
}

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;
	char *buf = mtest_alloc(LARGEST);

	if (how == 2)
		anybody(me, buf);
	else
		pingpong(me, how ? comms[me] : MPI_COMM_WORLD, buf);
	free(buf);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int level = -1, n;

	mtest_start(argv[0]);
	OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mtest.size);
	CHECK(level == MPI_THREAD_MULTIPLE, "threads are supported");
	if (level < MPI_THREAD_MULTIPLE)
		return mtest_finish();
	how = mtest_arg(argc, argv, "how", 0);
	n = mtest_arg(argc, argv, "threads", THREADS);
	n = n > THREADS ? THREADS : n;
	for (int i = 0; i < n; i++)
		OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
	if (mtest.rank < 2)
		for (int i = 0; i < n; i++)
			pthread_create(
				&thread[i], NULL, body, (void *)(intptr_t)i);
	for (int i = 0; i < n && mtest.rank < 2; i++)
		pthread_join(thread[i], NULL);
	CHECK(how < 2 || mtest.rank > 1 || received == (long)n * ROUNDS,
		"every message was received once, %ld", (long)received);
	for (int i = 0; i < n; i++)
		OK(MPI_Comm_free(&comms[i]));
	return mtest_finish();
}
