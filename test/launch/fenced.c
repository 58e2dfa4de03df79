/* SPDX-License-Identifier: BSD-3-Clause */
/* fenced: a job whose processes are not permitted to open each other's memory
 *
 * The processes exchange short and long messages, and use a collective, a
 * window, and memory that they share if they can. A session with a VCI of its
 * own sends before all others. Each process prints its number of errors. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { LONG = 300000 };

static int n_wrong;

static void swap_with_next(int rank, int size, int n)
{
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	int *out = malloc((size_t)n * sizeof(*out));
	int *in = calloc((size_t)n, sizeof(*in));

	for (int i = 0; i < n; i++)
		out[i] = rank + i;
	MPI_Sendrecv(out, n, MPI_INT, next, n, in, n, MPI_INT, last, n,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < n; i++)
		n_wrong += in[i] != last + i;
	free(out);
	free(in);
}

static void put_to_next(int rank, int size)
{
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	int *memory;
	MPI_Win win;

	MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &win);
	*memory = -1;
	MPI_Win_fence(0, win);
	MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	n_wrong += *memory != last;
	MPI_Win_free(&win);
}

/* Exchanges a message over a communicator of a session with a VCI of its own.
 */
static void talk_apart(void)
{
	int rank, size, in = -1;
	MPI_Session session;
	MPI_Group world;
	MPI_Comm comm;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "weft_vci", "dedicated");
	MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Info_free(&info);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
	MPI_Comm_create_from_group(
		world, "apart", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Group_free(&world);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,
		(rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
	n_wrong += in != (rank + size - 1) % size;
	MPI_Comm_disconnect(&comm);
	MPI_Session_finalize(&session);
}

/* Each member of a node writes to the shared memory of the next member. */
static void share(void)
{
	int rank, size, disp;
	int *mine, *next;
	MPI_Comm node;
	MPI_Aint len;
	MPI_Win win;

	MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &rank);
	MPI_Comm_size(node, &size);
	MPI_Win_allocate_shared(
		sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win);
	MPI_Win_shared_query(win, (rank + 1) % size, &len, &disp, &next);
	MPI_Win_fence(0, win);
	*next = rank;
	MPI_Win_fence(0, win);
	n_wrong += *mine != (rank + size - 1) % size;
	MPI_Win_free(&win);
	MPI_Comm_free(&node);
}

int main(int argc, char **argv)
{
	int rank, size, sum = 0;

	talk_apart();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	swap_with_next(rank, size, 1);
	swap_with_next(rank, size, LONG);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	n_wrong += sum != size * (size - 1) / 2;
	put_to_next(rank, size);
	share();
	printf("process %d: %d wrong\n", rank, n_wrong);
	MPI_Finalize();
	return n_wrong != 0;
}
