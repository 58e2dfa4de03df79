/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_faults: programs that leave a communicator too early: each unfinished
 * operation is reported, the process at fault gets an error, and no process
 * hangs or crashes
 *
 * fault=N is a line of the table below; how=1 leaves by MPI_Comm_disconnect,
 * how=2 by MPI_Finalize. fault=0: the process leaves with the session open.
 */
#include "session.h"

#include "output.h"

enum { BIG = 4 << 20, MANY = 12 };

static char *big, *room;
static int in[MANY], word = 5;
static MPI_Message msg;
static MPI_Request req;

/* ---- the faults; rank 1 sends, rank 0 receives ---- */

static void pending_receive(MPI_Comm comm)
{
	if (mtest.rank == 0)
		OK(MPI_Irecv(in, 1, MPI_INT, 1, 7, comm, &req));
}

static void unreceived_handle(MPI_Comm comm)
{
	if (mtest.rank == 1)
		OK(MPI_Send(&word, 1, MPI_INT, 0, 7, comm));
	else
		OK(MPI_Mprobe(1, 7, comm, &msg, MPI_STATUS_IGNORE));
}

static void unreceived_message(MPI_Comm comm)
{
	if (mtest.rank == 1)
		OK(MPI_Send(&word, 1, MPI_INT, 0, 7, comm));
}

static void active_receive(MPI_Comm comm)
{
	if (mtest.rank == 0) {
		OK(MPI_Recv_init(in, 1, MPI_INT, 1, 7, comm, &req));
		OK(MPI_Start(&req));
	}
}

static void unmatched_send(MPI_Comm comm)
{
	if (mtest.rank == 1)
		OK(MPI_Isend(big, BIG, MPI_CHAR, 0, 7, comm, &req));
}

static void big_handle(MPI_Comm comm)
{
	if (mtest.rank == 1)
		OK(MPI_Isend(big, BIG, MPI_CHAR, 0, 7, comm, &req));
	else
		OK(MPI_Mprobe(1, 7, comm, &msg, MPI_STATUS_IGNORE));
}

static void buffered_send(MPI_Comm comm)
{
	if (mtest.rank == 1) {
		OK(MPI_Buffer_attach(room, BIG + MPI_BSEND_OVERHEAD));
		OK(MPI_Bsend(big, BIG, MPI_CHAR, 0, 7, comm));
	}
}

static void freed_send(MPI_Comm comm)
{
	unmatched_send(comm);
	if (mtest.rank == 1)
		OK(MPI_Request_free(&req));
}

static void to_myself(MPI_Comm comm)
{
	if (mtest.rank == 1)
		OK(MPI_Issend(&word, 1, MPI_INT, 1, 7, comm, &req));
}

static void many(MPI_Comm comm)
{
	if (mtest.rank == 1)
		OK(MPI_Send(&word, 1, MPI_INT, 0, 99, comm));
	for (int i = 0; mtest.rank == 0 && i < MANY; i++)
		OK(MPI_Irecv(&in[i], 1, MPI_INT, 1, 20 + i, comm, &req));
}

static void active_partitioned(MPI_Comm comm)
{
	if (mtest.rank == 0) {
		OK(MPI_Precv_init(
			in, 2, 1, MPI_INT, 1, 7, comm, MPI_INFO_NULL, &req));
		OK(MPI_Start(&req));
	}
}

static void lonely_barrier(MPI_Comm comm)
{
	if (mtest.rank == 0)
		OK(MPI_Ibarrier(comm, &req));
}

static void lonely_bcast(MPI_Comm comm)
{
	if (mtest.rank == 1)
		OK(MPI_Ibcast(big, BIG, MPI_CHAR, 1, comm, &req));
}

static void active_done(MPI_Comm comm)
{
	if (mtest.rank == 1) {
		OK(MPI_Send(&word, 1, MPI_INT, 0, 7, comm));
	} else {
		OK(MPI_Recv_init(in, 1, MPI_INT, 1, 7, comm, &req));
		OK(MPI_Start(&req));
	}
}

/* The blocking send must fail, because its receiver closes. */
static void blocking_send(MPI_Comm comm)
{
	int rc = MPI_ERR_PENDING;

	if (mtest.rank == 1)
		rc = MPI_Send(big, BIG, MPI_CHAR, 0, 7, comm);
	CHECK(mtest_class(rc) == MPI_ERR_PENDING,
		"S33: finalize with a pending send reports it, got %s",
		mtest_error(rc));
	CHECK(mtest.rank != 1 ||
			strstr(mtest_error(rc), " to rank 0 is pending for "),
		"the text names the call, the peer and the time: %s",
		mtest_error(rc));
}

