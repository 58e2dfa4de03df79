/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_vni: a job with several virtual networks (VNIs) talks on the first;
 * whoever was given another one first is refused with a sentence that says so
 *
 * Only over the Slingshot stand-in; odd=1 gives the last process another one.
 */
#include "nic.h"

static void give_networks(bool is_odd)
{
	setenv("SLINGSHOT_VNIS", is_odd ? "1024,234" : "234,1024", 1);
	setenv("SLINGSHOT_SVC_IDS", "5", 1);
	setenv("SLINGSHOT_DEVICES", "cxi0", 1);
}

static void to_next(int size)
{
	int to = (mtest.rank + 1) % size, from = (mtest.rank + size - 1) % size;
	int in = -1;

	OK(MPI_Sendrecv(&mtest.rank, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from,
		1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(in == from, "rank %d talks to me", from);
}

static void refused(int to)
{
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int len, rc, n = 3;

	rc = MPI_Ssend(&n, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
	CHECK(rc != MPI_SUCCESS, "the other network is not reached");
	if (rc == MPI_SUCCESS)
		return;
	OK(MPI_Error_string(rc, text, &len));
	CHECK(strstr(text, "VNI") && strstr(text, "1024") &&
			strstr(text, "234") && strstr(text, "SLINGSHOT_VNIS"),
		"it is said why: '%s'", text);
}

int main(int argc, char **argv)
{
	int odd, last;

	mtest_start(argv[0]);
	odd = (int)mtest_arg(argc, argv, "odd", 0);
	last = (int)mtest_arg(argc, argv, "last", 0);
	give_networks(odd && mtest.rank == last);
	mtest_init(&argc, &argv);
	if (!nic_is_env("FI_PROVIDER", "cxi"))
		mtest_skip("only over the Slingshot stand-in");
	if (!odd || mtest.rank < last)
		to_next(odd ? last : mtest.size);
	if (odd && mtest.rank == 0)
		refused(last);
	if (!odd)
		return mtest_finish();
	MPI_Finalize(); /* with an error: not all are reached */
	return mtest_done();
}
