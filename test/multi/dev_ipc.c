/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_ipc: the receiver of a long message copies it from the device memory of
 * the sender
 *
 * how=0: the driver permits it. The stand-in counts the mappings, and the bytes
 * that are copied between device memory and host memory.
 * how=1: the driver has no handles, or the library must not use them.
 * how=2: the first mapping fails. Then messages pass through host memory.
 * how=3: the mapping fails, and so does the sender's copy to host memory.
 * how=4: the sender is killed while the receiver copies.
 * how=5: the receiver never uses the device.
 * how=6: the receiver destroys its context, and the mappings with it. */
#include "device.h"

#include <signal.h>
#include <unistd.h>

enum {
	LEN = 300000, /* longer than any eager message */
	GUARD = 64,
	N_SENDS = 9,
	N_RECVS = 7,
	N_MANY = 100,
	MAX_MAPPINGS = 64,
	ROUNDS = 200,
};

static char *host, *got;
static int how;

/* ---- counters of the stand-in; 0 with the driver itself ---- */

struct counts {
	long opens, crossed;
};

static struct counts counts_now(void)
{
	return (struct counts){ .opens = device.opens ? device.opens() : 0,
		.crossed = device.crossed ? device.crossed() : 0 };
}

/* Checks how often the process has opened a handle since then, and that the
 * library has not copied between device and host memory. */
static void is_direct(struct counts then, long opens, const char *what)
{
	struct counts now = counts_now();

	if (how || !device.opens)
		return;
	CHECK(now.opens - then.opens == opens, "%s: %ld of %ld openings", what,
		now.opens - then.opens, opens);
	CHECK(now.crossed == then.crossed, "%s: %ld bytes through host memory",
		what, now.crossed - then.crossed);
}

/* ---- one message in each form ---- */

static void wait_twice(MPI_Request *r)
{
	for (int i = 0; i < 2; i++) {
		OK(MPI_Start(r));
		OK(MPI_Wait(r, MPI_STATUS_IGNORE));
	}
	OK(MPI_Request_free(r));
}

static int n_messages(int form)
{
	return form == 4 || form == 5 ? 2 : 1;
}

static void send_form(int form, const void *buf, int len, MPI_Comm comm)
{
	MPI_Request r;

	switch (form) {
	case 0:
		OK(MPI_Send(buf, len, MPI_BYTE, 1, 0, comm));
		return;
	case 1:
		OK(MPI_Ssend(buf, len, MPI_BYTE, 1, 0, comm));
		return;
	case 2:
		OK(MPI_Isend(buf, len, MPI_BYTE, 1, 0, comm, &r));
		break;
	case 3:
		OK(MPI_Issend(buf, len, MPI_BYTE, 1, 0, comm, &r));
		break;
	case 4:
		OK(MPI_Send_init(buf, len, MPI_BYTE, 1, 0, comm, &r));
		wait_twice(&r);
		return;
	case 5:
		OK(MPI_Ssend_init(buf, len, MPI_BYTE, 1, 0, comm, &r));
		wait_twice(&r);
		return;
	case 6:
		OK(MPI_Sendrecv(buf, len, MPI_BYTE, 1, 0, NULL, 0, MPI_BYTE,
			MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
		return;
	case 7:
		OK(MPI_Isendrecv(buf, len, MPI_BYTE, 1, 0, NULL, 0, MPI_BYTE,
			MPI_PROC_NULL, 0, comm, &r));
		break;
	case 8: /* a request that the program frees, then a message after it */
		OK(MPI_Isend(buf, len, MPI_BYTE, 1, 0, comm, &r));
		OK(MPI_Request_free(&r));
		OK(MPI_Ssend(NULL, 0, MPI_BYTE, 1, 1, comm));
		return;
	}
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void recv_form(int form, void *buf, int len, MPI_Comm comm)
{
	MPI_Status status = { 0 };
	MPI_Message message;
	MPI_Request r;
	int n = -1;

	switch (form) {
	case 0:
		OK(MPI_Recv(buf, len, MPI_BYTE, 0, 0, comm, &status));
		break;
	case 1:
		OK(MPI_Irecv(buf, len, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
			comm, &r));
		OK(MPI_Wait(&r, &status));
		break;
	case 2:
		OK(MPI_Recv_init(buf, len, MPI_BYTE, 0, 0, comm, &r));
		OK(MPI_Start(&r));
		OK(MPI_Wait(&r, &status));
		OK(MPI_Request_free(&r));
		break;
	case 3:
		OK(MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE));
		OK(MPI_Mrecv(buf, len, MPI_BYTE, &message, &status));
		break;
	case 4:
		OK(MPI_Mprobe(
			MPI_ANY_SOURCE, 0, comm, &message, MPI_STATUS_IGNORE));
		OK(MPI_Imrecv(buf, len, MPI_BYTE, &message, &r));
		OK(MPI_Wait(&r, &status));
		break;
	case 5:
		OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, buf, len,
			MPI_BYTE, 0, 0, comm, &status));
		break;
	case 6:
		OK(MPI_Isendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, buf, len,
			MPI_BYTE, 0, 0, comm, &r));
		OK(MPI_Wait(&r, &status));
		break;
	}
	OK(MPI_Get_count(&status, MPI_BYTE, &n));
	CHECK(n == LEN && status.MPI_SOURCE == 0 && status.MPI_TAG == 0,
		"the status has %d bytes of %d", n, LEN);
}