static void blocking_bcast(MPI_Comm comm)
{
	int rc = MPI_ERR_PENDING;

	if (mtest.rank == 1)
		rc = MPI_Bcast(big, BIG, MPI_CHAR, 1, comm);
	CHECK(mtest_class(rc) == MPI_ERR_PENDING,
		"S33: a broadcast of one member ends with an error, got %s",
		mtest_error(rc));
}

/* Rank 0 exits with the session open, once rank 1 has the communicator too. */
static void early_exit(MPI_Comm comm)
{
	if (mtest.rank == 1)
		OK(MPI_Send(&word, 1, MPI_INT, 0, 7, comm));
	else
		OK(MPI_Recv(&word, 1, MPI_INT, 1, 7, comm, MPI_STATUS_IGNORE));
}

/* ---- waits that must not be reported as a cycle ---- */

static void inactive(MPI_Comm comm)
{
	MPI_Request none, part;

	OK(MPI_Recv_init(in, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, &none));
	OK(MPI_Send_init(big, BIG, MPI_CHAR, 0, 7, comm, &none));
	OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &none));
	if (mtest.rank == 1)
		OK(MPI_Psend_init(
			in, 2, 1, MPI_INT, 0, 7, comm, MPI_INFO_NULL, &part));
}

/* The message is sent before the receiver leaves, and matches a receive whose
 * request was freed. */
static void freed_receive(MPI_Comm comm)
{
	if (mtest.rank == 0) {
		OK(MPI_Irecv(room, BIG, MPI_CHAR, 1, 7, comm, &req));
		OK(MPI_Request_free(&req));
	} else {
		OK(MPI_Isend(big, BIG, MPI_CHAR, 0, 7, comm, &req));
		OK(MPI_Request_free(&req));
	}
	OK(MPI_Barrier(comm));
}

/* The sender cancels its message while the receiver closes. */
static void cancelled(MPI_Comm comm)
{
	if (mtest.rank == 1) {
		MPI_Status status;
		int flag = 0;

		OK(MPI_Isend(big, BIG, MPI_CHAR, 0, 7, comm, &req));
		mtest_linger(200);
		OK(MPI_Cancel(&req));
		OK(MPI_Wait(&req, &status));
		OK(MPI_Test_cancelled(&status, &flag));
		CHECK(flag, "S133: the send is cancelled while the receiver "
			    "finalizes");
	}
}

