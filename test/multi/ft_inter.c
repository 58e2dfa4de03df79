/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_inter: agreement of the two groups of an intercommunicator, and shrink
 *
 * The result is the AND of the remote group's flags. All members have the same
 * error class. The even ranks are one group and the odd ranks the other. A
 * shrunk intercommunicator has the living members of both groups, in their old
 * order. If a group has none, all members get MPI_COMM_NULL.
 *
 * kill= the ranks that are killed before the third agreement, as bits. With
 * WEFT_ERA_DIE, the library kills processes at a message of the protocol.
 */
#include "mtest.h"

#include <mpi-ext.h>

enum { PENDING = 3, PROCS = 16, TAG = 4 };

/* The result of a process. */
struct record {
	int world_rank;
	int flag;
	int class;
};

static MPI_Comm inter, half;
static int is_odd;

/* The bits of the ranks of the remote group. */
static int remote_bits(void)
{
	int bits = 0;

	for (int i = 0; i < mtest.size; i++)
		if (i % 2 != is_odd)
			bits |= 1 << i;
	return bits;
}

static void make_inter(void)
{
	is_odd = mtest.rank % 2;
	OK(MPI_Comm_split(MPI_COMM_WORLD, is_odd, 0, &half));
	OK(MPI_Intercomm_create(
		half, 0, MPI_COMM_WORLD, is_odd ? 0 : 1, TAG, &inter));
	/* all have the communicator before a process dies, which may end the
	 * barrier at the others */
	(void)MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- without a failure ---- */

static void agree_once(void)
{
	int flag = ~(1 << mtest.rank);

	OK(MPIX_Comm_agree(inter, &flag));
	CHECK(flag == ~remote_bits(), "the flag is %x, not %x", (unsigned)flag,
		(unsigned)~remote_bits());
}

static void several(void)
{
	int flags[PENDING];
	MPI_Request requests[PENDING];

	for (int i = 0; i < PENDING; i++) {
		flags[i] = ~(1 << mtest.rank) & ~(i << 20);
		OK(MPIX_Comm_iagree(inter, &flags[i], &requests[i]));
	}
	OK(MPI_Waitall(PENDING, requests, MPI_STATUSES_IGNORE));
	for (int i = 0; i < PENDING; i++)
		CHECK(flags[i] == (~remote_bits() & ~(i << 20)),
			"agreement %d in progress gives %x", i,
			(unsigned)flags[i]);
}

/* Checks a group of the shrunk communicator: it has the living ranks of one
 * parity, and no other. A member may die in the call. Returns their number. */
static int check_half(MPI_Group group, int odd, int killed)
{
	MPI_Group world;
	int n = 0, previous = -1;

	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_size(group, &n));
	for (int i = 0; i < n; i++) {
		int rank = MPI_UNDEFINED;

		OK(MPI_Group_translate_ranks(group, 1, &i, world, &rank));
		CHECK(rank > previous && rank % 2 == odd &&
				!(killed >> rank & 1),
			"member %d is the next rank of this side that lives: "
			"%d, after %d",
			i, rank, previous);
		previous = rank;
	}
	OK(MPI_Group_free(&group));
	OK(MPI_Group_free(&world));
	return n;
}

/* The number of living ranks of one parity. */
static int count_half(int odd, int killed)
{
	int n = 0;

	for (int i = odd; i < mtest.size; i += 2)
		n += !(killed >> i & 1);
	return n;
}

static void check_shrunk(MPI_Comm made, int killed)
{
	MPI_Group group;
	int is_inter = 0, n, n_remote, one = 1, sum = -1, rc;
	int may_die = getenv("WEFT_ERA_DIE") != NULL;

	OK(MPI_Comm_test_inter(made, &is_inter));
	CHECK(is_inter, "the result is an intercommunicator");
	OK(MPI_Comm_group(made, &group));
	n = check_half(group, is_odd, killed);
	OK(MPI_Comm_remote_group(made, &group));
	n_remote = check_half(group, !is_odd, killed);
	CHECK(may_die || (n == count_half(is_odd, killed) &&
				 n_remote == count_half(!is_odd, killed)),
		"the groups have %d and %d members", n, n_remote);
	rc = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
	CHECK(may_die || !rc, "the allreduce succeeds if nobody dies: %s",
		mtest_error(rc));
	CHECK(rc || sum == n_remote, "the sum is %d: %d", n_remote, sum);
	OK(MPI_Comm_free(&made));
}

static void shrink(int killed, int is_nonblocking)
{
	MPI_Request request = NULL; /* no handle */
	MPI_Comm made = NULL;

	if (is_nonblocking) {
		OK(MPIX_Comm_ishrink(inter, &made, &request));
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	} else {
		OK(MPIX_Comm_shrink(inter, &made));
	}
	if (made != MPI_COMM_NULL)
		check_shrunk(made, killed);
	else
		CHECK(!count_half(0, killed) || !count_half(1, killed) ||
				getenv("WEFT_ERA_DIE"),
			"both groups have living members");
}

