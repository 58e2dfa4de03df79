/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resize_died: processes die while a job changes its size
 *
 * how=0  a process that joins dies before, in and after its first calls. Each
 *        change is cancelled, and the old set is in force. A last change works.
 * how=1  a member dies after the request of a grow. The launcher cancels the
 *        change and offers a process instead of the lost one, which joins.
 * how=2  the member that sends the request dies in the request
 * how=3  a member dies after the request of a shrink
 */
#include "resize.h"

#include <mpi-ext.h>

enum { JOINED, GROW, REQUEST, SHRINK };

/* The ends of the processes that join, in the order of their ranks. */
enum end {
	EXIT_3,	 /* before the first MPI call, with code 3 */
	EXIT_0,	 /* before the first MPI call, with code 0 */
	KILLED,	 /* before the first MPI call */
	CREATES, /* while it creates its first communicator */
	CREATED, /* afterwards */
	SOON,	 /* at any time until then; four times */
	N_ENDS = SOON + 4,
};

static void die(void)
{
	raise(SIGKILL);
}

/* Starts a process that kills this process after some time. */
static void die_after(int us)
{
	pid_t pid = getpid();

	if (fork())
		return;
	usleep((useconds_t)us);
	kill(pid, SIGKILL);
	_exit(0);
}

/* The first part of a process that dies while it joins. */
static void die_before_mpi(int end)
{
	if (end == EXIT_3 || end == EXIT_0)
		_exit(end == EXIT_3 ? 3 : 0);
	if (end == KILLED)
		die();
	if (end >= SOON && end < N_ENDS)
		die_after(2000 << 2 * (end - SOON));
}

static void die_later(struct job *job, int end, const char *name)
{
	MPI_Group group = session_group(job->session, name);
	MPI_Request request;

	if (end == CREATES) {
		OK(MPIX_Comm_icreate_from_group(group, name, MPI_INFO_NULL,
			MPI_ERRORS_RETURN, &job->comm, &request));
		die();
	}
	job->comm = session_comm_take(group, name);
	if (end == CREATED)
		die();
	for (;;)
		pause();
}

/* Creates the communicator of a set. An error if a member has died. */
static int create_of(const struct job *job, const char *name, MPI_Comm *comm)
{
	MPI_Group group;
	int rc = MPI_Group_from_session_pset(job->session, name, &group);

	if (rc)
		return rc;
	rc = MPI_Comm_create_from_group(
		group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
	OK(MPI_Group_free(&group));
	return rc;
}

/* Enters the new set and completes the change. After an error, which a member
 * that dies causes, the communicator is unchanged. */
static int enter_new(struct job *job, const char *name)
{
	MPI_Comm comm = MPI_COMM_NULL, before = job->comm;
	int rc = create_of(job, name, &comm);

	if (rc)
		return rc;
	rc = MPI_Barrier(comm); /* only some members may have the error */
	if (!rc)
		rc = MPIX_Session_resize_done(job->session, comm, name);
	if (rc) {
		OK(MPI_Comm_free(&comm));
		return rc;
	}
	if (before != MPI_COMM_NULL)
		OK(MPI_Comm_disconnect(&before));
	job->comm = comm;
	session_works(comm, name);
	return 0;
}

/* Grows by one process, which joins. */
static void grow_at_last(struct job *job)
{
	char name[MPIX_MAX_JOB_PSET] = "";
	int size = 0;

	OK(job_resize(job, 1, name));
	OK(enter_new(job, name));
	OK(MPI_Comm_size(job->comm, &size));
	CHECK(size == job->size + 1, "one process joins");
}

static void lose_joined(struct job *job)
{
	char name[MPIX_MAX_JOB_PSET] = "";

	for (int i = 0; i < N_ENDS; i++) {
		OK(job_resize(job, 1, name));
		CHECK(enter_new(job, name), "%s: a lost member is an error",
			name);
		OK(MPI_Barrier(job->comm));
		OK(MPIX_Session_resize_cancel(job->session, name));
		while (has_pset(job, name))
			;
		session_works(job->comm, "the old set");
	}
	grow_at_last(job);
}

/* Continues with the members that live. Waits for the offer of a process
 * instead of the lost one, and accepts it. */
static void replace(struct job *job)
{
	MPI_Comm before = job->comm;
	int size = job->size;

	OK(MPIX_Comm_shrink(before, &job->comm));
	OK(MPI_Comm_free(&before));
	OK(MPI_Comm_rank(job->comm, &job->rank));
	OK(MPI_Comm_size(job->comm, &job->size));
	CHECK(job->size == size - 1, "one member is lost");
	session_works(job->comm, "the members that live");
	while (offer_of(job) != 1)
		poll_once(job);
	OK(MPI_Barrier(job->comm));
	grow_at_last(job);
}

static void lose_member(struct job *job, int how)
{
	char name[MPIX_MAX_JOB_PSET] = "";
	MPI_Request request;
	bool dies = job->rank == (how == REQUEST ? 0 : 1);
	int rc;

	OK(MPIX_Session_resize(job->session, job->comm, how == SHRINK ? -1 : 1,
		MPI_INFO_NULL, name, &request));
	if (how == REQUEST && dies)
		die();
	rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (dies)
		die();
	/* the request may fail, if a member dies before it is complete here */
	if (!rc && how != SHRINK)
		CHECK(enter_new(job, name), "a lost member is an error");
	while (has_pset(job, "weft://job/1"))
		poll_once(job);
	FAILS(job_resize(job, 1, name), MPIX_ERR_PROC_FAILED);
	replace(job);
}

static void joined(struct job *job, int how, const char *name)
{
	if (how == JOINED && mtest.rank < 2 + N_ENDS)
		die_later(job, mtest.rank - 2, name);
	if (enter_new(job, name))
		for (;;) /* mpiexec ends this process */
			pause();
}

int main(int argc, char **argv)
{
	struct job job = { .comm = MPI_COMM_NULL };
	char name[MPIX_MAX_JOB_PSET];
	int how;

	mtest_start(argv[0]);
	how = (int)mtest_arg(argc, argv, "how", JOINED);
	if (how == JOINED && mtest.rank >= 2)
		die_before_mpi(mtest.rank - 2);
	job.session = session_open();
	job_newest(&job, name);
	if (job_has_joined(&job, name)) {
		joined(&job, how, name);
	} else {
		job_enter(&job, name);
		how == JOINED ? lose_joined(&job) : lose_member(&job, how);
	}
	OK(MPI_Comm_disconnect(&job.comm));
	session_close(&job.session);
	return mtest_done();
}
