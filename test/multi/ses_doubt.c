/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_doubt: two processes wait for each other, but one has a second thread
 * that can end the wait: the library reports that without an error, and the
 * thread ends it
 */
#include "session.h"

#include "output.h"
#include <pthread.h>

static MPI_Session first, second;
static int rc_of_thread = -1;

/* The only reader of the captured output until it is joined. */
static void *break_ring(void *arg)
{
	(void)arg;
	while (!output_count("SESSION-DOUBT")) {
		mtest_linger(5);
		output_read();
	}
	rc_of_thread = MPI_Session_finalize(&second);
	return NULL;
}

int main(int argc, char **argv)
{
	MPI_Comm x, y;
	pthread_t thread;
	int rc;

	(void)argc;
	mtest_start(argv[0]);
	first = session_open();
	second = session_open();
	session_set_rank(first);
	x = session_comm(first, "mpi://WORLD", "x");
	y = session_comm(second, "mpi://WORLD", "y");
	session_works(x, "x");
	session_works(y, "y");
	if (mtest.rank > 0) { /* in the reverse order */
		session_close(&second);
		session_close(&first);
		return mtest_done();
	}
	output_capture();
	if (!CHECK(pthread_create(&thread, NULL, break_ring, NULL) == 0,
		    "a second thread is created"))
		return mtest_done();
	rc = MPI_Session_finalize(&first);
	pthread_join(thread, NULL);
	output_restore();
	CHECK(rc == MPI_SUCCESS && rc_of_thread == MPI_SUCCESS,
		"S76: a process that can continue gets no error, %s",
		mtest_error(rc ? rc : rc_of_thread));
	CHECK(output_count("only another thread of one of them can end this") >=
			1,
		"S76: the ring is reported");
	CHECK(output_count("SESSION-CYCLE") >= 2,
		"S76: the members of the ring are reported");
	CHECK(output_count("SESSION-DEADLOCK") == 0,
		"S76: the ring is not reported as a deadlock");
	return mtest_done();
}