static const struct fault {
	const char *claim;
	void (*make)(MPI_Comm comm);
	int n[2];	     /* number of texts that rank 0 and rank 1 print */
	int is_fault[2];     /* rank 0 and rank 1 end with an error */
	const char *said[2]; /* the text that rank 0 and rank 1 must print */
} faults[] = {
	{ "S33: a pending receive", pending_receive, { 1, 0 }, { 1, 0 },
		{ "a receive from rank 1, tag 7 (4 bytes) never matched",
			"" } },
	{ "S35: a message handle", unreceived_handle, { 1, 0 }, { 1, 0 },
		{ "a probed message from rank 1, tag 7 (4 bytes)", "" } },
	{ "S33, S34: a message without a receive", unreceived_message, { 1, 0 },
		{ 1, 0 },
		{ "a message from rank 1, tag 7 (4 bytes) never received",
			"" } },
	{ "S37: an active persistent receive", active_receive, { 1, 0 },
		{ 1, 0 }, { "a persistent receive from rank 1, tag 7", "" } },
	{ "S33: a send without a receive", unmatched_send, { 1, 1 }, { 1, 1 },
		{ "a message from rank 1, tag 7 (4194304 bytes)",
			"a send to rank 0, tag 7 (4194304 bytes)" } },
	{ "S35: the handle of a long message", big_handle, { 1, 1 }, { 1, 1 },
		{ "a probed message from rank 1, tag 7 (4194304 bytes)",
			"a send to rank 0, tag 7 (4194304 bytes)" } },
	{ "S33: a buffered send without a receive", buffered_send, { 1, 1 },
		{ 1, 0 },
		{ "a message from rank 1, tag 7 (4194304 bytes)",
			"a buffered send to rank 0, tag 7" } },
	{ "S36: a freed send without a receive", freed_send, { 1, 1 }, { 1, 1 },
		{ "a message from rank 1, tag 7", "a send to rank 0, tag 7" } },
	{ "S33: a message to myself", to_myself, { 0, 2 }, { 0, 1 },
		{ "", "rank 1, tag 7 (4 bytes)" } },
	{ "S33: more receives than the report lists", many, { 9, 0 }, { 1, 0 },
		{ "with 5 more such messages or requests", "" } },
	{ "S37: an active partitioned receive", active_partitioned, { 1, 0 },
		{ 1, 0 }, { "a persistent receive from rank 1, tag 7", "" } },
	{ "S33: a barrier of one", lonely_barrier, { 1, 1 }, { 1, 1 },
		{ "a collective operation started and not completed",
			"data from rank 0 of a collective" } },
	{ "S33: a broadcast without the other member", lonely_bcast, { 1, 1 },
		{ 1, 1 },
		{ "data from rank 1 of a collective",
			"a collective operation started and not completed" } },
	{ "S37: a persistent receive never completed", active_done, { 1, 0 },
		{ 1, 0 }, { "a persistent receive from rank 1, tag 7", "" } },
	{ "S119: a blocking send without a receive", blocking_send, { 1, 0 },
		{ 1, 0 },
		{ "a message from rank 1, tag 7 (4194304 bytes)", "" } },
	{ "S34: a broadcast that the other member does not call",
		blocking_bcast, { 1, 0 }, { 1, 0 },
		{ "data from rank 1 of a collective", "" } },
	{ "S107: inactive persistent requests", inactive, { 0, 0 }, { 0, 0 },
		{ "", "" } },
	{ "S36, S126: a freed receive", freed_receive, { 0, 0 }, { 0, 0 },
		{ "", "" } },
	{ "S133: a message withdrawn", cancelled, { 0, 0 }, { 0, 0 },
		{ "", "" } },
};

static int leave(int how, MPI_Session *session, MPI_Comm *comm)
{
	if (how == 1)
		return MPI_Comm_disconnect(comm);
	if (how == 2)
		return MPI_Finalize();
	return MPI_Session_finalize(session);
}

int main(int argc, char **argv)
{
	MPI_Session session = MPI_SESSION_NULL;
	const struct fault *f;
	int fault, how, rc;
	MPI_Comm comm;

	mtest_start(argv[0]);
	fault = (int)mtest_arg(argc, argv, "fault", 0);
	how = (int)mtest_arg(argc, argv, "how", 0);
	big = mtest_alloc(BIG);
	room = mtest_alloc(BIG + MPI_BSEND_OVERHEAD);
	if (how == 2) {
		mtest_init(&argc, &argv);
		comm = MPI_COMM_WORLD;
	} else {
		session = session_open();
		session_set_rank(session);
		comm = session_comm(session, "mpi://WORLD", "fault");
	}
	if (fault == 0) {
		early_exit(comm);
		return mtest_done();
	}
	f = &faults[fault - 1];
	f->make(comm);
	output_capture();
	rc = leave(how, &session, &comm);
	output_restore();
	CHECK((rc != MPI_SUCCESS) == f->is_fault[mtest.rank], "%s: %s, got %s",
		f->claim, f->is_fault[mtest.rank] ? "an error" : "no error",
		mtest_error(rc));
	CHECK(rc == MPI_SUCCESS || mtest_class(rc) == MPI_ERR_PENDING,
		"%s: the error has the expected class, got %s", f->claim,
		mtest_error(rc));
	CHECK(output_count("SESSION-LEFT") == f->n[mtest.rank],
		"%s: %d reports, got %d", f->claim, f->n[mtest.rank],
		output_count("SESSION-LEFT"));
	CHECK(strstr(output_text, f->said[mtest.rank]) != NULL,
		"%s: the report has \"%s\"", f->claim, f->said[mtest.rank]);
	CHECK(output_count("SESSION-LEFT") == 0 ||
			strstr(output_text, "communicator \""),
		"%s: the report has the communicator's name", f->claim);
	if (how == 1) {
		CHECK(comm == MPI_COMM_NULL, "S101: the handle is null");
		OK(MPI_Session_finalize(&session));
	}
	CHECK(session == MPI_SESSION_NULL, "S30: the session handle is null");
	return mtest_done();
}
