/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_left: a member that leaves after a failed collective sends its error to
 * the members that continue with the next one
 *
 * The broadcast succeeds at the root, and rank 1 has a buffer that is too
 * short. If rank 1 then leaves, it never receives the next message of the root,
 * and never sends the message that the root waits for (waits=1). The root must
 * not report a pending send, but a collective with the error of rank 1. */
#include "mtest.h"

enum { LONG = 4 << 20, SHORT = 64 };

static char buf[LONG];

int main(int argc, char **argv)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	MPI_Comm comm;
	int rc, len, waits = (int)mtest_arg(argc, argv, "waits", 0);

	mtest_init(&argc, &argv);
	mtest_need(2);
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	if (mtest.rank == 1) {
		FAILS(MPI_Bcast(buf, SHORT / 2, MPI_CHAR, 0, comm),
			MPI_ERR_TRUNCATE);
	} else {
		OK(MPI_Bcast(buf, SHORT, MPI_CHAR, 0, comm));
		rc = waits ? MPI_Bcast(buf, SHORT, MPI_CHAR, 1, comm)
			   : MPI_Bcast(buf, LONG, MPI_CHAR, 0, comm);
		FAILS(rc, MPI_ERR_TRUNCATE);
		OK(MPI_Error_string(rc, text, &len));
		CHECK(strstr(text, "rank 1 left the communicator"),
			"the text names the member that left, got \"%s\"",
			text);
	}
	OK(MPI_Comm_disconnect(&comm));
	return mtest_finish();
}
