/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_vcis: a session with a VCI of its own works together with other sessions
 *
 * provider=P the session also requests this provider
 */
#include "hints.h"

enum { LONG = 300000, ROUNDS = 50 };

static MPI_Session open_dedicated(const char *provider)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "weft_vci", "dedicated"));
	if (provider)
		OK(MPI_Info_set(info, "weft_provider", provider));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	return session;
}

static bool is_dedicated(MPI_Comm comm)
{
	char value[32] = "";
	int flag = 0, len = sizeof(value);
	MPI_Info info;

	OK(MPI_Comm_get_info(comm, &info));
	OK(MPI_Info_get_string(info, "weft_vci", &len, value, &flag));
	OK(MPI_Info_free(&info));
	return flag && !strcmp(value, "dedicated");
}

/* Exchanges short and long messages on both communicators at the same time. */
static void both(MPI_Comm a, MPI_Comm b)
{
	static const int lens[] = { 0, 8, 3000, LONG };
	char *out = mtest_alloc(LONG), *in = mtest_alloc(LONG);
	char *in2 = mtest_alloc(LONG);
	int to = (mtest.rank + 1) % mtest.size;
	int from = (mtest.rank + mtest.size - 1) % mtest.size;

	for (int i = 0; i < 4; i++) {
		MPI_Request reqs[4];
		int index;

		mtest_fill(out, lens[i], mtest.rank);
		OK(MPI_Irecv(in, lens[i], MPI_BYTE, from, i, a, &reqs[0]));
		OK(MPI_Irecv(in2, lens[i], MPI_BYTE, from, i, b, &reqs[1]));
		OK(MPI_Isend(out, lens[i], MPI_BYTE, to, i, b, &reqs[2]));
		OK(MPI_Isend(out, lens[i], MPI_BYTE, to, i, a, &reqs[3]));
		if (i % 2)
			for (int k = 0; k < 4; k++)
				OK(MPI_Waitany(
					4, reqs, &index, MPI_STATUS_IGNORE));
		else
			OK(MPI_Waitall(4, reqs, MPI_STATUSES_IGNORE));
		CHECK(mtest_same(in, lens[i], from),
			"%d bytes on the first communicator arrive", lens[i]);
		CHECK(mtest_same(in2, lens[i], from),
			"%d bytes on the second communicator arrive", lens[i]);
	}
	free(out);
	free(in);
	free(in2);
}

/* A process that waits for a message on b makes progress on its long send on a.
 */
static void owes_progress(MPI_Comm a, MPI_Comm b)
{
	char *buf = mtest_alloc(LONG);
	MPI_Request req;
	int token = 0;

	mtest_fill(buf, LONG, 3);
	if (mtest.rank == 0) {
		OK(MPI_Isend(buf, LONG, MPI_BYTE, 1, 7, a, &req));
		OK(MPI_Recv(&token, 1, MPI_INT, 1, 8, b, MPI_STATUS_IGNORE));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		CHECK(token == 1,
			"the answer arrived on the other communicator, %d",
			token);
	} else if (mtest.rank == 1) {
		memset(buf, 0, LONG);
		OK(MPI_Recv(buf, LONG, MPI_BYTE, 0, 7, a, MPI_STATUS_IGNORE));
		CHECK(mtest_same(buf, LONG, 3),
			"a long message of %d bytes arrives", LONG);
		token = 1;
		OK(MPI_Send(&token, 1, MPI_INT, 0, 8, b));
	}
	free(buf);
}

