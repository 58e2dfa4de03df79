/* SPDX-License-Identifier: BSD-3-Clause */
/* session_child: spawned processes that use sessions
 *
 * usage: session_child HOW
 * HOW: sessions  the children never call MPI_Init
 *      late      the children open and close a session, and then call MPI_Init
 *      none      the children never call MPI
 * Prints "ok" or "not ok" and a claim on each line. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2 };

static void claim(int is_true, const char *what)
{
	printf("%s - %s\n", is_true ? "ok" : "not ok", what);
	fflush(stdout);
}

static int sum_of(MPI_Comm comm)
{
	int one = 1, sum = 0;

	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
	return sum;
}

/* Creates a communicator of the parents, followed by the children. */
static MPI_Comm both(MPI_Group parents, MPI_Group children)
{
	MPI_Comm comm = MPI_COMM_NULL;
	MPI_Group all;

	MPI_Group_union(parents, children, &all);
	MPI_Comm_create_from_group(
		all, "both", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
	MPI_Group_free(&all);
	return comm;
}

static int has_set(MPI_Session session, const char *wanted)
{
	int n = 0, found = 0;

	MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
	for (int i = 0; i < n; i++) {
		char name[MPI_MAX_PSET_NAME_LEN];
		int len = sizeof(name);

		MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, name);
		found |= !strcmp(name, wanted);
	}
	return found;
}

static int open_and_look(MPI_Session *session)
{
	if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session))
		return 0;
	return has_set(*session, "mpi://PARENT");
}

static void child_sessions(void)
{
	MPI_Group parents, children;
	MPI_Session session;
	MPI_Info info;
	MPI_Comm comm;
	char size[8] = "";
	int len = sizeof(size), flag = 0;

	claim(open_and_look(&session), "child: the set mpi://PARENT is listed");
	MPI_Session_finalize(&session);
	claim(open_and_look(&session), "child: also in the next session");
	MPI_Session_get_pset_info(session, "mpi://PARENT", &info);
	MPI_Info_get_string(info, "mpi_size", &len, size, &flag);
	MPI_Info_free(&info);
	claim(flag && atoi(size) == N, "child: the set has all parents");
	MPI_Group_from_session_pset(session, "mpi://PARENT", &parents);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &children);
	comm = both(parents, children);
	MPI_Group_free(&parents);
	MPI_Group_free(&children);
	claim(comm != MPI_COMM_NULL && sum_of(comm) == 2 * N,
		"child: parents and children reduce");
	MPI_Comm_disconnect(&comm);
	MPI_Session_finalize(&session);
}

static void child_late(void)
{
	MPI_Session session;
	MPI_Comm parent = MPI_COMM_NULL;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	MPI_Session_finalize(&session);
	MPI_Init(NULL, NULL);
	MPI_Comm_get_parent(&parent);
	claim(parent != MPI_COMM_NULL, "child: MPI_Init finds the parents");
	if (parent != MPI_COMM_NULL)
		MPI_Barrier(parent);
	MPI_Finalize();
}

static void parent_both(MPI_Comm inter)
{
	MPI_Group parents, children;
	MPI_Comm comm;

	MPI_Comm_group(inter, &parents);
	MPI_Comm_remote_group(inter, &children);
	comm = both(parents, children);
	MPI_Group_free(&parents);
	MPI_Group_free(&children);
	claim(comm != MPI_COMM_NULL && sum_of(comm) == 2 * N,
		"parents and children reduce");
	MPI_Comm_disconnect(&comm);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char *args[] = { (char *)how, "child", NULL };
	MPI_Comm inter = MPI_COMM_NULL;
	int err, class = MPI_SUCCESS;

	if (argc > 2) {
		if (!strcmp(how, "sessions"))
			child_sessions();
		if (!strcmp(how, "late"))
			child_late();
		return 0;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	err = MPI_Comm_spawn(argv[0], args, N, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
		&inter, MPI_ERRCODES_IGNORE);
	MPI_Error_class(err, &class);
	if (!strcmp(how, "none")) {
		claim(class == MPI_ERR_SPAWN,
			"children without MPI are an error");
	} else {
		claim(!err, "the spawn succeeds");
		if (!err && !strcmp(how, "sessions"))
			parent_both(inter);
		else if (!err)
			MPI_Barrier(inter);
		if (!err)
			MPI_Comm_disconnect(&inter);
	}
	MPI_Finalize();
	return 0;
}
