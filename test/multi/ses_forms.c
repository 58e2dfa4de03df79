/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_forms: the C forms of the procedures on sessions, by their MPI_ and PMPI_
 * names
 *
 * The compiler checks the types. The program checks that both names exist and
 * do the same.
 */
#include "session.h"

#define HAS_FORM(name, form) _Generic(&(name), form : 1, default : 0)

typedef int init_form(MPI_Info, MPI_Errhandler, MPI_Session *);
typedef int finalize_form(MPI_Session *);
typedef int disconnect_form(MPI_Comm *);
typedef int group_form(MPI_Session, const char *, MPI_Group *);
typedef int create_form(
	MPI_Group, const char *, MPI_Info, MPI_Errhandler, MPI_Comm *);

_Static_assert(HAS_FORM(MPI_Session_init, init_form *),
	"S1: MPI_Session_init has its C form");
_Static_assert(
	HAS_FORM(PMPI_Session_init, init_form *), "S1: and so has its twin");
_Static_assert(HAS_FORM(MPI_Session_finalize, finalize_form *),
	"S23: MPI_Session_finalize has its C form");
_Static_assert(HAS_FORM(PMPI_Session_finalize, finalize_form *),
	"S23: and so has its twin");
_Static_assert(HAS_FORM(MPI_Comm_disconnect, disconnect_form *),
	"S95: MPI_Comm_disconnect has its C form");
_Static_assert(HAS_FORM(PMPI_Comm_disconnect, disconnect_form *),
	"S95: and so has its twin");
_Static_assert(HAS_FORM(MPI_Group_from_session_pset, group_form *),
	"S66: MPI_Group_from_session_pset has its C form");
_Static_assert(HAS_FORM(MPI_Comm_create_from_group, create_form *),
	"S66: MPI_Comm_create_from_group has its C form");

static void life(init_form *init, group_form *from, create_form *create,
	disconnect_form *disconnect, finalize_form *finalize, const char *what)
{
	MPI_Session session = MPI_SESSION_NULL, before;
	MPI_Group group = MPI_GROUP_NULL;
	MPI_Comm comm = MPI_COMM_NULL;

	CHECK(init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS,
		"S1: %s opens a session", what);
	before = session;
	CHECK(from(session, "mpi://WORLD", &group) == MPI_SUCCESS,
		"S66: %s has a group", what);
	CHECK(create(group, what, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
			MPI_SUCCESS,
		"S66: %s creates a communicator", what);
	OK(MPI_Group_free(&group));
	session_works(comm, what);
	CHECK(disconnect(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL,
		"S95, S101: %s disconnects", what);
	CHECK(finalize(&session) == MPI_SUCCESS,
		"S23: %s finalizes the session", what);
	CHECK(session != before && session == MPI_SESSION_NULL,
		"S24: %s changes the handle", what);
}

int main(int argc, char **argv)
{
	(void)argc;
	mtest_start(argv[0]);
	life(MPI_Session_init, MPI_Group_from_session_pset,
		MPI_Comm_create_from_group, MPI_Comm_disconnect,
		MPI_Session_finalize, "the name");
	life(PMPI_Session_init, PMPI_Group_from_session_pset,
		PMPI_Comm_create_from_group, PMPI_Comm_disconnect,
		PMPI_Session_finalize, "the twin");
	return mtest_done();
}
