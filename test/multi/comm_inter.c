/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_inter: intercommunicators: creation, messages, collectives, merge,
 * disconnect */
#include "mtest.h"

static int side; /* 0: low ranks, 1: high ranks */
static int local_size, local_rank, remote_size;
static MPI_Comm half, inter;

static void make(void)
{
	int cut = mtest.size / 2, is_inter = 0, size = 0, result = -1;
	MPI_Group remote;
	MPI_Comm dup;

	side = mtest.rank >= cut;
	OK(MPI_Comm_split(MPI_COMM_WORLD, side, mtest.rank, &half));
	OK(MPI_Comm_rank(half, &local_rank));
	OK(MPI_Comm_size(half, &local_size));
	remote_size = mtest.size - local_size;
	int rc = MPI_Intercomm_create(
		half, 0, MPI_COMM_WORLD, side ? 0 : cut, 12, &inter);
	mtest_offered(rc, "MPI_Intercomm_create");
	OK(rc);
	OK(MPI_Comm_test_inter(inter, &is_inter));
	CHECK(is_inter, "the communicator is an intercommunicator");
	OK(MPI_Comm_size(inter, &size));
	CHECK(size == local_size, "the size is that of the local group");
	OK(MPI_Comm_remote_size(inter, &size));
	CHECK(size == remote_size, "the remote size is right");
	OK(MPI_Comm_remote_group(inter, &remote));
	OK(MPI_Group_size(remote, &size));
	CHECK(size == remote_size, "the size of the remote group is right");
	OK(MPI_Group_free(&remote));
	OK(MPI_Comm_dup(inter, &dup));
	OK(MPI_Comm_compare(inter, dup, &result));
	CHECK(result == MPI_CONGRUENT, "a dup is congruent");
	OK(MPI_Comm_compare(inter, half, &result));
	CHECK(result == MPI_UNEQUAL, "inter and intra are unequal");
	OK(MPI_Comm_free(&dup));
}

/* Each process sends to every process of the other side. */
static void talk(void)
{
	int *got = mtest_alloc(remote_size * sizeof(int));
	MPI_Request *req = mtest_alloc(2 * remote_size * sizeof(*req));
	MPI_Status st;
	int word = 100 * side + local_rank;

	for (int i = 0; i < remote_size; i++) {
		OK(MPI_Irecv(&got[i], 1, MPI_INT, i, 3, inter, &req[i]));
		OK(MPI_Isend(
			&word, 1, MPI_INT, i, 3, inter, &req[remote_size + i]));
	}
	OK(MPI_Waitall(2 * remote_size, req, MPI_STATUSES_IGNORE));
	for (int i = 0; i < remote_size; i++)
		CHECK(got[i] == 100 * !side + i,
			"the item of remote rank %d arrives: %d", i, got[i]);
	OK(MPI_Barrier(half));
	if (local_rank == 0) {
		OK(MPI_Sendrecv(&word, 1, MPI_INT, 0, 4, got, 1, MPI_INT,
			MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &st));
		CHECK(st.MPI_SOURCE == 0 && st.MPI_TAG == 4,
			"the source is a rank of the remote group");
	}
	free(got);
	free(req);
}

static void collect(void)
{
	int one = side ? 10 : 1, sum = 0, root, word = -1;
	int *all = mtest_alloc(remote_size * sizeof(int));
	int rc = MPI_Barrier(inter);

	if (mtest_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION) {
		if (mtest.rank == 0)
			printf("# no collectives on intercommunicators\n");
		free(all);
		return;
	}
	OK(rc);
	OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
	CHECK(sum == (side ? 1 : 10) * remote_size,
		"the sum over the remote group is right: %d", sum);
	/* rank 0 of the low side is the root */
	root = side ? 0 : local_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
	if (root == MPI_ROOT)
		word = 77;
	OK(MPI_Bcast(&word, 1, MPI_INT, root, inter));
	CHECK(word == (side || local_rank == 0 ? 77 : -1),
		"the broadcast reaches the other side only, got %d", word);
	sum = -1;
	OK(MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, root, inter));
	CHECK(root != MPI_ROOT || sum == 10 * remote_size,
		"the root gets the other side's sum, %d", sum);
	OK(MPI_Allgather(&local_rank, 1, MPI_INT, all, 1, MPI_INT, inter));
	for (int i = 0; i < remote_size; i++)
		CHECK(all[i] == i,
			"an allgather returns the items of the other side");
	free(all);
}

static void merge(void)
{
	int rank = -1, size = 0, sum = 0;
	MPI_Comm intra;

	for (int high = 0; high < 2; high++) {
		OK(MPI_Intercomm_merge(inter, side == high, &intra));
		OK(MPI_Comm_size(intra, &size));
		OK(MPI_Comm_rank(intra, &rank));
		CHECK(size == mtest.size,
			"the merged communicator has all processes");
		CHECK(rank == local_rank + (side == high ? remote_size : 0),
			"the high group follows the low one, got %d", rank);
		OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, intra));
		CHECK(sum == size * (size - 1) / 2,
			"the merged communicator works");
		OK(MPI_Comm_free(&intra));
	}
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(2);
	make();
	talk();
	collect();
	merge();
	OK(MPI_Comm_disconnect(&inter));
	OK(MPI_Comm_free(&half));
	return mtest_finish();
}
