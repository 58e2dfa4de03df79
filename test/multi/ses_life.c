/* SPDX-License-Identifier: BSD-3-Clause */
/* ses_life: one and many sessions, their info, their error handlers */
#include "session.h"

static int calls, last_class;

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
	CHECK(flag, "S11: the level is in the session's info");
	for (int i = 0; i < 4; i++) {
		if (strcmp(value, levels[i]) == 0)
			got = i;
		if (wanted && strcmp(wanted, levels[i]) == 0)
			want = i;
	}
	CHECK(got >= 0, "S11: one of the four strings, got '%s'", value);
	CHECK(got >= want, "the level is granted: %s, got %s", wanted, value);
	CHECK(wanted || got > 0, "S21: the default is not SINGLE");
	OK(MPI_Info_free(&info));
}

static void levels(void)
{
	static const char *const wanted[] = { NULL, "MPI_THREAD_SINGLE",
		"MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
		"MPI_THREAD_MULTIPLE" };
	MPI_Session session;
	MPI_Info info;

	for (int i = 0; i < 5; i++) {
		OK(MPI_Info_create(&info));
		OK(MPI_Info_set(info, "key_nobody_knows", "1"));
		if (wanted[i])
			OK(MPI_Info_set(info, "thread_level", wanted[i]));
		OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
		OK(MPI_Info_free(&info));
		level_is_legal(session, wanted[i]);
		session_close(&session);
	}
	/* S9, S10: neither nonsense nor numbers crash */
	for (int i = 0; i < 2; i++) {
		OK(MPI_Info_create(&info));
		OK(MPI_Info_set(info, "thread_level", i ? "3" : "bogus"));
		session = MPI_SESSION_NULL;
		if (MPI_Session_init(info, MPI_ERRORS_RETURN, &session) ==
			MPI_SUCCESS) {
			level_is_legal(session, NULL);
			session_close(&session);
		}
		CHECK(session == MPI_SESSION_NULL, "S9: refused or closed");
		OK(MPI_Info_free(&info));
	}
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

static void many(void)
{
	enum { N = 64 };
	MPI_Session all[N];

	for (int i = 0; i < N; i++) {
		all[i] = session_open();
		for (int k = 0; k < i; k++)
			CHECK(all[k] != all[i], "S18: each has its own handle");
	}
	for (int i = 0; i < N; i += 2)
		session_close(&all[i]);
	session_who(all[1]);
	for (int i = N - 1; i > 0; i -= 2)
		session_close(&all[i]);
}

static void handlers(void)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Errhandler mine, got;
	MPI_Group group;

	/* S16, S48: made before any session is open */
	OK(MPI_Session_create_errhandler(handler, &mine));
	OK(MPI_Session_init(MPI_INFO_NULL, mine, &session));
	CHECK(calls == 0, "S3: no error, no call");
	CHECK(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group),
		"an unknown set is an error");
	CHECK(calls == 1, "the session's handler is called");
	OK(MPI_Session_call_errhandler(session, MPI_ERR_TAG));
	CHECK(calls == 2 && last_class == MPI_ERR_TAG, "called by hand");
	OK(MPI_Session_get_errhandler(session, &got));
	CHECK(got == mine, "the handler set is the handler got");
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

	(void)argc;
	mtest_start(argv[0]);
	many();
	levels();
	memory_kinds();
	handlers();
	OK(MPI_Initialized(&flag));
	CHECK(!flag, "sessions do not initialize the World Model");
	return mtest_done();
}