/* Rank 0 sends bytes from the middle of an allocation to rank 1. At the
 * receiver, bytes beyond the message do not change. */
static void exchange(int send, int recv, MPI_Comm comm)
{
	static char *from, *to;
	struct counts then;
	long opens = 0;

	if (!from) {
		from = device_new(host, LEN + 2 * GUARD);
		to = device_new(NULL, LEN + 2 * GUARD);
		opens = mtest.rank;
	}
	memset(got, 1, LEN + 2 * GUARD);
	device_put(to, got, LEN + 2 * GUARD);
	then = counts_now();
	if (mtest.rank == 0)
		send_form(send, from + GUARD, LEN, comm);
	for (int i = 0; mtest.rank == 1 && i < n_messages(send); i++)
		recv_form(recv, to + GUARD, LEN + GUARD / 2, comm);
	if (mtest.rank == 1 && send == 8)
		OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE));
	is_direct(then, opens, "a message");
	memcpy(got + GUARD, host + GUARD, LEN);
	if (mtest.rank == 1)
		CHECK(device_has(to, got, LEN + 2 * GUARD),
			"send %d, receive %d", send, recv);
}

static void forms(MPI_Comm comm)
{
	for (int send = 0; send < N_SENDS; send++)
		for (int recv = 0; recv < N_RECVS; recv++)
			exchange(send, recv, comm);
}

/* ---- the cache of mappings ---- */

/* A buffer that is freed and allocated again may have the same address, and
 * must not have the old mapping. */
