/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix_publish: process sets of the whole job that one process defines
 *
 * Tests MPIX_Session_publish_pset and MPIX_Session_set_pset_callback. With
 * how=1 the process manager cannot delete a set, and with how=2 it cannot
 * define one. The calls must then return that error.
 */
#include "session.h"

#include <mpix.h>

enum { N_NEWS = 16 };

/* The notifications that the callback received, in order. */
struct notified {
	MPI_Session session;
	int n;
	int change[N_NEWS];
	char name[N_NEWS][64];
	int size; /* size of the set when the callback ran */
};

static void on_change(
	MPI_Session session, const char *name, int change, void *extra_state)
{
	struct notified *notified = extra_state;
	MPI_Group group = MPI_GROUP_NULL;

	CHECK(session == notified->session,
		"the callback receives its session");
	if (notified->n == N_NEWS)
		return;
	notified->change[notified->n] = change;
	snprintf(notified->name[notified->n++], 64, "%s", name);
	if (change != MPIX_PSET_DEFINED)
		return;
	/* the callback may call MPI */
	OK(MPI_Group_from_session_pset(session, name, &group));
	OK(MPI_Group_size(group, &notified->size));
	OK(MPI_Group_free(&group));
}

static int was_notified(
	const struct notified *notified, const char *name, int change)
{
	int n = 0;

	for (int i = 0; i < notified->n; i++)
		n += notified->change[i] == change &&
		     !strcmp(notified->name[i], name);
	return n;
}

/* Waits for a notification, in calls that wait for other events. */
static void wait_told(struct notified *notified, const char *name, int change)
{
	MPI_Comm self = session_comm(notified->session, "mpi://SELF", "wait");
	MPI_Request req;
	int x, done = 0;

	OK(MPI_Irecv(&x, 1, MPI_INT, 0, 0, self, &req));
	while (!was_notified(notified, name, change))
		OK(MPI_Test(&req, &done, MPI_STATUS_IGNORE));
	OK(MPI_Cancel(&req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	OK(MPI_Comm_disconnect(&self));
	CHECK(was_notified(notified, name, change) == 1,
		"'%s': the callback reports it once", name);
}

static MPI_Group even_group(MPI_Session session)
{
	int range[1][3] = { { 0, mtest.size - 1, 2 } };
	MPI_Group world = session_group(session, "mpi://WORLD"), group;

	OK(MPI_Group_range_incl(world, 1, range, &group));
	OK(MPI_Group_free(&world));
	return group;
}

static void wrong(MPI_Session session)
{
	MPI_Group self = session_group(session, "mpi://SELF");

	FAILS(MPIX_Session_publish_pset(session, "none", MPI_GROUP_EMPTY),
		MPI_ERR_ARG);
	FAILS(MPIX_Session_publish_pset(session, "a,b", self), MPI_ERR_ARG);
	FAILS(MPIX_Session_publish_pset(session, "mpi://MINE", self),
		MPI_ERR_ARG);
	FAILS(MPIX_Session_publish_pset(session, "x", MPI_GROUP_NULL),
		MPI_ERR_GROUP);
	FAILS(MPIX_Session_publish_pset(session, NULL, self), MPI_ERR_ARG);
	FAILS(MPIX_Session_publish_pset(MPI_SESSION_NULL, "x", self),
		MPI_ERR_SESSION);
	OK(MPI_Group_free(&self));
}

/* One process defines a set. All processes are notified, also those that are
 * not members. */
static void made(struct notified *notified, MPI_Comm all)
{
	MPI_Session session = notified->session;
	int is_in = mtest.rank % 2 == 0, n[2] = { 0 };
	MPI_Group group = even_group(session);
	MPI_Comm comm;

	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n[0]));
	OK(MPI_Barrier(all));
	if (mtest.rank == 0) {
		OK(MPIX_Session_publish_pset(session, "even", group));
		FAILS(MPIX_Session_publish_pset(session, "even", group),
			MPI_ERR_NAME);
	}
	wait_told(notified, "even", MPIX_PSET_DEFINED);
	CHECK(notified->size == (mtest.size + 1) / 2,
		"the set in the callback has all its members, got %d",
		notified->size);
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n[1]));
	CHECK(n[1] == n[0] + is_in,
		"only members list the set: %d sets, then %d", n[0], n[1]);
	if (is_in) {
		comm = session_comm(session, "even", "even");
		session_works(comm, "even");
		OK(MPI_Comm_disconnect(&comm));
	}
	OK(MPI_Group_free(&group));
}

