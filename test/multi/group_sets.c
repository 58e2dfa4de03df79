/* SPDX-License-Identifier: BSD-3-Clause */
/* group_sets: groups as ordered sets, all operations; needs 6 processes */
#include "mtest.h"

static MPI_Group world;

/* the group has exactly these world ranks, in this order */
static void is(MPI_Group group, const char *what, int n, const int *want)
{
	int size = -1, rank = -2, mine = MPI_UNDEFINED, to[16];
	int all[16];

	OK(MPI_Group_size(group, &size));
	if (!CHECK(size == n, "%s has %d members, got %d", what, n, size))
		return;
	for (int i = 0; i < n; i++) {
		all[i] = i;
		if (want[i] == mtest.rank)
			mine = i;
	}
	OK(MPI_Group_rank(group, &rank));
	CHECK(rank == mine, "%s: my rank is %d, got %d", what, mine, rank);
	OK(MPI_Group_translate_ranks(group, n, all, world, to));
	for (int i = 0; i < n; i++)
		CHECK(to[i] == want[i], "%s: member %d is %d, got %d", what, i,
			want[i], to[i]);
}

#define IS(group, ...)                                                  \
	is(group, #group, sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), \
		(int[]){ __VA_ARGS__ })

static void include_exclude(void)
{
	const int pick[3] = { 4, 0, 2 }, five[1] = { 5 };
	MPI_Group some, rest, none, all;

	OK(MPI_Group_incl(world, 3, pick, &some));
	IS(some, 4, 0, 2);
	OK(MPI_Group_excl(world, 3, pick, &rest));
	is(rest, "rest", mtest.size - 3, (int[]){ 1, 3, 5, 6, 7 });
	OK(MPI_Group_incl(world, 0, pick, &none));
	CHECK(none == MPI_GROUP_EMPTY,
		"including no member returns the empty group");
	OK(MPI_Group_excl(world, 0, pick, &all));
	int result = -1;
	OK(MPI_Group_compare(world, all, &result));
	CHECK(result == MPI_IDENT,
		"excluding no member returns an identical group");
	OK(MPI_Group_free(&some));
	CHECK(some == MPI_GROUP_NULL, "a freed group is null");
	OK(MPI_Group_incl(rest, 1, (int[]){ 2 }, &some));
	is(some, "the sixth", 1, five);
	OK(MPI_Group_free(&some));
	OK(MPI_Group_free(&rest));
	OK(MPI_Group_free(&all));
}

static void ranges(void)
{
	int up[1][3] = { { 1, 5, 2 } }, down[1][3] = { { 5, 0, -2 } };
	int two[2][3] = { { 4, 5, 1 }, { 2, 0, -1 } };
	MPI_Group odd, back, mixed, even;

	OK(MPI_Group_range_incl(world, 1, up, &odd));
	IS(odd, 1, 3, 5);
	OK(MPI_Group_range_incl(world, 1, down, &back));
	IS(back, 5, 3, 1);
	OK(MPI_Group_range_incl(world, 2, two, &mixed));
	IS(mixed, 4, 5, 2, 1, 0);
	OK(MPI_Group_range_excl(mixed, 1, (int[1][3]){ { 0, 4, 2 } }, &even));
	IS(even, 5, 1);
	OK(MPI_Group_free(&odd));
	OK(MPI_Group_free(&back));
	OK(MPI_Group_free(&mixed));
	OK(MPI_Group_free(&even));
}

static void set_operations(void)
{
	MPI_Group a, b, both, common, less, empty;

	OK(MPI_Group_incl(world, 4, (int[]){ 5, 3, 1, 0 }, &a));
	OK(MPI_Group_incl(world, 4, (int[]){ 0, 1, 2, 4 }, &b));
	OK(MPI_Group_union(a, b, &both));
	IS(both, 5, 3, 1, 0, 2, 4);
	OK(MPI_Group_intersection(a, b, &common));
	IS(common, 1, 0);
	OK(MPI_Group_difference(a, b, &less));
	IS(less, 5, 3);
	OK(MPI_Group_difference(a, a, &empty));
	CHECK(empty == MPI_GROUP_EMPTY, "a minus a is empty");
	OK(MPI_Group_intersection(less, common, &empty));
	CHECK(empty == MPI_GROUP_EMPTY,
		"disjoint groups have an empty intersection");
	OK(MPI_Group_free(&both));
	OK(MPI_Group_union(MPI_GROUP_EMPTY, a, &both));
	IS(both, 5, 3, 1, 0);
	OK(MPI_Group_free(&both));
	OK(MPI_Group_union(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &both));
	CHECK(both == MPI_GROUP_EMPTY, "empty and empty is empty");
	OK(MPI_Group_free(&a));
	OK(MPI_Group_free(&b));
	OK(MPI_Group_free(&common));
	OK(MPI_Group_free(&less));
}

