/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_mixed: on a communicator with members on this node and on others, the
 * network card matches what comes from the others, software the rest, and
 * nobody can tell which
 *
 * Run with WEFT_NODES. got= is what the communicator says of itself where no
 * receive is from any source.
 */
#include "nic.h"

enum { MESSAGES = 8, MARK = 5000 };

static MPI_Comm comm;
static const char *got;
static int n_nodes;

/* As WEFT_NODES has it. */
static bool is_local(int rank)
{
	return rank * n_nodes / mtest.size == mtest.rank * n_nodes / mtest.size;
}

static void nodes(void)
{
	int n_local = 0, n;
	MPI_Comm node;

	for (int r = 0; r < mtest.size; r++)
		n_local += is_local(r);
	OK(MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
	OK(MPI_Comm_size(node, &n));
	CHECK(n == n_local, "%d processes on my node, not %d", n_local, n);
	OK(MPI_Comm_free(&node));
}

/* Sends to the others have the card's tag, those to my node have none. */
static void ways(void)
{
	bool is_card = !strcmp(got, "nic");
	MPI_Request req;
	int in, out;

	for (int r = 0; r < mtest.size; r++) {
		int to = (mtest.rank + r) % mtest.size;
		int from = (mtest.rank + mtest.size - r) % mtest.size;

		out = mtest.rank * 100 + to;
		OK(MPI_Isend(&out, 1, MPI_INT, to, MARK + to, comm, &req));
		OK(MPI_Recv(&in, 1, MPI_INT, from, MARK + mtest.rank, comm,
			MPI_STATUS_IGNORE));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		CHECK(in == from * 100 + mtest.rank, "%d of rank %d", in, from);
		if (nic.record[0])
			CHECK((nic_recorded(MARK + to, "-") >= 0) ==
					(is_card && !is_local(to)),
				"to rank %d, which is %s", to,
				is_local(to) ? "near" : "far");
	}
}

static int seed_of(int from, int to, int i)
{
	return (from * 64 + to) * MESSAGES + i;
}

/* Everybody to everybody; receives before or after the sends; any tag. */
static void everybody(bool is_late)
{
	int n = mtest.size * MESSAGES, at = 0;
	MPI_Request *req = mtest_alloc(2 * n * sizeof(*req));
	MPI_Status *st = mtest_alloc(2 * n * sizeof(*st));
	char **buf = mtest_alloc(2 * n * sizeof(*buf));

	for (int step = 0; step < 2; step++)
		for (int r = 0; r < mtest.size; r++)
			for (int i = 0; i < MESSAGES; i++, at++) {
				buf[at] = mtest_alloc(nic_length(i));
				mtest_fill(buf[at], nic_length(i),
					seed_of(mtest.rank, r, i));
				if (step != is_late)
					OK(MPI_Irecv(buf[at], nic_length(i),
						MPI_BYTE, r, MPI_ANY_TAG, comm,
						&req[at]));
				else
					OK(MPI_Isend(buf[at], nic_length(i),
						MPI_BYTE, r, i, comm,
						&req[at]));
			}
	OK(MPI_Waitall(at, req, st));
	for (int k = 0; k < at; k++) {
		int r = k / MESSAGES % mtest.size, i = k % MESSAGES;

		if ((k < n) == is_late)
			CHECK(st[k].MPI_SOURCE == r && st[k].MPI_TAG == i &&
					mtest_same(buf[k], nic_length(i),
						seed_of(r, mtest.rank, i)),
				"message %d of rank %d in its turn", i, r);
		free(buf[k]);
	}
	free(req);
	free(st);
	free(buf);
}

static void first_sent(void)
{
	everybody(false);
}

static void first_received(void)
{
	everybody(true);
}

/* Each looks at what its neighbour sent, and takes it out. */
static void probed(int to, int from)
{
	char *in = mtest_alloc(70000), *out = mtest_alloc(70000);
	MPI_Message message;
	MPI_Request req[2];
	MPI_Status st;
	int n;

	for (int i = 0; i < MESSAGES; i++) {
		n = nic_length(i);
		mtest_fill(out, n, i);
		OK(MPI_Isend(out, n, MPI_BYTE, to, i, comm, &req[0]));
		OK(MPI_Issend(out, n, MPI_BYTE, to, 99, comm, &req[1]));
		OK(MPI_Mprobe(from, i, comm, &message, &st));
		OK(MPI_Get_count(&st, MPI_BYTE, &n));
		CHECK(n == nic_length(i) && st.MPI_SOURCE == from,
			"%d bytes of rank %d seen", n, from);
		OK(MPI_Probe(from, MPI_ANY_TAG, comm, &st));
		CHECK(st.MPI_TAG == 99 && st.MPI_SOURCE == from,
			"the other one is the next of rank %d", from);
		OK(MPI_Recv(in, 70000, MPI_BYTE, from, 99, comm, &st));
		memset(in, 1, 70000);
		OK(MPI_Mrecv(in, 70000, MPI_BYTE, &message, &st));
		OK(MPI_Get_count(&st, MPI_BYTE, &n));
		CHECK(n == nic_length(i) && mtest_same(in, n, i),
			"what was taken out is received from rank %d", from);
		OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	}
	free(in);
	free(out);
}

static void shifted(int to, int from)
{
	MPI_Request req[2];
	MPI_Status st;
	char small[4], large[100] = "", gone;
	int flag = 0;

	OK(MPI_Irecv(&gone, 1, MPI_BYTE, from, 8, comm, &req[0]));
	OK(MPI_Cancel(&req[0]));
	OK(MPI_Wait(&req[0], &st));
	OK(MPI_Test_cancelled(&st, &flag));
	CHECK(flag, "a receive from rank %d is cancelled", from);
	OK(MPI_Isend(large, 100, MPI_BYTE, to, 7, comm, &req[0]));
	OK(MPI_Isend(large, 3, MPI_BYTE, to, 7, comm, &req[1]));
	FAILS(MPI_Recv(small, 4, MPI_BYTE, from, 7, comm, &st),
		MPI_ERR_TRUNCATE);
	OK(MPI_Recv(small, 4, MPI_BYTE, from, 7, comm, &st));
	OK(MPI_Get_count(&st, MPI_BYTE, &flag));
	CHECK(flag == 3, "the next one of rank %d is whole", from);
	OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
}

/* Every distance: to myself, within the node, to others. */
static void around(void)
{
	for (int d = 0; d < mtest.size; d++) {
		int to = (mtest.rank + d) % mtest.size;
		int from = (mtest.rank + mtest.size - d) % mtest.size;

		probed(to, from);
		shifted(to, from);
	}
}

/* The promise is kept to, or the communicator would not work. */
static void any_source(void)
{
	MPI_Request req;
	int n = 3, in = 0;

	if (!strcmp(got, "nic"))
		FAILS(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm,
			      MPI_STATUS_IGNORE),
			MPI_ERR_RANK);
	OK(MPI_Isend(&n, 1, MPI_INT, mtest.rank, 2, comm, &req));
	OK(MPI_Recv(&in, 1, MPI_INT, mtest.rank, 2, comm, MPI_STATUS_IGNORE));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	CHECK(in == 3, "my own message");
}

