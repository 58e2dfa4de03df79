/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_match: messages matched by the network card behave like any others
 *
 * got= is what the communicator says of itself: nic or software; without it,
 * nic over the Slingshot stand-in alone. With only=tags just the greatest tag
 * is tried. The stand-in's record says that messages really left with the tags
 * they should have.
 */
#include "nic.h"

enum { ORDERED = 60, BIG = 8 << 20 };

static MPI_Comm comm;
static const char *got;

/* ---- the record ---- */

static void with_tags(void)
{
	char *buf = mtest_alloc(100000);

	if (mtest.rank == 1) {
		OK(MPI_Send(buf, 8, MPI_BYTE, 0, 4711, comm));
		OK(MPI_Send(buf, 100000, MPI_BYTE, 0, 4712, comm));
		OK(MPI_Ssend(buf, 8, MPI_BYTE, 0, 4713, comm));
		if (nic.record[0] && !strcmp(got, "nic")) {
			CHECK(nic_recorded(4711, "flags=INJECT|COMPLETION ") >=
					0,
				"a short message leaves with its tag");
			CHECK(nic_recorded(4712, "flags=COMPLETION ") >= 0,
				"so does a long one");
			CHECK(nic_recorded(4713, "|MC") >= 0,
				"a synchronous one asks to be matched");
			CHECK(nic_recorded(4711, "-") >> 34 ==
					nic_recorded(4713, "-") >> 34,
				"one slot for one communicator");
		} else if (nic.record[0]) {
			CHECK(nic_recorded(4711, "-") < 0 &&
					nic_recorded(4713, "-") < 0,
				"in software no message has a tag of its own");
		}
	} else if (mtest.rank == 0) {
		OK(MPI_Recv(
			buf, 8, MPI_BYTE, 1, 4711, comm, MPI_STATUS_IGNORE));
		OK(MPI_Recv(buf, 100000, MPI_BYTE, 1, 4712, comm,
			MPI_STATUS_IGNORE));
		OK(MPI_Recv(
			buf, 8, MPI_BYTE, 1, 4713, comm, MPI_STATUS_IGNORE));
	}
	free(buf);
}

/* ---- messages ---- */

/* Everybody to rank 0, which takes any: in order from each. */
static void any_source(void)
{
	char *buf = mtest_alloc(70000);
	int next[64] = { 0 }, n;
	MPI_Status st;

	for (int i = 0; mtest.rank && i < ORDERED; i++) {
		mtest_fill(buf, nic_length(i), i);
		OK(MPI_Send(buf, nic_length(i), MPI_BYTE, 0, i, comm));
	}
	for (int i = 0; !mtest.rank && i < ORDERED * (mtest.size - 1); i++) {
		OK(MPI_Recv(buf, 70000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
			comm, &st));
		OK(MPI_Get_count(&st, MPI_BYTE, &n));
		CHECK(st.MPI_TAG == next[st.MPI_SOURCE]++,
			"message %d of rank %d in its turn", st.MPI_TAG,
			st.MPI_SOURCE);
		CHECK(n == nic_length(st.MPI_TAG) &&
				mtest_same(buf, n, st.MPI_TAG),
			"%d bytes as sent", n);
	}
	free(buf);
}

/* Receives first here, sends first there; tags out of order. */
static void any_order(bool is_late)
{
	int to = (mtest.rank + 1) % mtest.size;
	int from = (mtest.rank + mtest.size - 1) % mtest.size;
	MPI_Request req[16];
	MPI_Status st[16];
	char *in[8], *out[8];

	if (is_late)
		mtest_linger(mtest.rank % 2 ? 100 : 0);
	for (int i = 0; i < 8; i++) {
		in[i] = mtest_alloc(nic_length(i));
		out[i] = mtest_alloc(nic_length(i));
		mtest_fill(out[i], nic_length(i), i + mtest.rank);
		OK(MPI_Isend(out[i], nic_length(i), MPI_BYTE, to, i, comm,
			&req[8 + i]));
	}
	for (int i = 7; i >= 0; i--)
		OK(MPI_Irecv(in[i], nic_length(i), MPI_BYTE, from, i, comm,
			&req[i]));
	OK(MPI_Waitall(16, req, st));
	for (int i = 0; i < 8; i++) {
		CHECK(mtest_same(in[i], nic_length(i), i + from) &&
				st[i].MPI_SOURCE == from && st[i].MPI_TAG == i,
			"message %d of rank %d", i, from);
		free(in[i]);
		free(out[i]);
	}
}

