/* SPDX-License-Identifier: BSD-3-Clause */
/* ses_psets: process sets: names, sizes, groups (S80-S83) */
#include "session.h"
#include <ctype.h>

static int find(MPI_Session session, int n, const char *want)
{
	char name[MPI_MAX_PSET_NAME_LEN];
	int found = 0;

	for (int i = 0; i < n; i++) {
		int len = sizeof(name);

		OK(MPI_Session_get_nth_pset(
			session, MPI_INFO_NULL, i, &len, name));
		found += strcmp(name, want) == 0;
	}
	return found;
}

/* Checks that each listed set has a URI as its name, a group that contains the
 * caller, and the right size. */
static void each(MPI_Session session, int n)
{
	for (int i = 0; i < n; i++) {
		char name[MPI_MAX_PSET_NAME_LEN] = "", value[32] = "";
		int len = 0, flag = 0, size = -1, rank = MPI_UNDEFINED;
		MPI_Group group;
		MPI_Info info;

		OK(MPI_Session_get_nth_pset(
			session, MPI_INFO_NULL, i, &len, NULL));
		CHECK(len > 1 && len <= MPI_MAX_PSET_NAME_LEN,
			"the length of name %d is valid: %d", i, len);
		OK(MPI_Session_get_nth_pset(
			session, MPI_INFO_NULL, i, &len, name));
		CHECK((int)strlen(name) == len - 1, "S80: '%s' has length %d",
			name, len);
		group = session_group(session, name);
		OK(MPI_Group_size(group, &size));
		OK(MPI_Group_rank(group, &rank));
		CHECK(strstr(name, "://") && isalpha((unsigned char)name[0]),
			"S82: '%s' is a URI", name);
		CHECK(rank != MPI_UNDEFINED, "S81: '%s' names a group of mine",
			name);
		OK(MPI_Session_get_pset_info(session, name, &info));
		len = sizeof(value);
		OK(MPI_Info_get_string(info, "mpi_size", &len, value, &flag));
		CHECK(flag && atoi(value) == size,
			"S80: '%s' has the size of its info: %d, '%s'", name,
			size, value);
		OK(MPI_Info_free(&info));
		OK(MPI_Group_free(&group));
	}
}

static void short_name(MPI_Session session)
{
	char name[5] = "", full[MPI_MAX_PSET_NAME_LEN] = "";
	int len = sizeof(full), cut = sizeof(name);

	OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &len, full));
	OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &cut, name));
	CHECK(cut == len, "a short buffer returns the needed length, %d", cut);
	CHECK(strncmp(name, full, 4) == 0 && name[4] == 0,
		"a short buffer gets the beginning and a NUL");
}

static void wrong(MPI_Session session, int n)
{
	MPI_Group group = MPI_GROUP_NULL;
	MPI_Info info;
	char name[8];
	int len = sizeof(name);

	CHECK(MPI_Group_from_session_pset(session, "mpi://NOBODY", &group),
		"an unknown set has no group");
	CHECK(MPI_Session_get_pset_info(session, "nothing://", &info),
		"an unknown set has no info");
	CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &len, name),
		"an index beyond the last name is an error");
	len = 8;
	CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &len, NULL),
		"a null buffer for the name is an error");
	CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, NULL, name),
		"a null pointer for the length is an error");
	len = 8;
	CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &len, name),
		"a negative index is an error");
}

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Group group;
	int n = 0, again = 0, size = 0, rc;

	(void)argc;
	mtest_start(argv[0]);
	session = session_open();
	session_set_rank(session);
	CHECK(!getenv("PMIX_RANK") || atoi(getenv("PMIX_RANK")) == mtest.rank,
		"the rank in WORLD is the launcher's");
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
	CHECK(n >= 2, "S83: two sets exist at least, got %d", n);
	CHECK(find(session, n, "mpi://WORLD") == 1,
		"S83: WORLD is listed once");
	CHECK(find(session, n, "mpi://SELF") == 1, "S83: SELF is listed once");
	each(session, n);
	short_name(session);
	wrong(session, n);
	rc = MPI_Group_from_session_pset(
		session, "mpi://SELF", (MPI_Group *)MPI_GROUP_NULL);
	CHECK(mtest_class(rc) == MPI_ERR_ARG,
		"a null pointer for the group is an error: class %d",
		mtest_class(rc));
	group = session_group(session, "mpi://SELF");
	OK(MPI_Group_size(group, &size));
	CHECK(size == 1, "SELF is one process");
	OK(MPI_Group_free(&group));
	group = session_group(session, "mpi://world");
	OK(MPI_Group_size(group, &size));
	CHECK(size == mtest.size, "S83: lower case works too");
	OK(MPI_Group_free(&group));
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &again));
	CHECK(again >= n, "the number of sets never shrinks");
	session_close(&session);
	return mtest_done();
}
