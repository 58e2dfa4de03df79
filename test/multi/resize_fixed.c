/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resize_fixed: the calls for changes of the size, in a job of fixed size
 *
 * Each call fails with the class and waits for no process. There is no offer.
 */
#include "session.h"

#include <mpix.h>

static int info_number(MPI_Info info, const char *key)
{
	char text[32] = "";
	int len = sizeof(text), flag = 0;

	OK(MPI_Info_get_string(info, key, &len, text, &flag));
	return flag ? atoi(text) : -1;
}

static void no_offer(MPI_Session session)
{
	int delta = 77;
	MPI_Info info = MPI_INFO_NULL;

	OK(MPIX_Session_get_offer(session, &delta, &info));
	CHECK(delta == 0, "there is no offer, got %d", delta);
	CHECK(info_number(info, "weft_min_procs") == mtest.size &&
			info_number(info, "weft_max_procs") == mtest.size,
		"both limits are the size of the job");
	CHECK(info_number(info, "weft_deadline_s") == -1,
		"an offer that does not exist has no deadline");
	OK(MPI_Info_free(&info));
	FAILS(MPIX_Session_get_offer(session, NULL, &info), MPI_ERR_ARG);
	FAILS(MPIX_Session_get_offer(MPI_SESSION_NULL, &delta, &info),
		MPI_ERR_SESSION);
}

static void refused(MPI_Session session, MPI_Comm all)
{
	char name[MPIX_MAX_JOB_PSET] = "unchanged", text[MPI_MAX_ERROR_STRING];
	MPI_Request request = MPI_REQUEST_NULL;
	int rc, len;

	rc = MPIX_Session_resize(
		session, all, 1, MPI_INFO_NULL, name, &request);
	FAILS(rc, MPI_ERR_UNSUPPORTED_OPERATION);
	OK(MPI_Error_string(rc, text, &len));
	printf("# refused: %s\n", text);
	CHECK(strstr(text, "--max") != NULL,
		"the message names the option of mpiexec: %s", text);
	CHECK(request == MPI_REQUEST_NULL && !strcmp(name, "unchanged"),
		"a refused call has no output");
	FAILS(MPIX_Session_resize_done(session, all, "weft://job/1"),
		MPI_ERR_UNSUPPORTED_OPERATION);
	FAILS(MPIX_Session_resize_cancel(session, "weft://job/1"),
		MPI_ERR_UNSUPPORTED_OPERATION);
	FAILS(MPIX_Session_resize(
		      session, MPI_COMM_NULL, 1, MPI_INFO_NULL, name, &request),
		MPI_ERR_COMM);
	FAILS(MPIX_Session_resize(
		      session, all, 1, MPI_INFO_NULL, NULL, &request),
		MPI_ERR_ARG);
	FAILS(MPIX_Session_resize_done(session, all, NULL), MPI_ERR_ARG);
	FAILS(MPIX_Session_resize_done(session, MPI_COMM_NULL, name),
		MPI_ERR_COMM);
	FAILS(MPIX_Session_resize_cancel(session, NULL), MPI_ERR_ARG);
}

/* A host that does not exist. One process calls this; PRRTE 3 answers only on
 * the node of prterun. */
static void keeps_host(MPI_Session session)
{
	char text[MPI_MAX_ERROR_STRING];
	int rc, len;

	rc = MPIX_Session_release_hosts(session, "no-such-host");
	CHECK(mtest_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION ||
			mtest_class(rc) == MPI_ERR_ARG,
		"hosts that do not exist are refused, got class %d",
		mtest_class(rc));
	OK(MPI_Error_string(rc, text, &len));
	printf("# kept: %s\n", text);
}

/* The arguments of the call that returns hosts. */
static void checks_hosts(MPI_Session session)
{
	FAILS(MPIX_Session_release_hosts(session, ""), MPI_ERR_ARG);
	FAILS(MPIX_Session_release_hosts(session, "a,,b"), MPI_ERR_ARG);
	FAILS(MPIX_Session_release_hosts(session, NULL), MPI_ERR_ARG);
	FAILS(MPIX_Session_release_hosts(MPI_SESSION_NULL, "a"),
		MPI_ERR_SESSION);
}

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Comm all;

	(void)argc;
	mtest_start(argv[0]);
	session = session_open();
	session_set_rank(session);
	all = session_comm(session, "mpi://WORLD", "all");
	no_offer(session);
	refused(session, all);
	checks_hosts(session);
	if (!mtest.rank)
		keeps_host(session);
	session_works(all, "after the refusals");
	OK(MPI_Comm_disconnect(&all));
	session_close(&session);
	return mtest_done();
}
