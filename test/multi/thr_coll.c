/* SPDX-License-Identifier: BSD-3-Clause */
/* thr_coll: collectives of several threads, each on its own communicator */
#include "mtest.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 150, LEN = 200 };

static MPI_Comm comms[THREADS];

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg, in[LEN], out[LEN];
	MPI_Comm comm = comms[me], dup;

	for (int i = 0; i < ROUNDS; i++) {
		int bad = 0, all = mtest.size * (mtest.size - 1) / 2;

		for (int k = 0; k < LEN; k++)
			in[k] = mtest.rank + i + k + me;
		OK(MPI_Allreduce(in, out, LEN, MPI_INT, MPI_SUM, comm));
		for (int k = 0; k < LEN; k++)
			bad += out[k] != all + (i + k + me) * mtest.size;
		OK(MPI_Bcast(in, LEN, MPI_INT, i % mtest.size, comm));
		bad += in[0] != i % mtest.size + i + me;
		CHECK(bad == 0, "thread %d round %d: %d items are wrong", me, i,
			bad);
		if (i % 30)
			continue;
		/* creating communicators from several threads at the same time
		 */
		OK(MPI_Comm_dup(comm, &dup));
		OK(MPI_Barrier(dup));
		OK(MPI_Comm_free(&dup));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int level = -1;

	mtest_start(argv[0]);
	OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mtest.size);
	CHECK(level == MPI_THREAD_MULTIPLE, "threads are supported");
	for (int i = 0; i < THREADS; i++)
		OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, body, (void *)(intptr_t)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		OK(MPI_Comm_free(&comms[i]));
	return mtest_finish();
}