/* Another process deletes the set. */
static void gone(struct notified *notified, MPI_Comm all, int how)
{
	MPI_Session session = notified->session;
	int last = mtest.size - 1, n[2] = { 0 };
	MPI_Group group;

	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n[0]));
	OK(MPI_Barrier(all));
	if (mtest.rank == last && how) {
		FAILS(MPIX_Session_unpublish_pset(session, "even"),
			MPI_ERR_UNSUPPORTED_OPERATION);
	} else if (mtest.rank == last) {
		OK(MPIX_Session_unpublish_pset(session, "even"));
		FAILS(MPIX_Session_unpublish_pset(session, "even"),
			MPI_ERR_NAME);
	}
	if (how)
		return;
	wait_told(notified, "even", MPIX_PSET_DELETED);
	FAILS(MPI_Group_from_session_pset(session, "even", &group),
		MPI_ERR_ARG);
	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n[1]));
	CHECK(n[0] == n[1], "a deletion keeps the number of sets: %d, then %d",
		n[0], n[1]);
}

/* Sets that a session defines for itself cause notifications, but only in that
 * session. */
static void local(struct notified *notified, MPI_Session other)
{
	MPI_Group group = even_group(notified->session);
	int before = notified->n;

	OK(MPIX_Session_create_pset(other, "not mine", group));
	CHECK(notified->n == before,
		"a set of another session is not reported");
	OK(MPIX_Session_create_pset(notified->session, "mine", group));
	CHECK(was_notified(notified, "mine", MPIX_PSET_DEFINED) == 1,
		"the callback reports the definition of the set once");
	OK(MPIX_Session_delete_pset(notified->session, "mine"));
	CHECK(was_notified(notified, "mine", MPIX_PSET_DELETED) == 1,
		"the callback reports the deletion of the set once");
	OK(MPI_Group_free(&group));
}

/* Checks the info of a set of the command line. */
static void given(MPI_Session session, const char *name)
{
	char kind[32] = "", size[32] = "";
	int len = sizeof(kind), flag = 0, members = -1, rank = MPI_UNDEFINED;
	MPI_Group group = session_group(session, name);
	MPI_Info info;

	OK(MPI_Group_size(group, &members));
	OK(MPI_Group_rank(group, &rank));
	OK(MPI_Group_free(&group));
	CHECK(rank != MPI_UNDEFINED, "this process is a member of '%s'", name);
	OK(MPI_Session_get_pset_info(session, name, &info));
	OK(MPI_Info_get_string(info, "weft_kind", &len, kind, &flag));
	CHECK(flag && !strcmp(kind, "manager"),
		"the kind of '%s' is 'manager', got '%s'", name, kind);
	len = sizeof(size);
	OK(MPI_Info_get_string(info, "mpi_size", &len, size, &flag));
	CHECK(flag && atoi(size) == members,
		"the info of '%s' has the number of members, %d, got %s", name,
		members, size);
	OK(MPI_Info_free(&info));
	OK(MPIX_Session_pset_difference(
		session, "mpi://WORLD", name, "all but mine"));
	group = session_group(session, "all but mine");
	OK(MPI_Group_size(group, &rank));
	CHECK(rank == mtest.size - members,
		"the difference has all other processes: %d, not %d",
		mtest.size - members, rank);
	if (rank)
		OK(MPI_Group_free(&group));
}

static void stop_on_change(
	MPI_Session session, const char *name, int change, void *extra_state)
{
	(void)name;
	(void)change;
	++*(int *)extra_state;
	OK(MPIX_Session_set_pset_callback(session, NULL, NULL));
}

/* The callback may remove itself. It is not called again. */
static void taken_off(MPI_Session session)
{
	MPI_Group group = even_group(session);
	int n = 0;

	OK(MPIX_Session_set_pset_callback(session, stop_on_change, &n));
	OK(MPIX_Session_create_pset(session, "one", group));
	OK(MPIX_Session_create_pset(session, "two", group));
	CHECK(n == 1, "the callback is called once, got %d calls", n);
	FAILS(MPIX_Session_set_pset_callback(MPI_SESSION_NULL, NULL, NULL),
		MPI_ERR_SESSION);
	OK(MPI_Group_free(&group));
}

static void no_manager(MPI_Session session)
{
	MPI_Group group = even_group(session);

	FAILS(MPIX_Session_publish_pset(session, "even", group),
		MPI_ERR_UNSUPPORTED_OPERATION);
	FAILS(MPIX_Session_unpublish_pset(session, "even"),
		MPI_ERR_UNSUPPORTED_OPERATION);
	OK(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
	struct notified notified = { .n = 0 };
	int how = mtest_arg(argc, argv, "how", 0);
	MPI_Session other;
	MPI_Comm all;

	mtest_start(argv[0]);
	notified.session = session_open();
	other = session_open();
	session_set_rank(notified.session);
	OK(MPIX_Session_set_pset_callback(
		notified.session, on_change, &notified));
	all = session_comm(other, "mpi://WORLD", "all");
	wrong(notified.session);
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "set=", 4))
			given(other, argv[i] + 4);
	if (how == 2) {
		no_manager(notified.session);
	} else {
		made(&notified, all);
		gone(&notified, all, how);
	}
	local(&notified, other);
	taken_off(notified.session);
	OK(MPI_Comm_disconnect(&all));
	session_close(&notified.session);
	session_close(&other);
	return mtest_done();
}
