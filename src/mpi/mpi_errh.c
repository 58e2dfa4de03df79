/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_errh: error handlers, error classes and codes
 *
 * Handlers for sessions, and all calls about classes and codes, work before and
 * after any session. */
#include "mpi_check.h"

#include "core/errcode.h"

static int mpi_errh_end(const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS : weft_mpi_raise_none(func, err);
}

/* ---- creation and freeing ---- */

typedef void plain_fn(void);

static int mpi_errh_create(int kind, plain_fn *fn, struct weft_errh **made)
{
	*made = weft_errh_create(kind, fn);
	return *made ? 0 : WEFT_ERR_NOMEM;
}

static int mpi_comm_create_errhandler(
	MPI_Comm_errhandler_function *fn, struct weft_errh **made)
{
	return mpi_errh_create(WEFT_KIND_COMM, (plain_fn *)fn, made);
}

static int mpi_session_create_errhandler(
	MPI_Session_errhandler_function *fn, struct weft_errh **made)
{
	return mpi_errh_create(WEFT_KIND_SESSION, (plain_fn *)fn, made);
}

static int mpi_win_create_errhandler(
	MPI_Win_errhandler_function *fn, struct weft_errh **made)
{
	return mpi_errh_create(WEFT_KIND_WIN, (plain_fn *)fn, made);
}

static int mpi_file_create_errhandler(
	MPI_File_errhandler_function *fn, struct weft_errh **made)
{
	return mpi_errh_create(WEFT_KIND_FILE, (plain_fn *)fn, made);
}

/* Frees a handler for objects of any kind. */
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

/* ---- on objects ---- */

static int mpi_comm_set_errhandler(
	struct weft_comm *comm, struct weft_errh *errh)
{
	weft_errh_set(&comm->errh, errh);
	for (uint32_t i = 1; i < comm->n_spread; i++)
		weft_errh_set(&comm->spread[i]->errh, errh);
	return 0;
}

static int mpi_comm_get_errhandler(
	const struct weft_comm *comm, struct weft_errh **errh)
{
	*errh = weft_errh_get(comm->errh);
	return 0;
}

static int mpi_session_set_errhandler(
	struct weft_session *session, struct weft_errh *errh)
{
	weft_errh_set(&session->errh, errh);
	return 0;
}

static int mpi_session_get_errhandler(
	const struct weft_session *session, struct weft_errh **errh)
{
	*errh = weft_errh_get(session->errh);
	return 0;
}

static int mpi_win_set_errhandler(struct weft_win *win, struct weft_errh *errh)
{
	weft_errh_set(&win->errh, errh);
	return 0;
}

static int mpi_win_get_errhandler(
	const struct weft_win *win, struct weft_errh **errh)
{
	*errh = weft_errh_get(win->errh);
	return 0;
}

/* Finds the handler of a file. New files inherit the handler of MPI_FILE_NULL.
 */
static int file_slot(
	MPI_File handle, struct weft_file **file_out, struct weft_errh ***slot)
{
	int err;

	*slot = &weft_file_errh;
	if (handle == MPI_FILE_NULL)
		return 0;
	err = weft_check_file(handle, file_out);
	if (!err)
		*slot = &(*file_out)->errh;
	return err;
}

int PMPI_File_set_errhandler(MPI_File file, MPI_Errhandler errhandler)
{
	struct weft_file *of = NULL;
	struct weft_errh *errh = NULL, **slot;
	int err = file_slot(file, &of, &slot);

	if (!err)
		err = weft_check_errh(errhandler, WEFT_KIND_FILE, &errh);
	if (!err)
		weft_errh_set(slot, errh);
	return weft_mpi_end_file(of, "MPI_File_set_errhandler", err);
}

int PMPI_File_get_errhandler(MPI_File file, MPI_Errhandler *errhandler)
{
	struct weft_file *of = NULL;
	struct weft_errh **slot;
	int err;

	weft_mpi_null(errhandler, MPI_ERRHANDLER_NULL);
	err = file_slot(file, &of, &slot);
	if (!err)
		err = weft_check_ptr(errhandler, "errhandler");
	if (!err)
		*errhandler = weft_mpi_errh_handle(weft_errh_get(*slot));
	return weft_mpi_end_file(of, "MPI_File_get_errhandler", err);
}

static int check_code(int code)
{
	char text[MPI_MAX_ERROR_STRING];

	if (code < 0 || !weft_mpi_class_string(code, text))
		return weft_err_set(
			WEFT_ERR_ARG, "%d is not an error code", code);
	return 0;
}

static int mpi_comm_call_errhandler(struct weft_comm *comm, int errorcode)
{
	int err = check_code(errorcode);

	if (!err)
		weft_mpi_raise(comm, "MPI_Comm_call_errhandler", errorcode);
	return err;
}

static int mpi_session_call_errhandler(
	struct weft_session *session, int errorcode)
{
	int err = check_code(errorcode);

	if (!err)
		weft_mpi_raise_session(
			session, "MPI_Session_call_errhandler", errorcode);
	return err;
}

static int mpi_win_call_errhandler(struct weft_win *win, int errorcode)
{
	int err = check_code(errorcode);

	if (!err)
		weft_mpi_raise_win(win, "MPI_Win_call_errhandler", errorcode);
	return err;
}

int PMPI_File_call_errhandler(MPI_File fh, int errorcode)
{
	struct weft_file *of = NULL;
	struct weft_errh **slot;
	int err = file_slot(fh, &of, &slot);

	if (!err)
		err = check_code(errorcode);
	if (!err)
		weft_mpi_raise_file(of, "MPI_File_call_errhandler", errorcode);
	return weft_mpi_end_file(of, "MPI_File_call_errhandler", err);
}

/* ---- classes and codes ---- */

static int mpi_error_class(int errorcode, int *errorclass)
{
	int err = check_code(errorcode);

	if (!err)
		*errorclass = weft_mpi_class(errorcode);
	return err;
}

static int mpi_error_string(int errorcode, char *string, int *resultlen)
{
	char text[MPI_MAX_ERROR_STRING];

	if (errorcode < 0 || !weft_mpi_string(errorcode, text))
		return weft_err_set(
			WEFT_ERR_ARG, "%d is not an error code", errorcode);
	strcpy(string, text);
	*resultlen = (int)strlen(text);
	return 0;
}

static int mpi_add_error_class(int *errorclass)
{
	return weft_errcode_add_class(errorclass);
}

static int mpi_add_error_code(int errorclass, int *errorcode)
{
	int err = check_code(errorclass);

	return err ? err : weft_errcode_add_code(errorclass, errorcode);
}

static int mpi_add_error_string(int errorcode, const char *string)
{
	if (strnlen(string, MPI_MAX_ERROR_STRING) >= MPI_MAX_ERROR_STRING)
		return weft_err_set(WEFT_ERR_ARG,
			"string is too long, may have up to %d characters",
			MPI_MAX_ERROR_STRING - 1);
	return weft_errcode_set_text(errorcode, string);
}

static int mpi_remove_error_class(int errorclass)
{
	return weft_errcode_remove_class(errorclass);
}

static int mpi_remove_error_code(int errorcode)
{
	return weft_errcode_remove_code(errorcode);
}

static int mpi_remove_error_string(int errorcode)
{
	return weft_errcode_set_text(errorcode, NULL);
}

#include "api_errh.h"
