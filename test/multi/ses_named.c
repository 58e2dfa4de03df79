/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_named: communicators from process sets that the launcher named
 *
 * set=NAME the set this process was started in, size=N its size,
 * other=NAME a set it is not in
 */
#include "session.h"

static const char *word(int argc, char **argv, const char *key)
{
	size_t len = strlen(key);

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], key, len) == 0)
			return argv[i] + len;
	return "";
}

/* True if name is the launcher's name `want`, alone or after a scheme (S82). */
static bool is_set(const char *name, const char *want)
{
	const char *tail = strstr(name, "://");

	return strcmp(name, want) == 0 || (tail && !strcmp(tail + 3, want));
}

/* A process may query a set of which it is not a member. */
static void from_outside(MPI_Session session, const char *other)
{
	MPI_Group group = MPI_GROUP_NULL;
	MPI_Comm comm = MPI_COMM_NULL;
	int rank = 0;

	if (MPI_Group_from_session_pset(session, other, &group) != MPI_SUCCESS)
		return;
	OK(MPI_Group_rank(group, &rank));
	CHECK(rank == MPI_UNDEFINED,
		"this process is no member of '%s', got %d", other, rank);
	FAILS(MPI_Comm_create_from_group(group, "not mine", MPI_INFO_NULL,
		      MPI_ERRORS_RETURN, &comm),
		MPI_ERR_GROUP);
	OK(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
	const char *mine, *other;
	char name[MPI_MAX_PSET_NAME_LEN], listed[MPI_MAX_PSET_NAME_LEN] = "";
	int n = 0, size = 0, found = 0, foreign = 0;
	MPI_Session session;
	MPI_Comm comm;

	mtest_start(argv[0]);
	mine = word(argc, argv, "set=");
	other = word(argc, argv, "other=");
	session = session_open();
	session_set_rank(session);
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
	for (int i = 0; i < n; i++) {
		int len = sizeof(name);

		OK(MPI_Session_get_nth_pset(
			session, MPI_INFO_NULL, i, &len, name));
		foreign += is_set(name, other);
		if (!is_set(name, mine))
			continue;
		found++;
		strcpy(listed, name);
	}
	CHECK(found == 1, "my set '%s' is listed once, %d", mine, found);
	CHECK(foreign == 0, "a set without me, '%s', is not listed", other);
	from_outside(session, other);
	comm = session_comm(session, listed, "members of a named set");
	OK(MPI_Comm_size(comm, &size));
	CHECK(size == mtest_arg(argc, argv, "size", 0), "'%s' has %d members",
		mine, size);
	session_works(comm, mine);
	OK(MPI_Comm_disconnect(&comm));
	session_close(&session);
	return mtest_done();
}
