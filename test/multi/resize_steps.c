/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resize_steps: offers, cancelled changes, and many changes of a job's size
 *
 * how=0  mpiexec --resize-at offers a process, and the members accept
 * how=1  the members cancel a change after the joined process has started; the
 *        next change works
 * how=2  the joined process dies before its first communicator; the next change
 *        works
 * how=3  the job grows and shrinks by one process ROUNDS times, and no
 *        descriptor of a member is left
 */
#include "resize.h"

#include "output.h"

#include <dirent.h>

enum { OFFER, CANCEL, DIE, CYCLE };

enum { ROUNDS = 30 };

static atomic_int n_offers;   /* changes of the offer */
static atomic_int n_failures; /* definitions of weft://alive */

static void on_change(
	MPI_Session session, const char *name, int change, void *extra_state)
{
	(void)session, (void)extra_state;
	if (change == MPIX_PSET_OFFER) {
		CHECK(!strcmp(name, "weft://job"),
			"an offer is a change of weft://job, got %s", name);
		n_offers++;
	} else if (!strcmp(name, "weft://alive")) {
		n_failures++;
	}
}

/* Leaves the current set for the new one, of which this process is a member. */
static void job_follow(struct job *job, const char *name)
{
	MPI_Comm before = job->comm;

	job_enter(job, name);
	if (before != MPI_COMM_NULL)
		OK(MPI_Comm_disconnect(&before));
	OK(MPIX_Session_resize_done(job->session, job->comm, name));
}

static void job_grow(struct job *job, const char *former)
{
	char name[MPIX_MAX_JOB_PSET] = "";
	int size = job->size;

	CHECK(!strcmp(job->name, former), "%s is in force", former);
	OK(job_resize(job, 1, name));
	job_follow(job, name);
	CHECK(job->size == size + 1, "one process joins");
}

static void accept_offer(struct job *job)
{
	/* the launcher may have made the offer before this process started */
	if (!offer_of(job)) {
		while (!n_offers)
			poll_once(job);
	}
	CHECK(offer_of(job) == 1, "mpiexec offers one process");
	job_grow(job, "weft://job/0");
	while (offer_of(job))
		;
	while (!n_offers)
		poll_once(job);
	CHECK(n_offers <= 2, "the callback reports each change once: %d",
		n_offers);
}

/* Checks that the old set is in force after a change to `name` has failed. */
static void check_old(struct job *job, const char *name)
{
	while (has_pset(job, name))
		;
	session_works(job->comm, "the old set");
	OK(MPIX_Session_resize_cancel(job->session, name)); /* again */
	OK(MPI_Barrier(job->comm));
	job_grow(job, "weft://job/0");
}

static void cancel_change(struct job *job)
{
	char name[MPIX_MAX_JOB_PSET] = "";

	OK(job_resize(job, 1, name));
	while (!has_pset(job, "test://started"))
		;
	output_capture();
	OK(MPI_Barrier(job->comm));
	if (!job->rank)
		OK(MPIX_Session_resize_cancel(job->session, name));
	while (!n_failures)
		poll_once(job);
	output_restore();
	CHECK(!output_count("CORE-DIED") && !output_count("signal"),
		"a process that the launcher ends is not reported as dead");
	check_old(job, name);
}

static void lose_joined(struct job *job)
{
	char name[MPIX_MAX_JOB_PSET] = "";
	MPI_Comm comm = MPI_COMM_NULL;
	MPI_Group group;
	int rc;

	OK(job_resize(job, 1, name));
	group = session_group(job->session, name);
	rc = MPI_Comm_create_from_group(
		group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
	OK(MPI_Group_free(&group));
	if (!rc) { /* only some members may return the error */
		rc = MPI_Barrier(comm);
		OK(MPI_Comm_free(&comm));
	}
	FAILS(rc, MPIX_ERR_PROC_FAILED);
	OK(MPI_Barrier(job->comm));
	if (!job->rank)
		OK(MPIX_Session_resize_cancel(job->session, name));
	check_old(job, name);
}

static int n_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Shrinks the job by the last member. False: that is this process. */
static bool job_shrink(struct job *job)
{
	char name[MPIX_MAX_JOB_PSET] = "";

	OK(job_resize(job, -1, name));
	if (job->rank == job->size - 1)
		return false;
	job_follow(job, name);
	return true;
}

static void cycle(struct job *job)
{
	int first = 0;

	for (int i = 0; i < ROUNDS; i++) {
		job_grow(job, job->name);
		job_shrink(job);
		if (!i) /* the first round opens what remains open */
			first = n_files();
	}
	CHECK(n_files() <= first + LATE_FILES,
		"no descriptor is left: %d, after the first round %d",
		n_files(), first);
}

/* The part of a process that was started for the set. */
static void joined(struct job *job, int how, const char *name, int generation)
{
	if (how == DIE && generation == 1)
		raise(SIGKILL);
	if (how == CANCEL && generation == 1) {
		MPI_Group self = session_group(job->session, "mpi://SELF");

		OK(MPIX_Session_publish_pset(
			job->session, "test://started", self));
		for (;;) /* mpiexec ends this process */
			pause();
	}
	job_follow(job, name);
	if (how == CYCLE)
		CHECK(!job_shrink(job), "the process that joined last leaves");
}

int main(int argc, char **argv)
{
	static void (*const parts[])(struct job *) = { accept_offer,
		cancel_change, lose_joined, cycle };
	struct job job = { .comm = MPI_COMM_NULL };
	char name[MPIX_MAX_JOB_PSET];
	int how, generation;

	mtest_start(argv[0]);
	how = (int)mtest_arg(argc, argv, "how", OFFER);
	job.session = session_open();
	OK(MPIX_Session_set_pset_callback(job.session, on_change, NULL));
	generation = job_newest(&job, name);
	if (job_has_joined(&job, name)) {
		joined(&job, how, name, generation);
	} else {
		job_enter(&job, name);
		parts[how](&job);
	}
	OK(MPI_Comm_disconnect(&job.comm));
	session_close(&job.session);
	return mtest_done();
}
