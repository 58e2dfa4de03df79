/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix_psets: process sets that the application defines (mpix.h)
 *
 * Not standard MPI: MPIX_Session_create_pset and the procedures on such sets.
 */
#include "session.h"

#include <mpix.h>

static int listed(MPI_Session session, const char *want, int *index_out)
{
	char name[MPI_MAX_PSET_NAME_LEN];
	int n = 0, found = 0;

	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
	for (int i = 0; i < n; i++) {
		int len = sizeof(name);

		OK(MPI_Session_get_nth_pset(
			session, MPI_INFO_NULL, i, &len, name));
		if (strcmp(name, want))
			continue;
		found++;
		*index_out = i;
	}
	return found;
}

/* Returns the ranks of the world that are in a set, as bits. */
static unsigned bits_of(MPI_Session session, const char *name)
{
	MPI_Group world = session_group(session, "mpi://WORLD");
	MPI_Group group = session_group(session, name);
	unsigned bits = 0;
	int size = 0;

	OK(MPI_Group_size(group, &size));
	for (int i = 0; i < size; i++) {
		int rank = MPI_UNDEFINED;

		OK(MPI_Group_translate_ranks(group, 1, &i, world, &rank));
		bits |= 1u << rank;
	}
	OK(MPI_Group_free(&world));
	if (group != MPI_GROUP_EMPTY)
		OK(MPI_Group_free(&group));
	return bits;
}

static void define(MPI_Session session, const char *name, unsigned bits)
{
	MPI_Group world = session_group(session, "mpi://WORLD"), group;
	int ranks[32], n = 0;

	for (int i = 0; i < mtest.size; i++)
		if (bits >> i & 1)
			ranks[n++] = i;
	OK(MPI_Group_incl(world, n, ranks, &group));
	OK(MPIX_Session_create_pset(session, name, group));
	OK(MPI_Group_free(&group)); /* the set has a group of its own */
	OK(MPI_Group_free(&world));
}

static void kind_is(MPI_Session session, const char *name, const char *want)
{
	char value[256] = "";
	int len = sizeof(value), flag = 0;
	MPI_Info info;

	OK(MPI_Session_get_pset_info(session, name, &info));
	OK(MPI_Info_get_string(info, "weft_kind", &len, value, &flag));
	CHECK(flag && !strcmp(value, want), "'%s' is of kind '%s', not '%s'",
		name, value, want);
	len = sizeof(value);
	OK(MPI_Info_get_string(info, "weft_host", &len, value, &flag));
	CHECK(flag && value[0], "the info of '%s' names its host: '%s'", name,
		value);
	len = sizeof(value);
	OK(MPI_Info_get_string(info, "weft_hwloc_object", &len, value, &flag));
	CHECK(flag == !strcmp(want, "hardware"),
		"only a hardware set has an object: '%s' has '%s'", name,
		value);
	OK(MPI_Info_free(&info));
}

/* The info of every set that the session lists has the kind of the set. */
static void kinds(MPI_Session session)
{
	int n = 0;

	kind_is(session, "mpi://WORLD", "world");
	kind_is(session, "mpi://SELF", "self");
	kind_is(session, "weft://host", "host");
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
	for (int i = 0; i < n; i++) {
		char name[MPI_MAX_PSET_NAME_LEN];
		int len = sizeof(name);

		OK(MPI_Session_get_nth_pset(
			session, MPI_INFO_NULL, i, &len, name));
		if (!strncmp(name, "hwloc://", 8))
			kind_is(session, name, "hardware");
	}
}

static void operations(MPI_Session session, unsigned a, unsigned b)
{
	unsigned all = (1u << mtest.size) - 1;

	CHECK(bits_of(session, "a") == a,
		"set a has the members with which it was defined: %x", a);
	OK(MPIX_Session_pset_union(session, "a", "b", "a or b"));
	OK(MPIX_Session_pset_intersection(session, "a", "b", "a and b"));
	OK(MPIX_Session_pset_difference(session, "a", "b", "a not b"));
	OK(MPIX_Session_pset_difference(session, "mpi://WORLD", "a", "not a"));
	OK(MPIX_Session_pset_difference(session, "a", "a", "none"));
	CHECK(bits_of(session, "a or b") == (a | b),
		"a union has the members of both sets");
	CHECK(bits_of(session, "a and b") == (a & b),
		"an intersection has the common members");
	CHECK(bits_of(session, "a not b") == (a & ~b),
		"a difference has the members of the first set alone");
	CHECK(bits_of(session, "not a") == (all & ~a),
		"a complement has all other processes");
	CHECK(bits_of(session, "none") == 0, "the set has no member");
	kind_is(session, "a or b", "application");
	FAILS(MPIX_Session_pset_union(session, "a", "nobody's", "x"),
		MPI_ERR_ARG);
	FAILS(MPIX_Session_pset_union(session, "a", "b", "a"), MPI_ERR_NAME);
	CHECK(bits_of(session, "a") == a, "set a is unchanged");
}

