/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_make: dup, idup, split, create, create_group, compare */
#include "mtest.h"

/* Checks that a communicator works: rank, size, a sum and a message around a
 * ring. */
static void works(MPI_Comm comm, const char *what, int size_wanted)
{
	int rank = -1, size = -1, sum = -1, got = -1;

	OK(MPI_Comm_rank(comm, &rank));
	OK(MPI_Comm_size(comm, &size));
	CHECK(size == size_wanted,
		"%s: the communicator has %d members, got %d", what,
		size_wanted, size);
	OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
	CHECK(sum == size * (size - 1) / 2,
		"%s: the sum over the members is right: %d", what, sum);
	OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1,
		MPI_INT, (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE));
	CHECK(got == (rank + size - 1) % size,
		"%s: the rank of the left neighbour arrives, got %d", what,
		got);
}

static int compare(MPI_Comm a, MPI_Comm b)
{
	int result = -1;

	OK(MPI_Comm_compare(a, b, &result));
	return result;
}

static void duplicates(void)
{
	MPI_Comm dup, idup, second;
	MPI_Request req;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
	works(dup, "dup", mtest.size);
	CHECK(compare(dup, MPI_COMM_WORLD) == MPI_CONGRUENT,
		"a dup is congruent");
	CHECK(compare(dup, dup) == MPI_IDENT,
		"a communicator is identical to itself");
	OK(MPI_Comm_idup(dup, &idup, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	works(idup, "idup", mtest.size);
	CHECK(compare(idup, dup) == MPI_CONGRUENT, "an idup is congruent");
	OK(MPI_Comm_dup(MPI_COMM_SELF, &second));
	works(second, "dup of self", 1);
	OK(MPI_Comm_free(&second));
	CHECK(second == MPI_COMM_NULL, "a freed communicator is null");
	OK(MPI_Comm_free(&dup));
	works(idup, "idup without its parent", mtest.size);
	OK(MPI_Comm_free(&idup));
}

/* A receive on one communicator does not match a message on the other. */
static void separate(void)
{
	int right = (mtest.rank + 1) % mtest.size, a = -1, b = -1;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	int one = 1, two = 2;
	MPI_Request req[2];
	MPI_Comm dup;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
	OK(MPI_Isend(&one, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &req[0]));
	OK(MPI_Isend(&two, 1, MPI_INT, right, 5, dup, &req[1]));
	OK(MPI_Recv(&b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, dup,
		MPI_STATUS_IGNORE));
	OK(MPI_Recv(
		&a, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(a == 1 && b == 2, "each message stays on its communicator");
	OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	OK(MPI_Comm_free(&dup));
}

static void splits(void)
{
	int colors = mtest.rank % 2, rank = -1;
	MPI_Comm half, back, some;

	OK(MPI_Comm_split(MPI_COMM_WORLD, colors, mtest.rank, &half));
	works(half, "split", (mtest.size + 1 - colors) / 2);
	OK(MPI_Comm_rank(half, &rank));
	CHECK(rank == mtest.rank / 2, "split keeps the order");
	OK(MPI_Comm_free(&half));
	OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mtest.rank, &back));
	OK(MPI_Comm_rank(back, &rank));
	CHECK(rank == mtest.size - 1 - mtest.rank, "keys reverse the order");
	works(back, "reversed", mtest.size);
	CHECK(compare(back, MPI_COMM_WORLD) ==
			(mtest.size > 1 ? MPI_SIMILAR : MPI_CONGRUENT),
		"a communicator in reverse order is similar");
	OK(MPI_Comm_free(&back));
	OK(MPI_Comm_split(MPI_COMM_WORLD, 7, 0, &back));
	OK(MPI_Comm_rank(back, &rank));
	CHECK(rank == mtest.rank, "equal keys keep the old order");
	OK(MPI_Comm_free(&back));
	OK(MPI_Comm_split(
		MPI_COMM_WORLD, mtest.rank ? 3 : MPI_UNDEFINED, 0, &some));
	CHECK((some == MPI_COMM_NULL) == (mtest.rank == 0),
		"MPI_UNDEFINED creates no communicator");
	if (some != MPI_COMM_NULL) {
		works(some, "all but one", mtest.size - 1);
		CHECK(compare(some, MPI_COMM_WORLD) == MPI_UNEQUAL,
			"a communicator of other members is unequal");
		OK(MPI_Comm_free(&some));
	}
}

/* All processes call MPI_Comm_create. Only the members call
 * MPI_Comm_create_group. */
static void from_groups(void)
{
	int n = (mtest.size + 1) / 2, member = mtest.rank % 2 == 0;
	MPI_Group world, even;
	MPI_Comm a, b;

	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_range_incl(world, 1,
		(int[1][3]){ { (mtest.size - 1) / 2 * 2, 0, -2 } }, &even));
	OK(MPI_Comm_create(MPI_COMM_WORLD, even, &a));
	CHECK((a != MPI_COMM_NULL) == member,
		"only members get a communicator");
	if (member) {
		works(a, "create", n);
		OK(MPI_Comm_create_group(MPI_COMM_WORLD, even, 17, &b));
		works(b, "create_group", n);
		CHECK(compare(a, b) == MPI_CONGRUENT,
			"MPI_Comm_create and MPI_Comm_create_group create "
			"congruent communicators");
		OK(MPI_Comm_free(&a));
		OK(MPI_Comm_free(&b));
	}
	OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &a));
	CHECK(a == MPI_COMM_NULL, "the empty group creates no communicator");
	OK(MPI_Group_free(&even));
	OK(MPI_Group_free(&world));
}

/* Processes pass disjoint groups to one MPI_Comm_create. Then each communicator
 * is split until it has one member. */
static void nested(void)
{
	int color = mtest.rank < mtest.size / 2, size = 0;
	MPI_Group world, mine;
	MPI_Comm half, next;

	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_range_incl(world, 1,
		(int[1][3]){ { color ? 0 : mtest.size / 2,
			color ? mtest.size / 2 - 1 : mtest.size - 1, 1 } },
		&mine));
	OK(MPI_Comm_create(MPI_COMM_WORLD, mine, &half));
	for (;;) {
		int rank = 0;

		OK(MPI_Comm_size(half, &size));
		OK(MPI_Comm_rank(half, &rank));
		works(half, "nested", size);
		if (size < 2)
			break;
		OK(MPI_Comm_split(half, rank < size / 2, rank, &next));
		OK(MPI_Comm_free(&half));
		half = next;
	}
	OK(MPI_Comm_free(&half));
	OK(MPI_Group_free(&mine));
	OK(MPI_Group_free(&world));
}

int main(int argc, char **argv)
{
	int inter = 1;

	mtest_init(&argc, &argv);
	mtest_need(2);
	works(MPI_COMM_WORLD, "world", mtest.size);
	works(MPI_COMM_SELF, "self", 1);
	CHECK(compare(MPI_COMM_WORLD, MPI_COMM_SELF) == MPI_UNEQUAL,
		"world is not self");
	OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &inter));
	CHECK(!inter, "world is no intercommunicator");
	duplicates();
	separate();
	splits();
	from_groups();
	nested();
	return mtest_finish();
}
