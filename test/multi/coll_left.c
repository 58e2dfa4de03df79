/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_left: who leaves after a collective that failed here says what it had,
 * to those who went on to the next one
 *
 * The root's broadcast ends well, rank 1 has room for less. Where it leaves
 * then, what the root sends it next can never be received, and what it waits
 * for from it never comes (waits=1): that is no send that is pending, but a
 * collective with the error of rank 1.
 */
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
			"and who had it, got \"%s\"", text);
	}
	OK(MPI_Comm_disconnect(&comm));
	return mtest_finish();
}
