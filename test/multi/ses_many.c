/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_many: a session with many communicators, of which half are freed, ends in
 * a time that grows with their number and no faster. late=1: one process is
 * late; the reports of the others count the communicators and do not list them.
 */
#include "session.h"

#include "output.h"

enum { FEW = 400, MANY = 4000, TIMES = 8 };

/* Frees n communicators. Returns the microseconds of processor time for each.
 * waits_for: before rank 1 frees its communicators, it waits until this process
 * has reported its wait. */
static double end_of(int n, int waits_for)
{
	MPI_Comm *comms = mtest_alloc((size_t)n * sizeof(MPI_Comm));
	MPI_Session session = session_open();
	double begun;

	comms[0] = session_comm(session, "mpi://WORLD", "many");
	for (int i = 1; i < n; i++)
		OK(MPI_Comm_dup(comms[0], &comms[i]));
	OK(MPI_Barrier(comms[0]));
	begun = mtest_cpu();
	for (int i = 1; i < n; i += 2)
		OK(MPI_Comm_free(&comms[i]));
	if (waits_for && mtest.rank == 1)
		output_wait_from(waits_for, "has waited");
	session_close(&session);
	free(comms);
	return (mtest_cpu() - begun) / n * 1e6;
}

/* If the end of each object visited all other objects, many objects would take
 * ten times as long each. Other load may disturb one measurement, but not all
 * of them. The processes agree on the end of the measurement. */
static void compare(MPI_Comm all)
{
	double few = 0, many = 0;
	int is_good = 0;

	for (int i = 0; i < TIMES && !is_good; i++) {
		few = end_of(FEW, 0);
		many = end_of(MANY, 0);
		is_good = many < 4 * few;
		OK(MPI_Bcast(&is_good, 1, MPI_INT, 0, all));
	}
	CHECK(is_good,
		"a session costs the same among many: %.1f us per session of "
		"%d, %.1f us per session of %d",
		few, FEW, many, MANY);
}

static void be_late(MPI_Comm all)
{
	int pid = getpid();

	OK(MPI_Bcast(&pid, 1, MPI_INT, 0, all));
	if (mtest.rank == 0)
		output_capture();
	end_of(FEW, pid);
	if (mtest.rank == 0)
		output_restore();
}

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Comm all;

	mtest_start(argv[0]);
	session = session_open();
	session_set_rank(session);
	all = session_comm(session, "mpi://WORLD", "all");
	if (mtest_arg(argc, argv, "late", 0))
		be_late(all);
	else
		compare(all);
	OK(MPI_Comm_disconnect(&all));
	session_close(&session);
	return mtest_done();
}
