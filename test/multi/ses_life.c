/* SPDX-License-Identifier: BSD-3-Clause */
/* ses_life: one and many sessions, their info, their error handlers */
#include "session.h"

static int calls, last_class;
static MPI_Errhandler opening;

static void handler(MPI_Session *session, int *code, ...)
{
	(void)session;
	calls++;
	last_class = mtest_class(*code);
}

static void level_is_legal(MPI_Session session, const char *wanted)
{
	static const char *const levels[] = { "MPI_THREAD_SINGLE",
		"MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
		"MPI_THREAD_MULTIPLE" };
	int len = 64, flag = 0, got = -1, want = 0;
	char value[64] = "";
	MPI_Info info;

	OK(MPI_Session_get_info(session, &info));
	OK(MPI_Info_get_string(info, "thread_level", &len, value, &flag));
	CHECK(flag, "S11, S12: the level is in the session's info");
	for (int i = 0; i < 4; i++) {
		if (strcmp(value, levels[i]) == 0)
			got = i;
		if (wanted && strcmp(wanted, levels[i]) == 0)
			want = i;
	}
	CHECK(got >= 0, "S11: the level is one of the four strings, got '%s'",
		value);
	CHECK(got >= want, "S8: at least %s is granted, got %s",
		wanted ? wanted : "any", value);
	CHECK(wanted || got > 0, "S21: the default is not SINGLE");
	OK(MPI_Info_free(&info));
}

/* Values of thread_level that are no level, such as the numbers of
 * MPI_Init_thread, are refused or ignored. */
static void nonsense(void)
{
	static const char *const values[] = { "bogus", "3", "",
		"mpi_thread_multiple", "MPI_THREAD_MULTIPLE " };
	MPI_Session session;
	MPI_Info info;

	for (int i = 0; i < 5; i++) {
		OK(MPI_Info_create(&info));
		OK(MPI_Info_set(info, "thread_level", values[i]));
		OK(MPI_Session_create_errhandler(handler, &opening));
		session = MPI_SESSION_NULL;
		calls = 0;
		if (MPI_Session_init(info, opening, &session) == MPI_SUCCESS) {
			CHECK(calls == 0,
				"S3: without an error no handler is called");
			level_is_legal(session, NULL);
			session_close(&session);
		} else {
			CHECK(calls == 1,
				"S15: the error handler is called, %d", calls);
		}
		CHECK(session == MPI_SESSION_NULL,
			"S9, S10: '%s' is refused or ignored", values[i]);
		OK(MPI_Errhandler_free(&opening));
		OK(MPI_Info_free(&info));
	}
	calls = 0;
}

/* Opening a session fails, because the info handle was freed. */
static void opening_fails(void)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info gone, copy;
	int rc;

	OK(MPI_Info_create(&gone));
	copy = gone;
	OK(MPI_Info_free(&gone));
	OK(MPI_Session_create_errhandler(handler, &opening));
	calls = 0;
	rc = MPI_Session_init(copy, opening, &session);
	CHECK(rc != MPI_SUCCESS && session == MPI_SESSION_NULL,
		"S15: the error is returned and no session is opened");
	CHECK(calls == 1, "S3, S15: the error handler is called once, got %d",
		calls);
	OK(MPI_Errhandler_free(&opening));
	calls = 0;
}

static void level_of(MPI_Session session, int *level)
{
	static const char *const names[] = { "MPI_THREAD_SINGLE",
		"MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
		"MPI_THREAD_MULTIPLE" };
	int len = 64, flag = 0;
	char value[64] = "";
	MPI_Info info;

	OK(MPI_Session_get_info(session, &info));
	OK(MPI_Info_get_string(info, "thread_level", &len, value, &flag));
	OK(MPI_Info_free(&info));
	*level = -1;
	for (int i = 0; i < 4; i++)
		if (strcmp(value, names[i]) == 0)
			*level = i;
}

/* Opens sessions with the lowest and the highest thread level, in both orders.
 */
static void two_levels(void)
{
	static const char *const names[] = { "MPI_THREAD_SINGLE",
		"MPI_THREAD_MULTIPLE" };
	MPI_Session both[2];
	int level[2];
	MPI_Info info;

	for (int order = 0; order < 2; order++) {
		for (int i = 0; i < 2; i++) {
			int which = i ^ order;

			OK(MPI_Info_create(&info));
			OK(MPI_Info_set(info, "thread_level", names[which]));
			OK(MPI_Session_init(
				info, MPI_ERRORS_RETURN, &both[which]));
			OK(MPI_Info_free(&info));
		}
		for (int i = 0; i < 2; i++) {
			MPI_Comm comm =
				session_comm(both[i], "mpi://SELF", names[i]);

			level_of(both[i], &level[i]);
			session_works(comm, names[i]);
			OK(MPI_Comm_disconnect(&comm));
		}
		CHECK(level[0] >= 0 && level[1] == 3,
			"S20: %s and %s in two sessions are granted as %d and "
			"%d",
			names[0], names[1], level[0], level[1]);
		session_close(&both[order]);
		session_close(&both[!order]);
	}
}

