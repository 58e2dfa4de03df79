/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_help: the sender of a long message on a node copies a part of it
 *
 * The program defines process_vm_writev(). This function counts the sender's
 * writes, and in some cases fails or kills a process.
 *
 * how=0 the sender helps; all data is right
 * how=1 the sender has no permission to write into the receiver's memory
 * how=2 the sender makes no call
 * how=3 the sender dies while it copies a piece
 * how=4 the receiver dies while the sender copies a piece
 * how=5 several threads send and receive
 */
#define _GNU_SOURCE /* process_vm_writev */
#include "cma.h"
#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { TAG = 5, LONGEST = 5000000, THREADS = 2, ROUNDS = 40 };

static const int lens[] = { 49151, 49152, 65536, 65537, 131072, 524287, 524289,
	1048576, LONGEST };
enum { LENS = sizeof(lens) / sizeof(lens[0]) };

static int how;
static atomic_int n_writes;
static MPI_Comm comm;

ssize_t process_vm_writev(pid_t pid, const struct iovec *local,
	unsigned long n_local, const struct iovec *remote,
	unsigned long n_remote, unsigned long flags)
{
	atomic_fetch_add(&n_writes, 1);
	if (how == 1) {
		errno = EPERM;
		return -1;
	}
	if (how == 3)
		raise(SIGKILL);
	if (how == 4)
		kill(pid, SIGKILL); /* the receiver, a process of this test */
	return syscall(SYS_process_vm_writev, pid, local, n_local, remote,
		n_remote, flags);
}

static void send_one(const char *buf, int len, int tag)
{
	OK(MPI_Send(buf, len, MPI_BYTE, 1, tag, comm));
}

static void receive_one(char *buf, int len, int tag)
{
	MPI_Status st;
	int n = -1;

	memset(buf, 0, (size_t)len);
	OK(MPI_Recv(buf, len, MPI_BYTE, 0, tag, comm, &st));
	OK(MPI_Get_count(&st, MPI_BYTE, &n));
	CHECK(n == len, "%d bytes of %d arrive", n, len);
	CHECK(mtest_same(buf, (size_t)len, 3), "%d bytes have the right data",
		len);
}

static void all_lengths(char *buf, int tag)
{
	for (int i = 0; i < LENS; i++) {
		if (mtest.rank == 0)
			send_one(buf, lens[i], tag);
		else
			receive_one(buf, lens[i], tag);
	}
}

/* The receive is shorter than the message, and gets its first bytes. */
static void cut_short(char *buf)
{
	int len = LONGEST - 100000;

	if (mtest.rank == 0) {
		send_one(buf, LONGEST, TAG);
		return;
	}
	memset(buf, 0, LONGEST);
	CHECK(mtest_class(MPI_Recv(buf, len, MPI_BYTE, 0, TAG, comm,
		      MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE,
		"a receive that is too short fails");
	CHECK(mtest_same(buf, (size_t)len, 3),
		"the beginning of the message is received");
	CHECK(mtest_all(buf + len, LONGEST - (size_t)len, 0),
		"nothing is written beyond the buffer");
}

/* Starts one request repeatedly. The HELP message of the transfer before may
 * not have been received yet. */
static void again(char *buf)
{
	MPI_Request req;

	if (mtest.rank == 0)
		OK(MPI_Send_init(buf, 300000, MPI_BYTE, 1, TAG, comm, &req));
	for (int i = 0; i < ROUNDS; i++) {
		if (mtest.rank == 0) {
			OK(MPI_Start(&req));
			OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		} else {
			receive_one(buf, 300000, TAG);
		}
	}
	if (mtest.rank == 0)
		OK(MPI_Request_free(&req));
}

/* Repeats the transfers until the sender has copied a part once. */
static void until_helped(char *buf)
{
	double end = mtest_now() + MTEST_SOON_S;
	int has_helped = 0;

	while (!has_helped && mtest_now() < end) {
		all_lengths(buf, TAG);
		has_helped = atomic_load(&n_writes) > 0;
		OK(MPI_Bcast(&has_helped, 1, MPI_INT, 0, comm));
	}
	CHECK(has_helped, "the sender copied a part of the data");
}

static void refused(char *buf)
{
	until_helped(buf);
	for (int i = 0; i < ROUNDS; i++)
		all_lengths(buf, TAG);
	CHECK(atomic_load(&n_writes) <= 1,
		"the sender tries to copy once at most: %d times",
		atomic_load(&n_writes));
}

/* The receiver completes without a call of the sender. A signal notifies the
 * sender at the end. */
static void away(char *buf, int len)
{
	int pid = getpid();
	MPI_Request req;
	sigset_t usr1;
	int number;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	OK(MPI_Bcast(&pid, 1, MPI_INT, 0, comm));
	if (mtest.rank == 0) {
		OK(MPI_Isend(buf, len, MPI_BYTE, 1, TAG, comm, &req));
		CHECK(!sigwait(&usr1, &number),
			"the receiver signals that it has all data");
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		CHECK(!atomic_load(&n_writes), "the sender copies nothing");
	} else {
		receive_one(buf, len, TAG);
		/* to the main thread: a thread of libpmix does not block the
		 * signal */
		syscall(SYS_tgkill, pid, pid, SIGUSR1);
	}
}

static void lost(char *buf)
{
	double end = mtest_now() + MTEST_SOON_S;
	int rc = MPI_SUCCESS;

	while (rc == MPI_SUCCESS && mtest_now() < end)
		rc = mtest.rank
			     ? MPI_Recv(buf, LONGEST, MPI_BYTE, 0, TAG, comm,
				       MPI_STATUS_IGNORE)
			     : MPI_Send(buf, LONGEST, MPI_BYTE, 1, TAG, comm);
	CHECK(mtest_class(rc) == MPIX_ERR_PROC_FAILED,
		"a message to or from a failed process fails: %s",
		mtest_error(rc));
}

static void *one_thread(void *arg)
{
	int tag = (int)(intptr_t)arg;
	char *buf = mtest_alloc(LONGEST);

	mtest_fill(buf, LONGEST, 3);
	for (int i = 0; i < ROUNDS / 4; i++)
		all_lengths(buf, tag);
	free(buf);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, one_thread,
			(void *)(intptr_t)(TAG + i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	MPI_Session session;
	char *buf;
	int rc;

	mtest_start(argv[0]);
	how = (int)mtest_arg(argc, argv, "how", 0);
	buf = mtest_alloc(LONGEST);
	mtest_fill(buf, LONGEST, 3);
	session = session_open();
	session_set_rank(session);
	comm = session_comm(session, "mpi://WORLD", "help");
	if (!cma_is_permitted(comm))
		mtest_skip(
			"the kernel refuses reads of other processes' memory");
	if (how == 0) {
		until_helped(buf);
		cut_short(buf);
		again(buf);
	} else if (how == 1) {
		refused(buf);
	} else if (how == 2) {
		away(buf, 300000);
		away(buf, LONGEST);
	} else if (how == 5) {
		threads();
	} else {
		lost(buf);
	}
	free(buf);
	if (how == 3 || how == 4) {
		rc = MPI_Session_finalize(&session);
		CHECK(rc == MPI_SUCCESS, "finalize succeeds, %s",
			mtest_error(rc));
		return mtest_done();
	}
	OK(MPI_Comm_disconnect(&comm));
	OK(MPI_Session_finalize(&session));
	return mtest_done();
}
