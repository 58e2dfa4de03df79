/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_scattered: long messages of data with gaps
 *
 * The send buffer, the receive buffer or both have gaps. The receive buffer may
 * be shorter. A send without a receive is cancelled. Between processes of a
 * node, neither process allocates memory of the message's length.
 */
#define _GNU_SOURCE
#include "behind.h"
#include "mtest.h"

#include <errno.h>

enum { SCARCE = 1 << 18, TAG = 4 };

static bool is_scarce; /* malloc() of SCARCE bytes or more fails */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void *malloc(size_t len)
{
	static void *(*real)(size_t len);

	if (!real)
		*(void **)&real = behind("malloc");
	if (is_scarce && len >= SCARCE) {
		errno = ENOMEM;
		return NULL;
	}
	return real(len);
}
#endif

/* n doubles at a distance of step doubles. */
struct side {
	double *at;
	MPI_Datatype type;
	int n, step;
};

static struct side side_of(int n, int step)
{
	struct side side = { .n = n, .step = step };

	side.at = mtest_alloc((size_t)n * (size_t)step * sizeof(double));
	OK(MPI_Type_vector(n, 1, step, MPI_DOUBLE, &side.type));
	OK(MPI_Type_commit(&side.type));
	return side;
}

static void side_free(struct side *side)
{
	OK(MPI_Type_free(&side->type));
	free(side->at);
}

static void set(struct side *side, double first)
{
	for (int i = 0; i < side->n * side->step; i++)
		side->at[i] = i % side->step ? -1 : first + i / side->step;
}

/* Counts wrong elements: the first n must be those of set(first), and the
 * elements between and after them must be unchanged. */
static int count_wrong(const struct side *side, int n, double first)
{
	int n_wrong = 0;

	for (int i = 0; i < side->n * side->step; i++) {
		int k = i / side->step;
		double due = k < n ? first + k : k;

		n_wrong += side->at[i] != (i % side->step ? -1 : due);
	}
	return n_wrong;
}

static void travel(int n, int from_step, int to_step, int other)
{
	struct side out = side_of(n, from_step), in = side_of(n, to_step);
	MPI_Request req[2];

	set(&out, 1e6 * (mtest.rank + 1));
	set(&in, 0);
	is_scarce = !getenv("WEFT_SHM") && !getenv("WEFT_NODES");
	if (mtest.rank == 0) {
		OK(MPI_Send(out.at, 1, out.type, other, TAG, MPI_COMM_WORLD));
		OK(MPI_Recv(in.at, 1, in.type, other, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	} else {
		OK(MPI_Recv(in.at, 1, in.type, other, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		OK(MPI_Send(out.at, 1, out.type, other, TAG, MPI_COMM_WORLD));
	}
	CHECK(!count_wrong(&in, n, 1e6 * (other + 1)),
		"%d items with stride %d arrive with stride %d", n, from_step,
		to_step);
	set(&in, 0);
	OK(MPI_Irecv(in.at, 1, in.type, other, TAG, MPI_COMM_WORLD, &req[0]));
	OK(MPI_Isend(out.at, 1, out.type, other, TAG, MPI_COMM_WORLD, &req[1]));
	OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	is_scarce = false;
	CHECK(!count_wrong(&in, n, 1e6 * (other + 1)),
		"%d items with stride %d arrive with stride %d, in both "
		"directions",
		n, from_step, to_step);
	side_free(&out);
	side_free(&in);
}

static void cut_short(int n, int to_step)
{
	struct side out = side_of(n, 3), in = side_of(n, to_step), less;

	set(&out, 7);
	set(&in, 0);
	less = side_of(n - n / 3, to_step);
	if (mtest.rank == 0) {
		OK(MPI_Send(out.at, 1, out.type, 1, TAG, MPI_COMM_WORLD));
	} else {
		FAILS(MPI_Recv(in.at, 1, less.type, 0, TAG, MPI_COMM_WORLD,
			      MPI_STATUS_IGNORE),
			MPI_ERR_TRUNCATE);
		CHECK(!count_wrong(&in, less.n, 7), "%d of %d items arrive",
			less.n, n);
	}
	side_free(&less);
	side_free(&out);
	side_free(&in);
}

/* The first message is cancelled, the second one is received. */
static void cancel(int n)
{
	struct side out = side_of(n, 2), in = side_of(n, 2);
	int cancelled = 0;
	MPI_Request req;
	MPI_Status st;

	set(&out, 9);
	set(&in, 0);
	if (mtest.rank == 0) {
		OK(MPI_Isend(
			out.at, 1, out.type, 1, TAG, MPI_COMM_WORLD, &req));
		OK(MPI_Cancel(&req));
		OK(MPI_Wait(&req, &st));
		OK(MPI_Test_cancelled(&st, &cancelled));
		CHECK(cancelled, "a send without a receive is cancelled");
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 0) {
		OK(MPI_Send(out.at, 1, out.type, 1, TAG + 1, MPI_COMM_WORLD));
	} else {
		OK(MPI_Recv(in.at, 1, in.type, 0, MPI_ANY_TAG, MPI_COMM_WORLD,
			&st));
		CHECK(st.MPI_TAG == TAG + 1 && !count_wrong(&in, n, 9),
			"the second message arrives, tag %d", st.MPI_TAG);
	}
	side_free(&out);
	side_free(&in);
}

int main(int argc, char **argv)
{
	static const int lens[] = { 1000, 1025, 2048, 2049, 6144, 100000,
		1048577 };

	mtest_init(&argc, &argv);
	mtest_need(2);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		travel(lens[i], 2, 3, !mtest.rank);
		travel(lens[i], 2, 1, !mtest.rank);
		travel(lens[i], 1, 2, !mtest.rank);
		cut_short(lens[i], 1);
		cut_short(lens[i], 2);
		cancel(lens[i]);
	}
	return mtest_finish();
}
