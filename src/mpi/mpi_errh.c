/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_errh: error handlers, error classes and codes
 *
 * Handlers for sessions, and all about classes and codes, work before and
 * after any session. */
#include "mpi_check.h"

#include "core/errcode.h"

static int mpi_errh_end(const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS : weft_mpi_raise_none(func, err);
}

/* ---- making and freeing ---- */

typedef void plain_fn(void);

static int mpi_errh_create(
	int kind, plain_fn *fn, const char *func, MPI_Errhandler *errhandler)
{
	struct weft_errh *errh;
	int err = weft_check_ptr(errhandler, "errhandler");

	weft_mpi_null(errhandler, MPI_ERRHANDLER_NULL);
	if (!err)
		err = weft_check_ptr((void *)(uintptr_t)fn, "function");
	if (err)
		return mpi_errh_end(func, err);
	errh = weft_errh_create(kind, fn);
	if (!errh)
		return mpi_errh_end(func, WEFT_ERR_NOMEM);
	*errhandler = weft_mpi_errh_handle(errh);
	return MPI_SUCCESS;
}

int PMPI_Comm_create_errhandler(
	MPI_Comm_errhandler_function *fn, MPI_Errhandler *errhandler)
{
	return mpi_errh_create(WEFT_KIND_COMM, (plain_fn *)fn,
		"MPI_Comm_create_errhandler", errhandler);
}

int PMPI_Session_create_errhandler(
	MPI_Session_errhandler_function *fn, MPI_Errhandler *errhandler)
{
	return mpi_errh_create(WEFT_KIND_SESSION, (plain_fn *)fn,
		"MPI_Session_create_errhandler", errhandler);
}

int PMPI_Win_create_errhandler(
	MPI_Win_errhandler_function *fn, MPI_Errhandler *errhandler)
{
	return mpi_errh_create(WEFT_KIND_WIN, (plain_fn *)fn,
		"MPI_Win_create_errhandler", errhandler);
}

int PMPI_File_create_errhandler(
	MPI_File_errhandler_function *fn, MPI_Errhandler *errhandler)
{
	return mpi_errh_create(WEFT_KIND_FILE, (plain_fn *)fn,
		"MPI_File_create_errhandler", errhandler);
}

int PMPI_Errhandler_free(MPI_Errhandler *errhandler)
{
	struct weft_errh *errh;
	int err = weft_check_ptr(errhandler, "errhandler");

	if (err)
		return mpi_errh_end("MPI_Errhandler_free", err);
	errh = weft_mpi_errh(*errhandler);
	if (!errh)
		return mpi_errh_end("MPI_Errhandler_free",
			weft_check_bad_handle(WEFT_ERR_ERRHANDLER, "errhandler",
				*errhandler));
	weft_errh_put(errh);
	*errhandler = MPI_ERRHANDLER_NULL;
	return MPI_SUCCESS;
}

/* ---- on communicators ---- */

int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
	struct weft_comm *of = NULL;
	struct weft_errh *errh = NULL;
	int err;

	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_errh(errhandler, WEFT_KIND_COMM, &errh);
	if (!err)
		weft_errh_set(&of->errh, errh);
	return weft_mpi_end(of, "MPI_Comm_set_errhandler", err);
}

int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler)
{
	struct weft_comm *of = NULL;
	int err;

	weft_mpi_null(errhandler, MPI_ERRHANDLER_NULL);
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(errhandler, "errhandler");
	if (!err)
		*errhandler = weft_mpi_errh_handle(weft_errh_get(of->errh));
	return weft_mpi_end(of, "MPI_Comm_get_errhandler", err);
}

static int check_code(int code)
{
	char text[MPI_MAX_ERROR_STRING];

	if (code < 0 || !weft_mpi_class_string(code, text))
		return weft_err_set(
			WEFT_ERR_ARG, "%d is not an error code", code);
	return 0;
}

int PMPI_Comm_call_errhandler(MPI_Comm comm, int errorcode)
{
	struct weft_comm *of = NULL;
	int err;

	err = weft_check_comm(comm, &of);
	if (!err)
		err = check_code(errorcode);
	if (err)
		return weft_mpi_raise(of, "MPI_Comm_call_errhandler", err);
	weft_mpi_raise(of, "MPI_Comm_call_errhandler", errorcode);
	return MPI_SUCCESS;
}

