/* SPDX-License-Identifier: BSD-3-Clause */
/* resize: a member of a job that grows and shrinks, for the tests */
#ifndef MTEST_RESIZE_H
#define MTEST_RESIZE_H

#include "session.h"

#include <mpix.h>

struct job {
	MPI_Session session;
	MPI_Comm comm; /* the members of the current set */
	char name[MPIX_MAX_JOB_PSET];
	int rank, size;
	int *block; /* resize_grow: this member's items */
	long n_block;
};

static inline char *pset_value(
	MPI_Session session, const char *name, const char *key)
{
	static char text[64];
	int len = sizeof(text), flag = 0;
	MPI_Info info;

	text[0] = 0;
	OK(MPI_Session_get_pset_info(session, name, &info));
	OK(MPI_Info_get_string(info, key, &len, text, &flag));
	OK(MPI_Info_free(&info));
	return text;
}

static inline bool job_has_joined(const struct job *job, const char *name)
{
	return !strcmp(pset_value(job->session, name, "weft_joined"), "yes");
}

/* Writes the name of the newest set of the job. Returns its generation. */
static inline int job_newest(const struct job *job, char *name)
{
	int n = 0;

	*name = 0;
	OK(MPI_Session_get_num_psets(job->session, MPI_INFO_NULL, &n));
	for (int i = 0; i < n; i++) {
		char other[MPIX_MAX_JOB_PSET];
		int len = sizeof(other);

		OK(MPI_Session_get_nth_pset(
			job->session, MPI_INFO_NULL, i, &len, other));
		if (!strncmp(other, "weft://job/", 11))
			snprintf(name, MPIX_MAX_JOB_PSET, "%s", other);
	}
	CHECK(*name, "a set of the job is listed when the session opens");
	return atoi(pset_value(job->session, name, "weft_generation"));
}

/* Makes the set the current one, with a new communicator. */
static inline void job_enter(struct job *job, const char *name)
{
	job->comm = session_comm(job->session, name, name);
	snprintf(job->name, sizeof(job->name), "%s", name);
	OK(MPI_Comm_rank(job->comm, &job->rank));
	OK(MPI_Comm_size(job->comm, &job->size));
	session_works(job->comm, name);
}

/* Requests a change and waits for the name of the new set. */
static inline int job_resize(struct job *job, int delta, char *name)
{
	MPI_Request request;
	int rc = MPIX_Session_resize(
		job->session, job->comm, delta, MPI_INFO_NULL, name, &request);

	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Calls MPI, so that the library receives events. */
static inline void poll_once(const struct job *job)
{
	int flag;

	OK(MPI_Iprobe(0, 99, job->comm, &flag, MPI_STATUS_IGNORE));
}

static inline int offer_of(const struct job *job)
{
	int delta = 77;
	MPI_Info info;

	OK(MPIX_Session_get_offer(job->session, &delta, &info));
	OK(MPI_Info_free(&info));
	return delta;
}

static inline bool has_pset(const struct job *job, const char *name)
{
	MPI_Group group;

	if (MPI_Group_from_session_pset(job->session, name, &group))
		return false;
	OK(MPI_Group_free(&group));
	return true;
}

#endif
