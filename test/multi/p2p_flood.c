/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_flood: unexpected messages neither deadlock nor exhaust the memory
 *
 * how=other    rank 0 sends n messages; rank 1 first receives from rank 2
 * how=reverse  rank 1 receives n non-blocking sends from the last to the first
 * how=both     ranks 0 and 1 flood each other before either receives
 * limit=MiB    peak memory that no process may exceed (0: not checked)
 */
#include "mtest.h"

static int n_messages;
static int len;

static void check_payload(const char *buf, int i)
{
	int seq;

	memcpy(&seq, buf, sizeof(seq));
	CHECK(seq == i, "message %d arrives in order, got %d", i, seq);
}

static void flood_other(char *buf)
{
	if (mtest.rank == 0) {
		for (int i = 0; i < n_messages; i++) {
			memcpy(buf, &i, sizeof(i));
			OK(MPI_Send(buf, len, MPI_BYTE, 1, 3, MPI_COMM_WORLD));
		}
	} else if (mtest.rank == 1) {
		OK(MPI_Recv(buf, len, MPI_BYTE, 2, 4, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		for (int i = 0; i < n_messages; i++) {
			OK(MPI_Recv(buf, len, MPI_BYTE, 0, 3, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
			check_payload(buf, i);
		}
	} else if (mtest.rank == 2) {
		mtest_linger(1000);
		OK(MPI_Send(buf, len, MPI_BYTE, 1, 4, MPI_COMM_WORLD));
	}
}

static void flood_reverse(char *buf)
{
	MPI_Request *req = mtest_alloc(n_messages * sizeof(*req));
	int *seq = mtest_alloc(n_messages * sizeof(*seq));

	for (int i = 0; i < n_messages && mtest.rank == 0; i++) {
		seq[i] = i;
		OK(MPI_Isend(&seq[i], 1, MPI_INT, 1, i % 30000, MPI_COMM_WORLD,
			&req[i]));
	}
	for (int i = n_messages - 1; i >= 0 && mtest.rank == 1; i--) {
		OK(MPI_Recv(buf, 1, MPI_INT, 0, i % 30000, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		check_payload(buf, i);
	}
	if (mtest.rank == 0)
		OK(MPI_Waitall(n_messages, req, MPI_STATUSES_IGNORE));
	free(req);
	free(seq);
}

static void flood_both(char *buf)
{
	MPI_Request *req = mtest_alloc(n_messages * sizeof(*req));
	char *out = mtest_alloc((size_t)n_messages * len);
	int peer = 1 - mtest.rank;

	if (mtest.rank > 1)
		goto out;
	for (int i = 0; i < n_messages; i++) {
		memcpy(out + (size_t)i * len, &i, sizeof(i));
		OK(MPI_Isend(out + (size_t)i * len, len, MPI_BYTE, peer, 3,
			MPI_COMM_WORLD, &req[i]));
	}
	for (int i = 0; i < n_messages; i++) {
		OK(MPI_Recv(buf, len, MPI_BYTE, peer, 3, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		check_payload(buf, i);
	}
	OK(MPI_Waitall(n_messages, req, MPI_STATUSES_IGNORE));
out:
	free(req);
	free(out);
}

int main(int argc, char **argv)
{
	const char *how = "other";
	long limit, peak;
	char *buf;

	mtest_init(&argc, &argv);
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "how=", 4) == 0)
			how = argv[i] + 4;
	n_messages = mtest_arg(argc, argv, "n", 20000);
	len = mtest_arg(argc, argv, "len", 64);
	limit = mtest_arg(argc, argv, "limit", 0);
	mtest_need(strcmp(how, "other") ? 2 : 3);
	buf = calloc(1, len);
	if (strcmp(how, "reverse") == 0)
		flood_reverse(buf);
	else if (strcmp(how, "both") == 0)
		flood_both(buf);
	else
		flood_other(buf);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	peak = mtest_memory_kib("VmHWM") / 1024;
	CHECK(limit == 0 || peak < limit, "peak memory %ld MiB is under %ld",
		peak, limit);
	free(buf);
	return mtest_finish();
}
