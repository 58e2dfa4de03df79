/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_psets: process sets with members of several jobs
 *
 * A job spawns others. One process publishes a set of all processes. The other
 * processes find the set, create a communicator from it without a parent
 * communicator, and notice its deletion.
 *
 * jobs= number of spawned jobs   root= the rank that spawns the second job
 * by= the rank that publishes the set   own=1: sessions have own endpoints
 * unmet=1: only one parent is connected to the children, so the creation
 * fails, until a communicator connects all
 * keeps=1: the process manager deletes no sets and does not compare the names
 * of several jobs, and its servers learn of a set one after another (PRRTE) */
#include "session.h"

#include <mpi-ext.h>
#include <mpix.h>

enum { CHILDREN = 2, N_NEWS = 8 };

/* Opens a session, with an endpoint of its own if is_own is set. */
static MPI_Session open_with(int is_own)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "weft_vci", is_own ? "dedicated" : "shared"));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	return session;
}

/* The notifications that the callback received. */
static struct {
	int n, change[N_NEWS];
	char name[N_NEWS][64];
} news;

static void on_change(
	MPI_Session session, const char *name, int change, void *extra_state)
{
	(void)session;
	(void)extra_state;
	if (news.n == N_NEWS)
		return;
	news.change[news.n] = change;
	snprintf(news.name[news.n++], sizeof(news.name[0]), "%s", name);
}

static int was_notified(const char *name, int change)
{
	int n = 0;

	for (int i = 0; i < news.n; i++)
		n += news.change[i] == change && !strcmp(news.name[i], name);
	return n;
}