/* The members of a set create a communicator of it. The others do nothing. */
static void members_talk(MPI_Session session, unsigned bits, const char *name)
{
	MPI_Comm comm;
	int size = 0;

	if (!(bits >> mtest.rank & 1))
		return;
	comm = session_comm(session, name, name);
	OK(MPI_Comm_size(comm, &size));
	CHECK(size == __builtin_popcount(bits),
		"the communicator has all members of '%s', got %d", name, size);
	session_works(comm, name);
	OK(MPI_Comm_disconnect(&comm));
}

/* No set gets another number when a set is deleted. A deleted set cannot be
 * used. */
static void deleted(MPI_Session session, unsigned a)
{
	int is_in = a >> mtest.rank & 1, before = -1, after = -1, n[2] = { 0 };
	MPI_Count changes[2] = { 0 };
	char name[MPI_MAX_PSET_NAME_LEN];
	int len = sizeof(name);
	MPI_Group group;
	MPI_Info info;

	CHECK(listed(session, "a", &before) == is_in,
		"a member lists 'a', and no other process does");
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n[0]));
	OK(MPIX_Session_get_pset_changes(session, &changes[0]));
	OK(MPIX_Session_delete_pset(session, "a"));
	OK(MPIX_Session_get_pset_changes(session, &changes[1]));
	CHECK(changes[1] == changes[0] + 1, "a deletion counts as one change");
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n[1]));
	CHECK(n[0] == n[1], "a deletion keeps the number of sets: %d, then %d",
		n[0], n[1]);
	FAILS(MPI_Group_from_session_pset(session, "a", &group), MPI_ERR_ARG);
	FAILS(MPI_Session_get_pset_info(session, "a", &info), MPI_ERR_ARG);
	FAILS(MPIX_Session_delete_pset(session, "a"), MPI_ERR_NAME);
	if (is_in) {
		OK(MPI_Session_get_nth_pset(
			session, MPI_INFO_NULL, before, &len, name));
		CHECK(!strcmp(name, "a"),
			"the set with number %d keeps its "
			"name",
			before);
	}
	define(session, "a", a | 1u << mtest.rank);
	CHECK(listed(session, "a", &after) == 1, "'a' is listed once again");
	CHECK(!is_in || before == after,
		"a set that is defined again keeps its number: %d, then %d",
		before, after);
}

static void wrong(MPI_Session session)
{
	static const char *const names[] = { "", "mpi://WORLD", "MPI://x",
		"weft://host", "hwloc://Package" };
	char name[MPI_MAX_PSET_NAME_LEN + 1];

	for (int i = 0; i < 5; i++)
		FAILS(MPIX_Session_create_pset(
			      session, names[i], MPI_GROUP_EMPTY),
			MPI_ERR_ARG);
	memset(name, 'x', sizeof(name));
	name[MPI_MAX_PSET_NAME_LEN] = 0;
	FAILS(MPIX_Session_create_pset(session, name, MPI_GROUP_EMPTY),
		MPI_ERR_ARG);
	name[MPI_MAX_PSET_NAME_LEN - 1] = 0;
	OK(MPIX_Session_create_pset(session, name, MPI_GROUP_EMPTY));
	FAILS(MPIX_Session_create_pset(session, "x", MPI_GROUP_NULL),
		MPI_ERR_GROUP);
	FAILS(MPIX_Session_create_pset(session, NULL, MPI_GROUP_EMPTY),
		MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
	MPI_Session session, other;
	MPI_Group group;
	unsigned a = 0x55, b = 0x33, all;

	(void)argc;
	mtest_start(argv[0]);
	session = session_open();
	other = session_open();
	session_set_rank(session);
	all = (1u << mtest.size) - 1;
	a &= all;
	b &= all;
	define(session, "a", a);
	define(session, "b", b);
	FAILS(MPI_Group_from_session_pset(other, "a", &group), MPI_ERR_ARG);
	kinds(session);
	operations(session, a, b);
	members_talk(session, a, "a");
	members_talk(session, a | b, "a or b");
	members_talk(session, all & ~a, "not a");
	deleted(session, a);
	wrong(session);
	session_close(&session);
	session_close(&other);
	return mtest_done();
}
