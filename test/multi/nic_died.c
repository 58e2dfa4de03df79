/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_died: the last process dies while the network card matches; what only it
 * could have ended ends with an error that names it, the rest goes on
 *
 * nic=off leaves the matching to software: the same holds.
 */
#include "nic.h"

enum { HELD = 40, LARGE = 300000 };

static MPI_Comm comm;
static int last;

static void is_its_end(int rc, const char *what)
{
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int len = 0, named = -1;
	const char *at;

	CHECK(mtest_class(rc) == MPI_ERR_PROC_ABORTED, "%s: %s", what,
		mtest_error(rc));
	if (rc == MPI_SUCCESS)
		return;
	OK(MPI_Error_string(rc, text, &len));
	at = strstr(text, "process ");
	while (at && sscanf(at, "process %d", &named) != 1)
		at = strstr(at + 1, "process ");
	CHECK(named == last, "%s: '%s' names it", what, text);
}

static void wait_end(MPI_Request *req, const char *what)
{
	is_its_end(MPI_Wait(req, MPI_STATUS_IGNORE), what);
}

/* All but the last, without communicators: it is dead in those. */
static void survivors_talk(void)
{
	int to = (mtest.rank + 1) % last;
	int from = (mtest.rank + last - 1) % last;
	char *in = mtest_alloc(LARGE), *out = mtest_alloc(LARGE);
	MPI_Request req;

	for (int i = 0; i < 20; i++) {
		int n = i % 5 ? nic_length(i) : LARGE;

		mtest_fill(out, n, i + mtest.rank);
		OK(MPI_Isend(out, n, MPI_BYTE, to, i, comm, &req));
		OK(MPI_Recv(in, n, MPI_BYTE, from, i, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(in, n, i + from), "message %d", i);
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	}
	free(in);
	free(out);
}

/* Receives and sends that were there before, and what comes later. */
static void survive(void)
{
	static char in[HELD], large[LARGE], out[LARGE];
	MPI_Request req[HELD], more[3];
	MPI_Message message;
	int flag, early = 0;

	for (int i = 0; i < HELD; i++)
		OK(MPI_Irecv(
			&in[i], 1, MPI_BYTE, last, 100 + i, comm, &req[i]));
	OK(MPI_Irecv(
		large, LARGE, MPI_BYTE, last, MPI_ANY_TAG, comm, &more[0]));
	OK(MPI_Issend(out, 1, MPI_BYTE, last, 1, comm, &more[1]));
	OK(MPI_Isend(out, LARGE, MPI_BYTE, last, 2, comm, &more[2]));
	OK(MPI_Send(&early, 0, MPI_INT, last, 0, comm)); /* it may go */
	is_its_end(MPI_Probe(last, 7, comm, MPI_STATUS_IGNORE), "a probe");
	for (int i = 0; i < HELD; i++)
		wait_end(&req[i], "a receive");
	wait_end(&more[0], "a receive of any tag");
	wait_end(&more[1], "a synchronous send");
	wait_end(&more[2], "a long send");
	is_its_end(MPI_Recv(in, 1, MPI_BYTE, last, 3, comm, MPI_STATUS_IGNORE),
		"a later receive");
	is_its_end(MPI_Iprobe(last, 3, comm, &flag, MPI_STATUS_IGNORE),
		"a later look");
	is_its_end(MPI_Mprobe(last, 3, comm, &message, MPI_STATUS_IGNORE),
		"a later matched probe");
	is_its_end(MPI_Ssend(out, 1, MPI_BYTE, last, 3, comm), "a later send");
	survivors_talk();
}

int main(int argc, char **argv)
{
	const char *nic_is = hints_word(argc, argv, "nic=");
	bool is_card = !nic_is && nic_can();
	int n = 0;

	mtest_init(&argc, &argv);
	mtest_need(3);
	last = mtest.size - 1;
	comm = nic_comm_of(MPI_COMM_WORLD, nic_is ? "software" : "nic", true);
	OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	nic_says(comm, is_card ? "nic" : "software");
	OK(MPI_Allreduce(&mtest.rank, &n, 1, MPI_INT, MPI_MAX, comm));
	CHECK(n == last, "all are there");
	for (int i = 0; mtest.rank == last && i < last; i++)
		OK(MPI_Recv(NULL, 0, MPI_INT, i, 0, comm, MPI_STATUS_IGNORE));
	if (mtest.rank == last)
		_exit(5);
	survive();
	MPI_Comm_disconnect(&comm);
	MPI_Finalize();
	return mtest_done();
}
