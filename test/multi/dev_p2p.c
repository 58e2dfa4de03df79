/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_p2p: messages from and to device memory, in every mode and form */
#include "device.h"

enum { N_FORMS = 12, ROWS = 100, WIDTH = 6, PITCH = 40 };

static const int lens[] = { 0, 8, 500, 5000, 70000, 3000000 };

static void fill(char *buf, int len, int seed)
{
	for (int i = 0; i < len; i++)
		buf[i] = (char)(i * 7 + seed);
}

static void wait_start(MPI_Request *request, int n)
{
	for (int i = 0; i < n; i++) {
		OK(MPI_Start(request));
		OK(MPI_Wait(request, MPI_STATUS_IGNORE));
	}
	OK(MPI_Request_free(request));
}

static void wait(MPI_Request *request)
{
	OK(MPI_Wait(request, MPI_STATUS_IGNORE));
}

/* Sends the bytes in one of N_FORMS forms, and returns how many messages. */
static int send_form(int form, const void *buf, int len)
{
	const MPI_Comm comm = MPI_COMM_WORLD;
	MPI_Request r;

	switch (form) {
	case 0:
		OK(MPI_Send(buf, len, MPI_BYTE, 1, 0, comm));
		break;
	case 1:
		OK(MPI_Ssend(buf, len, MPI_BYTE, 1, 0, comm));
		break;
	case 2:
		OK(MPI_Bsend(buf, len, MPI_BYTE, 1, 0, comm));
		break;
	case 3:
		OK(MPI_Isend(buf, len, MPI_BYTE, 1, 0, comm, &r));
		break;
	case 4:
		OK(MPI_Issend(buf, len, MPI_BYTE, 1, 0, comm, &r));
		break;
	case 5:
		OK(MPI_Ibsend(buf, len, MPI_BYTE, 1, 0, comm, &r));
		break;
	case 6:
		OK(MPI_Send_init(buf, len, MPI_BYTE, 1, 0, comm, &r));
		break;
	case 7:
		OK(MPI_Ssend_init(buf, len, MPI_BYTE, 1, 0, comm, &r));
		break;
	case 8:
		OK(MPI_Bsend_init(buf, len, MPI_BYTE, 1, 0, comm, &r));
		break;
	case 9:
		OK(MPI_Sendrecv(buf, len, MPI_BYTE, 1, 0, NULL, 0, MPI_BYTE,
			MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
		break;
	case 10:
		OK(MPI_Isendrecv(buf, len, MPI_BYTE, 1, 0, NULL, 0, MPI_BYTE,
			MPI_PROC_NULL, 0, comm, &r));
		break;
	case 11:
		OK(MPI_Send(buf, len, MPI_BYTE, 1, 0, comm));
		break;
	}
	if (form >= 6 && form <= 8)
		wait_start(&r, 2);
	else if ((form >= 3 && form <= 5) || form == 10)
		wait(&r);
	return form >= 6 && form <= 8 ? 2 : 1;
}

/* Receives a message in one of the forms. The buffer is longer. */
static void recv_form(int form, void *buf, int len)
{
	const MPI_Comm comm = MPI_COMM_WORLD;
	MPI_Message message;
	MPI_Request r;
	MPI_Status status = { 0 };
	int n = -1;

	switch (form % 6) {
	case 0:
		OK(MPI_Recv(buf, len + 8, MPI_BYTE, 0, 0, comm, &status));
		break;
	case 1:
		OK(MPI_Irecv(
			buf, len + 8, MPI_BYTE, MPI_ANY_SOURCE, 0, comm, &r));
		OK(MPI_Wait(&r, &status));
		break;
	case 2:
		OK(MPI_Recv_init(
			buf, len + 8, MPI_BYTE, 0, MPI_ANY_TAG, comm, &r));
		OK(MPI_Start(&r));
		OK(MPI_Wait(&r, &status));
		OK(MPI_Request_free(&r));
		break;
	case 3:
		OK(MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE));
		OK(MPI_Mrecv(buf, len + 8, MPI_BYTE, &message, &status));
		break;
	case 4:
		OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, buf,
			len + 8, MPI_BYTE, 0, 0, comm, &status));
		break;
	case 5:
		OK(MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE));
		OK(MPI_Imrecv(buf, len + 8, MPI_BYTE, &message, &r));
		OK(MPI_Wait(&r, &status));
		break;
	}
	OK(MPI_Get_count(&status, MPI_BYTE, &n));
	CHECK(n == len && status.MPI_SOURCE == 0 && status.MPI_TAG == 0,
		"the status has %d bytes of %d", n, len);
}

static void exchange(int form, int len)
{
	char *host = malloc((size_t)len + 8), *sent;
	void *dev;

	fill(host, len + 8, 1);
	sent = malloc((size_t)len + 8);
	memset(sent, 1, (size_t)len + 8);
	dev = device_new(mtest.rank ? sent : host, (size_t)len + 8);
	if (mtest.rank == 0)
		send_form(form, dev, len);
	for (int i = 0; mtest.rank == 1 && i < (form >= 6 && form <= 8 ? 2 : 1);
		i++)
		recv_form(form, dev, len);
	if (mtest.rank == 1) {
		memset(host + len, 1, 8);
		CHECK(device_has(dev, host, (size_t)len + 8),
			"form %d: %d bytes arrive, and no others change", form,
			len);
	}
	device_free(dev);
	free(host);
	free(sent);
}