static void wait_notified(const char *name, int change)
{
	MPI_Request req;
	int x, done = 0;

	OK(MPI_Irecv(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &req));
	while (!was_notified(name, change))
		OK(MPI_Test(&req, &done, MPI_STATUS_IGNORE));
	OK(MPI_Cancel(&req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	CHECK(was_notified(name, change) == 1,
		"'%s': the callback reports change %d once", name, change);
}

static int is_listed(MPI_Session session, const char *name)
{
	char text[MPI_MAX_PSET_NAME_LEN];
	int n = 0, found = 0;

	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
	for (int i = 0; i < n; i++) {
		int len = sizeof(text);

		OK(MPI_Session_get_nth_pset(
			session, MPI_INFO_NULL, i, &len, text));
		found += !strcmp(text, name);
	}
	return found;
}

/* Merges the two groups. The new processes get the upper ranks. */
static MPI_Comm merge(MPI_Comm inter, int is_new)
{
	MPI_Comm merged = MPI_COMM_NULL;

	if (inter == MPI_COMM_NULL ||
		!OK(MPI_Intercomm_merge(inter, is_new, &merged)))
		exit(mtest_done());
	OK(MPI_Comm_disconnect(&inter));
	return merged;
}

static MPI_Comm grow(MPI_Comm comm, char **argv, int root)
{
	MPI_Comm inter = MPI_COMM_NULL;
	int rc = MPI_Comm_spawn(argv[0], argv + 1, CHILDREN, MPI_INFO_NULL,
		root, comm, &inter, MPI_ERRCODES_IGNORE);

	if (mtest_class(rc) == MPI_ERR_SPAWN && !getenv("WEFT_JOB"))
		mtest_skip("this launcher starts no further processes");
	OK(rc);
	OK(MPI_Comm_disconnect(&comm));
	return merge(inter, 0);
}

/* Checks the info of the set, and a communicator of its members. */
static void use(MPI_Session session, int size)
{
	MPI_Comm comm = session_comm(session, "all jobs", "all jobs");
	char text[16] = "";
	int len = sizeof(text), flag = 0, n = 0;
	MPI_Info info;

	OK(MPI_Session_get_pset_info(session, "all jobs", &info));
	OK(MPI_Info_get_string(info, "mpi_size", &len, text, &flag));
	CHECK(flag && atoi(text) == size,
		"the info has the number of members, %d: %s", size, text);
	OK(MPI_Info_free(&info));
	OK(MPI_Comm_size(comm, &n));
	CHECK(n == size, "the communicator has all %d members, got %d", size,
		n);
	session_works(comm, "all jobs");
	OK(MPI_Comm_disconnect(&comm));
}

/* A name that is taken in another job cannot be published. */
static void taken(MPI_Session session, MPI_Comm all, MPI_Group group, int by)
{
	int rank = 0, size = 0;
	MPI_Group self = session_group(session, "mpi://SELF");

	OK(MPI_Comm_rank(all, &rank));
	OK(MPI_Comm_size(all, &size));
	if (rank == (by ? 0 : size - 1))
		OK(MPIX_Session_publish_pset(session, "taken", self));
	OK(MPI_Barrier(all));
	if (rank == by) {
		FAILS(MPIX_Session_publish_pset(session, "taken", group),
			MPI_ERR_NAME);
		CHECK(!is_listed(session, "taken"),
			"a set that was refused does not exist");
	}
	OK(MPI_Group_free(&self));
}

/* One process deletes the set, and all notice that. */
static void delete_set(MPI_Session session, bool is_mine)
{
	MPI_Group group;

	if (is_mine)
		OK(MPIX_Session_unpublish_pset(session, "all jobs"));
	wait_notified("all jobs", MPIX_PSET_DELETED);
	FAILS(MPI_Group_from_session_pset(session, "all jobs", &group),
		MPI_ERR_ARG);
}

static void run(MPI_Comm all, MPI_Session session, int by, bool keeps)
{
	MPI_Group group;
	int rank = 0, size = 0;
	MPI_Count n = 0, m = 0;

	OK(MPI_Comm_rank(all, &rank));
	OK(MPI_Comm_size(all, &size));
	OK(MPI_Comm_group(all, &group));
	OK(MPIX_Session_set_pset_callback(session, on_change, NULL));
	OK(MPIX_Session_get_pset_changes(session, &n));
	OK(MPI_Barrier(all));
	if (rank == by) {
		OK(MPIX_Session_publish_pset(session, "all jobs", group));
		FAILS(MPIX_Session_publish_pset(session, "all jobs", group),
			MPI_ERR_NAME);
	}
	OK(MPI_Barrier(all));
	CHECK(keeps || is_listed(session, "all jobs") == 1,
		"the set is listed when its publisher has returned");
	wait_notified("all jobs", MPIX_PSET_DEFINED);
	CHECK(is_listed(session, "all jobs") == 1,
		"the set is listed after the notification");
	OK(MPIX_Session_get_pset_changes(session, &m));
	CHECK(m > n, "the change is counted");
	use(session, size);
	if (!keeps)
		taken(session, all, group, by);
	OK(MPI_Group_free(&group));
	OK(MPI_Barrier(all));
	if (!keeps)
		delete_set(session, rank == size - 1 - by);
	OK(MPI_Barrier(all));
	session_close(&session);
	OK(MPI_Comm_disconnect(&all));
}

static MPI_Group all_of(MPI_Comm inter)
{
	MPI_Group a, b, both;

	OK(MPI_Comm_group(inter, &a));
	OK(MPI_Comm_remote_group(inter, &b));
	OK(MPI_Group_union(a, b, &both));
	OK(MPI_Group_free(&a));
	OK(MPI_Group_free(&b));
	return both;
}

/* Parent 0 spawns the children alone, and publishes a set with all parents. */
static MPI_Comm unmet_spawn(MPI_Session session, char **argv)
{
	MPI_Comm inter = MPI_COMM_NULL;
	MPI_Group world, both, some;

	OK(MPI_Comm_spawn(argv[0], argv + 1, CHILDREN, MPI_INFO_NULL, 0,
		MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE));
	if (inter == MPI_COMM_NULL)
		exit(mtest_done());
	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	some = all_of(inter);
	OK(MPI_Group_union(world, some, &both));
	OK(MPIX_Session_publish_pset(session, "unmet", both));
	OK(MPI_Group_free(&world));
	OK(MPI_Group_free(&some));
	OK(MPI_Group_free(&both));
	return inter;
}

/* Creates the communicator of the set, although not all members have met. A
 * member that has met all may have the communicator, which is revoked. */
static void unmet_create(MPI_Session session, int has_met)
{
	MPI_Group group = session_group(session, "unmet");
	MPI_Comm comm = MPI_COMM_NULL;
	int rc = MPI_Comm_create_from_group(
		group, "unmet", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);

	if (!has_met)
		CHECK(mtest_class(rc) == MPI_ERR_GROUP,
			"a creation with an unknown process fails, %s",
			mtest_error(rc));
	if (!rc) {
		FAILS(MPI_Barrier(comm), MPIX_ERR_REVOKED);
		OK(MPI_Comm_free(&comm));
	}
	OK(MPI_Group_free(&group));
}

static void unmet(MPI_Comm parent, MPI_Session session, char **argv)
{
	int is_child = parent != MPI_COMM_NULL;
	int has_met = !is_child && !mtest.rank;
	MPI_Comm bridge = MPI_COMM_NULL, inter;

	OK(MPIX_Session_set_pset_callback(session, on_change, NULL));
	if (has_met)
		parent = unmet_spawn(session, argv);
	while (!is_listed(session, "unmet"))
		;
	unmet_create(session, has_met);
	if (is_child || has_met)
		bridge = merge(parent, is_child);
	OK(MPI_Intercomm_create(
		MPI_COMM_WORLD, 0, bridge, is_child ? 0 : 1, 3, &inter));
	OK(MPI_Barrier(inter));
	{
		MPI_Comm comm = session_comm(session, "unmet", "unmet");

		session_works(comm, "now met");
		OK(MPI_Comm_disconnect(&comm));
	}
	OK(MPI_Comm_disconnect(&inter));
	if (bridge != MPI_COMM_NULL)
		OK(MPI_Comm_disconnect(&bridge));
	session_close(&session);
}

int main(int argc, char **argv)
{
	int jobs = (int)mtest_arg(argc, argv, "jobs", 1), parents, size = 0;
	int root = (int)mtest_arg(argc, argv, "root", 0);
	MPI_Comm all, parent;
	int is_own;

	mtest_init(&argc, &argv);
	is_own = mtest_arg(argc, argv, "own", 0) != 0;
	parents = (int)mtest_arg(argc, argv, "parents", 2);
	OK(MPI_Comm_get_parent(&parent));
	if (mtest_arg(argc, argv, "unmet", 0)) {
		unmet(parent, open_with(is_own), argv);
		return mtest_finish();
	}
	if (parent != MPI_COMM_NULL) {
		all = merge(parent, 1);
	} else {
		OK(MPI_Comm_dup(MPI_COMM_WORLD, &all));
		all = grow(all, argv, 0);
	}
	OK(MPI_Comm_size(all, &size));
	for (; size < parents + jobs * CHILDREN; size += CHILDREN)
		all = grow(all, argv, root);
	run(all, open_with(is_own), (int)mtest_arg(argc, argv, "by", 0),
		mtest_arg(argc, argv, "keeps", 0) != 0);
	return mtest_finish();
}
