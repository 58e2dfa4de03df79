/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_coll_fault: one member cannot stage its buffers: the collective fails at
 * that member, and ends at all others */
#include "device.h"

enum { N = 1000, LONG = 300000, FIRST = 6 };

static void *bad; /* rank 1: a buffer that ends before its data */

static void refused(int rc, bool is_known_to_all, const char *what)
{
	if (mtest.rank == 1)
		CHECK(mtest_class(rc) == MPI_ERR_BUFFER, "%s: class %d", what,
			mtest_class(rc));
	else
		CHECK(!is_known_to_all || rc != MPI_SUCCESS,
			"%s fails at rank %d", what, mtest.rank);
}

static int started(int rc, MPI_Request *request)
{
	return rc ? rc : MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Rank 1 cannot read its buffer at the second of three starts. */
static void persistent_faults(int n_before)
{
	static int from[N], to[N];
	int *mine = mtest.rank == 1 ? device_new(NULL, sizeof(from)) : from;
	MPI_Request r;
	MPI_Comm comm;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	for (int i = 0; i < n_before; i++)
		OK(MPI_Barrier(comm));
	OK(MPI_Allreduce_init(
		mine, to, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r));
	OK(started(MPI_Start(&r), &r));
	if (mtest.rank == 1)
		device.fail_next();
	CHECK(started(MPI_Start(&r), &r) != MPI_SUCCESS,
		"the second start fails at rank %d", mtest.rank);
	OK(started(MPI_Start(&r), &r));
	OK(MPI_Request_free(&r));
	if (mtest.rank == 1)
		device_free(mine);
	OK(MPI_Comm_free(&comm));
}

/* The first collectives of a communicator use messages, later ones the segment
 * of the node. */
static void faults(int n_before)
{
	static int from[N], to[8 * N];
	const void *mine = mtest.rank == 1 ? bad : from;
	MPI_Request r;
	MPI_Comm comm;
	int rc;

	for (int kind = 0; kind < 6; kind++) {
		OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
		for (int i = 0; i < n_before; i++)
			OK(MPI_Barrier(comm));
		switch (kind) {
		case 0:
			rc = MPI_Allreduce(mine, to, N, MPI_INT, MPI_SUM, comm);
			refused(rc, true, "allreduce");
			break;
		case 1:
			rc = MPI_Bcast(mtest.rank == 1 ? bad : to, N, MPI_INT,
				1, comm);
			refused(rc, true, "bcast");
			break;
		case 2:
			rc = MPI_Alltoall(
				mine, N / 8, MPI_INT, to, N / 8, MPI_INT, comm);
			refused(rc, true, "alltoall");
			break;
		case 3:
			rc = MPI_Reduce(mine, to, N, MPI_INT, MPI_SUM, 0, comm);
			refused(rc, mtest.rank == 0, "reduce");
			break;
		case 4:
			rc = MPI_Iallreduce(
				mine, to, N, MPI_INT, MPI_SUM, comm, &r);
			refused(started(rc, &r), true, "iallreduce");
			break;
		case 5:
			rc = MPI_Ibcast(mtest.rank == 1 ? bad : to, N, MPI_INT,
				1, comm, &r);
			refused(started(rc, &r), true, "ibcast");
			break;
		}
		OK(MPI_Comm_free(&comm));
	}
}

/* Long blocks are not staged. Rank 1 sends a buffer that ends before its data,
 * or receives into it. */
static void long_faults(int n_before)
{
	static int from[LONG], to[8 * LONG];
	MPI_Request r;
	MPI_Comm comm;
	int rc;

	for (int kind = 0; kind < 5; kind++) {
		const void *out = mtest.rank == 1 && kind != 2 ? bad : from;
		void *in = mtest.rank == 1 && kind == 2 ? bad : to;

		OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
		for (int i = 0; i < n_before; i++)
			OK(MPI_Barrier(comm));
		switch (kind) {
		case 0:
			rc = MPI_Allgather(
				out, LONG, MPI_INT, to, LONG, MPI_INT, comm);
			refused(rc, true, "long allgather");
			break;
		case 1:
			rc = MPI_Bcast(mtest.rank == 1 ? bad : to, LONG,
				MPI_INT, 1, comm);
			refused(rc, true, "long bcast");
			break;
		case 2:
			rc = MPI_Alltoall(out, LONG / mtest.size, MPI_INT, in,
				LONG / mtest.size, MPI_INT, comm);
			refused(rc, false, "long alltoall into the buffer");
			break;
		case 3:
			rc = MPI_Gather(
				out, LONG, MPI_INT, to, LONG, MPI_INT, 0, comm);
			refused(rc, mtest.rank == 0, "long gather");
			break;
		case 4:
			rc = MPI_Iallgather(out, LONG, MPI_INT, to, LONG,
				MPI_INT, comm, &r);
			refused(started(rc, &r), true, "long iallgather");
			break;
		}
		OK(MPI_Comm_free(&comm));
	}
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	device_start();
	if (!device.queries)
		mtest_skip("only the stand-in refuses such a copy");
	bad = device_new(NULL, 16);
	faults(0);
	faults(FIRST);
	long_faults(0);
	long_faults(FIRST);
	persistent_faults(0);
	persistent_faults(FIRST);
	device_free(bad);
	return mtest_finish();
}
