/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * thr_psets: threads define and delete process sets of one session and are
 * notified
 *
 * The callback runs in one thread at a time, once for every change, in the
 * order of each thread's changes. When another callback is set, the previous
 * one is no longer running. Meanwhile sets of the job are defined and deleted,
 * too.
 */
#include "session.h"

#include <mpix.h>
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 40, SWITCHES = 60 };

struct notified {
	atomic_int n_inside; /* threads in the callback */
	atomic_bool is_off;
	/* the callback may run after later changes were made: their order is
	 * not checked */
	bool is_late;
	atomic_long n_defined, n_deleted, n_foreign;
	long at[THREADS]; /* changes of each thread's sets so far */
};

static MPI_Session session;
static MPI_Group self;

static void on_change(
	MPI_Session of, const char *name, int change, void *extra_state)
{
	struct notified *notified = extra_state;
	int thread, round;

	CHECK(of == session, "the callback gets its session");
	CHECK(atomic_fetch_add(&notified->n_inside, 1) == 0,
		"one callback runs at a time");
	CHECK(!notified->is_off, "a replaced callback does not run");
	if (sscanf(name, "thr-%d-%d", &thread, &round) != 2) {
		notified->n_foreign++;
	} else {
		long at = 2L * round + (change == MPIX_PSET_DELETED);

		CHECK(notified->is_late || notified->at[thread] == at,
			"%s, change %d: changes of a thread are in order", name,
			change);
		notified->at[thread] = at + 1;
		if (change == MPIX_PSET_DEFINED)
			notified->n_defined++;
		else
			notified->n_deleted++;
	}
	atomic_fetch_sub(&notified->n_inside, 1);
}

/* arg: the thread's number */
static void *change(void *arg)
{
	char name[32];

	for (int round = 0; round < ROUNDS; round++) {
		snprintf(name, sizeof(name), "thr-%d-%d", *(int *)arg, round);
		OK(MPIX_Session_create_pset(session, name, self));
		OK(MPIX_Session_delete_pset(session, name));
	}
	return NULL;
}

/* all threads at the same time; main makes its own changes in between */
static void all_change(void (*meanwhile)(void))
{
	pthread_t threads[THREADS];
	int numbers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, change, &numbers[i]);
	}
	meanwhile();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Defines and deletes sets of the job. In a job of one process, no process
 * manager supports that.
 */
static void publish(void)
{
	char name[32];

	for (int i = 0; i < 5 && mtest.size > 1; i++) {
		snprintf(name, sizeof(name), "job-%d-%d", mtest.rank, i);
		OK(MPIX_Session_publish_pset(session, name, self));
		OK(MPIX_Session_unpublish_pset(session, name));
	}
}

static void take_turns(void)
{
	static struct notified notified[SWITCHES];

	for (int i = 0; i < SWITCHES; i++) {
		notified[i].is_late = true;
		OK(MPIX_Session_set_pset_callback(
			session, i % 3 == 2 ? NULL : on_change, &notified[i]));
		if (i)
			notified[i - 1].is_off = true;
		CHECK(!i || !notified[i - 1].n_inside,
			"the replaced callback has returned");
		sched_yield();
	}
	OK(MPIX_Session_set_pset_callback(session, NULL, NULL));
}

int main(int argc, char **argv)
{
	static struct notified notified;
	MPI_Count n;

	(void)argc;
	mtest_start(argv[0]);
	session = session_open();
	session_set_rank(session);
	self = session_group(session, "mpi://SELF");
	OK(MPIX_Session_set_pset_callback(session, on_change, &notified));
	all_change(publish);
	/* a call that delivers the remaining notifications */
	OK(MPIX_Session_get_pset_changes(session, &n));
	CHECK(notified.n_defined == THREADS * ROUNDS &&
			notified.n_deleted == THREADS * ROUNDS,
		"all events are delivered: %ld defined, %ld deleted, of %d "
		"each",
		notified.n_defined, notified.n_deleted, THREADS * ROUNDS);
	notified.is_late = true; /* the next changes may begin before the
				  * callback is removed */
	all_change(take_turns);
	OK(MPI_Group_free(&self));
	session_close(&session);
	return mtest_done();
}
