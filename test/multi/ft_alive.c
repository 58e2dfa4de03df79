/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_alive: survivors meet in a communicator of weft://alive
 *
 * Every process repeats: open a session, resolve weft://alive, create a
 * communicator of the set, test it with a barrier, close the session. Some
 * processes are killed: before or after one of these steps, or some
 * microseconds into a creation or barrier. The processes notice a failure at
 * different times and then have different sets. Each creation must end soon,
 * with a communicator or an error, and in the end all survivors must be in one
 * communicator.
 *
 * All processes know the number of survivors. A process leaves the loop when
 * its communicator has that many members. All survivors are then in the same
 * communicator, so that they leave the loop together.
 *
 * seed=       selects victims and moments
 * victims=    the number of victims, 3 by default
 * dedicated=  of four sessions, the average number with a VCI of their own, 2
 *             by default
 *
 * By hand: for s in $(seq 1 200); do mpiexec -n 8 --continue ft_alive seed=$s;
 * done, and the same with WEFT_SHM=off and WEFT_NODES=2.
 */
#include "session.h"

#include <mpix.h>
#include <pthread.h>

enum {
	PROCS = 16, /* at most */
	ROUNDS = 4, /* the first rounds, in which victims die */
};

enum moment {
	BEFORE,
	RESOLVED,
	IN_CREATE,
	CREATED,
	IN_BARRIER,
	AFTER,
	MOMENTS,
};

/* The moment at which this process dies; my_round is -1 if it survives. */
static int my_round = -1, my_moment, my_us;
static int n_survivors, is_survivor[PROCS];
static int n_dedicated;
static double longest; /* duration of the longest creation, in seconds */
static unsigned long state;

static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005UL + 1442695040888963407UL;
	return (unsigned)((state >> 33) % below);
}

/* Chooses the victims, alike at all processes. */
static void choose_victims(unsigned long seed, int n)
{
	state = seed;
	n_survivors = mtest.size;
	for (int i = 0; i < mtest.size; i++)
		is_survivor[i] = 1;
	while (n_survivors > mtest.size - n && n_survivors > 1) {
		int victim = (int)draw((unsigned)mtest.size);
		int round = (int)draw(ROUNDS), moment = (int)draw(MOMENTS);
		int us = (int)draw(400);

		if (!is_survivor[victim])
			continue;
		is_survivor[victim] = 0;
		n_survivors--;
		if (victim != mtest.rank)
			continue;
		my_round = round;
		my_moment = moment;
		my_us = us;
	}
	/* from here on, each process draws other numbers */
	state = seed * PROCS + (unsigned long)mtest.rank;
}

static void *die_later(void *arg)
{
	struct timespec ts = { 0, *(int *)arg * 1000L };

	nanosleep(&ts, NULL);
	raise(SIGKILL);
	return NULL;
}

/* Kills this process if the moment has come, for IN_ moments a little later. */
static void perhaps_die(int round, enum moment moment)
{
	pthread_t thread;

	if (round != my_round || (int)moment != my_moment)
		return;
	if (moment != IN_CREATE && moment != IN_BARRIER)
		raise(SIGKILL);
	CHECK(!pthread_create(&thread, NULL, die_later, &my_us),
		"a thread starts");
	pthread_detach(thread);
}

/* Opens a session on the default VCI or on a dedicated one. */
static MPI_Session open_any(void)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "weft_vci",
		(int)draw(4) < n_dedicated ? "dedicated" : "shared"));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	return session;
}

static int create_any(MPI_Group group, MPI_Comm *comm)
{
	double began = mtest_now(), took;
	MPI_Request req;
	int rc;

	if (draw(3)) {
		rc = MPI_Comm_create_from_group(
			group, "alive", MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
	} else {
		rc = MPIX_Comm_icreate_from_group(group, "alive", MPI_INFO_NULL,
			MPI_ERRORS_RETURN, comm, &req);
		if (!rc)
			rc = MPI_Wait(&req, MPI_STATUS_IGNORE);
	}
	took = mtest_now() - began;
	longest = took > longest ? took : longest;
	CHECK(took < MTEST_SOON_S, "a creation ends soon, after %.1f s", took);
	CHECK(mtest_class(rc) == MPI_SUCCESS ||
			mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"a creation succeeds or reports a failed process: %s",
		mtest_error(rc));
	return rc;
}

/* Checks that the communicator has all survivors, in the order of their ranks
 * in the world. */
static void all_are_here(MPI_Comm comm)
{
	int ranks[PROCS], n = 0;

	OK(MPI_Allgather(&mtest.rank, 1, MPI_INT, ranks, 1, MPI_INT, comm));
	for (int i = 0; i < mtest.size; i++)
		if (is_survivor[i]) {
			CHECK(ranks[n] == i,
				"member %d is a survivor, in the order of the "
				"ranks: %d, not %d",
				n, ranks[n], i);
			n++;
		}
	session_works(comm, "survivors");
}

/* One round of the loop; returns true if all survivors are together. */
static bool meet(int round)
{
	MPI_Session session = open_any();
	MPI_Group group;
	MPI_Comm comm = MPI_COMM_NULL;
	bool are_together = false;
	int size, rc;

	mtest_linger((int)draw(3));
	perhaps_die(round, BEFORE);
	group = session_group(session, "weft://alive");
	OK(MPI_Group_size(group, &size));
	mtest_linger((int)draw(3));
	perhaps_die(round, RESOLVED);
	perhaps_die(round, IN_CREATE);
	rc = create_any(group, &comm);
	OK(MPI_Group_free(&group));
	perhaps_die(round, CREATED);
	perhaps_die(round, IN_BARRIER);
	if (!rc) {
		rc = MPI_Barrier(comm);
		CHECK(mtest_class(rc) == MPI_SUCCESS ||
				mtest_class(rc) == MPIX_ERR_PROC_FAILED,
			"a barrier succeeds or reports a failed process: %s",
			mtest_error(rc));
	}
	perhaps_die(round, AFTER);
	if (!rc && size == n_survivors) {
		are_together = true;
		all_are_here(comm);
	}
	if (comm != MPI_COMM_NULL)
		OK(MPI_Comm_free(&comm));
	rc = MPI_Session_finalize(&session);
	CHECK(mtest_class(rc) == MPI_SUCCESS ||
			mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"finalize succeeds or reports a failed process: %s",
		mtest_error(rc));
	return are_together;
}

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Comm all;
	int round = 0;

	mtest_start(argv[0]);
	session = session_open();
	session_set_rank(session);
	all = session_comm(session, "mpi://WORLD", "connect");
	mtest_connect_all(all);
	OK(MPI_Comm_disconnect(&all));
	choose_victims((unsigned long)mtest_arg(argc, argv, "seed", 1),
		(int)mtest_arg(argc, argv, "victims", 3));
	n_dedicated = (int)mtest_arg(argc, argv, "dedicated", 2);
	while (!meet(round) && !mtest.n_failed)
		round++;
	if (getenv("WEFT_TEST_VERBOSE"))
		printf("rank %d: %d rounds, longest creation %.3f s\n",
			mtest.rank, round + 1, longest);
	session_close(&session);
	return mtest_done();
}
