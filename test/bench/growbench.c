/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * growbench: the time to add processes to a running job and to remove them
 *
 * Usage: growbench resize|spawn N [ROUNDS]
 *   spawn   MPI_Comm_spawn and MPI_Intercomm_merge, with any MPI
 *   resize  MPIX_Session_resize; start it with mpiexec --max
 *
 * Each round adds N processes and removes them. Prints the medians of rank 0 in
 * milliseconds. A grow lasts from the first call to the end of the first
 * MPI_Allreduce of all members. A shrink lasts until no communicator has the
 * removed processes, which may end later.
 */
#include <mpi.h>
#if __has_include(<mpix.h>)
#include <mpix.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS_MAX = 100 };

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *times, int n)
{
	qsort(times, (size_t)n, sizeof(*times), compare);
	return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

static int sum_members(MPI_Comm comm)
{
	int one = 1, sum = 0;

	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
	return sum;
}

static void report(const char *how, int n, double *grow, double *shrink, int k)
{
	printf("%s %d: grow %.1f ms, shrink %.2f ms (medians of %d)\n", how, n,
		median(grow, k), median(shrink, k), k);
}

/* ---- spawn and merge ---- */

/* The merged communicator is freed, because Open MPI 4.1.4 does not return from
 * its disconnection. */
static void leave(MPI_Comm *all, MPI_Comm *inter)
{
	MPI_Comm_free(all);
	MPI_Comm_disconnect(inter);
}

static int run_spawn(char *program, int n, int rounds)
{
	static double grow[ROUNDS_MAX], shrink[ROUNDS_MAX];
	char *args[] = { "spawn", "0", NULL };
	MPI_Comm inter, all;
	int rank, size;

	MPI_Init(NULL, NULL);
	MPI_Comm_get_parent(&inter);
	if (inter != MPI_COMM_NULL) {
		MPI_Intercomm_merge(inter, 1, &all);
		sum_members(all);
		leave(&all, &inter);
		MPI_Finalize();
		return 0;
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		grow[i] = -now_ms();
		MPI_Comm_spawn(program, args, n, MPI_INFO_NULL, 0,
			MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
		MPI_Intercomm_merge(inter, 0, &all);
		if (sum_members(all) != size + n)
			MPI_Abort(MPI_COMM_WORLD, 1);
		grow[i] += now_ms();
		shrink[i] = -now_ms();
		leave(&all, &inter);
		sum_members(MPI_COMM_WORLD);
		shrink[i] += now_ms();
	}
	if (!rank)
		report("spawn", n, grow, shrink, rounds);
	MPI_Finalize();
	return 0;
}

/* ---- resize ---- */

#ifdef MPIX_MAX_JOB_PSET

struct job {
	MPI_Session session;
	MPI_Comm comm;
	int rank, size;
};

static MPI_Comm comm_of(const struct job *job, const char *name)
{
	MPI_Group group;
	MPI_Comm comm;

	MPI_Group_from_session_pset(job->session, name, &group);
	MPI_Comm_create_from_group(
		group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Group_free(&group);
	return comm;
}

static void follow(struct job *job, const char *name)
{
	job->comm = comm_of(job, name);
	MPI_Comm_rank(job->comm, &job->rank);
	job->size = sum_members(job->comm);
}

/* Changes the size. False: this process leaves. Adds the time to *time. */
static int change(struct job *job, int delta, double *time)
{
	MPI_Comm before = job->comm;
	char name[MPIX_MAX_JOB_PSET];
	MPI_Request request;
	int stays;

	MPI_Barrier(before);
	*time = -now_ms();
	MPIX_Session_resize(
		job->session, before, delta, MPI_INFO_NULL, name, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	stays = job->rank < job->size + delta;
	if (stays)
		follow(job, name);
	if (delta > 0)
		*time += now_ms();
	MPI_Comm_disconnect(&before);
	if (stays)
		MPIX_Session_resize_done(job->session, job->comm, name);
	if (delta < 0)
		*time += now_ms();
	return stays;
}

/* Writes the name of the newest set. True if this process has joined it. */
static int newest(const struct job *job, char *name)
{
	int n, has = 0, len = MPIX_MAX_JOB_PSET;
	char other[256], text[8] = "";
	MPI_Info info;

	MPI_Session_get_num_psets(job->session, MPI_INFO_NULL, &n);
	for (int i = 0; i < n; i++) {
		int size = sizeof(other);

		MPI_Session_get_nth_pset(
			job->session, MPI_INFO_NULL, i, &size, other);
		if (!strncmp(other, "weft://job/", 11))
			snprintf(name, (size_t)len, "%.*s", len - 1, other);
	}
	MPI_Session_get_pset_info(job->session, name, &info);
	len = sizeof(text);
	MPI_Info_get_string(info, "weft_joined", &len, text, &has);
	MPI_Info_free(&info);
	return has && !strcmp(text, "yes");
}

static int run_resize(int n, int rounds)
{
	static double grow[ROUNDS_MAX], shrink[ROUNDS_MAX];
	struct job job = { .comm = MPI_COMM_NULL };
	char name[MPIX_MAX_JOB_PSET];
	double time;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &job.session);
	if (newest(&job, name)) {
		follow(&job, name);
		MPIX_Session_resize_done(job.session, job.comm, name);
		if (change(&job, -n, &time))
			abort();
	} else {
		follow(&job, name);
		for (int i = 0; i < rounds; i++) {
			change(&job, n, &grow[i]);
			change(&job, -n, &shrink[i]);
		}
		if (!job.rank)
			report("resize", n, grow, shrink, rounds);
		MPI_Comm_disconnect(&job.comm);
	}
	MPI_Session_finalize(&job.session);
	return 0;
}

#else

static int run_resize(int n, int rounds)
{
	(void)n, (void)rounds;
	fputs("this MPI has no MPIX_Session_resize\n", stderr);
	return 2;
}

#endif

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 1;
	int rounds = argc > 3 ? atoi(argv[3]) : 7;

	if (argc < 2 || n < 0 || rounds < 1 || rounds > ROUNDS_MAX) {
		fputs("usage: growbench resize|spawn N [ROUNDS, at most 100]\n",
			stderr);
		return 2;
	}
	return strcmp(argv[1], "resize") ? run_spawn(argv[0], n, rounds)
					 : run_resize(n, rounds);
}