static void large(void)
{
	char *buf = mtest_alloc(BIG);
	MPI_Status st;

	if (mtest.rank == 1) {
		mtest_fill(buf, BIG, 5);
		OK(MPI_Send(buf, BIG, MPI_BYTE, 0, 9, comm));
	} else if (mtest.rank == 0) {
		OK(MPI_Recv(buf, BIG, MPI_BYTE, 1, MPI_ANY_TAG, comm, &st));
		CHECK(mtest_same(buf, BIG, 5) && st.MPI_TAG == 9, "8 MiB");
	}
	free(buf);
}

static void truncated(void)
{
	static const int lens[] = { 10, 1000, 100000 };
	char *buf = mtest_alloc(100000);
	MPI_Status st;
	int n;

	for (int i = 0; i < 3 && mtest.rank < 2; i++) {
		if (mtest.rank) {
			OK(MPI_Send(buf, lens[i], MPI_BYTE, 0, 1, comm));
			OK(MPI_Send(buf, lens[i], MPI_BYTE, 0, 1, comm));
			continue;
		}
		memset(buf, 1, 100000);
		FAILS(MPI_Recv(buf, 5, MPI_BYTE, 1, 1, comm, &st),
			MPI_ERR_TRUNCATE);
		CHECK(mtest_all(buf + 5, 99995, 1), "no byte too many");
		OK(MPI_Recv(buf, 100000, MPI_BYTE, 1, 1, comm, &st));
		OK(MPI_Get_count(&st, MPI_BYTE, &n));
		CHECK(n == lens[i], "the next one is whole");
	}
	free(buf);
}

/* ---- probes ---- */

static void probed(void)
{
	static const int lens[] = { 0, 8, 3000, 200000 };
	char *buf = mtest_alloc(200000);
	MPI_Message message;
	MPI_Request req;
	MPI_Status st;
	int n, flag;

	for (int i = 0; i < 4 && mtest.rank < 2; i++) {
		if (mtest.rank) {
			mtest_fill(buf, lens[i], i);
			OK(MPI_Isend(
				buf, lens[i], MPI_BYTE, 0, 30 + i, comm, &req));
			OK(MPI_Ssend(buf, lens[i], MPI_BYTE, 0, 40, comm));
			OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
			continue;
		}
		OK(MPI_Iprobe(1, 99, comm, &flag, &st));
		CHECK(!flag, "nothing of that tag");
		OK(MPI_Mprobe(MPI_ANY_SOURCE, 30 + i, comm, &message, &st));
		OK(MPI_Get_count(&st, MPI_BYTE, &n));
		CHECK(n == lens[i] && st.MPI_SOURCE == 1, "%d bytes seen", n);
		OK(MPI_Probe(1, MPI_ANY_TAG, comm, &st));
		CHECK(st.MPI_TAG == 40, "the other one is the next");
		OK(MPI_Iprobe(1, 30 + i, comm, &flag, &st));
		CHECK(!flag, "what was taken out is not seen again");
		OK(MPI_Recv(buf, 200000, MPI_BYTE, 1, 40, comm, &st));
		memset(buf, 0, 200000);
		OK(MPI_Mrecv(buf, 200000, MPI_BYTE, &message, &st));
		OK(MPI_Get_count(&st, MPI_BYTE, &n));
		CHECK(n == lens[i] && mtest_same(buf, n, i) &&
				st.MPI_TAG == 30 + i,
			"the one taken out is received");
	}
	free(buf);
}

