/* SPDX-License-Identifier: BSD-3-Clause */
/* rejoin: a process that makes a communicator of the whole job in each round
 *
 * usage: rejoin FIRST LAST
 * Each process makes communicators for the rounds FIRST to LAST. A second
 * process with the same rank can take over the later rounds. Prints the class
 * of the first error. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static int one_round(MPI_Session session, int number)
{
	MPI_Group group;
	MPI_Comm comm;
	int one = 1, sum = 0, err;
	char tag[32];

	snprintf(tag, sizeof(tag), "round.%d", number);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	err = MPI_Comm_create_from_group(
		group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
	MPI_Group_free(&group);
	if (err)
		return err;
	err = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
	if (!err)
		printf("round %d sum %d\n", number, sum);
	MPI_Comm_disconnect(&comm);
	return err;
}

int main(int argc, char **argv)
{
	int first = argc > 2 ? atoi(argv[1]) : 1;
	int last = argc > 2 ? atoi(argv[2]) : 1, err = 0, class = 0;
	MPI_Session session;
	char text[MPI_MAX_ERROR_STRING];

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	for (int i = first; i <= last && !err; i++)
		err = one_round(session, i);
	if (err) {
		MPI_Error_class(err, &class);
		MPI_Error_string(class, text, &(int){ 0 });
		printf("error of class %.40s\n", text);
	}
	MPI_Session_finalize(&session);
	return 0;
}
