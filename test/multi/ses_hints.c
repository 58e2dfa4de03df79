/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_hints: info keys that request features of a session, and the values that
 * the session reports
 *
 * class=C requests this traffic class in the first session, and used=D is the
 * class in use if the fabric has classes. wish=P requests this provider in the
 * first session; got=P must then be in use, and not=P must not. kinds=K are the
 * memory kinds of the launcher that must be granted.
 */
#include "hints.h"

#include "output.h"

static MPI_Session open_with(const char *key, const char *value)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	if (key)
		OK(MPI_Info_set(info, key, value));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	return session;
}

static void refused(const char *key, const char *value)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, key, value));
	FAILS(MPI_Session_init(info, MPI_ERRORS_RETURN, &session),
		MPI_ERR_INFO_VALUE);
	OK(MPI_Info_free(&info));
}

/* Opens the first session of the process, with which the fabric opens. */
static void first(int argc, char **argv)
{
	const char *wish = hints_word(argc, argv, "wish=");
	const char *got = hints_word(argc, argv, "got=");
	const char *not = hints_word(argc, argv, "not=");
	const char *kinds = hints_word(argc, argv, "kinds=");
	const char *class = hints_word(argc, argv, "class=");
	const char *used = hints_word(argc, argv, "used=");
	MPI_Session session =
		class ? open_with("weft_tclass", class)
		      : open_with(wish ? "weft_provider" : NULL, wish);
	char value[256];
	MPI_Comm comm;

	session_set_rank(session);
	hints_value(session, "weft_provider", value, sizeof(value));
	CHECK(!got || !strncmp(value, got, strlen(got)),
		"the provider is '%s', requested '%s'", value, got);
	CHECK(!not || !strstr(value, not ), "provider '%s' is not used", value);
	hints_value(session, "weft_iface", value, sizeof(value));
	CHECK(value[0], "the session's info has an interface, '%s'", value);
	if (kinds)
		hints_has(session, "mpi_memory_alloc_kinds", kinds);
	comm = session_comm(session, "mpi://WORLD", "over what there is");
	session_works(comm, "over what there is");
	hints_value(session, "weft_provider", value, sizeof(value));
	if (class)
		hints_has(session, "weft_tclass",
			strcmp(value, "cxi") == 0 ? used : "default");
	OK(MPI_Comm_disconnect(&comm));
	session_close(&session);
}

static void check_reported(void)
{
	MPI_Session session = open_with("weft_tclass", "low_latency");
	hints_has(session, "weft_tclass", "default");
	hints_has(session, "weft_finalize", "synchronise");
	session_close(&session);
	session = open_with("thread_level", "MPI_THREAD_FUNNELED");
	hints_has(session, "thread_level", "MPI_THREAD_FUNNELED");
	session_close(&session);
	session = open_with("mpi_memory_alloc_kinds", "mpi:alloc_mem,rocm");
	hints_has(
		session, "mpi_memory_alloc_kinds", "mpi:alloc_mem,mpi,system");
	session_close(&session);
	refused("thread_level", "MPI_THREAD_SOME");
	refused("weft_vci", "fast");
	refused("weft_finalize", "perhaps");
}

/* A misspelt key is reported with the nearest key. */
static void misspelt(void)
{
	MPI_Session session;

	output_capture();
	session = open_with("weft_finalise", "strict");
	output_restore();
	CHECK(output_count("SESSION-KEY") == 1 &&
			output_count("the nearest is weft_finalize") == 1,
		"the misspelt key and the nearest key are reported");
	session_close(&session);
}

static void refuses(MPI_Session *session, const char *tag)
{
	char text[MPI_MAX_INFO_VAL];
	int err, class = MPI_SUCCESS;

	err = MPI_Session_finalize(session);
	CHECK(err != MPI_SUCCESS, "finalize fails while '%s' is not freed",
		tag);
	CHECK(*session != MPI_SESSION_NULL, "the session is still open");
	if (err == MPI_SUCCESS)
		return;
	OK(MPI_Error_class(err, &class));
	CHECK(class == MPI_ERR_PENDING, "the class is MPI_ERR_PENDING: %d",
		class);
	hints_value(*session, "weft_open_handles", text, sizeof(text));
	CHECK(strstr(text, tag) != NULL,
		"the session lists the open handle '%s': %s", tag, text);
}

static void strict(void)
{
	MPI_Session session = open_with("weft_finalize", "strict");
	MPI_Comm comm, dup;

	hints_has(session, "weft_finalize", "strict");
	comm = session_comm(session, "mpi://WORLD", "still tied");
	refuses(&session, "still tied");
	session_works(comm, "after a refusal");
	OK(MPI_Comm_dup(comm, &dup));
	OK(MPI_Comm_disconnect(&comm));
	OK(MPI_Comm_set_name(dup, "the duplicate"));
	refuses(&session, "the duplicate");
	session_works(dup, "after another");
	OK(MPI_Comm_disconnect(&dup));
	session_close(&session);
}

/* The finalize of a strict session fails until all members have closed the
 * freed communicator. */
static void strict_freed(void)
{
	MPI_Session session = open_with("weft_finalize", "strict");
	MPI_Comm comm = session_comm(session, "mpi://WORLD", "freed");
	int err;

	OK(MPI_Comm_free(&comm));
	do {
		err = MPI_Session_finalize(&session);
	} while (err != MPI_SUCCESS);
	CHECK(session == MPI_SESSION_NULL, "the session is finalized");
}

int main(int argc, char **argv)
{
	mtest_start(argv[0]);
	first(argc, argv);
	if (!hints_word(argc, argv, "class="))
		check_reported();
	misspelt();
	strict();
	strict_freed();
	return mtest_done();
}