static void probed_short(void)
{
	char buf[64] = "";
	MPI_Message message;
	MPI_Request req;
	MPI_Status st;

	if (mtest.rank == 1) {
		OK(MPI_Send("twelve bytes", 12, MPI_BYTE, 0, 3, comm));
		OK(MPI_Send("after", 5, MPI_BYTE, 0, 3, comm));
	} else if (mtest.rank == 0) {
		OK(MPI_Mprobe(1, 3, comm, &message, &st));
		OK(MPI_Imrecv(buf, 4, MPI_BYTE, &message, &req));
		FAILS(MPI_Wait(&req, &st), MPI_ERR_TRUNCATE);
		CHECK(!memcmp(buf, "twel\0", 5), "as far as there is room");
		OK(MPI_Recv(buf, 64, MPI_BYTE, 1, 3, comm, &st));
		CHECK(!memcmp(buf, "after", 5), "the next one is whole");
	}
}

/* ---- requests ---- */

static void cancelled(void)
{
	MPI_Request req[2];
	MPI_Status st;
	char a = 0, b = 0;
	int flag = 0;

	if (mtest.rank == 0) {
		OK(MPI_Irecv(&a, 1, MPI_BYTE, 1, 5, comm, &req[0]));
		OK(MPI_Irecv(&b, 1, MPI_BYTE, 1, 5, comm, &req[1]));
		OK(MPI_Cancel(&req[0]));
		OK(MPI_Wait(&req[0], &st));
		OK(MPI_Test_cancelled(&st, &flag));
		CHECK(flag, "a receive without a message is cancelled");
		OK(MPI_Send(&a, 1, MPI_BYTE, 1, 6, comm));
		OK(MPI_Wait(&req[1], &st));
		CHECK(b == 7, "the message goes to the other");
	} else if (mtest.rank == 1) {
		OK(MPI_Recv(&b, 1, MPI_BYTE, 0, 6, comm, &st));
		a = 7;
		OK(MPI_Issend(&a, 1, MPI_BYTE, 0, 5, comm, &req[0]));
		OK(MPI_Wait(&req[0], &st));
	}
}

/* A send may or may not be cancelled; either way it ends. */
static void cancelled_send(void)
{
	MPI_Request req;
	MPI_Status st;
	char buf[300] = "";
	int flag = -1;

	if (mtest.rank == 1) {
		OK(MPI_Isend(buf, 300, MPI_BYTE, 0, 8, comm, &req));
		OK(MPI_Cancel(&req));
		OK(MPI_Wait(&req, &st));
		OK(MPI_Test_cancelled(&st, &flag));
		OK(MPI_Send(&flag, 1, MPI_INT, 0, 9, comm));
	} else if (mtest.rank == 0) {
		OK(MPI_Recv(&flag, 1, MPI_INT, 1, 9, comm, &st));
		if (!flag)
			OK(MPI_Recv(buf, 300, MPI_BYTE, 1, 8, comm, &st));
		CHECK(flag == 0 || flag == 1, "the sender knows");
	}
}

