/* SPDX-License-Identifier: BSD-3-Clause */
/* ses_always: the always-available calls work before, between and after
 * sessions */
#include "session.h"

static void handler(MPI_Session *session, int *code, ...)
{
	(void)session;
	(void)code;
}

static void infos(const char *when)
{
	char key[MPI_MAX_INFO_KEY], value[16] = "";
	int n = 0, len = sizeof(value), flag = 0;
	MPI_Info info, dup;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "a", "1"));
	OK(MPI_Info_dup(info, &dup));
	OK(MPI_Info_get_nkeys(dup, &n));
	OK(MPI_Info_get_nthkey(dup, 0, key));
	OK(MPI_Info_get_string(dup, "a", &len, value, &flag));
	CHECK(n == 1 && flag && strcmp(key, "a") == 0 && value[0] == '1',
		"S41, S48: %s: info objects work", when);
	OK(MPI_Info_delete(dup, "a"));
	OK(MPI_Info_free(&dup));
	OK(MPI_Info_free(&info));
	OK(MPI_Info_create_env(0, NULL, &info));
	OK(MPI_Info_free(&info));
}

/* Calls the queries of MPI_Abi, which may be called at any time. */
static void abi(const char *when)
{
	char text[16] = "";
	int a = -1, b = -1, len = sizeof(text), flag = 0, size = 0;
	MPI_Info info = MPI_INFO_NULL;

	OK(MPI_Abi_get_version(&a, &b));
	CHECK(a == MPI_ABI_VERSION && b == MPI_ABI_SUBVERSION,
		"%s: the version of the ABI is right: %d.%d", when, a, b);
	OK(MPI_Abi_get_info(&info));
	OK(MPI_Info_get_string(info, "mpi_aint_size", &len, text, &flag));
	CHECK(flag && atoi(text) == (int)sizeof(MPI_Aint),
		"%s: an MPI_Aint has %s bytes", when, text);
	OK(MPI_Info_free(&info));
	OK(MPI_Abi_get_fortran_info(&info));
	OK(MPI_Type_size(MPI_INTEGER, &size));
	len = sizeof(text);
	OK(MPI_Info_get_string(info, "mpi_integer_size", &len, text, &flag));
	CHECK(flag && atoi(text) == size, "%s: an INTEGER has %s of %d bytes",
		when, text, size);
	OK(MPI_Type_size(MPI_REAL2, &size));
	len = sizeof(text);
	OK(MPI_Info_get_string(info, "mpi_real2_supported", &len, text, &flag));
	CHECK(flag && !strcmp(text, size == MPI_UNDEFINED ? "false" : "true"),
		"%s: REAL*2 is supported: %s, and has %d bytes", when, text,
		size);
	OK(MPI_Info_free(&info));
}

/* The library knows Fortran's types, so a program may query their values and
 * sizes, but not set them. */
static void fortran(const char *when)
{
	char yes[32], no[32], all[32];
	MPI_Info info = MPI_INFO_NULL;
	int is_set, rc;

	for (int size = 1; size <= 16; size *= 2) {
		memset(yes, 7, sizeof(yes));
		memset(no, 7, sizeof(no));
		memset(all, 7, sizeof(all));
		is_set = -1;
		OK(MPI_Abi_get_fortran_booleans(size, yes, no, &is_set));
		CHECK(is_set && memcmp(yes, no, size) &&
				!memcmp(yes + size, all, sizeof(all) - size) &&
				!memcmp(no + size, all, sizeof(all) - size),
			"%s: both values of a LOGICAL*%d are returned, and no "
			"more",
			when, size);
	}
	OK(MPI_Abi_get_fortran_booleans(32, yes, no, &is_set));
	CHECK(!is_set, "%s: LOGICAL*32 does not exist", when);
	rc = MPI_Abi_get_fortran_booleans(3, yes, no, &is_set);
	CHECK(mtest_class(rc) == MPI_ERR_ARG,
		"%s: LOGICAL*3 is refused, class %d", when, mtest_class(rc));
	rc = MPI_Abi_set_fortran_booleans(4, yes, no);
	CHECK(mtest_class(rc) == MPI_ERR_ABI,
		"%s: values cannot be set again: class %d", when,
		mtest_class(rc));
	OK(MPI_Abi_get_fortran_info(&info));
	rc = MPI_Abi_set_fortran_info(info);
	CHECK(mtest_class(rc) == MPI_ERR_ABI,
		"%s: sizes cannot be set again: class %d", when,
		mtest_class(rc));
	OK(MPI_Info_free(&info));
}

