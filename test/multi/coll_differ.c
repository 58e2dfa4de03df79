/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_differ: members that call different collectives get an error that names
 * both
 *
 * Rank 1 waits for rank 0 in one collective, and rank 0 sends to it in another.
 * The message arrives before the receive is posted, or after it (late=1: rank 0
 * is slow). */
#include "mtest.h"

enum { LONG = 1 << 20 };

static char buf[2][LONG];
static int is_late;

static void check_text(int rc, const char *mine, const char *other)
{
	char text[MPI_MAX_ERROR_STRING] = "", want[128];
	int len;

	snprintf(want, sizeof(want), "%s here met %s of rank 0", mine, other);
	FAILS(rc, MPI_ERR_NOT_SAME);
	OK(MPI_Error_string(rc, text, &len));
	CHECK(strstr(text, want), "the error has the text \"%s\", got \"%s\"",
		want, text);
}

/* rank 0 sends to rank 1 before or after rank 1 posts its receive */
static void line_up(void)
{
	char token = 0;

	if (mtest.rank == 0 && is_late)
		mtest_linger(50);
	if (mtest.rank == 1 && !is_late) /* waits for the message of rank 0 */
		OK(MPI_Recv(&token, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
}

static void sent(void)
{
	char token = 0;

	if (mtest.rank == 0 && !is_late)
		OK(MPI_Send(&token, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD));
}

/* rank 0 calls a reduction to rank 1, rank 1 a broadcast from rank 0 */
static void reduce_meets_bcast(MPI_Comm comm, int len)
{
	line_up();
	if (mtest.rank == 0)
		OK(MPI_Reduce(buf[0], buf[1], len, MPI_CHAR, MPI_MAX, 1, comm));
	sent();
	if (mtest.rank == 1)
		check_text(MPI_Bcast(buf[0], len, MPI_CHAR, 0, comm),
			"MPI_Bcast", "MPI_Reduce");
}

/* rank 0 calls a broadcast, rank 1 a gather */
static void bcast_meets_gather(MPI_Comm comm)
{
	MPI_Request request = MPI_REQUEST_NULL;

	line_up();
	if (mtest.rank == 0)
		OK(MPI_Bcast(buf[0], 8, MPI_CHAR, 0, comm));
	sent();
	if (mtest.rank != 1)
		return;
	OK(MPI_Igather(
		buf[0], 8, MPI_CHAR, buf[1], 8, MPI_CHAR, 1, comm, &request));
	check_text(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Gather",
		"MPI_Bcast");
}

int main(int argc, char **argv)
{
	int one = 1, sum = 0;
	MPI_Comm comm;

	mtest_init(&argc, &argv);
	mtest_need(2);
	is_late = (int)mtest_arg(argc, argv, "late", 0);
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	reduce_meets_bcast(comm, 8);
	/* With late=0, rank 0 would wait in the rendezvous for rank 1, which
	 * waits in line_up() for rank 0. */
	if (is_late)
		reduce_meets_bcast(comm, LONG);
	bcast_meets_gather(comm);
	OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
	CHECK(sum == mtest.size, "the communicator works on");
	OK(MPI_Comm_free(&comm));
	return mtest_finish();
}