static void fresh_buffers(void)
{
	struct counts then = counts_now();

	for (int i = 0; i < ROUNDS; i++) {
		char *buf;

		mtest_fill(got, LEN, (unsigned)i);
		buf = device_new(mtest.rank ? NULL : got, LEN);
		if (mtest.rank == 0)
			OK(MPI_Send(buf, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
		else
			OK(MPI_Recv(buf, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
		if (mtest.rank == 1)
			CHECK(device_has(buf, got, LEN), "round %d", i);
		device_free(buf);
	}
	if (!how && device.opens && mtest.rank == 1)
		CHECK(counts_now().opens - then.opens == ROUNDS,
			"each buffer is mapped anew");
}

/* More buffers than mappings, all under way together; then again. */
static void many(void)
{
	char *buf[N_MANY];
	MPI_Request r[N_MANY];

	for (int i = 0; i < N_MANY; i++) {
		host[0] = (char)i;
		buf[i] = device_new(mtest.rank ? NULL : host, LEN);
	}
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < N_MANY; i++)
			if (mtest.rank == 0)
				OK(MPI_Isend(buf[i], LEN, MPI_BYTE, 1, i,
					MPI_COMM_WORLD, &r[i]));
			else
				OK(MPI_Irecv(buf[i], LEN, MPI_BYTE, 0, i,
					MPI_COMM_WORLD, &r[i]));
		OK(MPI_Waitall(N_MANY, r, MPI_STATUSES_IGNORE));
	}
	for (int i = 0; i < N_MANY; i++) {
		host[0] = (char)i;
		if (mtest.rank == 1)
			CHECK(device_has(buf[i], host, LEN), "buffer %d", i);
		device_free(buf[i]);
	}
	if (device.mappings)
		CHECK(device.mappings() <= MAX_MAPPINGS, "%ld mappings",
			device.mappings());
}

/* ---- other buffers ---- */

/* One side is host memory. */
static void one_side(void)
{
	char *dev = device_new(mtest.rank ? NULL : host, LEN);

	memset(got, 0, LEN);
	if (mtest.rank == 0) {
		OK(MPI_Send(dev, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
		OK(MPI_Send(host, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
	} else {
		OK(MPI_Recv(got, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(!memcmp(got, host, LEN), "from device to host memory");
		OK(MPI_Recv(dev, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(device_has(dev, host, LEN), "from host to device memory");
	}
	device_free(dev);
}

/* One side, or the other, has a datatype with gaps. */
static void gaps(void)
{
	enum { N = LEN / 8 };
	char *dev = device_new(host, LEN);
	MPI_Datatype type;

	OK(MPI_Type_vector(N / 2, 8, 16, MPI_BYTE, &type));
	OK(MPI_Type_commit(&type));
	for (int is_to = 0; is_to < 2; is_to++) {
		memset(got, 3, LEN);
		device_put(dev, mtest.rank ? got : host, LEN);
		if (mtest.rank == 0) {
			OK(MPI_Send(dev, is_to ? N / 2 * 8 : 1,
				is_to ? MPI_BYTE : type, 1, 0, MPI_COMM_WORLD));
			continue;
		}
		OK(MPI_Recv(dev, is_to ? 1 : N / 2 * 8, is_to ? type : MPI_BYTE,
			0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		for (int i = 0; i < N / 2; i++)
			memcpy(got + i * (is_to ? 16 : 8),
				host + i * (is_to ? 8 : 16), 8);
		CHECK(device_has(dev, got, LEN), "a datatype with gaps, %d",
			is_to);
	}
	OK(MPI_Type_free(&type));
	device_free(dev);
}

/* A message is truncated, cancelled, or sent to the process itself. */
static void ends(void)
{
	char *dev = device_new(host, LEN), *to = device_new(NULL, LEN);
	MPI_Status status;
	MPI_Request r;
	int flag;

	memset(got, 1, LEN);
	device_put(to, got, LEN);
	if (mtest.rank == 0) {
		OK(MPI_Send(dev, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
		OK(MPI_Ssend(dev, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
		OK(MPI_Isend(dev, LEN, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &r));
		OK(MPI_Cancel(&r));
		OK(MPI_Wait(&r, &status));
		OK(MPI_Test_cancelled(&status, &flag));
		CHECK(flag, "a send is cancelled");
	} else {
		FAILS(MPI_Recv(to, LEN / 2, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
			      MPI_STATUS_IGNORE),
			MPI_ERR_TRUNCATE);
		memcpy(got, host, LEN / 2);
		CHECK(device_has(to, got, LEN), "a truncated message");
		FAILS(MPI_Recv(to, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
			      MPI_STATUS_IGNORE),
			MPI_ERR_TRUNCATE);
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Irecv(to, LEN, MPI_BYTE, mtest.rank, 0, MPI_COMM_WORLD, &r));
	OK(MPI_Send(dev, LEN, MPI_BYTE, mtest.rank, 0, MPI_COMM_WORLD));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	CHECK(device_has(to, host, LEN), "a message to the process itself");
	device_free(dev);
	device_free(to);
}

static void both_ways(void)
{
	const int peer = 1 - mtest.rank;
	char *a, *b;
	MPI_Request r;

	host[0] = (char)mtest.rank;
	a = device_new(host, LEN);
	b = device_new(NULL, LEN);
	host[0] = (char)peer;
	OK(MPI_Sendrecv(a, LEN, MPI_BYTE, peer, 0, b, LEN, MPI_BYTE, peer, 0,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(device_has(b, host, LEN), "sendrecv");
	OK(MPI_Sendrecv_replace(a, LEN, MPI_BYTE, peer, 0, peer, 0,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(device_has(a, host, LEN), "sendrecv_replace");
	OK(MPI_Isendrecv_replace(
		a, LEN, MPI_BYTE, peer, 0, peer, 0, MPI_COMM_WORLD, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	host[0] = (char)mtest.rank;
	CHECK(device_has(a, host, LEN), "isendrecv_replace");
	OK(MPI_Isendrecv(b, LEN, MPI_BYTE, peer, 0, a, LEN, MPI_BYTE, peer, 0,
		MPI_COMM_WORLD, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	CHECK(device_has(a, host, LEN), "isendrecv");
	host[0] = 0; /* the same at both */
	device_free(a);
	device_free(b);
}

/* The two processes as the groups of an intercommunicator. */
static void intercomm(void)
{
	const int peer = 1 - mtest.rank;
	char *dev = device_new(mtest.rank ? NULL : host, LEN);
	struct counts then;
	MPI_Comm comm;

	OK(MPI_Intercomm_create(
		MPI_COMM_SELF, 0, MPI_COMM_WORLD, peer, 0, &comm));
	then = counts_now();
	if (mtest.rank == 0)
		OK(MPI_Send(dev, LEN, MPI_BYTE, 0, 0, comm));
	else
		OK(MPI_Recv(dev, LEN, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
	is_direct(then, mtest.rank, "an intercommunicator");
	if (mtest.rank == 1)
		CHECK(device_has(dev, host, LEN), "an intercommunicator");
	OK(MPI_Comm_free(&comm));
	device_free(dev);
}

/* A message ends beyond the memory of one side, after whole segments. */
static void short_memory(void)
{
	enum { HALF = 512 << 10 };
	char *half = device_new(NULL, HALF),
	     *whole = device_new(NULL, 2 * HALF);
	int rc = 0;

	for (int bad = 0; bad < 2; bad++) {
		char *dev = mtest.rank == bad ? half : whole;

		if (mtest.rank == 0)
			rc = MPI_Send(
				dev, 2 * HALF, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		else
			rc = MPI_Recv(dev, 2 * HALF, MPI_BYTE, 0, 0,
				MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (mtest.rank == bad)
			CHECK(mtest_class(rc) == MPI_ERR_BUFFER,
				"memory that is too short: %s",
				mtest_error(rc));
		else if (bad == 0)
			CHECK(rc != 0, "the receive fails");
	}
	device_free(half);
	device_free(whole);
}

static void all_messages(void)
{
	MPI_Comm comm;

	forms(MPI_COMM_WORLD);
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	exchange(0, 0, comm);
	OK(MPI_Comm_free(&comm));
	fresh_buffers();
	many();
	one_side();
	gaps();
	ends();
	both_ways();
	intercomm();
	if (device.queries) /* a driver may end the process */
		short_memory();
}

/* ---- failures ---- */

static void copy_fails(void)
{
	char *dev = device_new(host, LEN);

	/* pins host memory, so that the copy is the call that fails */
	OK(MPI_Sendrecv_replace(dev, LEN, MPI_BYTE, 0, 0, 0, 0, MPI_COMM_SELF,
		MPI_STATUS_IGNORE));
	if (mtest.rank == 1)
		device.fail_open(1);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 0) {
		MPI_Request r;

		OK(MPI_Isend(dev, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &r));
		device.fail_next();
		OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
		FAILS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
	} else {
		OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		FAILS(MPI_Recv(dev, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
			      MPI_STATUS_IGNORE),
			MPI_ERR_OTHER);
	}
	device_free(dev);
	exchange(0, 0, MPI_COMM_WORLD);
}

static pid_t sender;

static void kill_sender(void)
{
	kill(sender, SIGKILL);
}

static void sender_dies(void)
{
	char *dev = device_new(mtest.rank ? NULL : host, LEN);
	int rc;

	sender = getpid();
	OK(MPI_Bcast(&sender, sizeof(sender), MPI_BYTE, 0, MPI_COMM_WORLD));
	if (mtest.rank == 0)
		OK(MPI_Send(dev, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
	for (int i = 0; mtest.rank == 0; i++) /* until it is killed */
		OK(MPI_Recv(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	device.on_open(kill_sender);
	rc = MPI_Recv(
		dev, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(rc ? mtest_class(rc) == MPIX_ERR_PROC_FAILED
		 : device_has(dev, host, LEN),
		"the message arrives, or an error: %s", mtest_error(rc));
	FAILS(MPI_Recv(dev, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
		      MPI_STATUS_IGNORE),
		MPIX_ERR_PROC_FAILED);
	device_free(dev);
}

static void host_receiver(void)
{
	char *dev = mtest.rank ? NULL : device_new(host, LEN);

	for (int i = 0; i < 3; i++) {
		memset(got, 0, LEN);
		if (mtest.rank == 0)
			OK(MPI_Send(dev, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
		else
			OK(MPI_Recv(got, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
		CHECK(mtest.rank == 0 || !memcmp(got, host, LEN),
			"a receiver without the device, %d", i);
	}
	if (dev)
		device_free(dev);
}

static void context_ends(void)
{
	char *from = NULL, *to;

	if (mtest.rank == 0)
		from = device_new(host, LEN);
	for (int i = 0; i < 2; i++) {
		to = mtest.rank ? device_new(NULL, LEN) : NULL;
		if (mtest.rank == 0)
			OK(MPI_Send(from, LEN, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
		else
			OK(MPI_Recv(to, LEN, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
		if (mtest.rank == 0)
			continue;
		CHECK(device_has(to, host, LEN), "context %d", i);
		device_reset();
		device_ok(!device_start_cuda(), "cuInit");
	}
	if (from)
		device_free(from);
}

int main(int argc, char **argv)
{
	bool has_driver;
	long opens;

	how = (int)mtest_arg(argc, argv, "how", 0);
	has_driver = device_library() != NULL;
	mtest_init(&argc, &argv);
	if (!has_driver)
		mtest_skip("there is no driver of a device");
	if (how != 5 || mtest.rank == 0)
		device_open();
	if (how > 1 && how < 5 && !device.opens)
		mtest_skip("only the stand-in fails on demand");
	if (how == 6 && device_id() != DEVICE_CUDA)
		mtest_skip("only CUDA has contexts that end");
	host = malloc(LEN + 2 * GUARD);
	got = malloc(LEN + 2 * GUARD);
	CHECK(host && got, "host memory for the data");
	mtest_fill(host, LEN + 2 * GUARD, 7);
	if (how == 2 && mtest.rank == 1)
		device.fail_open(1);
	switch (how) {
	case 3:
		copy_fails();
		break;
	case 4:
		sender_dies();
		break;
	case 5:
		host_receiver();
		break;
	case 6:
		context_ends();
		break;
	default:
		all_messages();
	}
	opens = device.opens ? device.opens() : 0;
	if (how == 1 || how == 2)
		CHECK(opens == (how == 2 && mtest.rank == 1), "%ld openings",
			opens);
	if (how == 4)
		return mtest_finish();
	OK(MPI_Finalize());
	if (device.mappings)
		CHECK(device.mappings() == 0, "%ld mappings at the end",
			device.mappings());
	free(host);
	free(got);
	return mtest_done();
}
