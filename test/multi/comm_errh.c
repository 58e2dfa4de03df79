/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_errh: error handlers, classes, codes and strings */
#include "mtest.h"

static int calls, last_class;
static MPI_Comm last_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
	calls++;
	last_comm = *comm;
	last_class = mtest_class(*code);
}

static int wrong_send(MPI_Comm comm)
{
	return MPI_Send(NULL, 0, MPI_INT, 100000, 0, comm);
}

static void user_handler(void)
{
	MPI_Errhandler mine, got;
	MPI_Comm a, b;

	OK(MPI_Comm_create_errhandler(handler, &mine));
	OK(MPI_Comm_dup(MPI_COMM_SELF, &a));
	OK(MPI_Comm_set_errhandler(a, mine));
	CHECK(mtest_class(wrong_send(a)) == MPI_ERR_RANK,
		"the call returns the class after the handler returned");
	CHECK(calls == 1 && last_comm == a && last_class == MPI_ERR_RANK,
		"the handler received communicator and class");
	OK(MPI_Comm_get_errhandler(a, &got));
	CHECK(got == mine, "MPI_Comm_get_errhandler returns the set handler");
	OK(MPI_Errhandler_free(&got));
	OK(MPI_Errhandler_free(&mine));
	CHECK(mine == MPI_ERRHANDLER_NULL, "a freed handler is null");
	wrong_send(a);
	CHECK(calls == 2, "the communicator still uses the freed handler");
	OK(MPI_Comm_dup(a, &b));
	wrong_send(b);
	CHECK(calls == 3 && last_comm == b, "dup inherits the handler");
	OK(MPI_Comm_call_errhandler(b, MPI_ERR_TAG));
	CHECK(calls == 4 && last_class == MPI_ERR_TAG,
		"MPI_Comm_call_errhandler calls the handler");
	OK(MPI_Comm_set_errhandler(b, MPI_ERRORS_RETURN));
	wrong_send(b);
	CHECK(calls == 4, "a replaced handler is not called");
	OK(MPI_Comm_free(&a));
	OK(MPI_Comm_free(&b));
}

static void default_is_fatal(void)
{
	MPI_Errhandler got;
	MPI_Comm comm;

	OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
	CHECK(got == MPI_ERRORS_RETURN,
		"the handler that was set at the start is in effect");
	OK(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm));
	OK(MPI_Comm_get_errhandler(comm, &got));
	CHECK(got == MPI_ERRORS_RETURN, "split inherits the handler");
	OK(MPI_Comm_free(&comm));
}

static void strings(void)
{
	char text[MPI_MAX_ERROR_STRING];
	int len = 0, class = -1, code = 0, fresh = 0;

	for (int i = MPI_SUCCESS; i <= MPI_ERR_RMA_ATTACH; i++) {
		OK(MPI_Error_class(i, &class));
		CHECK(class == i, "the class of class %d is the same class", i);
		OK(MPI_Error_string(i, text, &len));
		CHECK(len > 0 && len == (int)strlen(text),
			"class %d has a text", i);
	}
	OK(MPI_Add_error_class(&fresh));
	CHECK(fresh > MPI_ERR_LASTCODE, "a new class is above the last code");
	OK(MPI_Add_error_code(fresh, &code));
	OK(MPI_Error_class(code, &class));
	CHECK(class == fresh && code != fresh, "a new code has its class");
	OK(MPI_Error_string(code, text, &len));
	CHECK(len == 0 && text[0] == 0, "a new error code has an empty text");
	OK(MPI_Add_error_string(code, "the kettle is empty"));
	OK(MPI_Error_string(code, text, &len));
	CHECK(strcmp(text, "the kettle is empty") == 0 && len == 19,
		"the text of the code is the one that was set");
	int *last = NULL, flag = 0;
	OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
	CHECK(flag && *last >= code, "MPI_LASTUSEDCODE includes the new code");
	OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
	CHECK(MPI_Comm_call_errhandler(MPI_COMM_SELF, code) == MPI_SUCCESS,
		"an error code of the program calls the handler");
}

/* MPI_Error_string() returns the full text of the last error. */
static void particulars(void)
{
	char text[MPI_MAX_ERROR_STRING], plain[MPI_MAX_ERROR_STRING];
	int len = 0, x = 0, rc;
	MPI_Comm comm;

	OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
	OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	OK(MPI_Error_string(MPI_ERR_RANK, plain, &len));
	rc = MPI_Send(&x, 1, MPI_INT, 4711, 0, comm);
	CHECK(rc == MPI_ERR_RANK, "an invalid rank is MPI_ERR_RANK");
	OK(MPI_Error_string(rc, text, &len));
	CHECK(!strncmp(text, plain, strcspn(plain, ":")) &&
			strstr(text, "MPI_Send") && strstr(text, "4711"),
		"the text names class, call and value: '%s'", text);
	OK(MPI_Error_string(MPI_ERR_TAG, text, &len));
	CHECK(!strstr(text, "4711"),
		"the text of another error lacks the value: '%s'", text);
	OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	user_handler();
	default_is_fatal();
	strings();
	particulars();
	return mtest_finish();
}