/* Sends a message in each direction, and duplicates an intercommunicator. */
static void across(MPI_Comm inter, int low)
{
	int mine = low ? 10 : 20, theirs = 0, rank, n;
	MPI_Comm dup;

	OK(MPI_Comm_dup(inter, &dup));
	CHECK(is_dedicated(dup),
		"a duplicate of the intercommunicator is dedicated");
	OK(MPI_Comm_rank(dup, &rank));
	OK(MPI_Comm_remote_size(dup, &n));
	if (rank < n)
		OK(MPI_Sendrecv(&mine, 1, MPI_INT, rank, 3, &theirs, 1, MPI_INT,
			rank, 3, dup, MPI_STATUS_IGNORE));
	CHECK(rank >= n || theirs == 30 - mine,
		"the word of the remote process arrives: %d", theirs);
	OK(MPI_Comm_disconnect(&dup));
}

static void derived(MPI_Comm comm)
{
	MPI_Comm dup, half, inter, merged;
	int low = mtest.rank < mtest.size / 2, n = 0;

	OK(MPI_Comm_dup(comm, &dup));
	session_works(dup, "a duplicate");
	CHECK(is_dedicated(dup), "a duplicate uses the VCI of its parent");
	OK(MPI_Comm_split(dup, low, -mtest.rank, &half));
	session_works(half, "a half");
	OK(MPI_Intercomm_create(half, 0, dup,
		low ? mtest.size - 1 : mtest.size / 2 - 1, 5, &inter));
	OK(MPI_Comm_remote_size(inter, &n));
	CHECK(n == (low ? mtest.size - mtest.size / 2 : mtest.size / 2),
		"the remote size is right, got %d", n);
	CHECK(is_dedicated(inter),
		"both sides of the intercommunicator are dedicated");
	across(inter, low);
	OK(MPI_Intercomm_merge(inter, low, &merged));
	session_works(merged, "both sides");
	CHECK(is_dedicated(merged),
		"the merged communicator uses the VCI of the sides");
	OK(MPI_Comm_free(&merged));
	OK(MPI_Comm_disconnect(&inter));
	OK(MPI_Comm_free(&half));
	OK(MPI_Comm_disconnect(&dup));
}

/* Only some processes have a dedicated VCI. The communicator then uses the
 * default VCI. */
static void mixed(MPI_Session own, MPI_Session shared, int odd_ones)
{
	MPI_Session mine = mtest.rank % 2 == odd_ones ? own : shared;
	MPI_Comm comm = session_comm(mine, "mpi://WORLD", "mixed");

	session_works(comm, "some on their own VCIs");
	if (mtest.size > 1)
		CHECK(!is_dedicated(comm),
			"the communicator uses the default VCI");
	both(comm, comm);
	OK(MPI_Comm_disconnect(&comm));
}

int main(int argc, char **argv)
{
	const char *provider = hints_word(argc, argv, "provider=");
	MPI_Session shared, own;
	MPI_Comm a, b;

	mtest_start(argv[0]);
	shared = session_open();
	session_set_rank(shared);
	own = open_dedicated(provider);
	hints_has(shared, "weft_vci", "shared");
	hints_has(own, "weft_vci", "dedicated");
	if (provider)
		hints_has(own, "weft_provider", provider);
	a = session_comm(shared, "mpi://WORLD", "on the shared VCI");
	b = session_comm(own, "mpi://WORLD", "on its own VCI");
	session_works(a, "shared");
	session_works(b, "dedicated");
	CHECK(!is_dedicated(a) && is_dedicated(b),
		"each communicator uses its own VCI");
	both(a, b);
	if (mtest.size > 1) {
		owes_progress(a, b);
		owes_progress(b, a);
		derived(b);
	}
	mixed(own, shared, 0);
	mixed(own, shared, 1);
	OK(MPI_Comm_disconnect(&a));
	/* MPI_Session_finalize() disconnects b */
	session_close(&own);
	for (int i = 0; i < ROUNDS; i++) {
		own = open_dedicated(provider);
		hints_has(own, "weft_vci", "dedicated");
		if (i % 10 == 0) {
			b = session_comm(own, "mpi://WORLD", "again");
			session_works(b, "again");
			OK(MPI_Comm_disconnect(&b));
		}
		session_close(&own);
	}
	session_close(&shared);
	return mtest_done();
}
