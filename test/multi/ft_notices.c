/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_notices: the messages and connections that a death causes
 *
 * Each process talks to its two neighbours only. Then the last rank is killed.
 * The survivors disconnect a communicator as soon as a barrier has failed: the
 * process manager may not have reported the death to all of them. Later they
 * revoke a communicator, disconnect another one, and on a further one wait for
 * members that have left it or leave it later, and to which they have never
 * talked. They also leave an intercommunicator. In each step, a process sends
 * messages to few processes: their number grows with the logarithm of the
 * number of processes. The test prints the largest numbers.
 */
#include "mtest.h"

enum {
	TAG = 3,
	N_SENT = 2,
	REPORT_S = 2, /* a close waits so long for the report (core/failed.c) */
};

static MPI_T_pvar_session pvars;
static MPI_T_pvar_handle peers, sent[N_SENT];

static MPI_T_pvar_handle pvar_open(const char *name)
{
	MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
	int index, count;

	OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
	OK(MPI_T_pvar_handle_alloc(pvars, index, NULL, &handle, &count));
	return handle;
}

static unsigned long long pvar_value(MPI_T_pvar_handle handle)
{
	unsigned long long value = 0;

	OK(MPI_T_pvar_read(pvars, handle, &value));
	return value;
}

struct counts {
	long peers, sent;
};

static struct counts counts_now(void)
{
	struct counts c = { .peers = (long)pvar_value(peers) };

	for (int i = 0; i < N_SENT; i++)
		c.sent += (long)pvar_value(sent[i]);
	return c;
}

static int log2_of(int n)
{
	int bits = 0;

	while (1 << bits < n)
		bits++;
	return bits;
}

static struct counts counts_since(struct counts from)
{
	struct counts now = counts_now();

	return (struct counts){ now.peers - from.peers, now.sent - from.sent };
}

/* Checks what a step has cost. The survivors are in `rest`. */
static void check_step(MPI_Comm rest, const char *step, int most_peers,
	struct counts step_cost)
{
	int bits = log2_of(mtest.size);
	long cost[2] = { step_cost.peers, step_cost.sent };
	long max[2];

	OK(MPI_Allreduce(cost, max, 2, MPI_LONG, MPI_MAX, rest));
	if (mtest.rank == 0)
		printf("# %s: at most %ld new peers and %ld messages for each "
		       "of %d processes\n",
			step, max[0], max[1], mtest.size);
	CHECK(cost[0] <= most_peers, "%s: %ld new peers", step, cost[0]);
	CHECK(cost[1] <= 8 * bits, "%s: %ld messages", step, cost[1]);
	OK(MPI_Barrier(rest));
}

/* Exchanges messages with the two neighbours. Then the last rank is killed. */
static void talk_and_die(void)
{
	int last = mtest.size - 1;
	int up = mtest.rank == last ? 0 : mtest.rank + 1;
	int down = mtest.rank ? mtest.rank - 1 : last;

	for (int i = 0; i < 2; i++)
		OK(MPI_Sendrecv(NULL, 0, MPI_INT, i ? down : up, TAG, NULL, 0,
			MPI_INT, i ? up : down, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	/* The barrier may fail if the last rank dies after all have entered. */
	(void)MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == last)
		raise(SIGKILL);
}

/* Disconnects a communicator when a barrier has failed. Returns the cost. */
static struct counts leave_early(MPI_Comm comm)
{
	struct counts from;

	while (MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS)
		continue;
	from = counts_now();
	FAILS(MPI_Comm_disconnect(&comm), MPIX_ERR_PROC_FAILED);
	return counts_since(from);
}

static void wait_for_death(MPI_Comm comm)
{
	double began = mtest_now();
	MPI_Group group = MPI_GROUP_EMPTY;

	while (group == MPI_GROUP_EMPTY && mtest_now() - began < MTEST_SOON_S) {
		int flag;

		OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag,
			MPI_STATUS_IGNORE));
		OK(MPIX_Comm_get_failed(comm, &group));
	}
	CHECK(group != MPI_GROUP_EMPTY, "the death is reported soon");
	if (group != MPI_GROUP_EMPTY)
		OK(MPI_Group_free(&group));
}

static void revoke_one(MPI_Comm comm, MPI_Comm rest)
{
	double began = mtest_now();
	int flag = 0;

	if (mtest.rank == 1)
		OK(MPIX_Comm_revoke(comm));
	while (!flag && mtest_now() - began < MTEST_SOON_S) {
		OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, rest, &flag,
			MPI_STATUS_IGNORE));
		OK(MPIX_Comm_is_revoked(comm, &flag));
	}
	CHECK(flag, "the communicator is revoked soon");
	OK(MPI_Barrier(rest));
}

