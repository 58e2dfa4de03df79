/* SPDX-License-Identifier: BSD-3-Clause */
/* ses_comms: creates communicators from groups of all and of some processes,
 * also with the same tag at the same time */
#include "session.h"

static MPI_Session session;

static void whole(void)
{
	int size = 0, result = -1;
	MPI_Comm world, self, second;

	world = session_comm(session, "mpi://WORLD", "org.weft.test.world");
	self = session_comm(session, "mpi://SELF", "org.weft.test.self");
	OK(MPI_Comm_size(world, &size));
	CHECK(size == mtest.size,
		"the communicator has all processes of WORLD");
	session_works(world, "world");
	session_works(self, "self");
	/* a tag may be used again after the creation is complete */
	second = session_comm(session, "mpi://WORLD", "org.weft.test.world");
	session_works(second, "world again");
	OK(MPI_Comm_compare(world, second, &result));
	CHECK(result == MPI_CONGRUENT,
		"two communicators of one group are congruent");
	OK(MPI_Comm_disconnect(&world));
	session_works(second, "second without the first");
	OK(MPI_Comm_disconnect(&second));
	OK(MPI_Comm_free(&self));
}

/* Every process is a member of a group of two or one. All use the same tag. */
static void disjoint(void)
{
	MPI_Group world = session_group(session, "mpi://WORLD"), pair;
	int first = mtest.rank / 2 * 2, size = 0;
	int last = first + 1 < mtest.size ? first + 1 : first;
	MPI_Comm comm;

	for (int round = 0; round < 20; round++) {
		OK(MPI_Group_range_incl(
			world, 1, (int[1][3]){ { first, last, 1 } }, &pair));
		comm = session_comm_take(pair, "same tag for everybody");
		OK(MPI_Comm_size(comm, &size));
		CHECK(size == last - first + 1,
			"the communicator has the members of the pair");
		session_works(comm, "pair");
		OK(MPI_Comm_disconnect(&comm));
	}
	OK(MPI_Group_free(&world));
}

/* Only some processes create the communicator. The others never make the call.
 */
static void partial(void)
{
	MPI_Group world = session_group(session, "mpi://WORLD"), some;
	int rank = -1;
	MPI_Comm comm;

	OK(MPI_Group_range_incl(world, 1,
		(int[1][3]){ { (mtest.size - 1) / 2 * 2, 0, -2 } }, &some));
	OK(MPI_Group_rank(some, &rank));
	if (rank == MPI_UNDEFINED) {
		OK(MPI_Group_free(&some));
	} else {
		comm = session_comm_take(some, "even ones, backwards");
		OK(MPI_Comm_rank(comm, &rank));
		CHECK(rank == ((mtest.size - 1) / 2 * 2 - mtest.rank) / 2,
			"the rank is that in the group, got %d", rank);
		session_works(comm, "even ones");
		OK(MPI_Comm_disconnect(&comm));
	}
	OK(MPI_Group_free(&world));
}

/* Creates communicators of overlapping pairs of processes. All processes have
 * the same order. */
static void chain(void)
{
	MPI_Group world = session_group(session, "mpi://WORLD"), pair;
	MPI_Comm comm[2] = { MPI_COMM_NULL, MPI_COMM_NULL };

	for (int i = 0; i + 1 < mtest.size; i++) {
		if (mtest.rank != i && mtest.rank != i + 1)
			continue;
		OK(MPI_Group_range_incl(
			world, 1, (int[1][3]){ { i, i + 1, 1 } }, &pair));
		comm[i % 2] = session_comm_take(pair, "link");
	}
	for (int i = 0; i < 2; i++)
		if (comm[i] != MPI_COMM_NULL) {
			session_works(comm[i], "link");
			OK(MPI_Comm_disconnect(&comm[i]));
		}
	OK(MPI_Group_free(&world));
}

/* Communicators that dup and split derive belong to the session. They outlive
 * the communicator that they are derived from. */
static void derived(void)
{
	MPI_Comm world, dup, half;

	world = session_comm(session, "mpi://WORLD", "derive");
	OK(MPI_Comm_dup(world, &dup));
	OK(MPI_Comm_split(dup, mtest.rank % 2, 0, &half));
	session_works(dup, "dup");
	session_works(half, "half");
	OK(MPI_Comm_disconnect(&world));
	session_works(half, "half alone");
	OK(MPI_Comm_disconnect(&half));
	OK(MPI_Comm_disconnect(&dup));
}

static void special(void)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	char tag[MPI_MAX_STRINGTAG_LEN];

	OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "nobody", MPI_INFO_NULL,
		MPI_ERRORS_RETURN, &comm));
	CHECK(comm == MPI_COMM_NULL, "the empty group creates no communicator");
	memset(tag, 't', sizeof(tag));
	tag[sizeof(tag) - 1] = 0;
	comm = session_comm(session, "mpi://WORLD", tag);
	session_works(comm, "longest tag");
	OK(MPI_Comm_disconnect(&comm));
	comm = session_comm(session, "mpi://WORLD", "");
	session_works(comm, "empty tag");
	OK(MPI_Comm_disconnect(&comm));
}

/* Attributes of the World Model are absent; MPI_TAG_UB is present. */
static void attributes(void)
{
	static const int not_here[] = { MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL,
		MPI_APPNUM, MPI_UNIVERSE_SIZE, MPI_LASTUSEDCODE };
	MPI_Comm comm = session_comm(session, "mpi://WORLD", "attributes");
	int *value = NULL, flag = 0;

	OK(MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &flag));
	CHECK(flag && *value >= 32767, "MPI_TAG_UB is at least 32767");
	for (size_t i = 0; i < sizeof(not_here) / sizeof(*not_here); i++) {
		flag = 1;
		OK(MPI_Comm_get_attr(comm, not_here[i], &value, &flag));
		CHECK(!flag, "attribute %d is not set without the World",
			not_here[i]);
	}
	OK(MPI_Comm_disconnect(&comm));
}

int main(int argc, char **argv)
{
	(void)argc;
	mtest_start(argv[0]);
	session = session_open();
	session_set_rank(session);
	whole();
	disjoint();
	partial();
	chain();
	derived();
	special();
	attributes();
	session_close(&session);
	return mtest_done();
}
