/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_churn: n= communicators of one session are created and disconnected
 *
 * The number of descriptors does not grow after the first half, and the memory
 * grows by kib= KiB at most. Over a fabric it grows by default, because the
 * receive buffers (WEFT_NET_BUFS times WEFT_NET_BUF_LEN, together 1 to 4 MiB)
 * are filled one after the other, and each page is allocated at its first use.
 * It does not grow if the buffers are so small that all are used in the first
 * half.
 */
#include "session.h"

static long n_files(void)
{
	char path[32];
	long n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n += access(path, F_OK) == 0;
	}
	return n;
}

int main(int argc, char **argv)
{
	long n, kib = 0, files = 0, grown, limit;
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;

	mtest_start(argv[0]);
	n = mtest_arg(argc, argv, "n", 5000);
	limit = mtest_arg(argc, argv, "kib", 4096);
#ifdef __SANITIZE_ADDRESS__
	limit += 1024; /* the sanitizer's own data, and freed memory */
#endif
	session = session_open();
	session_set_rank(session);
	group = session_group(session, "mpi://WORLD");
	for (long i = 0; i < n; i++) {
		int word = mtest.rank ? -1 : (int)i;

		OK(MPI_Comm_create_from_group(group, "churn", MPI_INFO_NULL,
			MPI_ERRORS_RETURN, &comm));
		OK(MPI_Bcast(&word, 1, MPI_INT, 0, comm));
		if (word != i)
			CHECK(false,
				"communicator %ld broadcasts its number, got "
				"%d",
				i, word);
		OK(MPI_Comm_disconnect(&comm));
		if (i == n / 2) {
			kib = mtest_filled_kib();
			files = n_files();
		}
	}
	grown = mtest_filled_kib() - kib;
	CHECK(grown < limit,
		"S58, S100: the second half of %ld sessions needs no more "
		"memory, grown by %ld KiB",
		n, grown);
	CHECK(n_files() <= files + LATE_FILES,
		"S100: no descriptor is left open: %ld become %ld", files,
		n_files());
	OK(MPI_Group_free(&group));
	session_close(&session);
	return mtest_done();
}