/* Some members agree, and others shrink: both fail at all members. is_by_group:
 * the members of a group call the same procedure. */
static void mixed(int is_by_group)
{
	int agrees = is_by_group ? is_odd : mtest.rank / 2 % 2, flag = -1, rc;
	MPI_Comm made = MPI_COMM_NULL;

	rc = agrees ? MPIX_Comm_agree(inter, &flag)
		    : MPIX_Comm_shrink(inter, &made);
	CHECK(mtest_class(rc) == MPI_ERR_NOT_SAME, "mixed calls: got %s",
		rc ? mtest_error(rc) : "success");
	CHECK(made == MPI_COMM_NULL, "no communicator is created");
}

/* ---- with failures ---- */

/* Compares the results of all members that live. */
static void compare(const struct record *mine)
{
	struct record all[PROCS];
	MPI_Comm alive;
	int n = 0;

	OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &alive));
	OK(MPI_Comm_size(alive, &n));
	if (MPI_Allgather(mine, sizeof(*mine), MPI_BYTE, all, sizeof(*mine),
		    MPI_BYTE, alive))
		n = 0; /* a member died */
	for (int i = 0; i < n; i++) {
		int other = all[i].world_rank;

		CHECK(all[i].class == mine->class,
			"all ranks get one error class: rank %d %d, this one "
			"%d",
			other, all[i].class, mine->class);
		if (other % 2 == is_odd)
			CHECK(all[i].flag == mine->flag,
				"rank %d has flag %x, and this one %x", other,
				(unsigned)all[i].flag, (unsigned)mine->flag);
		else
			CHECK(!(mine->flag >> other & 1),
				"the flag of rank %d is in %x", other,
				(unsigned)mine->flag);
	}
	CHECK(!(~mine->flag & ~remote_bits()), "no other bit is in %x",
		(unsigned)mine->flag);
	OK(MPI_Comm_free(&alive));
}

static int agree_and_compare(void)
{
	struct record mine = { mtest.rank, ~(1 << mtest.rank), 0 };
	int rc = MPIX_Comm_agree(inter, &mine.flag);

	mine.class = mtest_class(rc);
	CHECK(mine.class == MPI_SUCCESS || mine.class == MPIX_ERR_PROC_FAILED,
		"the agreement succeeds or reports a failed process: %s",
		mtest_error(rc));
	compare(&mine);
	return mine.class;
}

/* The failures that an agreement reports are in the group of failed members. A
 * receive waits until the process manager has reported them, too, so that no
 * process is in MPI_Finalize then. */
static void check_failed(void)
{
	MPI_Group failed, world;
	int n = 0;

	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPIX_Comm_get_failed(inter, &failed));
	OK(MPI_Group_size(failed, &n));
	for (int i = 0; i < n; i++) {
		int rank = MPI_UNDEFINED;

		OK(MPI_Group_translate_ranks(failed, 1, &i, world, &rank));
		FAILS(MPI_Recv(NULL, 0, MPI_INT, rank, TAG, MPI_COMM_WORLD,
			      MPI_STATUS_IGNORE),
			MPIX_ERR_PROC_FAILED);
	}
	if (n)
		OK(MPI_Group_free(&failed));
	OK(MPI_Group_free(&world));
}

static void with_failures(int killed)
{
	int n_acked = 0, class;

	if (killed >> mtest.rank & 1)
		raise(SIGKILL);
	class = agree_and_compare();
	CHECK(!killed || class == MPIX_ERR_PROC_FAILED,
		"a failure that is not acknowledged is reported");
	if (mtest.rank == 0 && killed)
		OK(MPIX_Comm_revoke(inter));
	/* a member dies in one agreement, at most */
	for (int i = 0; i < mtest.size; i++) {
		OK(MPIX_Comm_ack_failed(inter, mtest.size, &n_acked));
		class = agree_and_compare();
	}
	CHECK(!class, "acknowledged failures are not reported");
	check_failed();
	shrink(killed, 0);
	shrink(killed, 1);
}

int main(int argc, char **argv)
{
	int killed, flag = 0;

	mtest_init(&argc, &argv);
	mtest_connect_all(MPI_COMM_WORLD);
	killed = (int)mtest_arg(argc, argv, "kill", 0);
	make_inter();
	if (!getenv("WEFT_ERA_DIE")) {
		agree_once();
		several();
		shrink(0, 0);
		shrink(0, 1);
		mixed(1);
		if (mtest.size > 2)
			mixed(0);
		agree_once();
		/* a member dies only after all have passed the above */
		(void)MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
	}
	with_failures(killed);
	OK(MPI_Comm_free(&inter));
	OK(MPI_Comm_free(&half));
	return mtest_finish();
}
