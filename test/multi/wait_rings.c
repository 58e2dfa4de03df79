/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_rings: calls that wait for each other in a cycle are reported and end
 *
 * Needs WEFT_STALL_WARN=1 and WEFT_DEADLOCK=error. Two processes. In each form
 * (a call of the table below), both processes wait for each other, on a
 * communicator for this form. Both calls report the wait and end with an error
 * within seconds.
 *
 * from=, to=  selects forms by their number
 * dup=1       only this case: rank 1 duplicates MPI_COMM_WORLD while rank 0 is
 *             in MPI_Finalize. The error is fatal
 * late=1      also tests waits for a process that is only late. These waits are
 *             reported, too, and succeed
 */
#include "mtest.h"

#include "output.h"

enum { BIG = 1 << 20 };

static MPI_Comm comm;
static int other, one;
static char *big;

static int face_recv(void)
{
	return MPI_Recv(&one, 1, MPI_INT, other, 5, comm, MPI_STATUS_IGNORE);
}

static int face_any(void)
{
	return MPI_Recv(
		&one, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, MPI_STATUS_IGNORE);
}

static int face_ssend(void)
{
	return MPI_Ssend(&one, 1, MPI_INT, other, 6, comm);
}

static int face_send(void)
{
	return MPI_Send(big, BIG, MPI_CHAR, other, 6, comm);
}

