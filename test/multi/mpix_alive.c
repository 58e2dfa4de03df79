/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix_alive: weft://alive follows the failure of a process
 *
 * The last process is killed. The other processes are notified of a change, and
 * their set does not contain the process any more. The survivors create a
 * communicator of the set, in a session that was opened before the failure and
 * in a session that was opened after it.
 */
#include "session.h"

#include <mpix.h>

#define ALIVE "weft://alive"

/* Counts the calls of on_change(). */
struct calls {
	MPI_Session session;
	int n_alive;
	int n_others;
	int size; /* size of weft://alive in the last call */
};

static void on_change(
	MPI_Session session, const char *name, int change, void *extra_state)
{
	struct calls *calls = extra_state;
	MPI_Group group;

	CHECK(session == calls->session, "the callback receives its session");
	if (strcmp(name, ALIVE)) {
		calls->n_others++;
		return;
	}
	calls->n_alive++;
	CHECK(change == MPIX_PSET_DEFINED,
		"the change is MPIX_PSET_DEFINED, got %d", change);
	group = session_group(session, name);
	OK(MPI_Group_size(group, &calls->size));
	OK(MPI_Group_free(&group));
}

/* Checks that the set has the first n processes of the world, by rank. */
static void members_are(MPI_Session session, int n)
{
	MPI_Group world = session_group(session, "mpi://WORLD");
	MPI_Group group = session_group(session, ALIVE), want;
	int range[1][3] = { { 0, n - 1, 1 } }, result = MPI_UNEQUAL, len = 64;
	int flag = 0;
	char value[64] = "";
	MPI_Info info;

	OK(MPI_Group_range_incl(world, 1, range, &want));
	OK(MPI_Group_compare(group, want, &result));
	CHECK(result == MPI_IDENT, "the set has the first %d processes", n);
	OK(MPI_Session_get_pset_info(session, ALIVE, &info));
	OK(MPI_Info_get_string(info, "weft_kind", &len, value, &flag));
	CHECK(flag && !strcmp(value, "alive"),
		"the kind of the set is 'alive', got '%s'", value);
	len = sizeof(value);
	OK(MPI_Info_get_string(info, "mpi_size", &len, value, &flag));
	CHECK(flag && atoi(value) == n, "the size of the set is %d, got '%s'",
		n, value);
	OK(MPI_Info_free(&info));
	OK(MPI_Group_free(&want));
	OK(MPI_Group_free(&group));
	OK(MPI_Group_free(&world));
}

static int is_listed(MPI_Session session)
{
	char name[MPI_MAX_PSET_NAME_LEN];
	int n = 0, found = 0;

	OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
	for (int i = 0; i < n; i++) {
		int len = sizeof(name);

		OK(MPI_Session_get_nth_pset(
			session, MPI_INFO_NULL, i, &len, name));
		found += !strcmp(name, ALIVE);
	}
	return found;
}

static MPI_Count changes(MPI_Session session)
{
	MPI_Count n = -1;

	OK(MPIX_Session_get_pset_changes(session, &n));
	return n;
}

static void create_works(MPI_Session session, const char *tag)
{
	MPI_Comm comm = session_comm(session, ALIVE, tag);

	session_works(comm, tag);
	OK(MPI_Comm_disconnect(&comm));
}

int main(int argc, char **argv)
{
	struct calls calls = { .n_alive = 0 };
	MPI_Session session, later, other;
	MPI_Comm last_words;
	double began;

	(void)argc;
	mtest_start(argv[0]);
	session = calls.session = session_open();
	other = session_open();
	session_set_rank(session);
	CHECK(is_listed(session) == 1, "the set is listed once");
	members_are(session, mtest.size);
	create_works(session, "all");
	CHECK(changes(session) == 0, "no set has changed yet");
	OK(MPIX_Session_set_pset_callback(session, on_change, &calls));
	last_words = session_comm(other, "mpi://WORLD", "last words");
	session_let_go(last_words);
	if (mtest.rank == mtest.size - 1)
		raise(SIGKILL);
	for (began = mtest_now(); !changes(session);)
		if (!CHECK(mtest_now() - began < MTEST_SOON_S,
			    "a failure is soon reported as a change of a set"))
			break;
	CHECK(changes(session) == 1, "one failure counts as one change");
	CHECK(calls.n_alive == 1 && calls.n_others == 0,
		"the callback is called once, not %d times", calls.n_alive);
	CHECK(calls.size == mtest.size - 1,
		"the set in the callback has %d members, got %d",
		mtest.size - 1, calls.size);
	members_are(session, mtest.size - 1);
	CHECK(is_listed(session) == 1, "the set is listed once");
	create_works(session, "survivors");
	later = session_open();
	members_are(later, mtest.size - 1);
	CHECK(changes(later) == 0,
		"a failure before the session opened counts as no change");
	create_works(later, "later");
	session_close(&later);
	session_close(&session);
	CHECK(calls.n_alive == 1, "the callback is not called again");
	MPI_Comm_free(&last_words);
	MPI_Session_finalize(&other); /* the error names the failed process */
	return mtest_done();
}
