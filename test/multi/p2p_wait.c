/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_wait: wait and test for one, any, some and all requests, null and
 * inactive requests included */
#include "mtest.h"

enum { N = 12 };

static int in[N], out[N];
static MPI_Request req[N];

static void check_empty(const MPI_Status *st, const char *what)
{
	int n = -1, cancelled = -1;

	CHECK(st->MPI_SOURCE == MPI_ANY_SOURCE,
		"%s: the status has the empty source", what);
	CHECK(st->MPI_TAG == MPI_ANY_TAG, "%s: the status has the empty tag",
		what);
	CHECK(st->MPI_ERROR == MPI_SUCCESS, "%s: the status has no error",
		what);
	OK(MPI_Get_count(st, MPI_INT, &n));
	CHECK(n == 0, "%s: the status has the count 0, got %d", what, n);
	OK(MPI_Test_cancelled(st, &cancelled));
	CHECK(!cancelled, "%s: an empty status is not cancelled", what);
}

static void null_requests(void)
{
	MPI_Request none[3] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL,
		MPI_REQUEST_NULL };
	int index[3], count = -7, flag = 0, which = -7;
	MPI_Status st[3];

	st[0].MPI_ERROR = MPI_ERR_OTHER;
	OK(MPI_Wait(&none[0], st));
	check_empty(st, "wait");
	st[0].MPI_ERROR = MPI_ERR_OTHER;
	OK(MPI_Request_get_status(none[0], &flag, st));
	CHECK(flag, "a null request is complete");
	check_empty(st, "get_status");
	OK(MPI_Test(&none[0], &flag, st));
	CHECK(flag, "test of a null request is true");
	check_empty(st, "test");
	OK(MPI_Waitall(3, none, st));
	check_empty(&st[2], "waitall");
	flag = 0;
	OK(MPI_Testall(3, none, &flag, st));
	CHECK(flag, "testall of null requests is true");
	OK(MPI_Waitany(3, none, &which, st));
	CHECK(which == MPI_UNDEFINED,
		"waitany of null requests returns MPI_UNDEFINED");
	check_empty(st, "waitany");
	flag = 0;
	OK(MPI_Testany(3, none, &which, &flag, st));
	CHECK(flag && which == MPI_UNDEFINED,
		"testany of null requests is true");
	OK(MPI_Waitsome(3, none, &count, index, st));
	CHECK(count == MPI_UNDEFINED,
		"waitsome of null requests returns MPI_UNDEFINED");
	OK(MPI_Testsome(3, none, &count, index, st));
	CHECK(count == MPI_UNDEFINED,
		"testsome of null requests returns MPI_UNDEFINED");
	OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
	flag = 0;
	OK(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
	CHECK(flag, "testall of no requests is true");
	OK(MPI_Waitany(0, NULL, &which, MPI_STATUS_IGNORE));
	CHECK(which == MPI_UNDEFINED,
		"waitany of no requests returns MPI_UNDEFINED");
	OK(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, st));
	CHECK(flag, "get_status of a null request is true");
	check_empty(st, "get_status");
}

static void inactive_requests(void)
{
	MPI_Request idle[2];
	int flag = 0, which = 0, index[2], count = 0, rc;
	MPI_Status st[2];

	rc = MPI_Recv_init(in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &idle[0]);
	if (mtest_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION)
		return;
	OK(rc);
	OK(MPI_Send_init(out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &idle[1]));
	OK(MPI_Wait(&idle[0], st));
	check_empty(st, "wait, inactive");
	CHECK(idle[0] != MPI_REQUEST_NULL, "an inactive request is kept");
	OK(MPI_Test(&idle[0], &flag, st));
	CHECK(flag, "test of an inactive request is true");
	OK(MPI_Waitany(2, idle, &which, st));
	CHECK(which == MPI_UNDEFINED,
		"waitany of inactive requests returns MPI_UNDEFINED");
	OK(MPI_Waitsome(2, idle, &count, index, st));
	CHECK(count == MPI_UNDEFINED,
		"waitsome of inactive requests returns MPI_UNDEFINED");
	OK(MPI_Waitall(2, idle, st));
	OK(MPI_Request_free(&idle[0]));
	OK(MPI_Request_free(&idle[1]));
	CHECK(idle[0] == MPI_REQUEST_NULL, "a freed request is null");
}

/* Rank 0 posts a receive from rank 1 into in[i] for each i, but leaves every
 * fourth request null. */
