/* SPDX-License-Identifier: BSD-3-Clause */
/* profiled: known calls, for the tests of mpiexec --profile
 *
 * usage: profiled calls | late | threads | session | abort | crash |
 *	spawn */
#include <mpi.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10, N_THREADS = 4 };

static int rank, size;

/* Sends ROUNDS messages of 8 bytes around the ring, and ROUNDS / 2 reductions.
 */
static void make_calls(MPI_Comm comm)
{
	double in = 1, out = 0;

	for (int i = 0; i < ROUNDS; i++) {
		if (size > 1 && rank == 0) {
			MPI_Send(&in, 1, MPI_DOUBLE, 1, 0, comm);
			MPI_Recv(&out, 1, MPI_DOUBLE, size - 1, 0, comm,
				MPI_STATUS_IGNORE);
		} else if (size > 1) {
			MPI_Recv(&out, 1, MPI_DOUBLE, rank - 1, 0, comm,
				MPI_STATUS_IGNORE);
			MPI_Send(
				&in, 1, MPI_DOUBLE, (rank + 1) % size, 0, comm);
		}
		if (i % 2)
			MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm);
	}
}

/* The last rank computes before each reduction. */
static void be_late(void)
{
	double in = 1, out;

	for (int i = 0; i < ROUNDS; i++) {
		double until = MPI_Wtime() + (rank == size - 1 ? 0.03 : 0);

		while (MPI_Wtime() < until)
			;
		MPI_Allreduce(
			&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void *thread_calls(void *arg)
{
	int tag = *(int *)arg, in = tag, out;

	for (int i = 0; i < ROUNDS; i++)
		MPI_Sendrecv(&in, 1, MPI_INT, (rank + 1) % size, tag, &out, 1,
			MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
	return NULL;
}

static void start_threads(void)
{
	pthread_t threads[N_THREADS];
	int tags[N_THREADS];

	for (int i = 0; i < N_THREADS; i++) {
		tags[i] = i;
		if (pthread_create(&threads[i], NULL, thread_calls, &tags[i]))
			exit(1);
	}
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
}

static int in_session(void)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(
		group, "profiled", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	make_calls(comm);
	MPI_Group_free(&group);
	MPI_Comm_disconnect(&comm);
	MPI_Session_finalize(&session);
	return 0;
}

/* A job of one process makes 3 sends to itself. */
static void spawn_one(char *program, MPI_Comm parent)
{
	char *argv[] = { (char[]){ "spawn" }, NULL };
	MPI_Request request;
	MPI_Comm child;
	int in, out = 1;

	for (int i = 0; i < 3 && parent != MPI_COMM_NULL; i++) {
		MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
		MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	if (parent == MPI_COMM_NULL)
		MPI_Comm_spawn(program, argv, 1, MPI_INFO_NULL, 0,
			MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
	else
		child = parent;
	MPI_Comm_disconnect(&child);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int provided;

	if (!strcmp(mode, "session"))
		return in_session();
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(mode, "late"))
		be_late();
	else if (!strcmp(mode, "threads"))
		start_threads();
	else if (!strcmp(mode, "spawn")) {
		MPI_Comm parent;

		MPI_Comm_get_parent(&parent);
		spawn_one(argv[0], parent);
	} else
		make_calls(MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(mode, "abort") && rank == 0)
		MPI_Abort(MPI_COMM_WORLD, 3);
	if (!strcmp(mode, "crash") && rank == 0)
		raise(SIGKILL);
	MPI_Finalize();
	return 0;
}
