/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_refused: a process whose port refuses connections has failed, though the
 * process manager does not report it; the wait for it ends with an error
 *
 * Rank 1 closes the socket that its fabric listens on and stops, which rank 0
 * cannot distinguish from a failed process that no manager reports.
 */
#include "mtest.h"
#include "ports.h"

int main(int argc, char **argv)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int pid = (int)getpid(), rc, len;

	mtest_init(&argc, &argv);
	mtest_need(2);
	if (getenv("FI_PROVIDER") && !strcmp(getenv("FI_PROVIDER"), "cxi"))
		mtest_skip("only a port of tcp can be tried");
	OK(MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 1) {
		close_ports();
		raise(SIGSTOP);
	}
	rc = MPI_Recv(
		NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Error_string(rc, text, &len);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"the class is MPIX_ERR_PROC_FAILED, got %s", text);
	CHECK(strstr(text, "rank 1 of communicator") &&
			strstr(text, "refuses connections"),
		"the text names the rank and the refused connection: %s", text);
	kill(pid, SIGKILL);
	MPI_Finalize();
	return mtest_done();
}
