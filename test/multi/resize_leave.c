/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resize_leave: jobs that shrink and grow without a change of their size
 *
 * The last processes disconnect, finalize and exit with 0. When they have
 * ended, the other processes work on.
 *
 * how=0  the upper half of the processes leaves
 * how=1  the job grows by spawned processes, which leave, CHANGES times
 *
 * RESIZE_LEFT: a command that rank 0 runs when the others have left, for
 * example to return their nodes.
 * RESIZE_ADD_HOST: "host:slots", a host that the process manager adds when the
 * job grows, and on which new processes run.
 * RESIZE_RELEASE: rank 0 returns this host when these processes have left. By
 * hand, with a PRRTE that accepts hosts (note 023).
 */
#include "session.h"

enum { CHANGES = 2, JOINING = 2, ROUNDS = 50 };

/* Returns the process ids of all members; the caller frees the array. */
static int *pids_of(MPI_Comm comm, int *size_out)
{
	int mine = (int)getpid(), *pids;

	OK(MPI_Comm_size(comm, size_out));
	pids = mtest_alloc((size_t)*size_out * sizeof(*pids));
	OK(MPI_Allgather(&mine, 1, MPI_INT, pids, 1, MPI_INT, comm));
	return pids;
}

/* Waits until the members from number `first` on have ended. All processes have
 * the same pid namespace, also on several nodes of a lane. */
static void wait_left(const int *pids, int first, int size)
{
	for (int i = first; i < size; i++)
		while (!kill(pids[i], 0))
			usleep(1000);
}

static void run_command(int rank)
{
	const char *command = getenv("RESIZE_LEFT");

	if (!rank && command)
		CHECK(!system(command), "the command succeeds: %s", command);
}

/* Returns the host, which the next grow may add again. */
static void release_host(MPI_Session session, int rank)
{
	const char *host = getenv("RESIZE_RELEASE");

	if (!rank && host)
		OK(MPIX_Session_release_hosts(session, host));
}

static void work_on(MPI_Comm comm, const char *tag)
{
	MPI_Group group;
	MPI_Comm again;

	for (int i = 0; i < ROUNDS; i++)
		session_works(comm, tag);
	OK(MPI_Comm_group(comm, &group));
	again = session_comm_take(group, tag);
	session_works(again, "a communicator made after the others left");
	OK(MPI_Comm_disconnect(&again));
}

/* The members of the communicator before number `first` continue with a
 * communicator of their own. The others return false. Disconnects `inter`, too:
 * the other side of a spawn leaves it when it finalizes its session. */
static bool shrink(MPI_Comm *comm, int first, MPI_Comm inter)
{
	MPI_Comm before = *comm;
	int size, rank, *pids = pids_of(before, &size);

	OK(MPI_Comm_rank(before, &rank));
	*comm = MPI_COMM_NULL;
	OK(MPI_Comm_split(
		before, rank < first ? 0 : MPI_UNDEFINED, rank, comm));
	OK(MPI_Comm_disconnect(&before));
	if (inter != MPI_COMM_NULL)
		OK(MPI_Comm_disconnect(&inter));
	if (rank < first) {
		wait_left(pids, first, size);
		run_command(rank);
		work_on(*comm, "the processes that stay");
	}
	free(pids);
	return rank < first;
}

/* Checks that a member runs on the host of RESIZE_ADD_HOST. */
static void check_added(MPI_Comm comm)
{
	const char *added = getenv("RESIZE_ADD_HOST");
	enum { LEN = MPI_MAX_PROCESSOR_NAME + 1 };
	char mine[LEN] = "", *names;
	int len = 0, size = 0;
	bool is_used = false;

	OK(MPI_Comm_size(comm, &size));
	names = mtest_alloc((size_t)size * LEN);
	OK(MPI_Get_processor_name(mine, &len));
	OK(MPI_Allgather(mine, LEN, MPI_CHAR, names, LEN, MPI_CHAR, comm));
	for (int i = 0; added && i < size; i++) {
		const char *name = names + (size_t)i * LEN;

		is_used |= !strncmp(name, added, strlen(name));
	}
	CHECK(!added || is_used, "a process runs on the added host, %s", added);
	free(names);
}

/* Creates a communicator of the members before a grow, followed by the others.
 */
static MPI_Comm grown(MPI_Group members, MPI_Group joined)
{
	MPI_Group all;
	MPI_Comm comm;

	OK(MPI_Group_union(members, joined, &all));
	comm = session_comm_take(all, "grown");
	session_works(comm, "the job that has grown");
	check_added(comm);
	OK(MPI_Group_free(&members));
	OK(MPI_Group_free(&joined));
	return comm;
}

static void grow_and_shrink(MPI_Session session, MPI_Comm comm, char *program)
{
	char *args[] = { (char[]){ "how=1" }, (char[]){ "child=1" }, NULL };
	MPI_Group members, joined;
	MPI_Comm inter, all;
	char *added = getenv("RESIZE_ADD_HOST");
	MPI_Info info;
	int rc;

	OK(MPI_Info_create(&info));
	if (added) { /* adds the host, and starts the processes there */
		OK(MPI_Info_set(info, "add-host", added));
		OK(MPI_Info_set(info, "host", added));
	}
	rc = MPI_Comm_spawn(program, args, JOINING, info, 0, comm, &inter,
		MPI_ERRCODES_IGNORE);
	OK(MPI_Info_free(&info));
	if (mtest_class(rc) == MPI_ERR_SPAWN && !getenv("WEFT_JOB"))
		mtest_skip("this launcher starts no further processes");
	if (!OK(rc))
		return;
	OK(MPI_Comm_group(inter, &members));
	OK(MPI_Comm_remote_group(inter, &joined));
	all = grown(members, joined);
	CHECK(shrink(&all, mtest.size, inter), "the first processes stay");
	release_host(session, mtest.rank);
	work_on(all, "after the release of a host");
	OK(MPI_Comm_disconnect(&all));
}

static void join_and_leave(MPI_Session session)
{
	MPI_Comm all = grown(session_group(session, "mpi://PARENT"),
		session_group(session, "mpi://WORLD"));
	int size;

	OK(MPI_Comm_size(all, &size));
	CHECK(!shrink(&all, size - JOINING, MPI_COMM_NULL),
		"the processes that joined leave");
}

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Comm comm;

	mtest_start(argv[0]);
	session = session_open();
	session_set_rank(session);
	if (mtest_arg(argc, argv, "child", 0)) {
		join_and_leave(session);
		session_close(&session);
		return mtest_done();
	}
	comm = session_comm(session, "mpi://WORLD", "all");
	if (mtest_arg(argc, argv, "how", 0) == 0)
		shrink(&comm, (mtest.size + 1) / 2, MPI_COMM_NULL);
	else
		for (int i = 0; i < CHANGES; i++)
			grow_and_shrink(session, comm, argv[0]);
	if (comm != MPI_COMM_NULL)
		OK(MPI_Comm_disconnect(&comm));
	session_close(&session);
	return mtest_done();
}
