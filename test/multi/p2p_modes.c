/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_modes: every send mode delivers every size, 0 B to 16 MiB */
#include "mtest.h"

enum mode { SEND, SSEND, RSEND, ISEND, ISSEND, IRSEND, N_MODES };

static const char *const names[N_MODES] = { "Send", "Ssend", "Rsend", "Isend",
	"Issend", "Irsend" };

static const int sizes[] = { 0, 1, 2, 7, 8, 63, 64, 65, 127, 192, 255, 256, 511,
	1000, 1024, 2048, 4000, 4095, 4096, 4097, 8191, 8192, 8193, 12345,
	16384, 32767, 32768, 65535, 65536, 65537, 131072, 262144, 1000003,
	1048576, 4194304, 16777216 };

enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int send_one(enum mode mode, const void *buf, int len, int to, int tag)
{
	MPI_Request req = MPI_REQUEST_NULL;
	int rc;

	switch (mode) {
	case SEND:
		return MPI_Send(buf, len, MPI_BYTE, to, tag, MPI_COMM_WORLD);
	case SSEND:
		return MPI_Ssend(buf, len, MPI_BYTE, to, tag, MPI_COMM_WORLD);
	case RSEND:
		return MPI_Rsend(buf, len, MPI_BYTE, to, tag, MPI_COMM_WORLD);
	case ISEND:
		rc = MPI_Isend(
			buf, len, MPI_BYTE, to, tag, MPI_COMM_WORLD, &req);
		break;
	case ISSEND:
		rc = MPI_Issend(
			buf, len, MPI_BYTE, to, tag, MPI_COMM_WORLD, &req);
		break;
	default:
		rc = MPI_Irsend(
			buf, len, MPI_BYTE, to, tag, MPI_COMM_WORLD, &req);
	}
	if (rc != MPI_SUCCESS)
		return rc;
	rc = MPI_Wait(&req, MPI_STATUS_IGNORE);
	CHECK(req == MPI_REQUEST_NULL, "%s: a completed request is null",
		names[mode]);
	return rc;
}

static void sender(enum mode mode, unsigned char *buf, int len, int to, int tag)
{
	int ready;

	mtest_fill(buf, len, tag);
	/* the receiver sends a message when its receive is posted */
	if (mode == RSEND || mode == IRSEND)
		OK(MPI_Recv(&ready, 1, MPI_INT, to, 5000, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	OK(send_one(mode, buf, len, to, tag));
	CHECK(mtest_same(buf, len, tag),
		"%s %d B does not change the send buffer", names[mode], len);
}

static void receiver(
	enum mode mode, unsigned char *buf, int len, int from, int tag)
{
	MPI_Request req;
	MPI_Status st;
	int n = -1;

	memset(buf, 0x5a, len + 16);
	OK(MPI_Irecv(buf, len, MPI_BYTE, from, tag, MPI_COMM_WORLD, &req));
	if (mode == RSEND || mode == IRSEND)
		OK(MPI_Send(&len, 1, MPI_INT, from, 5000, MPI_COMM_WORLD));
	OK(MPI_Wait(&req, &st));
	OK(MPI_Get_count(&st, MPI_BYTE, &n));
	CHECK(n == len, "%s %d B arrives completely, got %d", names[mode], len,
		n);
	CHECK(st.MPI_SOURCE == from, "%s: the status has the source",
		names[mode]);
	CHECK(st.MPI_TAG == tag, "%s: the status has the tag", names[mode]);
	CHECK(mtest_same(buf, len, tag), "%s %d B arrives unchanged",
		names[mode], len);
	CHECK(mtest_all(buf + len, 16, 0x5a),
		"%s %d B writes nothing beyond the buffer", names[mode], len);
}

int main(int argc, char **argv)
{
	unsigned char *buf = mtest_alloc(sizes[N_SIZES - 1] + 16);
	long largest;

	mtest_init(&argc, &argv);
	mtest_need(2);
	largest = mtest_arg(argc, argv, "max", sizes[N_SIZES - 1]);
	for (int mode = SEND; mode < N_MODES; mode++) {
		for (int i = 0; i < N_SIZES && sizes[i] <= largest; i++) {
			int tag = mode * 100 + i;

			/* each pair sends in one direction, then the other */
			int peer = mtest.rank ^ 1;
			if (peer >= mtest.size)
				continue;
			for (int turn = 0; turn < 2; turn++)
				if ((mtest.rank & 1) == turn)
					sender(mode, buf, sizes[i], peer, tag);
				else
					receiver(
						mode, buf, sizes[i], peer, tag);
		}
	}
	free(buf);
	return mtest_finish();
}
