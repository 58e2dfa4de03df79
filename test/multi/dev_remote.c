/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_remote: long messages between device memories that no driver maps
 *
 * The processes are on two nodes, or on one node without IPC of the driver.
 * direct=0: the data passes through host memory in segments. The sender's
 * copies of a long message do not need the message's length of host memory.
 * direct=1: the fabric reads and writes device memory. The stand-in counts the
 * bytes that the library copies between device memory and host memory.
 * direct=2: the provider refuses all or some registrations.
 * dies=1, dies=2: rank 0 or rank 1 is killed during a message. */
#include "device.h"

#include <signal.h>
#include <unistd.h>

enum {
	MIB = 1 << 20,
	LONGEST = 10 * MIB,
	AHEAD = 8 * MIB, /* host memory that a sender may use */
	N_MANY = 20,
	MANY_LEN = 3 * MIB,
};

static const int lens[] = { 20000, MIB / 2 - 1, MIB / 2, MIB / 2 + 1,
	3 * MIB + 5, LONGEST };

static char *host, *got;
static int direct;
static sigset_t usr1;

static long crossed(void)
{
	return device.crossed ? device.crossed() : 0;
}

/* Checks that as many bytes have passed through host memory since then. */
static void has_crossed(long then, long len, const char *what)
{
	long n = crossed() - then;

	if (direct == 1)
		len = 0;
	if (direct < 2 && device.crossed)
		CHECK(n == len, "%s: %ld of %ld bytes through host memory",
			what, n, len);
}

static void send(const void *buf, int len, int tag)
{
	OK(MPI_Send(buf, len, MPI_BYTE, 1, tag, MPI_COMM_WORLD));
}

static void recv(void *buf, int len, int tag)
{
	MPI_Status status;
	int n;

	OK(MPI_Recv(buf, len, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &status));
	OK(MPI_Get_count(&status, MPI_BYTE, &n));
	CHECK(n == len, "%d of %d bytes", n, len);
}

/* Both sides are on the device. The library has no connection before the first
 * message, and does not know then where the receiver is. */
static void lengths(void)
{
	char *dev = device_new(mtest.rank ? NULL : host, LONGEST);

	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		long then;

		OK(MPI_Barrier(MPI_COMM_WORLD));
		then = crossed();
		if (mtest.rank == 0)
			send(dev, lens[i], 0);
		else
			recv(dev, lens[i], 0);
		has_crossed(then, lens[i], "both on the device");
		if (mtest.rank == 1)
			CHECK(device_has(dev, host, (size_t)lens[i]),
				"%d bytes", lens[i]);
	}
	if (direct < 2 && mtest.rank == 0 && device.pinned)
		CHECK(device.pinned() <= AHEAD,
			"the sender uses %ld bytes of pinned memory",
			device.pinned());
	device_free(dev);
}

/* True if a part of the message has passed through host memory. Waits for that,
 * or for the end of the message. */
static bool has_part(long then, MPI_Request *r)
{
	int flag = 0;

	while (!flag && crossed() == then)
		OK(MPI_Test(r, &flag, MPI_STATUS_IGNORE));
	return !flag && crossed() < then + LONGEST;
}

/* Starts a message from rank 0 to rank 1. The receiver makes no call until the
 * sender has copied a part of the data. Returns crossed() before the message.
 */