/* Without the promise all is matched in software. */
static void without_promise(void)
{
	MPI_Comm other = nic_comm(MPI_COMM_WORLD, "nic");
	int in = 0, sum = 0;

	nic_says(other, "software");
	for (int i = 1; !mtest.rank && i < mtest.size; i++) {
		OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other,
			MPI_STATUS_IGNORE));
		sum += in;
	}
	if (mtest.rank)
		OK(MPI_Send(&mtest.rank, 1, MPI_INT, 0, mtest.rank, other));
	CHECK(mtest.rank || sum == mtest.size * (mtest.size - 1) / 2,
		"all came: %d", sum);
	OK(MPI_Comm_disconnect(&other));
}

/* What is left behind, of near and of far, is told. */
static void left_behind(void)
{
	int near = mtest.size - 2, far = 0, rc, n = 1;
	MPI_Comm other = nic_comm_of(comm, "nic", true);

	OK(MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN));
	if (mtest.rank == near || mtest.rank == far)
		OK(MPI_Send(&n, 1, MPI_INT, mtest.size - 1, 1, other));
	rc = MPI_Comm_disconnect(&other);
	CHECK((rc != MPI_SUCCESS) == (mtest.rank == mtest.size - 1),
		"who was sent to hears of it: %s", mtest_error(rc));
}

int main(int argc, char **argv)
{
	static void (*const parts[])(void) = { nodes, ways, first_sent,
		first_received, around, any_source, without_promise,
		left_behind };

	got = hints_word(argc, argv, "got=");
	if (!got)
		got = nic_can() ? "nic" : "software";
	n_nodes = getenv("WEFT_NODES") ? atoi(getenv("WEFT_NODES")) : 1;
	nic_record();
	mtest_init(&argc, &argv);
	mtest_need(3);
	if (n_nodes < 2 && nic_is_env("WEFT_SHM", "off"))
		mtest_skip("nobody is near");
	comm = nic_comm_of(MPI_COMM_WORLD, "nic", true);
	OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	nic_says(comm, got);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		parts[i]();
		OK(MPI_Barrier(comm));
	}
	OK(MPI_Comm_disconnect(&comm));
	nic_record_end();
	return mtest_finish();
}