static void post(void)
{
	memset(in, -1, sizeof(in));
	for (int i = 0; i < N; i++) {
		req[i] = MPI_REQUEST_NULL;
		if (i % 4 != 3)
			OK(MPI_Irecv(&in[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD,
				&req[i]));
	}
}

/* Rank 1 sends the messages from the last to the first, each after a go message
 * of rank 0. */
static void serve(void)
{
	int go;

	for (int i = N - 1; i >= 0; i--) {
		if (i % 4 == 3)
			continue;
		OK(MPI_Recv(&go, 1, MPI_INT, 0, 99, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		out[i] = i * 11;
		OK(MPI_Send(&out[i], 1, MPI_INT, 1 - mtest.rank, i,
			MPI_COMM_WORLD));
	}
}

static void go(int n)
{
	for (int i = 0; i < n; i++)
		OK(MPI_Send(&n, 1, MPI_INT, 1, 99, MPI_COMM_WORLD));
}

static void check_slot(int i, const MPI_Status *st)
{
	int n = -1;

	OK(MPI_Get_count(st, MPI_INT, &n));
	CHECK(in[i] == i * 11, "slot %d has its message, got %d", i, in[i]);
	CHECK(st->MPI_TAG == i && st->MPI_SOURCE == 1 && n == 1,
		"the status of slot %d is right", i);
	CHECK(req[i] == MPI_REQUEST_NULL, "slot %d is null again", i);
}

static void by_any(bool testing)
{
	int which = -1, flag = 0;
	MPI_Status st;

	post();
	for (int i = N - 1; i >= 0; i--) {
		if (i % 4 == 3)
			continue;
		flag = 1;
		OK(MPI_Testany(N, req, &which, &flag, &st));
		CHECK(!flag, "no request is complete before its go message");
		CHECK(which == MPI_UNDEFINED,
			"without a flag the index is undefined");
		go(1);
		flag = 0;
		if (!testing)
			OK(MPI_Waitany(N, req, &which, &st));
		while (testing && !flag)
			if (!OK(MPI_Testany(N, req, &which, &flag, &st)))
				break;
		CHECK(which == i, "request %d completes first, got %d", i,
			which);
		check_slot(i, &st);
	}
	OK(MPI_Waitany(N, req, &which, &st));
	CHECK(which == MPI_UNDEFINED, "all requests are complete");
}

static void by_some(bool testing)
{
	int left = N - N / 4, index[N], count = 0;
	MPI_Status st[N];

	post();
	OK(MPI_Testsome(N, req, &count, index, st));
	CHECK(count == 0, "testsome before the go messages returns 0");
	go(left);
	while (left > 0) {
		if (testing)
			OK(MPI_Testsome(N, req, &count, index, st));
		else
			OK(MPI_Waitsome(N, req, &count, index, st));
		if (!CHECK(count != MPI_UNDEFINED,
			    "some requests are still active"))
			break;
		CHECK(testing || count > 0,
			"waitsome returns at least one request");
		for (int k = 0; k < count; k++)
			check_slot(index[k], &st[k]);
		left -= count;
	}
	OK(MPI_Testsome(N, req, &count, index, st));
	CHECK(count == MPI_UNDEFINED,
		"testsome of completed requests returns MPI_UNDEFINED");
}

static void by_all(bool testing)
{
	MPI_Status st[N];
	int flag = 1, rest = N - N / 4 - 1;

	post();
	go(1);
	OK(MPI_Testall(N, req, &flag, st));
	CHECK(!flag, "testall is false while a message is missing");
	CHECK(req[0] != MPI_REQUEST_NULL, "a false testall frees nothing");
	go(rest);
	if (!testing)
		OK(MPI_Waitall(N, req, st));
	while (testing && !flag)
		if (!OK(MPI_Testall(N, req, &flag, st)))
			break;
	for (int i = 0; i < N; i++)
		if (i % 4 == 3)
			check_empty(&st[i], "null slot");
		else
			check_slot(i, &st[i]);
}

static void by_one(bool testing)
{
	MPI_Status st;

	post();
	go(N - N / 4);
	for (int i = 0; i < N; i++) {
		int flag = 0;

		if (i % 4 == 3)
			continue;
		while (!flag)
			if (!OK(MPI_Request_get_status(req[i], &flag, &st)))
				break;
		CHECK(req[i] != MPI_REQUEST_NULL, "get_status frees nothing");
		CHECK(st.MPI_TAG == i, "get_status returns the status");
		OK(MPI_Request_get_status(req[i], &flag, MPI_STATUS_IGNORE));
		CHECK(flag, "get_status stays true");
		flag = 0;
		if (testing)
			OK(MPI_Test(&req[i], &flag, &st));
		else
			OK(MPI_Wait(&req[i], &st));
		CHECK(flag || !testing, "test after get_status is true");
		check_slot(i, &st);
	}
}

int main(int argc, char **argv)
{
	static void (*const ways[])(bool) = { by_any, by_some, by_all, by_one };

	mtest_init(&argc, &argv);
	mtest_need(2);
	null_requests();
	inactive_requests();
	for (int way = 0; way < 4; way++)
		for (int testing = 0; testing < 2; testing++) {
			if (mtest.rank == 0)
				ways[way](testing);
			else if (mtest.rank == 1)
				serve();
			MPI_Barrier(MPI_COMM_WORLD);
		}
	return mtest_finish();
}
