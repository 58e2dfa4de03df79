/* SPDX-License-Identifier: BSD-3-Clause */
/* profiled: known calls, for the tests of mpiexec --profile
 *
 * usage: profiled calls | late | threads | session | abort | crash | many |
 *	change | requests | arrays | spawn */
#include <mpi.h>
#include <mpix.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 10, N_THREADS = 4, MANY = 6000 };

static int rank, size;

/* Passes a message of 8 bytes around the ring of ranks ROUNDS times, and makes
 * ROUNDS / 2 reductions. */
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

/* The last rank computes before each reduction, and before an agreement. It
 * does so for much longer than a busy machine delays the other ranks. Not
 * inline: addr2line would name main() in a program that clang compiled. */
static __attribute__((noinline)) void be_late(void)
{
	double in = 1, out, until;
	int flag = 1;

	for (int i = 0; i < ROUNDS; i++) {
		until = MPI_Wtime() + (rank == size - 1 ? 0.15 : 0);
		while (MPI_Wtime() < until)
			;
		MPI_Allreduce(
			&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	until = MPI_Wtime() + (rank == size - 1 ? 0.3 : 0);
	while (MPI_Wtime() < until)
		;
	MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
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

/* Rank 0 sends MANY short messages to rank 1 at one site, of 8 and of 16 bytes
 * in runs of 1000. Rank 0 is late for one of them. When rank 1 has received
 * all, it is killed, and mpiexec ends rank 0. */
static void send_many(void)
{
	double data[2] = { 0 }, until;

	for (int i = 0; i < MANY; i++) {
		int n = i / 1000 % 2 + 1;

		if (rank == 0 && i == MANY - 10) {
			until = MPI_Wtime() + 0.3;
			while (MPI_Wtime() < until)
				;
		}
		if (rank == 0)
			MPI_Send(data, n, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
		else if (rank == 1)
			MPI_Recv(data, 2, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE);
	}
	while (rank == 0)
		pause();
	raise(SIGKILL);
}

static int must_spin;

static void add_slowly(void *in, void *inout, int *len, MPI_Datatype *type)
{
	double until = MPI_Wtime() + (must_spin ? 0.3 : 0);

	(void)type;
	while (MPI_Wtime() < until)
		;
	for (int i = 0; i < *len; i++)
		((double *)inout)[i] += ((double *)in)[i];
}

/* The root makes all its reductions at one site. After many short calls of 1
 * and 2 items in turn, it sleeps in one for 0.3 s, then combines for 0.3 s. */
static void change_calls(void)
{
	double in[3] = { 1, 1, 1 }, out[3], until;
	/* volatile: the compiler must not split the loop into several sites */
	volatile int many = MANY;
	MPI_Op op;

	MPI_Op_create(add_slowly, 0, &op);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < many + 2 && rank == 0; i++) {
		must_spin = i > many;
		MPI_Reduce(in, out, i < many ? 1 + i % 2 : 3, MPI_DOUBLE, op, 0,
			i < many ? MPI_COMM_SELF : MPI_COMM_WORLD);
	}
	until = MPI_Wtime() + 0.3;
	while (rank && MPI_Wtime() < until)
		;
	for (int i = 0; i < 2 && rank; i++) {
		must_spin = i;
		MPI_Reduce(in, out, 3, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
	}
	MPI_Op_free(&op);
}

/* Starts three persistent operations 3 times each: a send of 8 bytes and a
 * partitioned send of 4 times 16 bytes to the next rank, and a reduction of 24
 * bytes. */
static void start_requests(void)
{
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	double in[8], out[8] = { 0 }, sum[3];
	MPI_Request r[5], other;

	MPI_Send_init(out, 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Recv_init(in, 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, &r[1]);
	MPI_Psend_init(out, 4, 2, MPI_DOUBLE, next, 1, MPI_COMM_WORLD,
		MPI_INFO_NULL, &r[2]);
	MPI_Precv_init(in, 4, 2, MPI_DOUBLE, last, 1, MPI_COMM_WORLD,
		MPI_INFO_NULL, &r[3]);
	MPI_Allreduce_init(out, sum, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
		MPI_INFO_NULL, &r[4]);
	MPI_Send_init(out, 1, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &other);
	MPI_Request_free(&other);
	for (int i = 0; i < 3; i++) {
		MPI_Startall(2, r);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		MPI_Start(&r[3]);
		MPI_Start(&r[2]);
		MPI_Pready_range(0, 3, r[2]);
		MPI_Waitall(2, &r[2], MPI_STATUSES_IGNORE);
		MPI_Start(&r[4]);
		MPI_Wait(&r[4], MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < 5; i++)
		MPI_Request_free(&r[i]);
}

/* Calls collectives with arrays of counts, and neighborhood collectives. Each
 * rank sends 4 bytes to each receiver. */
static void pass_arrays(void)
{
	int *ints = calloc(6 * (size_t)size, sizeof(int)), dim = size;
	int *counts = ints, *displs = ints + size, *out = ints + 2 * size,
	    *in = ints + 4 * size, periods = 1;
	MPI_Datatype *types = calloc((size_t)size, sizeof(*types));
	MPI_Comm ring, line;

	for (int i = 0; i < size; i++) {
		counts[i] = 1;
		displs[i] = i;
		types[i] = MPI_INT;
	}
	MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
	MPI_Alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT,
		MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		displs[i] = 4 * i;
	MPI_Alltoallw(out, counts, displs, types, in, counts, displs, types,
		MPI_COMM_WORLD);
	MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Cart_create(MPI_COMM_WORLD, 1, &dim, &periods, 0, &ring);
	MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, ring);
	MPI_Neighbor_alltoallv(out, counts, displs, MPI_INT, in, counts, displs,
		MPI_INT, ring);
	MPI_Comm_free(&ring);
	MPI_Cart_create(MPI_COMM_WORLD, 1, &dim, &(int){ 0 }, 0, &line);
	MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, line);
	MPI_Neighbor_alltoallv(out, counts, displs, MPI_INT, in, counts, displs,
		MPI_INT, line);
	MPI_Comm_free(&line);
	free(types);
	free(ints);
}

/* Spawns a job of one process, which sends 3 messages to itself. */
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
	else if (!strcmp(mode, "many"))
		send_many();
	else if (!strcmp(mode, "change"))
		change_calls();
	else if (!strcmp(mode, "requests"))
		start_requests();
	else if (!strcmp(mode, "spawn")) {
		MPI_Comm parent;

		MPI_Comm_get_parent(&parent);
		spawn_one(argv[0], parent);
	} else if (!strcmp(mode, "arrays"))
		pass_arrays();
	else
		make_calls(MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(mode, "abort") && rank == 0)
		MPI_Abort(MPI_COMM_WORLD, 3);
	if (!strcmp(mode, "crash") && rank == 0)
		raise(SIGKILL);
	MPI_Finalize();
	return 0;
}
