/* SPDX-License-Identifier: BSD-3-Clause */
/* thr_wait: one thread blocks in a receive while another one sends */
#include "mtest.h"
#include <pthread.h>

enum { ROUNDS = 200 };

static void *receiver(void *arg)
{
	int got = -1;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		OK(MPI_Recv(&got, 1, MPI_INT, mtest.rank, 1, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(got == i,
			"message %d of the other thread arrives, got %d", i,
			got);
	}
	return NULL;
}

static void *prober(void *arg)
{
	MPI_Message message;
	int got = -1;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		OK(MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message,
			MPI_STATUS_IGNORE));
		OK(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
		CHECK(got == 1000 + i, "the probed message %d arrives, got %d",
			i, got);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int level = -1, main_thread = 0, word;
	pthread_t threads[2];

	mtest_start(argv[0]);
	OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mtest.size);
	CHECK(level == MPI_THREAD_MULTIPLE, "threads are supported");
	OK(MPI_Is_thread_main(&main_thread));
	CHECK(main_thread, "this is the main thread");
	pthread_create(&threads[0], NULL, receiver, NULL);
	pthread_create(&threads[1], NULL, prober, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		word = i;
		OK(MPI_Send(&word, 1, MPI_INT, mtest.rank, 1, MPI_COMM_WORLD));
		word = 1000 + i;
		OK(MPI_Send(&word, 1, MPI_INT, mtest.rank, 2, MPI_COMM_WORLD));
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return mtest_finish();
}
