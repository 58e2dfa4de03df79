/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sessions: a first program in the Sessions Model.  No MPI_Init: each process
 * opens a session, lists its process sets, creates a communicator from one of
 * them, uses it and closes both.
 *
 *	mpicc -o sessions sessions.c
 *	mpiexec -n 4 ./sessions
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	MAX_NAME = 256,
};

static void check(int rc, const char *call)
{
	char text[MPI_MAX_ERROR_STRING];
	int len;

	if (rc == MPI_SUCCESS)
		return;
	MPI_Error_string(rc, text, &len);
	fprintf(stderr, "%s: %s\n", call, text);
	exit(1);
}

/* Number of processes of the named set, or -1 if it is unknown. */
static int pset_size(MPI_Session session, const char *name)
{
	char value[16] = "";
	int len = sizeof(value), found = 0;
	MPI_Info info;

	check(MPI_Session_get_pset_info(session, name, &info),
		"MPI_Session_get_pset_info");
	check(MPI_Info_get_string(info, "mpi_size", &len, value, &found),
		"MPI_Info_get_string");
	MPI_Info_free(&info);
	return found ? atoi(value) : -1;
}

static void print_psets(MPI_Session session)
{
	char name[MAX_NAME];
	int n, len;

	check(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n),
		"MPI_Session_get_num_psets");
	printf("the session sees %d process sets:\n", n);
	for (int i = 0; i < n; i++) {
		len = sizeof(name);
		check(MPI_Session_get_nth_pset(
			      session, MPI_INFO_NULL, i, &len, name),
			"MPI_Session_get_nth_pset");
		printf("  %-28s %d processes\n", name,
			pset_size(session, name));
	}
}

static MPI_Comm comm_from_pset(MPI_Session session, const char *pset)
{
	MPI_Group group;
	MPI_Comm comm;

	check(MPI_Group_from_session_pset(session, pset, &group),
		"MPI_Group_from_session_pset");
	check(MPI_Comm_create_from_group(group, "example.sessions",
		      MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
		"MPI_Comm_create_from_group");
	MPI_Group_free(&group);
	return comm;
}

/* Each process sends its host name; rank 0 prints all of them in order. */
static void print_places(MPI_Comm comm, int rank, int n_ranks)
{
	char line[MAX_NAME], host[64] = "?";
	char *all = NULL;

	gethostname(host, sizeof(host) - 1);
	snprintf(line, sizeof(line), "rank %d of %d, process %ld on %s", rank,
		n_ranks, (long)getpid(), host);
	if (rank == 0) {
		all = malloc((size_t)n_ranks * MAX_NAME);
		if (!all)
			exit(1);
	}
	check(MPI_Gather(line, MAX_NAME, MPI_CHAR, all, MAX_NAME, MPI_CHAR, 0,
		      comm),
		"MPI_Gather");
	for (int i = 0; all && i < n_ranks; i++)
		printf("  %s\n", all + (size_t)i * MAX_NAME);
	free(all);
}

int main(void)
{
	MPI_Session session;
	MPI_Comm comm;
	int rank, n_ranks, mine, sum, right;

	check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session),
		"MPI_Session_init");
	comm = comm_from_pset(session, "mpi://WORLD");
	check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
	check(MPI_Comm_size(comm, &n_ranks), "MPI_Comm_size");
	if (rank == 0) {
		print_psets(session);
		puts("a communicator made from mpi://WORLD:");
	}
	print_places(comm, rank, n_ranks);

	mine = rank + 1;
	check(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm),
		"MPI_Allreduce");
	right = sum == n_ranks * (n_ranks + 1) / 2;
	if (rank == 0)
		printf("sum of 1..%d over the ranks: %d, %s\n", n_ranks, sum,
			right ? "as it should be" : "WRONG");

	check(MPI_Comm_disconnect(&comm), "MPI_Comm_disconnect");
	check(MPI_Session_finalize(&session), "MPI_Session_finalize");
	if (rank == 0)
		puts("session closed");
	return right ? 0 : 1;
}
