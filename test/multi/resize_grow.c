/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resize_grow: a job grows and shrinks through the sizes of a plan
 *
 * arg sizes=2342 is a plan: the job starts with 2 processes and becomes 3, 4
 * and 2 processes. Digit K is the size of generation K. Each change checks the
 * members, their order and a redistributed array. Wrong calls are refused
 * before each change, and the former set remains.
 */
#include "resize.h"

enum { N = 240 }; /* items of the array */

static long job_start(long rank, long size)
{
	return rank < size ? N * rank / size : N;
}

/* Moves the array from n_old to n_new members of comm. */
static void job_move(struct job *job, MPI_Comm comm, int n_old, int n_new)
{
	int rank = -1, is_right = 1;
	long n_from, n_to, first;
	int *to;

	OK(MPI_Comm_rank(comm, &rank));
	n_from = job_start(rank + 1, n_old) - job_start(rank, n_old);
	first = job_start(rank, n_new);
	n_to = job_start(rank + 1, n_new) - first;
	to = mtest_alloc((n_to + 1) * sizeof(int));
	OK(MPIX_Redistribute_block(
		job->block, n_from, to, n_to, MPI_INT, comm));
	for (long i = 0; i < n_to; i++)
		is_right &= to[i] == (int)(first + i) * 3;
	CHECK(is_right, "%d to %d: the array is complete", n_old, n_new);
	free(job->block);
	job->block = to;
	job->n_block = n_to;
}

/* Calls that the launcher refuses. */
static void job_wrong(struct job *job)
{
	char name[MPIX_MAX_JOB_PSET] = "unchanged";
	MPI_Comm self = session_comm(job->session, "mpi://SELF", "self");
	MPI_Request request;

	FAILS(job_resize(job, 1000, name), MPI_ERR_SPAWN);
	FAILS(job_resize(job, -job->size, name), MPI_ERR_ARG);
	FAILS(job_resize(job, 0, name), MPI_ERR_ARG);
	if (job->size > 1) {
		FAILS(job_resize(job, job->rank ? 1 : 2, name),
			MPI_ERR_NOT_SAME);
		OK(MPIX_Session_resize(
			job->session, self, 1, MPI_INFO_NULL, name, &request));
		FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_COMM);
	}
	FAILS(MPIX_Session_resize_done(
		      job->session, job->comm, "weft://job/99"),
		MPI_ERR_NAME);
	FAILS(MPIX_Session_resize_done(job->session, job->comm, "mpi://WORLD"),
		MPI_ERR_NAME);
	if (job->rank == 0) {
		FAILS(MPIX_Session_resize_cancel(job->session, "weft://job/99"),
			MPI_ERR_NAME);
		FAILS(MPIX_Session_resize_cancel(job->session, ""),
			MPI_ERR_NAME);
	}
	CHECK(!*name, "after a refusal, the name is empty: %s", name);
	OK(MPI_Comm_disconnect(&self));
}

/* Becomes a job of n processes. False: this process has left. */
static bool job_become(struct job *job, int n)
{
	char name[MPIX_MAX_JOB_PSET] = "", former[MPIX_MAX_JOB_PSET];
	MPI_Group group, old;
	MPI_Comm before = job->comm;
	int n_old = job->size, rank = MPI_UNDEFINED, size = -1, result = -1;

	job_wrong(job);
	if (!OK(job_resize(job, n - n_old, name)))
		return false;
	snprintf(former, sizeof(former), "%s", job->name);
	group = session_group(job->session, name);
	old = session_group(job->session, former);
	OK(MPI_Group_size(group, &size));
	OK(MPI_Group_rank(group, &rank));
	CHECK(size == n, "%s has %d members, got %d", name, n, size);
	OK(MPI_Group_intersection(group, old, &old));
	OK(MPI_Group_size(old, &result));
	CHECK(result == (n < n_old ? n : n_old), "%s keeps members: %d", name,
		result);
	OK(MPI_Group_free(&group));
	OK(MPI_Group_free(&old));
	FAILS(job_resize(job, 1, former), MPI_ERR_SERVICE);
	if (n < n_old)
		job_move(job, before, n_old, n);
	if (rank == MPI_UNDEFINED) {
		OK(MPI_Comm_disconnect(&before));
		return false;
	}
	job_enter(job, name);
	CHECK(!job_has_joined(job, name),
		"an old member has not joined with %s", name);
	if (n > n_old)
		job_move(job, job->comm, n_old, n);
	OK(MPI_Comm_disconnect(&before));
	OK(MPIX_Session_resize_done(job->session, job->comm, name));
	return true;
}

/* Joins the current set of a job that grows. Returns its generation. */
static int job_join(struct job *job, const char *plan)
{
	char name[MPIX_MAX_JOB_PSET];
	int step = job_newest(job, name);

	if (!job_has_joined(job, name)) {
		CHECK(step == 0, "a process that did not join is of set 0");
		job_enter(job, name);
		job->n_block = job_start(job->rank + 1, job->size) -
			       job_start(job->rank, job->size);
		job->block = mtest_alloc((job->n_block + 1) * sizeof(int));
		for (long i = 0; i < job->n_block; i++)
			job->block[i] =
				3 * (int)(job_start(job->rank, job->size) + i);
		return 0;
	}
	job_enter(job, name);
	CHECK(plan[step] - '0' == job->size,
		"the set has the size of the plan");
	job_move(job, job->comm, plan[step - 1] - '0', job->size);
	OK(MPIX_Session_resize_done(job->session, job->comm, name));
	return step;
}

int main(int argc, char **argv)
{
	struct job job = { 0 };
	char plan[32];
	bool is_in = true;

	snprintf(plan, sizeof(plan), "%ld", mtest_arg(argc, argv, "sizes", 1));
	mtest_start(argv[0]);
	job.session = session_open();
	for (int k = job_join(&job, plan); is_in && plan[k + 1]; k++)
		is_in = job_become(&job, plan[k + 1] - '0');
	free(job.block);
	if (is_in) {
		session_works(job.comm, "the last set");
		OK(MPI_Comm_disconnect(&job.comm));
	}
	session_close(&job.session);
	return mtest_done();
}