/* Rows of WIDTH bytes, PITCH bytes apart; the bytes between them stay. */
static void derived(MPI_Datatype type, const char *what)
{
	char from[ROWS * PITCH], to[ROWS * PITCH], wanted[ROWS * PITCH];
	void *dev;
	int len, pos = 0, half;
	char packed[ROWS * WIDTH];

	OK(MPI_Type_commit(&type));
	OK(MPI_Type_size(type, &len));
	fill(from, sizeof(from), 3);
	memset(to, 9, sizeof(to));
	memset(wanted, 9, sizeof(wanted));
	OK(MPI_Pack(
		from, 1, type, packed, sizeof(packed), &pos, MPI_COMM_SELF));
	if (mtest.rank == 0) {
		dev = device_new(from, sizeof(from));
		OK(MPI_Send(dev, 1, type, 1, 1, MPI_COMM_WORLD));
		OK(MPI_Send(dev, len / 2, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
	} else {
		dev = device_new(to, sizeof(to));
		OK(MPI_Recv(
			dev, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		pos = 0;
		OK(MPI_Unpack(
			packed, len, &pos, wanted, 1, type, MPI_COMM_SELF));
		CHECK(device_has(dev, wanted, sizeof(wanted)),
			"%s: only the runs of the datatype change", what);
		device_put(dev, to, sizeof(to));
		OK(MPI_Recv(
			dev, 1, type, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		half = len / 2;
		memset(wanted, 9, sizeof(wanted));
		memcpy(packed, from, (size_t)half);
		for (int i = 0, at = 0; at < half; i++, at += WIDTH)
			memcpy(wanted + i * PITCH, packed + at,
				(size_t)(half - at < WIDTH ? half - at
							   : WIDTH));
		if (!strcmp(what, "vector"))
			CHECK(device_has(dev, wanted, sizeof(wanted)),
				"%s: a short message fills the first runs",
				what);
	}
	device_free(dev);
	OK(MPI_Type_free(&type));
}

static void all_derived(void)
{
	MPI_Datatype type;
	int at[ROWS], blocks[ROWS];

	OK(MPI_Type_vector(ROWS, WIDTH, PITCH, MPI_BYTE, &type));
	derived(type, "vector");
	for (int i = 0; i < ROWS; i++) {
		at[i] = i * PITCH + i % 3;
		blocks[i] = 1 + i % WIDTH;
	}
	OK(MPI_Type_indexed(ROWS, blocks, at, MPI_BYTE, &type));
	derived(type, "indexed");
}

/* Exchanges with a wrapped neighbour: both buffers, and one buffer, are on the
 * device. */
static void both_ways(void)
{
	int peer = 1 - mtest.rank, mine[100], theirs[100];
	void *a, *b;
	MPI_Request r;

	for (int i = 0; i < 100; i++) {
		mine[i] = mtest.rank * 1000 + i;
		theirs[i] = peer * 1000 + i;
	}
	a = device_new(mine, sizeof(mine));
	b = device_new(mine, sizeof(mine));
	OK(MPI_Sendrecv(a, 100, MPI_INT, peer, 0, b, 100, MPI_INT, peer, 0,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(device_has(b, theirs, sizeof(theirs)), "sendrecv");
	OK(MPI_Sendrecv_replace(a, 100, MPI_INT, peer, 0, peer, 0,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(device_has(a, theirs, sizeof(theirs)), "sendrecv_replace");
	OK(MPI_Isendrecv_replace(
		a, 100, MPI_INT, peer, 0, peer, 0, MPI_COMM_WORLD, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	CHECK(device_has(a, mine, sizeof(mine)), "isendrecv_replace");
	OK(MPI_Sendrecv(mine, 100, MPI_INT, peer, 0, b, 100, MPI_INT, peer, 0,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(device_has(b, theirs, sizeof(theirs)), "host to device");
	device_free(a);
	device_free(b);
}

/* A receive is cancelled, truncated, or its request is freed. */
static void ends(void)
{
	char host[64] = "", got[64];
	void *dev = device_new(host, sizeof(host));
	MPI_Request r;
	MPI_Status status;
	int flag;

	if (mtest.rank == 1) {
		OK(MPI_Irecv(dev, 64, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &r));
		OK(MPI_Cancel(&r));
		OK(MPI_Wait(&r, &status));
		OK(MPI_Test_cancelled(&status, &flag));
		CHECK(flag, "a receive on the device is cancelled");
		FAILS(MPI_Recv(dev, 8, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &status),
			MPI_ERR_TRUNCATE);
		memset(got, 0, sizeof(got));
		memset(got, 5, 8);
		CHECK(device_has(dev, got, sizeof(got)),
			"a truncated message fills the buffer");
		OK(MPI_Irecv(dev, 64, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &r));
		OK(MPI_Request_free(&r));
		OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD));
		OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		memset(got, 6, sizeof(got));
		CHECK(device_has(dev, got, sizeof(got)),
			"a receive without a handle completes");
	} else {
		memset(host, 5, sizeof(host));
		OK(MPI_Send(host, 64, MPI_BYTE, 1, 3, MPI_COMM_WORLD));
		OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		memset(host, 6, sizeof(host));
		OK(MPI_Send(host, 64, MPI_BYTE, 1, 4, MPI_COMM_WORLD));
		OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD));
	}
	device_free(dev);
}

int main(int argc, char **argv)
{
	static char attached[8000000];

	mtest_init(&argc, &argv);
	device_start();
	OK(MPI_Buffer_attach(attached, sizeof(attached)));
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		for (int form = 0; form < N_FORMS; form++)
			exchange(form, lens[i]);
	all_derived();
	both_ways();
	ends();
	return mtest_finish();
}
