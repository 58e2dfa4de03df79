/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_inter: agreement of the two groups of an intercommunicator
 *
 * The result is the AND of the remote group's flags. All members have the same
 * error class. The even ranks are one group and the odd ranks the other.
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

static void shrink_is_refused(void)
{
	MPI_Request request = NULL; /* no handle */
	MPI_Comm made;

	FAILS(MPIX_Comm_shrink(inter, &made), MPI_ERR_COMM);
	CHECK(made == MPI_COMM_NULL, "no communicator is created");
	FAILS(MPIX_Comm_ishrink(inter, &made, &request), MPI_ERR_COMM);
	CHECK(request == MPI_REQUEST_NULL, "no request is created");
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
			"rank %d has class %d, and this one %d", other,
			all[i].class, mine->class);
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
		"agreement: %s", mtest_error(rc));
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
		shrink_is_refused();
		/* a member dies only after all have passed the above */
		(void)MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
	}
	with_failures(killed);
	OK(MPI_Comm_free(&inter));
	OK(MPI_Comm_free(&half));
	return mtest_finish();
}