static void synchronous(void)
{
	MPI_Request req;
	int flag = 1, n = 3;

	if (mtest.rank == 1) {
		OK(MPI_Issend(&n, 1, MPI_INT, 0, 2, comm, &req));
		OK(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
		CHECK(!flag, "no receive, no end");
		OK(MPI_Send(&n, 1, MPI_INT, 0, 1, comm));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	} else if (mtest.rank == 0) {
		OK(MPI_Recv(&n, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE));
		OK(MPI_Recv(&n, 1, MPI_INT, 1, 2, comm, MPI_STATUS_IGNORE));
		CHECK(n == 3, "the data");
	}
}

static void buffered(void)
{
	int n = 3 * (20000 + MPI_BSEND_OVERHEAD), out;
	char *space = mtest_alloc(n), *buf = mtest_alloc(20000);
	void *back;

	OK(MPI_Buffer_attach(space, n));
	for (int i = 0; i < 3 && mtest.rank == 1; i++) {
		mtest_fill(buf, 20000, i);
		OK(MPI_Bsend(buf, 20000, MPI_BYTE, 0, i, comm));
	}
	for (int i = 2; i >= 0 && mtest.rank == 0; i--) {
		OK(MPI_Recv(
			buf, 20000, MPI_BYTE, 1, i, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(buf, 20000, i), "buffered message %d", i);
	}
	OK(MPI_Buffer_detach(&back, &out));
	free(space);
	free(buf);
}

/* Every other int, from a persistent send to a persistent receive. */
static void persistent(void)
{
	static int buf[2000];
	MPI_Datatype type;
	MPI_Request req;
	MPI_Status st;
	int n;

	OK(MPI_Type_vector(1000, 1, 2, MPI_INT, &type));
	OK(MPI_Type_commit(&type));
	if (mtest.rank == 1)
		OK(MPI_Send_init(buf, 1, type, 0, 3, comm, &req));
	else if (mtest.rank == 0)
		OK(MPI_Recv_init(buf, 1, type, MPI_ANY_SOURCE, 3, comm, &req));
	for (int i = 0; i < 5 && mtest.rank < 2; i++) {
		for (int k = 0; k < 2000; k++)
			buf[k] = mtest.rank ? i + k : -1;
		OK(MPI_Start(&req));
		OK(MPI_Wait(&req, &st));
		for (int k = 0; k < 2000 && !mtest.rank; k++)
			CHECK(buf[k] == (k % 2 ? -1 : i + k),
				"int %d of round %d is %d", k, i, buf[k]);
		if (mtest.rank)
			continue;
		OK(MPI_Get_count(&st, type, &n));
		CHECK(n == 1 && st.MPI_SOURCE == 1, "one item from rank 1");
	}
	if (mtest.rank < 2)
		OK(MPI_Request_free(&req));
	OK(MPI_Type_free(&type));
}

static void to_self(void)
{
	int in = 0, out = mtest.rank + 77;
	MPI_Request req;
	MPI_Status st;

	OK(MPI_Isend(&out, 1, MPI_INT, mtest.rank, 1, comm, &req));
	OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &st));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	CHECK(in == out && st.MPI_SOURCE == mtest.rank, "to myself");
}

/* ---- communicators ---- */

static void derived(void)
{
	MPI_Comm was = comm, half;
	int n = mtest.size;

	OK(MPI_Comm_dup(was, &comm));
	nic_says(comm, got);
	any_order(false);
	OK(MPI_Comm_disconnect(&comm));
	comm = nic_comm(was, "software");
	any_order(false);
	OK(MPI_Comm_free(&comm));
	OK(MPI_Comm_split(was, mtest.rank % 2, -mtest.rank, &half));
	nic_says(half, got);
	OK(MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_MIN, half));
	CHECK(n == mtest.size, "a collective works on it");
	OK(MPI_Comm_disconnect(&half));
	comm = was;
}

/* Two at once do not see each other's messages. */
static void apart(void)
{
	MPI_Comm other = nic_comm(comm, "nic");
	int a = 1, b = 2;

	if (mtest.rank == 1) {
		OK(MPI_Send(&a, 1, MPI_INT, 0, 1, comm));
		OK(MPI_Send(&b, 1, MPI_INT, 0, 1, other));
	} else if (mtest.rank == 0) {
		a = b = 0;
		OK(MPI_Recv(&b, 1, MPI_INT, 1, MPI_ANY_TAG, other,
			MPI_STATUS_IGNORE));
		OK(MPI_Recv(&a, 1, MPI_INT, 1, MPI_ANY_TAG, comm,
			MPI_STATUS_IGNORE));
		CHECK(a == 1 && b == 2, "each on its own communicator");
	}
	OK(MPI_Comm_disconnect(&other));
}