static void disconnect(MPI_Comm comm, MPI_Comm rest)
{
	FAILS(MPI_Comm_disconnect(&comm), MPIX_ERR_PROC_FAILED);
	OK(MPI_Barrier(rest));
}

/* Half of the survivors leave the communicator. Each of the others receives
 * from two of them: from one before its departure, if it leaves late, or after
 * it. Then they leave, too. */
static void wait_for_departed(MPI_Comm comm, MPI_Comm rest)
{
	int half = (mtest.size - 1) / 2, to = mtest.rank + half;
	int value = 0;

	if (mtest.rank >= half) {
		/* one half of these leaves when the others wait */
		if (mtest.rank % 2 && mtest.rank < 2 * half)
			OK(MPI_Recv(&value, 1, MPI_INT, mtest.rank - half, TAG,
				rest, MPI_STATUS_IGNORE));
		OK(MPI_Comm_free(&comm));
		OK(MPI_Barrier(rest));
		return;
	}
	if (to % 2) {
		MPI_Request request;

		OK(MPI_Irecv(&value, 1, MPI_INT, to, TAG, comm, &request));
		OK(MPI_Send(&value, 1, MPI_INT, to, TAG, rest));
		FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE),
			MPIX_ERR_PROC_FAILED);
	}
	FAILS(MPI_Recv(&value, 1, MPI_INT, to, TAG, comm, MPI_STATUS_IGNORE),
		MPIX_ERR_PROC_FAILED);
	OK(MPI_Comm_free(&comm));
	OK(MPI_Barrier(rest));
}

/* The upper half leaves an intercommunicator. Each process of the lower half
 * waits for one of them, to which it has never talked, and leaves it, too. */
static void leave_inter(MPI_Comm comm, MPI_Comm rest)
{
	int value = 0, size;

	OK(MPI_Comm_remote_size(comm, &size));
	if (mtest.rank < mtest.size / 2)
		FAILS(MPI_Recv(&value, 1, MPI_INT,
			      (mtest.rank + size / 2) % size, TAG, comm,
			      MPI_STATUS_IGNORE),
			MPIX_ERR_PROC_FAILED);
	FAILS(MPI_Comm_disconnect(&comm), MPIX_ERR_PROC_FAILED);
	OK(MPI_Barrier(rest));
}

int main(int argc, char **argv)
{
	MPI_Comm comms[5], rest = MPI_COMM_NULL, half;
	struct counts early;
	double early_s; /* at least the time since the failure */
	int provided;

	mtest_init(&argc, &argv);
	mtest_need(8);
	OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	OK(MPI_T_pvar_session_create(&pvars));
	peers = pvar_open("peers_connected");
	sent[0] = pvar_open("shm_sent");
	sent[1] = pvar_open("net_sent");
	for (int i = 0; i < 4; i++)
		OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
	OK(MPI_Comm_split(
		MPI_COMM_WORLD, mtest.rank < mtest.size / 2, 0, &half));
	OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD,
		mtest.rank < mtest.size / 2 ? mtest.size / 2 : 0, TAG,
		&comms[4]));
	OK(MPI_Comm_free(&half));
	early_s = -mtest_now();
	talk_and_die();
	early = leave_early(comms[3]);
	early_s += mtest_now();
	wait_for_death(MPI_COMM_WORLD);
	OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest));
	for (int i = 0; i < 8; i++) /* connects to the peers of collectives */
		OK(MPI_Barrier(rest));
	if (early_s >= REPORT_S) { /* on a busy machine */
		printf("# rank %d: not checked: the communicator was closed "
		       "%.1f s after the failure, so that all members may "
		       "have been notified\n",
			mtest.rank, early_s);
		early = (struct counts){ 0, 0 };
	}
	check_step(rest, "early", 2 * log2_of(mtest.size), early);
	static const struct {
		const char *name;
		void (*fn)(MPI_Comm comm, MPI_Comm rest);
	} steps[] = {
		{ "revoke", revoke_one },
		{ "disconnect", disconnect },
		{ "wait", wait_for_departed },
		{ "inter", leave_inter },
	};

	for (int i = 0; i < 4; i++) {
		struct counts from = counts_now();

		steps[i].fn(comms[i == 3 ? 4 : i], rest);
		check_step(rest, steps[i].name,
			i == 3 ? 2 : 2 * log2_of(mtest.size),
			counts_since(from));
	}
	OK(MPI_Comm_free(&comms[0]));
	OK(MPI_Comm_free(&rest));
	OK(MPI_T_pvar_session_free(&pvars));
	OK(MPI_T_finalize());
	return mtest_finish();
}
