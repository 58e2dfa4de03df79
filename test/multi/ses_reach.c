/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_reach: waits for a live process that cannot be reached end with errors
 *
 * Needs WEFT_STALL_WARN=1. Two processes. On the Slingshot stand-in they get
 * different network identifiers, so that the fabric delivers no message between
 * them. On all other fabrics the same calls succeed.
 *
 * how=0  MPI_Init and MPI_Finalize
 * how=1  a communicator from a group, and the end of its session
 */
#include "session.h"

static bool lacks_shm;

/* Checks a call that waits for the other process: an error within seconds if
 * the two cannot communicate, success otherwise. */
static void judge(int rc, double began, const char *what)
{
	double took = MPI_Wtime() - began;

	if (!lacks_shm) {
		CHECK(rc == MPI_SUCCESS, "%s succeeds, got %s", what,
			mtest_error(rc));
		return;
	}
	CHECK(rc != MPI_SUCCESS, "S63: %s ends with an error", what);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"the class is MPIX_ERR_PROC_FAILED, got %s", mtest_error(rc));
	CHECK(took < MTEST_SOON_S, "%s ended after %.1f s", what, took);
}

static void world(void)
{
	double began;
	int rc;

	OK(MPI_Init(NULL, NULL));
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
	began = MPI_Wtime();
	rc = MPI_Finalize();
	judge(rc, began, "MPI_Finalize");
}

static void session(void)
{
	MPI_Session session = session_open();
	MPI_Group group = session_group(session, "mpi://WORLD");
	MPI_Comm comm = MPI_COMM_NULL;
	double began = MPI_Wtime();
	int rc = MPI_Comm_create_from_group(
		group, "apart", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);

	MPI_Group_free(&group);
	if (mtest.rank == 1) /* in this call, rank 0 waits for no message */
		judge(rc, began, "MPI_Comm_create_from_group");
	began = MPI_Wtime();
	rc = MPI_Session_finalize(&session);
	if (mtest.rank == 0)
		judge(rc, began, "MPI_Session_finalize");
	else
		CHECK(rc == MPI_SUCCESS,
			"finalize without communicators succeeds, got %s",
			mtest_error(rc));
}

int main(int argc, char **argv)
{
	const char *fabric = getenv("FI_PROVIDER");

	mtest_start(argv[0]);
	lacks_shm = fabric && !strcmp(fabric, "cxi");
	setenv("FI_CXI_DEFAULT_VNI", mtest.rank ? "1111" : "1000", 1);
	if (mtest_arg(argc, argv, "how", 0))
		session();
	else
		world();
	return mtest_done();
}
