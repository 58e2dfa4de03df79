/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_dup: a duplicate has the nodes of its parent
 *
 * Four collectives after its creation, the members of a communicator agree on
 * their nodes, and on a segment for each node, with messages. A duplicate needs
 * fewer messages, because it has the nodes already. With segment=0 there are no
 * segments. A duplicate then needs no messages beside those of its collectives
 * (and a few of flow control, STRAY).
 */
#include "mtest.h"

enum { FIRST = 4, STRAY = 2 };

struct counts {
	long first, settling; /* messages of all processes */
};

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[2]; /* through shared memory, the fabric */

static void open_counters(void)
{
	static const char *const names[2] = { "shm_sent", "net_sent" };
	int provided, index = -1, count;

	OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	OK(MPI_T_pvar_session_create(&session));
	for (int i = 0; i < 2; i++) {
		OK(MPI_T_pvar_get_index(
			names[i], MPI_T_PVAR_CLASS_COUNTER, &index));
		OK(MPI_T_pvar_handle_alloc(
			session, index, NULL, &handles[i], &count));
	}
}

/* The messages that this process has sent. */
static long n_sent(void)
{
	unsigned long long value = 0, sum = 0;

	for (int i = 0; i < 2; i++) {
		OK(MPI_T_pvar_read(session, handles[i], &value));
		sum += value;
	}
	return (long)sum;
}

/* Messages of this process for n barriers. */
static long barriers(MPI_Comm comm, int n)
{
	long before = n_sent();

	for (int i = 0; i < n; i++)
		OK(MPI_Barrier(comm));
	return n_sent() - before;
}

static struct counts count(MPI_Comm comm)
{
	long mine[2], all[2];

	mine[0] = barriers(comm, FIRST);
	mine[1] = barriers(comm, 1);
	OK(MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
	return (struct counts){ all[0], all[1] };
}

/* The results do not depend on the nodes. */
static void reductions(MPI_Comm comm)
{
	int sum = 0, rank = mtest.rank;

	for (int i = 0; i < 2 * FIRST; i++) {
		OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
		CHECK(sum == mtest.size * (mtest.size - 1) / 2,
			"the sum of the ranks is right: %d", sum);
	}
}

int main(int argc, char **argv)
{
	MPI_Comm parent, child, grandchild;
	struct counts of_parent, of_child, of_grandchild;
	bool has_segment;

	mtest_init(&argc, &argv);
	has_segment = mtest_arg(argc, argv, "segment", 1);
	open_counters();
	mtest_connect_all(MPI_COMM_WORLD);
	for (int i = 0; i < 2 * FIRST; i++)
		OK(MPI_Barrier(MPI_COMM_WORLD));
	/* no duplicate, so it has no nodes yet */
	OK(MPI_Comm_split(MPI_COMM_WORLD, 0, mtest.rank, &parent));
	of_parent = count(parent);
	OK(MPI_Comm_dup(parent, &child));
	OK(MPI_Comm_dup(child, &grandchild));
	of_child = count(child);
	of_grandchild = count(grandchild);
	CHECK(of_child.settling < of_parent.settling &&
			of_grandchild.settling < of_parent.settling,
		"the duplicates agree with fewer messages: %ld at the parent, "
		"%ld and %ld",
		of_parent.settling, of_child.settling, of_grandchild.settling);
	if (!has_segment)
		CHECK(of_child.settling <= of_child.first / FIRST + STRAY,
			"the collective after the first %d takes at most a few "
			"messages more than one of them: %ld, %ld for all",
			FIRST, of_child.settling, of_child.first);
	reductions(child);
	OK(MPI_Comm_free(&parent));
	reductions(grandchild);
	OK(MPI_Comm_free(&child));
	OK(MPI_Comm_free(&grandchild));
	OK(MPI_T_pvar_session_free(&session));
	OK(MPI_T_finalize());
	return mtest_finish();
}