static void always(const char *when, bool ever)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int a = -1, b = -1, len = 0, class = 0, code = 0;
	MPI_Errhandler mine;

	OK(MPI_Initialized(&a));
	OK(MPI_Finalized(&b));
	CHECK(!a == !ever && !b == !ever,
		"S137: %s: the states are right: initialized %d, finalized %d",
		when, a, b);
	OK(MPI_Get_version(&a, &b));
	CHECK(a >= 4, "S41, S137: %s: the version is at least 4: %d.%d", when,
		a, b);
	OK(MPI_Get_library_version(text, &len));
	CHECK(len > 0 && len == (int)strlen(text),
		"%s: the library version is returned", when);
	OK(MPI_Error_string(MPI_ERR_RANK, text, &len));
	CHECK(len > 0, "%s: the error string is returned", when);
	OK(MPI_Error_class(MPI_ERR_RANK, &class));
	CHECK(class == MPI_ERR_RANK, "%s: the error class is returned", when);
	OK(MPI_Add_error_class(&class));
	OK(MPI_Add_error_code(class, &code));
	OK(MPI_Add_error_string(code, "words"));
	OK(MPI_Error_string(code, text, &len));
	CHECK(strcmp(text, "words") == 0,
		"S41: %s: an added string is returned", when);
	CHECK(MPI_Session_create_errhandler(handler, &mine) == MPI_SUCCESS,
		"S41, S48: %s: an error handler of sessions is created", when);
	OK(MPI_Errhandler_free(&mine));
	infos(when);
	abi(when);
	fortran(when);
}

/* Each procedure that is not in the list of always-available calls returns an
 * error. */
static void others(int argc, char **argv)
{
	MPI_Datatype type = MPI_DATATYPE_NULL;
	int value = -1, level;

	FAILS(MPI_Init(&argc, &argv), MPI_ERR_OTHER);
	FAILS(MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &level),
		MPI_ERR_OTHER);
	FAILS(MPI_Finalize(), MPI_ERR_OTHER);
	CHECK(mtest_class(MPI_Comm_rank(MPI_COMM_WORLD, &value)) ==
				MPI_ERR_COMM &&
			value == -1,
		"S137: MPI_COMM_WORLD is invalid");
	CHECK(mtest_class(MPI_Send(&value, 0, MPI_INT, 0, 0, MPI_COMM_SELF)) ==
			MPI_ERR_COMM,
		"S137: MPI_COMM_SELF is invalid");
	CHECK(mtest_class(MPI_Barrier(MPI_COMM_WORLD)) == MPI_ERR_COMM,
		"S137: a barrier returns an error");
	CHECK(mtest_class(MPI_Type_contiguous(2, MPI_INT, &type)) ==
			MPI_ERR_OTHER,
		"S46, S137: no datatype is created");
	CHECK(mtest_class(MPI_Query_thread(&level)) == MPI_ERR_OTHER,
		"S137: the query of the thread level returns an error");
}

/* MPI_Finalize without MPI_Init reports the reason of its error */
static void finalize_says(const char *what)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int len = 0, rc = MPI_Finalize();

	CHECK(mtest_class(rc) == MPI_ERR_OTHER,
		"finalizing without the World Model fails");
	OK(MPI_Error_string(rc, text, &len));
	CHECK(strstr(text, what), "the text \"%s\" has \"%s\"", text, what);
}

int main(int argc, char **argv)
{
	MPI_Session session;

	mtest_start(argv[0]);
	always("before", false);
	finalize_says("MPI_Init was never called");
	session = session_open();
	finalize_says("has opened sessions only, and MPI_Session_finalize");
	always("inside", false);
	session_close(&session);
	always("between", false);
	OK(MPI_Init(&argc, &argv));
	OK(MPI_Finalize());
	finalize_says("was finalized before");
	always("after", true);
	others(argc, argv);
	session = session_open();
	always("session after World", true);
	session_close(&session);
	always("at the end", true);
	return mtest_done();
}