/* ---- on sessions ---- */

int PMPI_Session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler)
{
	struct weft_session *of = NULL;
	struct weft_errh *errh = NULL;
	int err;

	err = weft_check_session(session, &of);
	if (!err)
		err = weft_check_errh(errhandler, WEFT_KIND_SESSION, &errh);
	if (err)
		return weft_mpi_raise_session(
			of, "MPI_Session_set_errhandler", err);
	weft_errh_set(&of->errh, errh);
	return MPI_SUCCESS;
}

int PMPI_Session_get_errhandler(MPI_Session session, MPI_Errhandler *errhandler)
{
	struct weft_session *of = NULL;
	int err;

	weft_mpi_null(errhandler, MPI_ERRHANDLER_NULL);
	err = weft_check_session(session, &of);
	if (!err)
		err = weft_check_ptr(errhandler, "errhandler");
	if (err)
		return weft_mpi_raise_session(
			of, "MPI_Session_get_errhandler", err);
	*errhandler = weft_mpi_errh_handle(weft_errh_get(of->errh));
	return MPI_SUCCESS;
}

int PMPI_Session_call_errhandler(MPI_Session session, int errorcode)
{
	struct weft_session *of = NULL;
	int err;

	err = weft_check_session(session, &of);
	if (!err)
		err = check_code(errorcode);
	if (err)
		return weft_mpi_raise_session(
			of, "MPI_Session_call_errhandler", err);
	weft_mpi_raise_session(of, "MPI_Session_call_errhandler", errorcode);
	return MPI_SUCCESS;
}

/* ---- classes and codes ---- */

int PMPI_Error_class(int errorcode, int *errorclass)
{
	int err = check_code(errorcode);

	if (!err)
		err = weft_check_ptr(errorclass, "errorclass");
	if (!err)
		*errorclass = weft_mpi_class(errorcode);
	return mpi_errh_end("MPI_Error_class", err);
}

int PMPI_Error_string(int errorcode, char *string, int *resultlen)
{
	char text[MPI_MAX_ERROR_STRING];
	int err;

	err = weft_check_ptr(string, "string");
	if (!err)
		err = weft_check_ptr(resultlen, "resultlen");
	if (!err && (errorcode < 0 || !weft_mpi_string(errorcode, text)))
		err = weft_err_set(
			WEFT_ERR_ARG, "%d is not an error code", errorcode);
	if (err)
		return mpi_errh_end("MPI_Error_string", err);
	strcpy(string, text);
	*resultlen = (int)strlen(text);
	return MPI_SUCCESS;
}

int PMPI_Add_error_class(int *errorclass)
{
	int err = weft_check_ptr(errorclass, "errorclass");

	if (!err)
		err = weft_errcode_add_class(errorclass);
	return mpi_errh_end("MPI_Add_error_class", err);
}

int PMPI_Add_error_code(int errorclass, int *errorcode)
{
	int err = check_code(errorclass);

	if (!err)
		err = weft_check_ptr(errorcode, "errorcode");
	if (!err)
		err = weft_errcode_add_code(errorclass, errorcode);
	return mpi_errh_end("MPI_Add_error_code", err);
}

static int mpi_errh_check_text(const char *text)
{
	if (!text ||
		strnlen(text, MPI_MAX_ERROR_STRING) >= MPI_MAX_ERROR_STRING)
		return weft_err_set(WEFT_ERR_ARG,
			"string is %s, may have up to %d characters",
			text ? "too long" : "NULL", MPI_MAX_ERROR_STRING - 1);
	return 0;
}

int PMPI_Add_error_string(int errorcode, const char *string)
{
	int err = mpi_errh_check_text(string);

	if (!err)
		err = weft_errcode_set_text(errorcode, string);
	return mpi_errh_end("MPI_Add_error_string", err);
}

int PMPI_Remove_error_class(int errorclass)
{
	return mpi_errh_end("MPI_Remove_error_class",
		weft_errcode_remove_class(errorclass));
}

int PMPI_Remove_error_code(int errorcode)
{
	return mpi_errh_end(
		"MPI_Remove_error_code", weft_errcode_remove_code(errorcode));
}

int PMPI_Remove_error_string(int errorcode)
{
	return mpi_errh_end("MPI_Remove_error_string",
		weft_errcode_set_text(errorcode, NULL));
}

#include "api_errh.h"