/* What is left behind ends nothing: the leaving works and says so. */
static void left_behind(void)
{
	MPI_Comm other;
	MPI_Request req[3];
	char *buf = mtest_alloc(100000), small[16];
	int rc;

	for (int i = 0; i < 3; i++) {
		other = nic_comm(comm, "nic");
		OK(MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN));
		if (mtest.rank == 1) {
			OK(MPI_Isend(buf, 10, MPI_BYTE, 0, 1, other, &req[0]));
			OK(MPI_Isend(
				buf, 100000, MPI_BYTE, 0, 2, other, &req[1]));
			OK(MPI_Request_free(&req[1]));
			OK(MPI_Wait(&req[0], MPI_STATUS_IGNORE));
		} else if (mtest.rank == 0) {
			OK(MPI_Irecv(small, 16, MPI_BYTE, 1, 7, other, req));
			OK(MPI_Request_free(req));
		}
		rc = MPI_Comm_disconnect(&other);
		CHECK(mtest.rank != 0 || rc != MPI_SUCCESS,
			"the receiver hears that messages were left");
		CHECK(mtest.rank < 2 || rc == MPI_SUCCESS,
			"who left nothing hears nothing");
	}
	free(buf);
}

/* Tags up to the greatest, and not beyond. */
static void tags(void)
{
	int *ub, flag, n = 5;

	OK(MPI_Comm_get_attr(comm, MPI_TAG_UB, &ub, &flag));
	CHECK(flag && *ub >= 32767, "MPI_TAG_UB is %d", flag ? *ub : -1);
	if (mtest.size > 16 && !strcmp(got, "nic"))
		CHECK(*ub == INT32_MAX >> 1, "30 bits are left: %d", *ub);
	if (mtest.rank == 1) {
		OK(MPI_Send(&n, 1, MPI_INT, 0, *ub, comm));
		if (*ub < INT32_MAX)
			FAILS(MPI_Send(&n, 1, MPI_INT, 0, *ub + 1, comm),
				MPI_ERR_TAG);
	} else if (mtest.rank == 0) {
		n = 0;
		OK(MPI_Recv(&n, 1, MPI_INT, 1, *ub, comm, MPI_STATUS_IGNORE));
		CHECK(n == 5, "the greatest tag");
		if (*ub < INT32_MAX)
			FAILS(MPI_Recv(&n, 1, MPI_INT, 1, *ub + 1, comm,
				      MPI_STATUS_IGNORE),
				MPI_ERR_TAG);
	}
}

static void late(void)
{
	any_order(true);
}

static void in_time(void)
{
	any_order(false);
}

/* One after the other: a wildcard of one must not see the next one's. */
static void all(void)
{
	static void (*const parts[])(void) = { with_tags, any_source, in_time,
		late, large, truncated, probed, probed_short, cancelled,
		cancelled_send, synchronous, buffered, persistent, to_self,
		apart, derived, left_behind };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		parts[i]();
		OK(MPI_Barrier(comm));
	}
}

int main(int argc, char **argv)
{
	const char *only = hints_word(argc, argv, "only=");

	got = hints_word(argc, argv, "got=");
	if (!got)
		got = nic_is_env("WEFT_SHM", "off") && nic_can() ? "nic"
								 : "software";
	nic_record();
	mtest_init(&argc, &argv);
	mtest_need(2);
	comm = nic_comm(MPI_COMM_WORLD, "nic");
	OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	nic_says(comm, got);
	tags();
	if (!only)
		all();
	OK(MPI_Comm_disconnect(&comm));
	nic_record_end();
	return mtest_finish();
}