static long begin(char *dev, MPI_Request *r)
{
	long then = crossed();
	pid_t pid = getpid();
	int number;

	OK(MPI_Bcast(&pid, sizeof(pid), MPI_BYTE, 1, MPI_COMM_WORLD));
	if (mtest.rank == 0) {
		OK(MPI_Isend(dev, LONGEST, MPI_BYTE, 1, 7, MPI_COMM_WORLD, r));
		CHECK(has_part(then, r), "the sender copies segments");
		kill(pid, SIGUSR1);
	} else {
		OK(MPI_Probe(0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		OK(MPI_Irecv(dev, LONGEST, MPI_BYTE, 0, 7, MPI_COMM_WORLD, r));
		sigwait(&usr1, &number);
	}
	return then;
}

/* Each side copies the data in segments. */
static void parts(void)
{
	char *dev = device_new(mtest.rank ? NULL : host, LONGEST);
	MPI_Request r;
	long then = begin(dev, &r);

	if (mtest.rank == 1)
		CHECK(has_part(then, &r), "the receiver copies segments");
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	if (mtest.rank == 1)
		CHECK(device_has(dev, host, LONGEST), "in segments");
	device_free(dev);
}

/* A copy of one side fails when other segments have been copied. If this side
 * is the sender, both sides get an error. The next message arrives. */
static void copy_fails(int side)
{
	char *dev = device_new(mtest.rank ? NULL : host, LONGEST);
	MPI_Request r;
	long then = begin(dev, &r);

	if (mtest.rank == side) {
		CHECK(has_part(then, &r), "a part is copied");
		device.fail_next();
		FAILS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
	} else if (side == 0) {
		FAILS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
	} else {
		OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	}
	if (mtest.rank == 0)
		send(dev, LONGEST, 9);
	else
		recv(dev, LONGEST, 9);
	if (mtest.rank == 1)
		CHECK(device_has(dev, host, LONGEST), "after a failed copy");
	device_free(dev);
}

/* A process is killed when it has copied a part of the data. */
static void peer_dies(int victim)
{
	char *dev = device_new(mtest.rank ? NULL : host, LONGEST);
	MPI_Request r;
	pid_t pid = getpid();
	long then;

	OK(MPI_Bcast(&pid, sizeof(pid), MPI_BYTE, victim, MPI_COMM_WORLD));
	then = begin(dev, &r);
	if (mtest.rank == victim) {
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		for (;;)
			pause(); /* until it is killed */
	}
	CHECK(has_part(then, &r), "a part is copied");
	kill(pid, SIGKILL);
	FAILS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
	device_free(dev);
}

/* One side is host memory. */
static void one_side(void)
{
	const int len = 5 * MIB + 3;
	char *dev = device_new(mtest.rank ? NULL : host, (size_t)len);
	long then = crossed();

	if (mtest.rank == 0) {
		send(dev, len, 1);
		has_crossed(then, len, "from the device");
		send(host, len, 2);
	} else {
		memset(got, 0, (size_t)len);
		recv(got, len, 1);
		CHECK(!memcmp(got, host, (size_t)len), "from the device");
		recv(dev, len, 2);
		has_crossed(then, len, "to the device");
		CHECK(device_has(dev, host, (size_t)len), "to the device");
	}
	device_free(dev);
}

/* More segments than the provider has receives, in both directions. */
static void many(void)
{
	char *out[N_MANY], *in[N_MANY];
	MPI_Request r[2 * N_MANY];
	const int peer = 1 - mtest.rank;

	for (int i = 0; i < N_MANY; i++) {
		host[0] = (char)(i + 100 * mtest.rank);
		out[i] = device_new(host, MANY_LEN);
		in[i] = device_new(NULL, MANY_LEN);
	}
	for (int i = 0; i < N_MANY; i++) {
		OK(MPI_Isend(out[i], MANY_LEN, MPI_BYTE, peer, i,
			MPI_COMM_WORLD, &r[2 * i]));
		OK(MPI_Irecv(in[i], MANY_LEN, MPI_BYTE, peer, i, MPI_COMM_WORLD,
			&r[2 * i + 1]));
	}
	OK(MPI_Waitall(2 * N_MANY, r, MPI_STATUSES_IGNORE));
	for (int i = 0; i < N_MANY; i++) {
		host[0] = (char)(i + 100 * peer);
		CHECK(device_has(in[i], host, MANY_LEN), "message %d", i);
		device_free(out[i]);
		device_free(in[i]);
	}
	host[0] = 0;
}

/* A message is longer or shorter than its receive, and bytes beyond the data
 * keep their values. */
static void ends(void)
{
	const int len = 2 * MIB, part = MIB + 100;
	char *dev = device_new(host, (size_t)len);

	memset(got, 1, (size_t)len);
	if (mtest.rank == 0) {
		send(dev, len, 3);
		send(dev, part, 4);
	} else {
		device_put(dev, got, (size_t)len);
		FAILS(MPI_Recv(dev, part, MPI_BYTE, 0, 3, MPI_COMM_WORLD,
			      MPI_STATUS_IGNORE),
			MPI_ERR_TRUNCATE);
		memcpy(got, host, (size_t)part);
		CHECK(device_has(dev, got, (size_t)len), "truncated");
		memset(got, 2, (size_t)len);
		device_put(dev, got, (size_t)len);
		OK(MPI_Recv(dev, len, MPI_BYTE, 0, 4, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		memcpy(got, host, (size_t)part);
		CHECK(device_has(dev, got, (size_t)len), "shorter");
	}
	device_free(dev);
}

/* The program frees the memory before the receive is posted. Both sides get an
 * error, and later messages arrive. */
static void freed(void)
{
	char *dev = device_new(host, MIB);
	MPI_Request r;

	if (mtest.rank == 0) {
		OK(MPI_Isend(dev, MIB, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &r));
		device_free(dev);
		OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 6, MPI_COMM_WORLD));
		FAILS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
	} else {
		OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 6, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		FAILS(MPI_Recv(dev, MIB, MPI_BYTE, 0, 5, MPI_COMM_WORLD,
			      MPI_STATUS_IGNORE),
			MPI_ERR_OTHER);
		device_free(dev);
	}
}

int main(int argc, char **argv)
{
	const int dies = (int)mtest_arg(argc, argv, "dies", 0);

	direct = (int)mtest_arg(argc, argv, "direct", 0);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL); /* in all threads */
	mtest_init(&argc, &argv);
	mtest_need(2);
	device_start();
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	host = malloc(LONGEST);
	got = malloc(LONGEST);
	mtest_fill(host, LONGEST, 1);
	if (dies && !device.crossed)
		mtest_skip("only the stand-in counts the bytes");
	if (dies) {
		peer_dies(dies - 1);
		return mtest_finish();
	}
	lengths();
	one_side();
	many();
	ends();
	if (direct == 0)
		freed();
	if (direct == 0 && device.crossed) {
		parts();
		copy_fails(0);
		copy_fails(1);
	}
	one_side();
	free(host);
	free(got);
	return mtest_finish();
}
