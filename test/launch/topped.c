/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topped: a job for weft-top and gdb that never ends
 *
 * usage: topped HOW
 *   hung     each rank receives from the next one before it sends
 *   slow     the last rank sleeps between barriers
 *   asleep   the first rank finalizes and the others sleep
 *   apart    each rank receives from a spawned process that sleeps
 *   puts     each rank puts 8 bytes into a window of the next one
 *   healthy  ranks exchange 64 KiB with their neighbours (default)
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void hang(int rank, int size)
{
	static char bulk[1 << 20];
	MPI_Request sent;
	int word = rank;

	/* no rank posts a receive for these two messages */
	MPI_Send(&word, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD);
	MPI_Isend(bulk, sizeof(bulk), MPI_CHAR, (rank + 1) % size, 11,
		MPI_COMM_WORLD, &sent);
	MPI_Recv(&word, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	MPI_Send(
		&word, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD);
}

static void be_slow(int rank, int size)
{
	for (;;) {
		if (rank == size - 1)
			sleep(20);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* MPI_Finalize waits for each other rank on two communicators. */
static void sleep_but_first(int rank)
{
	MPI_Comm dup;

	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	if (!rank)
		MPI_Finalize();
	for (;;)
		sleep(20);
}

static void wait_for_spawned(char *program)
{
	char asleep[] = "asleep", *argv[] = { asleep, NULL };
	MPI_Comm inter;
	int word;

	MPI_Comm_spawn(program, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
		&inter, MPI_ERRCODES_IGNORE);
	MPI_Recv(&word, 1, MPI_INT, 1, 7, inter, MPI_STATUS_IGNORE);
}

static void put_on(int rank, int size)
{
	long *base, word = rank;
	MPI_Win win;

	MPI_Win_allocate(
		sizeof(word), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	MPI_Win_lock_all(0, win);
	for (;;) {
		MPI_Put(&word, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG,
			win);
		MPI_Win_flush_all(win);
		usleep(1000);
	}
}

static void be_healthy(int rank, int size)
{
	static char out[65536], in[65536];
	int sum;

	for (;;) {
		MPI_Sendrecv(out, sizeof(out), MPI_CHAR, (rank + 1) % size, 3,
			in, sizeof(in), MPI_CHAR, (rank + size - 1) % size, 3,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "healthy";
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Barrier(MPI_COMM_WORLD);
	printf("up %d\n", rank);
	fflush(stdout);
	if (!strcmp(how, "hung"))
		hang(rank, size);
	else if (!strcmp(how, "slow"))
		be_slow(rank, size);
	else if (!strcmp(how, "asleep"))
		sleep_but_first(rank);
	else if (!strcmp(how, "apart"))
		wait_for_spawned(argv[0]);
	else if (!strcmp(how, "puts"))
		put_on(rank, size);
	else
		be_healthy(rank, size);
	MPI_Finalize();
	return 0;
}