static void levels(void)
{
	static const char *const wanted[] = { NULL, "MPI_THREAD_SINGLE",
		"MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
		"MPI_THREAD_MULTIPLE" };
	int len = 8, flag = 0;
	MPI_Session session;
	MPI_Info info;
	char value[8];

	for (int i = 0; i < 5; i++) {
		OK(MPI_Info_create(&info));
		OK(MPI_Info_set(info, "key_nobody_knows", "1"));
		if (wanted[i])
			OK(MPI_Info_set(info, "thread_level", wanted[i]));
		CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) ==
				MPI_SUCCESS,
			"S7: an unknown key is no error");
		OK(MPI_Info_get_string(
			info, "key_nobody_knows", &len, value, &flag));
		CHECK(flag && value[0] == '1', "S2: the info is unchanged");
		CHECK(MPI_Info_free(&info) == MPI_SUCCESS,
			"S2: the info object can be freed");
		level_is_legal(session, wanted[i]);
		session_close(&session);
	}
	nonsense();
}

static void memory_kinds(void)
{
	int len = 128, flag = 0;
	char value[128] = "";
	MPI_Session session;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(
		info, "mpi_memory_alloc_kinds", "system,mpi,nosuchkind"));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	OK(MPI_Session_get_info(session, &info));
	OK(MPI_Info_get_string(
		info, "mpi_memory_alloc_kinds", &len, value, &flag));
	CHECK(flag, "S13: the kinds are in the session's info");
	CHECK(strstr(value, "system") && strstr(value, "mpi"),
		"S13: system and mpi are supported, got '%s'", value);
	CHECK(!strstr(value, "nosuchkind"), "S13: unknown kinds are dropped");
	OK(MPI_Info_free(&info));
	session_close(&session);
}

/* kinds=1: only the launcher's option requests kinds of memory. */
static void kinds_of_launcher(void)
{
	int len = 128, flag = 0;
	char value[128] = "";
	MPI_Session session = session_open();
	MPI_Info info;

	OK(MPI_Session_get_info(session, &info));
	OK(MPI_Info_get_string(
		info, "mpi_memory_alloc_kinds", &len, value, &flag));
	CHECK(flag && strstr(value, "mpi:alloc_mem"),
		"S14: the launcher's kinds are the session's, '%s'", value);
	OK(MPI_Info_free(&info));
	session_close(&session);
}

static void many(void)
{
	enum { N = 64 };
	MPI_Session all[N];

	for (int i = 0; i < N; i++) {
		all[i] = session_open();
		for (int k = 0; k < i; k++)
			CHECK(all[k] != all[i],
				"S18: each session has its own handle");
	}
	for (int i = 0; i < N; i += 2)
		session_close(&all[i]);
	session_set_rank(all[1]);
	for (int i = N - 1; i > 0; i -= 2)
		session_close(&all[i]);
}

static void handlers(void)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Errhandler mine, got;
	MPI_Group group;

	CHECK(MPI_Session_create_errhandler(handler, &mine) == MPI_SUCCESS,
		"S16, S48: an error handler is created while no session is "
		"open");
	OK(MPI_Session_init(MPI_INFO_NULL, mine, &session));
	CHECK(calls == 0, "without an error no handler is called");
	CHECK(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group),
		"an unknown set is an error");
	CHECK(calls == 1, "the session's handler is called");
	OK(MPI_Session_call_errhandler(session, MPI_ERR_TAG));
	CHECK(calls == 2 && last_class == MPI_ERR_TAG,
		"MPI_Session_call_errhandler calls the handler");
	OK(MPI_Session_get_errhandler(session, &got));
	CHECK(got == mine,
		"MPI_Session_get_errhandler returns the set handler");
	OK(MPI_Errhandler_free(&got));
	OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
	OK(MPI_Errhandler_free(&mine));
	CHECK(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group) &&
			calls == 2,
		"a replaced handler is not called");
	session_close(&session);
}

int main(int argc, char **argv)
{
	int flag = 1;

	mtest_start(argv[0]);
	many();
	levels();
	two_levels();
	memory_kinds();
	if (mtest_arg(argc, argv, "kinds", 0))
		kinds_of_launcher();
	opening_fails();
	handlers();
	OK(MPI_Initialized(&flag));
	CHECK(!flag, "sessions do not initialize the World Model");
	return mtest_done();
}
