/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_link: the connection between two live processes breaks
 *
 * Rank 1 shuts down the sockets that were opened since MPI_Init. Then rank 0
 * sends messages, and rank 1 replies to the last one. All of them arrive in
 * order, or a call fails. If one process treats its peer as failed, the peer
 * treats that process as failed, too. So neither waits forever. Rank 1 makes
 * progress until the wait of rank 0 has ended.
 */
#include "mtest.h"

#include <mpi-ext.h>
#include <sys/socket.h>

enum { N = 100, TAG = 5, MAX_FD = 1024 };

static char was_open[MAX_FD];
static volatile sig_atomic_t has_ended; /* the wait of rank 0 */

static void on_signal(int number)
{
	(void)number;
	has_ended = 1;
}

static void stay(void)
{
	double began = mtest_now();
	int flag;

	while (!has_ended && mtest_now() - began < MTEST_SOON_S)
		OK(MPI_Iprobe(0, TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
	CHECK(has_ended, "the wait of rank 0 ends");
}

static int is_socket(int fd)
{
	struct sockaddr_storage to;
	socklen_t len = sizeof(to);

	return !getpeername(fd, (struct sockaddr *)&to, &len) &&
	       (to.ss_family == AF_INET || to.ss_family == AF_INET6);
}

static void break_link(void)
{
	int n = 0;

	for (int fd = 0; fd < MAX_FD; fd++)
		if (is_socket(fd) && !was_open[fd])
			n += !shutdown(fd, SHUT_RDWR);
	CHECK(n, "a connection was found");
}

/* True if the call succeeded. Any other result is the failure of the peer. */
static int is_done(int rc, const char *call)
{
	CHECK(rc == MPI_SUCCESS || mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"%s fails only if the peer counts as failed, got %s", call,
		mtest_error(rc));
	return rc == MPI_SUCCESS;
}

static int send_all(void)
{
	int ok = 1;

	for (int i = 0; i < N && ok; i++)
		ok = is_done(MPI_Send(&i, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD),
			"MPI_Send");
	return ok;
}

static int receive_all(void)
{
	int ok = 1;

	for (int i = 0; i < N && ok; i++) {
		int got = -1;

		ok = is_done(MPI_Recv(&got, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE),
			"MPI_Recv");
		CHECK(!ok || got == i,
			"messages arrive in order: message %d as number %d",
			got, i);
	}
	return ok;
}

int main(int argc, char **argv)
{
	double began;
	int pid = getpid(), other = 0, reply = 0, ok;

	signal(SIGUSR2, on_signal);
	mtest_init(&argc, &argv);
	for (int fd = 0; fd < MAX_FD; fd++)
		was_open[fd] = (char)is_socket(fd);
	OK(MPI_Sendrecv(&pid, 1, MPI_INT, !mtest.rank, TAG, &other, 1, MPI_INT,
		!mtest.rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	began = mtest_now();
	if (mtest.rank == 1) {
		break_link();
		ok = receive_all() && is_done(MPI_Send(&reply, 1, MPI_INT, 0,
						      TAG, MPI_COMM_WORLD),
					      "MPI_Send");
		stay();
	} else {
		ok = send_all() &&
		     is_done(MPI_Recv(&reply, 1, MPI_INT, 1, TAG,
				     MPI_COMM_WORLD, MPI_STATUS_IGNORE),
			     "MPI_Recv");
		kill(other, SIGUSR2);
	}
	CHECK(mtest_now() - began < MTEST_SOON_S,
		"no wait lasts long: %s after %.1f s",
		ok ? "all arrived" : "the peer failed", mtest_now() - began);
	return mtest_finish();
}
