/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scalebench: the cost of a job as its number of processes grows
 *
 * Usage: scalebench [FILE [die]]
 *   FILE    a file that all processes can open; the default is ./scalebench.out
 *   die     instead of the measurements, one process ends by SIGKILL while all
 *           others wait for it in a barrier
 *
 * Standard MPI-3, for any MPI. Rank 0 prints one line "NAME VALUE UNIT" for
 * each cost. A time is that of the slowest process. "first" is the first call,
 * which connects processes; other times are the median of five calls. Memory
 * and descriptors are counted after all calls. finalize_at and died_at are
 * times of the system's clock; contrib/scale subtracts them from the time when
 * the launcher ends.
 */
#include <mpi.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 5, MESSAGE = 8 };

static int rank, size;
static const char *file_name = "scalebench.out";

/* ---- results ---- */

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec * 1e-3;
}

static void print_clock(const char *name)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	printf("%s %lld%06ld us\n", name, (long long)ts.tv_sec,
		ts.tv_nsec / 1000);
	fflush(stdout);
}

static double reduce_to_root(double value, MPI_Op op)
{
	double all = 0;

	MPI_Reduce(&value, &all, 1, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
	return all;
}

static void print_line(const char *name, double value, const char *unit)
{
	if (rank == 0)
		printf("%s %.1f %s\n", name, value, unit);
}

static void print_counts(const char *name, double value, const char *unit)
{
	double sum = reduce_to_root(value, MPI_SUM);
	double most = reduce_to_root(value, MPI_MAX);
	char line[64];

	snprintf(line, sizeof(line), "%s_mean", name);
	print_line(line, sum / size, unit);
	snprintf(line, sizeof(line), "%s_most", name);
	print_line(line, most, unit);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Calls work() once, and prints its time; then CALLS times, and prints the
 * median. Before each call the processes are synchronized. */
static void measure(const char *name, void (*work)(void))
{
	double times[CALLS + 1];
	char line[64];

	for (int i = 0; i <= CALLS; i++) {
		double start;

		MPI_Barrier(MPI_COMM_WORLD);
		start = now_us();
		work();
		times[i] = reduce_to_root(now_us() - start, MPI_MAX);
	}
	snprintf(line, sizeof(line), "%s_first", name);
	print_line(line, times[0], "us");
	qsort(times + 1, CALLS, sizeof(*times), compare);
	print_line(name, times[1 + CALLS / 2], "us");
}

/* ---- the calls ---- */

static void call_barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void call_allreduce(void)
{
	double one = 1, sum = 0;

	MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if ((int)sum != size)
		MPI_Abort(MPI_COMM_WORLD, 3);
}

static void call_dup(void)
{
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_free(&comm);
}

static void call_split(void)
{
	MPI_Comm comm;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
	MPI_Comm_free(&comm);
}

static void call_alltoall(void)
{
	char *to = calloc((size_t)size, MESSAGE);
	char *from = calloc((size_t)size, MESSAGE);

	if (!to || !from)
		MPI_Abort(MPI_COMM_WORLD, 4);
	MPI_Alltoall(
		to, MESSAGE, MPI_CHAR, from, MESSAGE, MPI_CHAR, MPI_COMM_WORLD);
	free(to);
	free(from);
}

/* A message to and from each process. */
static void call_pairs(void)
{
	char to[MESSAGE] = "", from[MESSAGE];

	for (int i = 1; i < size; i++)
		MPI_Sendrecv(to, MESSAGE, MPI_CHAR, (rank + i) % size, 0, from,
			MESSAGE, MPI_CHAR, (rank - i + size) % size, 0,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void call_window(void)
{
	double *base;
	MPI_Win win;

	MPI_Win_allocate(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	MPI_Win_fence(0, win);
	MPI_Put(&(double){ rank }, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1,
		MPI_DOUBLE, win);
	MPI_Win_fence(0, win);
	if ((int)*base != (rank - 1 + size) % size)
		MPI_Abort(MPI_COMM_WORLD, 5);
	MPI_Win_free(&win);
}

static void call_file(void)
{
	double value = rank;
	MPI_File file;

	MPI_File_open(MPI_COMM_WORLD, file_name,
		MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_write_at_all(file, (MPI_Offset)rank * 8, &value, 1, MPI_DOUBLE,
		MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

/* ---- counts ---- */

static double pss_kib(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	double kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Pss:", 4))
			sscanf(line + 4, " %lf", &kib);
	if (f)
		fclose(f);
	return kib;
}

static double count_descriptors(int only_sockets)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		char path[300], to[64] = "";

		if (atoi(entry->d_name) == dirfd(dir))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		if (readlink(path, to, sizeof(to) - 1) < 0)
			continue;
		n += !only_sockets || !strncmp(to, "socket:", 7);
	}
	if (dir)
		closedir(dir);
	return n;
}

static double processor_ms(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-3;
}

/* Waits first, so that no daemon still handles requests of the start. */
static void die(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	sleep(1);
	if (rank == size / 2) {
		print_clock("died_at");
		kill(getpid(), SIGKILL);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	double start = now_us(), init_us;

	MPI_Init(&argc, &argv);
	init_us = now_us() - start;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 1)
		file_name = argv[1];
	if (argc > 2 && !strcmp(argv[2], "die"))
		die();
	start = now_us();
	MPI_Barrier(MPI_COMM_WORLD);
	start = now_us() - start;
	print_line("init", reduce_to_root(init_us, MPI_MAX), "us");
	print_line("barrier_after_init", reduce_to_root(start, MPI_MAX), "us");
	print_counts("processor_time_started", processor_ms(), "ms");
	print_counts("memory_started", pss_kib(), "KiB");
	measure("barrier", call_barrier);
	measure("allreduce", call_allreduce);
	measure("dup", call_dup);
	measure("split", call_split);
	measure("alltoall", call_alltoall);
	measure("pairs", call_pairs);
	measure("window", call_window);
	measure("file", call_file);
	MPI_Barrier(MPI_COMM_WORLD);
	print_counts("processor_time", processor_ms(), "ms");
	print_counts("memory", pss_kib(), "KiB");
	print_counts("descriptors", count_descriptors(0), "");
	print_counts("sockets", count_descriptors(1), "");
	if (rank == 0)
		unlink(file_name);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		print_clock("finalize_at");
	MPI_Finalize();
	return 0;
}
