/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * two_libraries: two libraries in one program, each with a session of its own
 *
 * Neither library calls MPI_Init, and neither knows of the other. Each one
 * opens a session with the first of its objects and finalizes it with the
 * last. The log of the second library has only the even ranks as members.
 *
 *	mpicc -o two_libraries two_libraries.c
 *	mpiexec -n 4 ./two_libraries
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

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

/* ---- library 1: sums over all processes ---- */
struct sums {
	MPI_Session session;
	MPI_Comm comm;
};

static void sums_open(struct sums *s)
{
	MPI_Group all;

	check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s->session),
		"sums: MPI_Session_init");
	check(MPI_Group_from_session_pset(s->session, "mpi://WORLD", &all),
		"sums: MPI_Group_from_session_pset");
	check(MPI_Comm_create_from_group(all, "org.example.sums", MPI_INFO_NULL,
		      MPI_ERRORS_RETURN, &s->comm),
		"sums: MPI_Comm_create_from_group");
	MPI_Group_free(&all);
}

static int sums_add(struct sums *s, int value)
{
	int sum;

	check(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, s->comm),
		"sums: MPI_Allreduce");
	return sum;
}

static void sums_close(struct sums *s)
{
	check(MPI_Comm_disconnect(&s->comm), "sums: MPI_Comm_disconnect");
	check(MPI_Session_finalize(&s->session), "sums: MPI_Session_finalize");
}

/* ---- library 2: a log of the even ranks ---- */
struct even_log {
	MPI_Session session;
	MPI_Comm comm; /* MPI_COMM_NULL at odd ranks */
};

static void log_open(struct even_log *l)
{
	MPI_Group all, even;
	int rank, size, range[1][3] = { { 0, 0, 2 } };

	check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &l->session),
		"log: MPI_Session_init");
	check(MPI_Group_from_session_pset(l->session, "mpi://WORLD", &all),
		"log: MPI_Group_from_session_pset");
	MPI_Group_rank(all, &rank);
	MPI_Group_size(all, &size);
	range[0][1] = size - 1;
	check(MPI_Group_range_incl(all, 1, range, &even),
		"log: MPI_Group_range_incl");
	l->comm = MPI_COMM_NULL;
	if (rank % 2 == 0)
		check(MPI_Comm_create_from_group(even, "org.example.log",
			      MPI_INFO_NULL, MPI_ERRORS_RETURN, &l->comm),
			"log: MPI_Comm_create_from_group");
	MPI_Group_free(&even);
	MPI_Group_free(&all);
}

static void log_print(struct even_log *l, const char *text, int value)
{
	int rank, size;

	if (l->comm == MPI_COMM_NULL)
		return;
	MPI_Comm_rank(l->comm, &rank);
	MPI_Comm_size(l->comm, &size);
	check(MPI_Barrier(l->comm), "log: MPI_Barrier");
	if (rank == 0)
		printf("log of %d processes: %s %d\n", size, text, value);
}

static void log_close(struct even_log *l)
{
	if (l->comm != MPI_COMM_NULL)
		check(MPI_Comm_disconnect(&l->comm),
			"log: MPI_Comm_disconnect");
	check(MPI_Session_finalize(&l->session), "log: MPI_Session_finalize");
}

/* ---- the program: it calls no MPI procedure itself ---- */
int main(void)
{
	struct sums sums;
	struct even_log log;

	log_open(&log);
	for (int i = 1; i <= 2; i++) { /* sums opens and closes twice */
		sums_open(&sums);
		log_print(&log, "the sum is", sums_add(&sums, i));
		sums_close(&sums);
	}
	log_close(&log);
	return 0;
}
