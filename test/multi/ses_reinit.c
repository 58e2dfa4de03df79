/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_reinit: opens a session, communicates and closes it, n= times, without a
 * lost message or a memory leak
 *
 * talk=K creates a communicator every K-th time (0: never)
 */
#include "session.h"

static long n_files(void)
{
	long n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		char path[32];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n += access(path, F_OK) == 0;
	}
	return n;
}

int main(int argc, char **argv)
{
	long n, talk, kib = 0, files = 0;

	mtest_start(argv[0]);
	n = mtest_arg(argc, argv, "n", 1000);
	talk = mtest_arg(argc, argv, "talk", 1);
	for (long i = 0; i < n; i++) {
		MPI_Session session = session_open();

		if (i == 0)
			session_set_rank(session);
		if (talk && i % talk == 0) {
			MPI_Comm comm =
				session_comm(session, "mpi://WORLD", "again");

			session_works(comm, "again");
			/* freed, disconnected, or left to the session */
			if (i % 3 == 0)
				OK(MPI_Comm_disconnect(&comm));
			else if (i % 3 == 1)
				OK(MPI_Comm_free(&comm));
		}
		session_close(&session);
		if (i == n / 2) {
			kib = mtest_filled_kib();
			files = n_files();
		}
	}
	CHECK(mtest_filled_kib() - kib < 2048,
		"S28, S42, S58: the second half of the rounds needs no more "
		"memory, grown by %ld KiB",
		mtest_filled_kib() - kib);
	CHECK(n_files() <= files + LATE_FILES,
		"S28, S58: no file is left open: %ld become %ld", files,
		n_files());
	return mtest_done();
}