static int face_wait(void)
{
	MPI_Request req;

	MPI_Irecv(&one, 1, MPI_INT, other, 7, comm, &req);
	return MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static int face_waitall(void)
{
	MPI_Request reqs[2];

	MPI_Irecv(&one, 1, MPI_INT, other, 8, comm, &reqs[0]);
	reqs[1] = MPI_REQUEST_NULL;
	return MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
}

static int face_waitany(void)
{
	MPI_Request reqs[2];
	int rc, index;

	MPI_Irecv(&one, 1, MPI_INT, other, 9, comm, &reqs[0]);
	MPI_Irecv(&one, 1, MPI_INT, other, 10, comm, &reqs[1]);
	rc = MPI_Waitany(2, reqs, &index, MPI_STATUS_IGNORE);
	for (int i = 0; i < 2; i++)
		if (reqs[i] != MPI_REQUEST_NULL) {
			MPI_Cancel(&reqs[i]);
			MPI_Wait(&reqs[i], MPI_STATUS_IGNORE);
		}
	return rc;
}

static int face_probe(void)
{
	return MPI_Probe(other, 11, comm, MPI_STATUS_IGNORE);
}

/* A message from the attached buffer that the other process never receives. */
static int buffered(int (*wait)(void))
{
	int len = BIG + MPI_BSEND_OVERHEAD, size = 0, rc;
	char *buffer = malloc((size_t)len);
	void *detached = NULL;

	OK(MPI_Buffer_attach(buffer, len));
	OK(MPI_Bsend(big, BIG, MPI_CHAR, other, 12, comm));
	rc = wait ? wait() : MPI_Buffer_detach(&detached, &size);
	CHECK(!detached, "a failed call leaves the buffer attached");
	OK(MPI_Buffer_detach(&detached, &size));
	CHECK(detached == buffer, "the second call detaches the buffer");
	free(buffer);
	return rc;
}

static int face_detach(void)
{
	return buffered(NULL);
}

static int face_flush(void)
{
	return buffered(MPI_Buffer_flush);
}

static int wrong_roots(void)
{
	return MPI_Bcast(&one, 1, MPI_INT, other, comm);
}

static int recv_and_bcast(void)
{
	return mtest.rank ? MPI_Bcast(&one, 1, MPI_INT, 0, comm) : face_recv();
}

/* Rank 0 waits in its second agreement while its first one is in progress. Rank
 * 1 waits for a message. */
static int recv_and_agree(void)
{
	static int flags[2];
	static MPI_Request request;

	if (mtest.rank)
		return face_recv();
	OK(MPIX_Comm_iagree(comm, &flags[0], &request));
	return MPIX_Comm_agree(comm, &flags[1]);
}

static const struct {
	const char *call, *what;
	int (*fn)(void);
} forms[] = {
	{ "MPI_Recv", "a message from rank 1 with tag 5", face_recv },
	{ "MPI_Recv", "a message from any source with tag 5", face_any },
	{ "MPI_Ssend", "rank 1 to receive 4 bytes with tag 6", face_ssend },
	{ "MPI_Send", "rank 1 to receive 1048576 bytes", face_send },
	{ "MPI_Wait", "a message from rank 1 with tag 7", face_wait },
	{ "MPI_Waitall", "a message from rank 1 with tag 8", face_waitall },
	{ "MPI_Waitany", "a message from rank 1 with tag 9", face_waitany },
	{ "MPI_Probe", "a message from rank 1 with tag 11", face_probe },
	{ "MPI_Bcast", "others to take part", wrong_roots },
	{ "MPI_Recv", "rank 1 (process 1) is in MPI_Bcast", recv_and_bcast },
	{ "MPI_Buffer_detach", "rank 1 to receive 1048576 bytes", face_detach },
	{ "MPI_Buffer_flush", "rank 1 to receive 1048576 bytes", face_flush },
	/* the last form: its agreement stays in progress, so no later ring is
	 * proven */
	{ "MPIX_Comm_agree", "others to take part", recv_and_agree },
};

static void check_words(const char *call, const char *what)
{
	char text[128];

	if (mtest.rank)
		return;
	snprintf(text, sizeof(text), "MPI-WAIT %s has waited", call);
	CHECK(output_count(text) == 1 || output_count("-CYCLE") > 0,
		"%s is reported once", call);
	if (output_count(text))
		CHECK(output_count(what) >= 1, "the report of %s has \"%s\"",
			call, what);
}

static void ring(size_t i)
{
	double began;
	int rc;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	output_capture();
	began = MPI_Wtime();
	rc = forms[i].fn();
	output_restore();
	CHECK(rc != MPI_SUCCESS && mtest_class(rc) != MPI_ERR_PENDING,
		"%zu: %s ends with an error, got %s", i, forms[i].call,
		mtest_error(rc));
	CHECK(MPI_Wtime() - began < MTEST_SOON_S, "the wait ends after %.1f s",
		MPI_Wtime() - began);
	check_words(forms[i].call, forms[i].what);
	CHECK(output_count("-DEADLOCK") == 1, "%zu: the ring is reported", i);
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* The process id of rank 0. */
static int pid_of(void)
{
	int pid = getpid();

	OK(MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD));
	return pid;
}

static void poll_late(bool is_probe)
{
	const char *what =
		is_probe ? "MPI-POLL MPI_Iprobe" : "MPI-POLL MPI_Test";
	int flag = 0, pid = pid_of();
	MPI_Request req;

	if (mtest.rank) {
		output_wait_from(pid, what); /* makes no MPI call meanwhile */
		OK(MPI_Send(&one, 1, MPI_INT, 0, 12, MPI_COMM_WORLD));
		return;
	}
	output_capture();
	if (!is_probe)
		OK(MPI_Irecv(&one, 1, MPI_INT, 1, 12, MPI_COMM_WORLD, &req));
	while (!flag)
		if (is_probe)
			OK(MPI_Iprobe(1, 12, MPI_COMM_WORLD, &flag,
				MPI_STATUS_IGNORE));
		else
			OK(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
	output_restore();
	if (is_probe)
		OK(MPI_Recv(&one, 1, MPI_INT, 1, 12, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	CHECK(output_count(is_probe ? "MPI-POLL MPI_Iprobe"
				    : "MPI-POLL MPI_Test") == 1,
		"a process that polls reports it");
	CHECK(output_count("it computes, or is stopped") >= 1,
		"the report names a process that makes no progress");
}

static void allreduce_late(void)
{
	int sum, pid = pid_of();

	if (mtest.rank)
		output_wait_from(pid, "MPI-WAIT MPI_Allreduce");
	else
		output_capture();
	OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	if (mtest.rank)
		return;
	output_restore();
	CHECK(output_count("MPI-WAIT MPI_Allreduce has waited") == 1,
		"the wait of a collective is reported");
	CHECK(output_count("rank 1 (process 1) is not answering") == 1,
		"the report names the missing process");
	CHECK(output_count("DEADLOCK") == 0,
		"a process that is late is not reported as a deadlock");
}

int main(int argc, char **argv)
{
	int from = mtest_arg(argc, argv, "from", 0);
	int to = mtest_arg(argc, argv, "to", sizeof(forms) / sizeof(forms[0]));

	mtest_init(&argc, &argv);
	other = !mtest.rank;
	if (mtest_arg(argc, argv, "dup", 0)) {
		OK(MPI_Comm_set_errhandler(
			MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
		if (mtest.rank)
			OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
		return MPI_Finalize() != MPI_SUCCESS;
	}
	big = calloc(1, BIG);
	for (int i = from; i < to; i++)
		ring((size_t)i);
	if (mtest_arg(argc, argv, "late", 0)) {
		poll_late(false);
		poll_late(true);
		allreduce_late();
	}
	free(big);
	return mtest_finish();
}
