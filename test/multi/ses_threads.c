/* SPDX-License-Identifier: BSD-3-Clause */
/* ses_threads: opening a session is thread safe, even as first call (S19) */
#include "session.h"
#include <pthread.h>

enum { THREADS = 16, ROUNDS = 10 };

static pthread_barrier_t start;
static MPI_Group shared;

static void *life(void *arg)
{
	int me = (int)(intptr_t)arg;
	char tag[32];

	pthread_barrier_wait(&start);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Session session = session_open();
		MPI_Comm comm;

		snprintf(tag, sizeof(tag), "thread %d", me);
		comm = session_comm(session, "mpi://SELF", tag);
		session_works(comm, tag);
		OK(MPI_Comm_disconnect(&comm));
		session_close(&session);
	}
	return NULL;
}

/* Each thread creates a communicator with the thread of its number in every
 * process. */
static void *across(void *arg)
{
	int me = (int)(intptr_t)arg;
	MPI_Session session;
	MPI_Comm comm;
	char tag[32];

	pthread_barrier_wait(&start);
	session = session_open();
	CHECK(session != MPI_SESSION_NULL, "S19: thread %d opened a session",
		me);
	snprintf(tag, sizeof(tag), "twins %d", me);
	for (int i = 0; i < ROUNDS; i++) {
		comm = session_comm(session, "mpi://WORLD", tag);
		session_works(comm, tag);
		OK(MPI_Comm_disconnect(&comm));
	}
	session_close(&session);
	return NULL;
}

/* All threads use one group of one session. Each thread has a string tag of its
 * own. */
static void *one_group(void *arg)
{
	int me = (int)(intptr_t)arg, word;
	MPI_Comm comm;
	char tag[32];

	pthread_barrier_wait(&start);
	snprintf(tag, sizeof(tag), "tag of %d", me);
	for (int i = 0; i < ROUNDS; i++) {
		word = mtest.rank ? -1 : me * 100 + i;
		OK(MPI_Comm_create_from_group(
			shared, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
		OK(MPI_Bcast(&word, 1, MPI_INT, 0, comm));
		CHECK(word == me * 100 + i,
			"S19, S68: creations of equal groups match by their "
			"tag, got %d",
			word);
		OK(MPI_Comm_disconnect(&comm));
	}
	return NULL;
}

static void run(void *(*body)(void *), int n)
{
	pthread_t thread[THREADS];

	pthread_barrier_init(&start, NULL, n);
	for (int i = 0; i < n; i++)
		pthread_create(&thread[i], NULL, body, (void *)(intptr_t)i);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&start);
}

int main(int argc, char **argv)
{
	MPI_Session session;

	(void)argc;
	mtest_start(argv[0]);
	run(life, THREADS);
	run(across, 4);
	session = session_open();
	session_set_rank(session);
	shared = session_group(session, "mpi://WORLD");
	run(one_group, 4);
	OK(MPI_Group_free(&shared));
	session_close(&session);
	return mtest_done();
}
