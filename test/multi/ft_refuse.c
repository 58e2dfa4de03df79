/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_refuse: members refuse a creation, and no other member waits forever
 *
 * The connection of ranks 2 and 4 on a dedicated VCI breaks. Both processes
 * live, but treat each other as failed. The others do not know this. Then all
 * processes create a communicator. Ranks 2 and 4 refuse it. So it fails at
 * ranks 3 and 5, which depend on them. A process that gets a communicator gets
 * an error from a barrier on it. Then the processes without the two ranks
 * continue.
 *
 * form=0       MPI_Comm_create_from_group
 * form=1       its non-blocking form
 * form=2       MPI_Intercomm_create_from_groups, of the even and the odd ranks
 * dedicated=1  in sessions with dedicated VCIs
 * late=        the rank that calls the creation after all others
 */
#include "session.h"

#include <mpix.h>
#include <sys/socket.h>

enum { N = 6, TAG = 5, MAX_FD = 1024, TRIES = 1000 };

static long form, is_dedicated, late;

static int is_socket(int fd)
{
	struct sockaddr_storage to;
	socklen_t len = sizeof(to);

	return !getpeername(fd, (struct sockaddr *)&to, &len) &&
	       (to.ss_family == AF_INET || to.ss_family == AF_INET6);
}

static int swap(MPI_Comm comm, int other)
{
	int out = mtest.rank, in = -1;

	return MPI_Sendrecv(&out, 1, MPI_INT, other, TAG, &in, 1, MPI_INT,
		other, TAG, comm, MPI_STATUS_IGNORE);
}

/* Breaks the connection, in this process or in the other one, until both treat
 * each other as failed. */
static void lose(MPI_Comm comm, int other, int breaks)
{
	static char was_open[MAX_FD];
	int rc = MPI_SUCCESS;

	for (int fd = 0; fd < MAX_FD; fd++)
		was_open[fd] = (char)is_socket(fd);
	for (int i = 0; i < TRIES && rc == MPI_SUCCESS; i++) {
		rc = swap(comm, other);
		for (int fd = 0; breaks && fd < MAX_FD; fd++)
			if (is_socket(fd) && !was_open[fd])
				shutdown(fd, SHUT_RDWR);
	}
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"this process treats rank %d as failed: %s", other,
		mtest_error(rc));
}

/* Waits until ranks 2 and 4 treat each other as failed. */
static void await_loss(MPI_Comm comm)
{
	for (int i = 0; i < N && mtest.rank == 0; i++)
		if (i == 2 || i == 4)
			OK(MPI_Recv(NULL, 0, MPI_INT, i, TAG, comm,
				MPI_STATUS_IGNORE));
	if (mtest.rank == 2 || mtest.rank == 4)
		OK(MPI_Send(NULL, 0, MPI_INT, 0, TAG, comm));
	for (int i = 1; i < N && mtest.rank == 0; i++)
		OK(MPI_Send(NULL, 0, MPI_INT, i, TAG, comm));
	if (mtest.rank)
		OK(MPI_Recv(NULL, 0, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
}

static MPI_Session open_session(int dedicated)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "weft_vci", dedicated ? "dedicated" : "shared"));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	return session;
}

static MPI_Group half(MPI_Group all, int odd)
{
	int range[1][3] = { { odd, N - 1, 2 } };
	MPI_Group group;

	OK(MPI_Group_range_incl(all, 1, range, &group));
	return group;
}

static int create(MPI_Group all, MPI_Comm *comm)
{
	MPI_Group mine, theirs;
	MPI_Request req;
	int rc;

	if (form == 0)
		return MPI_Comm_create_from_group(
			all, "refused", MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
	if (form == 1) {
		OK(MPIX_Comm_icreate_from_group(all, "refused", MPI_INFO_NULL,
			MPI_ERRORS_RETURN, comm, &req));
		return MPI_Wait(&req, MPI_STATUS_IGNORE);
	}
	mine = half(all, mtest.rank % 2);
	theirs = half(all, mtest.rank % 2 == 0);
	rc = MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "refused",
		MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
	OK(MPI_Group_free(&mine));
	OK(MPI_Group_free(&theirs));
	return rc;
}

/* Creates the communicator, and tests it if this process gets it. */
static void try_all(MPI_Group all)
{
	double began;
	MPI_Comm comm = MPI_COMM_NULL;
	int rc;

	if (mtest.rank == late)
		mtest_linger(300);
	began = mtest_now();
	rc = create(all, &comm);
	CHECK(mtest_now() - began < MTEST_SOON_S,
		"the creation ends soon, after %.1f s", mtest_now() - began);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED ||
			(rc == MPI_SUCCESS && mtest.rank < 2),
		"the creation reports a failed process, or succeeds at ranks "
		"0 and 1: %s",
		mtest_error(rc));
	if (rc != MPI_SUCCESS)
		return;
	rc = MPI_Barrier(comm);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"a barrier on the communicator reports a failed process: %s",
		mtest_error(rc));
	OK(MPI_Comm_free(&comm));
}

static void try_others(MPI_Group all)
{
	static const int lost[] = { 2, 4 };
	MPI_Group others;

	OK(MPI_Group_excl(all, 2, lost, &others));
	if (mtest.rank == 2 || mtest.rank == 4) {
		OK(MPI_Group_free(&others));
	} else {
		MPI_Comm comm = session_comm_take(others, "others");

		session_works(comm, "the others");
		OK(MPI_Comm_free(&comm));
	}
}

static void ends(MPI_Session session)
{
	double began = mtest_now();
	int rc = MPI_Session_finalize(&session);

	CHECK(rc == MPI_SUCCESS || mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"finalize succeeds or reports a failed process: %s",
		mtest_error(rc));
	CHECK(mtest_now() - began < MTEST_SOON_S,
		"finalize ends soon, after %.1f s", mtest_now() - began);
}

int main(int argc, char **argv)
{
	MPI_Session first, second;
	MPI_Group all;
	MPI_Comm comm;

	form = mtest_arg(argc, argv, "form", 0);
	is_dedicated = mtest_arg(argc, argv, "dedicated", 0);
	late = mtest_arg(argc, argv, "late", 0);
	mtest_start(argv[0]);
	first = open_session(1);
	session_set_rank(first);
	mtest_need(N);
	comm = session_comm(first, "mpi://WORLD", "first");
	if (mtest.rank == 2 || mtest.rank == 4)
		lose(comm, 6 - mtest.rank, mtest.rank == 2);
	await_loss(comm);
	second = open_session((int)is_dedicated);
	all = session_group(second, "mpi://WORLD");
	try_all(all);
	try_others(all);
	OK(MPI_Group_free(&all));
	ends(second);
	OK(MPI_Comm_free(&comm));
	ends(first);
	return mtest_done();
}