static void compare(void)
{
	MPI_Group a, b, c, d;
	int result = -1;

	OK(MPI_Group_incl(world, 3, (int[]){ 0, 1, 2 }, &a));
	OK(MPI_Group_range_incl(world, 1, (int[1][3]){ { 0, 2, 1 } }, &b));
	OK(MPI_Group_incl(world, 3, (int[]){ 2, 1, 0 }, &c));
	OK(MPI_Group_incl(world, 3, (int[]){ 0, 1, 3 }, &d));
	OK(MPI_Group_compare(a, b, &result));
	CHECK(result == MPI_IDENT, "list and range are identical");
	OK(MPI_Group_compare(a, c, &result));
	CHECK(result == MPI_SIMILAR, "a group in reverse order is similar");
	OK(MPI_Group_compare(a, d, &result));
	CHECK(result == MPI_UNEQUAL, "a group with another member is unequal");
	OK(MPI_Group_compare(a, MPI_GROUP_EMPTY, &result));
	CHECK(result == MPI_UNEQUAL, "a group is unequal to the empty group");
	OK(MPI_Group_compare(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &result));
	CHECK(result == MPI_IDENT, "the empty group is identical to itself");
	OK(MPI_Group_free(&a));
	OK(MPI_Group_free(&b));
	OK(MPI_Group_free(&c));
	OK(MPI_Group_free(&d));
}

static void translate(void)
{
	const int from[4] = { 1, MPI_PROC_NULL, 0, 2 };
	MPI_Group a, b;
	int to[4];

	OK(MPI_Group_incl(world, 3, (int[]){ 3, 1, 0 }, &a));
	OK(MPI_Group_incl(world, 2, (int[]){ 1, 3 }, &b));
	OK(MPI_Group_translate_ranks(a, 4, from, b, to));
	CHECK(to[0] == 0, "1 of a is 0 of b");
	CHECK(to[1] == MPI_PROC_NULL, "null stays null");
	CHECK(to[2] == 1, "0 of a is 1 of b");
	CHECK(to[3] == MPI_UNDEFINED, "2 of a is not in b");
	OK(MPI_Group_translate_ranks(a, 0, NULL, b, NULL));
	OK(MPI_Group_free(&a));
	OK(MPI_Group_free(&b));
}

static void wrong_arguments(void)
{
	MPI_Group none = MPI_GROUP_NULL, out = MPI_GROUP_NULL;
	int size = 0, to[2];

	FAILS(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
	FAILS(MPI_Group_free(&none), MPI_ERR_GROUP);
	FAILS(MPI_Group_incl(world, 1, (int[]){ mtest.size }, &out),
		MPI_ERR_RANK);
	FAILS(MPI_Group_incl(world, 2, (int[]){ 1, 1 }, &out), MPI_ERR_RANK);
	FAILS(MPI_Group_excl(world, 1, (int[]){ -1 }, &out), MPI_ERR_RANK);
	CHECK(MPI_Group_range_incl(world, 1, (int[1][3]){ { 0, 2, 0 } }, &out),
		"a stride of 0 is refused");
	FAILS(MPI_Group_translate_ranks(
		      world, 1, (int[]){ mtest.size }, world, to),
		MPI_ERR_RANK);
	CHECK(out == MPI_GROUP_NULL, "a failed call makes no group");
}

int main(int argc, char **argv)
{
	int size = -1, rank = 0;

	mtest_init(&argc, &argv);
	mtest_need(6);
	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_size(MPI_GROUP_EMPTY, &size));
	OK(MPI_Group_rank(MPI_GROUP_EMPTY, &rank));
	CHECK(size == 0 && rank == MPI_UNDEFINED,
		"the empty group has no members");
	include_exclude();
	ranges();
	set_operations();
	compare();
	translate();
	wrong_arguments();
	OK(MPI_Group_free(&world));
	return mtest_finish();
}
