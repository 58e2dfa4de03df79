/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_map: error classes, raising of errors, requests of started operations */
#include "mpi_map.h"

#include "base/log.h"
#include "core/errcode.h"
#include "core/failed.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "session/abort.h"

#include <mpix.h>
#include <stdio.h>
#include <string.h>

#define AT(name) [WEFT_ERR_##name - WEFT_ERR_FIRST_]

/* Class of each internal error. Errors that are not listed are MPI_ERR_OTHER.
 */
static const short classes[WEFT_ERR_END_ - WEFT_ERR_FIRST_] = {
	AT(NOMEM) = MPI_ERR_NO_MEM,
	AT(INTERN) = MPI_ERR_INTERN,
	AT(ARG) = MPI_ERR_ARG,
	AT(BUFFER) = MPI_ERR_BUFFER,
	AT(COUNT) = MPI_ERR_COUNT,
	AT(TYPE) = MPI_ERR_TYPE,
	AT(TAG) = MPI_ERR_TAG,
	AT(COMM) = MPI_ERR_COMM,
	AT(RANK) = MPI_ERR_RANK,
	AT(ROOT) = MPI_ERR_ROOT,
	AT(GROUP) = MPI_ERR_GROUP,
	AT(OP) = MPI_ERR_OP,
	AT(REQUEST) = MPI_ERR_REQUEST,
	AT(TRUNCATE) = MPI_ERR_TRUNCATE,
	AT(PENDING) = MPI_ERR_PENDING,
	AT(SESSION) = MPI_ERR_SESSION,
	AT(INFO) = MPI_ERR_INFO,
	AT(INFO_KEY) = MPI_ERR_INFO_KEY,
	AT(INFO_VALUE) = MPI_ERR_INFO_VALUE,
	AT(INFO_NOKEY) = MPI_ERR_INFO_NOKEY,
	AT(KEYVAL) = MPI_ERR_KEYVAL,
	AT(ERRHANDLER) = MPI_ERR_ERRHANDLER,
	AT(TOPOLOGY) = MPI_ERR_TOPOLOGY,
	AT(DIMS) = MPI_ERR_DIMS,
	AT(WIN) = MPI_ERR_WIN,
	AT(BASE) = MPI_ERR_BASE,
	AT(SIZE) = MPI_ERR_SIZE,
	AT(DISP) = MPI_ERR_DISP,
	AT(LOCKTYPE) = MPI_ERR_LOCKTYPE,
	AT(ASSERT) = MPI_ERR_ASSERT,
	AT(RMA_CONFLICT) = MPI_ERR_RMA_CONFLICT,
	AT(RMA_SYNC) = MPI_ERR_RMA_SYNC,
	AT(RMA_RANGE) = MPI_ERR_RMA_RANGE,
	AT(RMA_ATTACH) = MPI_ERR_RMA_ATTACH,
	AT(RMA_SHARED) = MPI_ERR_RMA_SHARED,
	AT(RMA_FLAVOR) = MPI_ERR_RMA_FLAVOR,
	AT(FILE) = MPI_ERR_FILE,
	AT(AMODE) = MPI_ERR_AMODE,
	AT(NO_SUCH_FILE) = MPI_ERR_NO_SUCH_FILE,
	AT(FILE_EXISTS) = MPI_ERR_FILE_EXISTS,
	AT(BAD_FILE) = MPI_ERR_BAD_FILE,
	AT(ACCESS) = MPI_ERR_ACCESS,
	AT(NO_SPACE) = MPI_ERR_NO_SPACE,
	AT(QUOTA) = MPI_ERR_QUOTA,
	AT(READ_ONLY) = MPI_ERR_READ_ONLY,
	AT(FILE_IN_USE) = MPI_ERR_FILE_IN_USE,
	AT(IO) = MPI_ERR_IO,
	AT(UNSUPPORTED_DATAREP) = MPI_ERR_UNSUPPORTED_DATAREP,
	AT(DUP_DATAREP) = MPI_ERR_DUP_DATAREP,
	AT(CONVERSION) = MPI_ERR_CONVERSION,
	AT(NAME) = MPI_ERR_NAME,
	AT(PORT) = MPI_ERR_PORT,
	AT(SERVICE) = MPI_ERR_SERVICE,
	AT(SPAWN) = MPI_ERR_SPAWN,
	AT(NOTFOUND) = MPI_ERR_ARG,
	AT(UNSUPPORTED) = MPI_ERR_UNSUPPORTED_OPERATION,
	AT(NOT_SAME) = MPI_ERR_NOT_SAME,
	AT(PEER) = MPIX_ERR_PROC_FAILED,
	AT(FAILED_PENDING) = MPIX_ERR_PROC_FAILED_PENDING,
	AT(REVOKED) = MPIX_ERR_REVOKED,
	AT(VALUE_TOO_LARGE) = MPI_ERR_VALUE_TOO_LARGE,
	AT(ABI) = MPI_ERR_ABI,
};

/* True if the last error described is the failure of a process that aborted. */
static bool is_of_abort(void)
{
	uint64_t failed = weft_err_failed(WEFT_ERR_PEER);

	return failed && weft_failed_was_aborted(failed - 1);
}

int weft_mpi_code(int err)
{
	int code;

	if (err >= 0)
		return err;
	if (err <= WEFT_ERR_FIRST_ || err >= WEFT_ERR_END_)
		return MPI_ERR_INTERN;
	if (err == WEFT_ERR_PEER && is_of_abort())
		return MPI_ERR_PROC_ABORTED;
	code = classes[err - WEFT_ERR_FIRST_];
	return code ? code : MPI_ERR_OTHER;
}

/* Name and text of the classes of the standard and of mpix.h. */
static const struct {
	const char *name;
	const char *sentence;
} class_texts[] = {
	[MPI_SUCCESS] = { "MPI_SUCCESS", "no error" },
	[MPI_ERR_BUFFER] = { "MPI_ERR_BUFFER", "invalid buffer pointer" },
	[MPI_ERR_COUNT] = { "MPI_ERR_COUNT", "invalid count argument" },
	[MPI_ERR_TYPE] = { "MPI_ERR_TYPE", "invalid datatype argument" },
	[MPI_ERR_TAG] = { "MPI_ERR_TAG", "invalid tag argument" },
	[MPI_ERR_COMM] = { "MPI_ERR_COMM", "invalid communicator" },
	[MPI_ERR_RANK] = { "MPI_ERR_RANK", "invalid rank" },
	[MPI_ERR_REQUEST] = { "MPI_ERR_REQUEST", "invalid request handle" },
	[MPI_ERR_ROOT] = { "MPI_ERR_ROOT", "invalid root" },
	[MPI_ERR_GROUP] = { "MPI_ERR_GROUP", "invalid group" },
	[MPI_ERR_OP] = { "MPI_ERR_OP", "invalid operation" },
	[MPI_ERR_TOPOLOGY] = { "MPI_ERR_TOPOLOGY", "invalid topology" },
	[MPI_ERR_DIMS] = { "MPI_ERR_DIMS", "invalid dimension argument" },
	[MPI_ERR_ARG] = { "MPI_ERR_ARG", "invalid argument" },
	[MPI_ERR_UNKNOWN] = { "MPI_ERR_UNKNOWN", "unknown error" },
	[MPI_ERR_TRUNCATE] = { "MPI_ERR_TRUNCATE",
		"message longer than the receive buffer" },
	[MPI_ERR_OTHER] = { "MPI_ERR_OTHER", "known error not in this list" },
	[MPI_ERR_INTERN] = { "MPI_ERR_INTERN",
		"internal error of the library" },
	[MPI_ERR_PENDING] = { "MPI_ERR_PENDING", "operation still pending" },
	[MPI_ERR_IN_STATUS] = { "MPI_ERR_IN_STATUS",
		"error code is in the status" },
	[MPI_ERR_ACCESS] = { "MPI_ERR_ACCESS", "permission denied" },
	[MPI_ERR_AMODE] = { "MPI_ERR_AMODE", "invalid access mode" },
	[MPI_ERR_ASSERT] = { "MPI_ERR_ASSERT", "invalid assertion" },
	[MPI_ERR_BAD_FILE] = { "MPI_ERR_BAD_FILE", "invalid file name" },
	[MPI_ERR_BASE] = { "MPI_ERR_BASE", "invalid memory base" },
	[MPI_ERR_CONVERSION] = { "MPI_ERR_CONVERSION",
		"data conversion function failed" },
	[MPI_ERR_DISP] = { "MPI_ERR_DISP", "invalid displacement" },
	[MPI_ERR_DUP_DATAREP] = { "MPI_ERR_DUP_DATAREP",
		"data representation is defined already" },
	[MPI_ERR_FILE_EXISTS] = { "MPI_ERR_FILE_EXISTS", "file exists" },
	[MPI_ERR_FILE_IN_USE] = { "MPI_ERR_FILE_IN_USE", "file is in use" },
	[MPI_ERR_FILE] = { "MPI_ERR_FILE", "invalid file handle" },
	[MPI_ERR_INFO_KEY] = { "MPI_ERR_INFO_KEY", "invalid info key" },
	[MPI_ERR_INFO_NOKEY] = { "MPI_ERR_INFO_NOKEY", "no such info key" },
	[MPI_ERR_INFO_VALUE] = { "MPI_ERR_INFO_VALUE", "invalid info value" },
	[MPI_ERR_INFO] = { "MPI_ERR_INFO", "invalid info object" },
	[MPI_ERR_IO] = { "MPI_ERR_IO", "input or output error" },
	[MPI_ERR_KEYVAL] = { "MPI_ERR_KEYVAL", "invalid attribute key" },
	[MPI_ERR_LOCKTYPE] = { "MPI_ERR_LOCKTYPE", "invalid lock type" },
	[MPI_ERR_NAME] = { "MPI_ERR_NAME", "service name was not published" },
	[MPI_ERR_NO_MEM] = { "MPI_ERR_NO_MEM", "out of memory" },
	[MPI_ERR_NOT_SAME] = { "MPI_ERR_NOT_SAME",
		"arguments differ between processes" },
	[MPI_ERR_NO_SPACE] = { "MPI_ERR_NO_SPACE", "no space left" },
	[MPI_ERR_NO_SUCH_FILE] = { "MPI_ERR_NO_SUCH_FILE", "no such file" },
	[MPI_ERR_PORT] = { "MPI_ERR_PORT", "invalid port name" },
	[MPI_ERR_QUOTA] = { "MPI_ERR_QUOTA", "quota exceeded" },
	[MPI_ERR_READ_ONLY] = { "MPI_ERR_READ_ONLY",
		"file or file system is read-only" },
	[MPI_ERR_RMA_ATTACH] = { "MPI_ERR_RMA_ATTACH",
		"memory cannot be attached" },
	[MPI_ERR_RMA_CONFLICT] = { "MPI_ERR_RMA_CONFLICT",
		"conflicting accesses to a window" },
	[MPI_ERR_RMA_RANGE] = { "MPI_ERR_RMA_RANGE",
		"target memory is not part of the window" },
	[MPI_ERR_RMA_SHARED] = { "MPI_ERR_RMA_SHARED",
		"memory cannot be shared" },
	[MPI_ERR_RMA_SYNC] = { "MPI_ERR_RMA_SYNC",
		"wrong synchronization of a window" },
	[MPI_ERR_SERVICE] = { "MPI_ERR_SERVICE", "invalid service name" },
	[MPI_ERR_SIZE] = { "MPI_ERR_SIZE", "invalid size" },
	[MPI_ERR_SPAWN] = { "MPI_ERR_SPAWN", "processes could not be spawned" },
	[MPI_ERR_UNSUPPORTED_DATAREP] = { "MPI_ERR_UNSUPPORTED_DATAREP",
		"data representation is not supported" },
	[MPI_ERR_UNSUPPORTED_OPERATION] = { "MPI_ERR_UNSUPPORTED_OPERATION",
		"operation is not supported" },
	[MPI_ERR_WIN] = { "MPI_ERR_WIN", "invalid window" },
	[MPI_ERR_RMA_FLAVOR] = { "MPI_ERR_RMA_FLAVOR",
		"wrong flavor of window" },
	[MPI_ERR_PROC_ABORTED] = { "MPI_ERR_PROC_ABORTED",
		"a peer process was aborted" },
	[MPI_ERR_VALUE_TOO_LARGE] = { "MPI_ERR_VALUE_TOO_LARGE",
		"value does not fit the result type" },
	[MPI_ERR_SESSION] = { "MPI_ERR_SESSION", "invalid session" },
	[MPI_ERR_ERRHANDLER] = { "MPI_ERR_ERRHANDLER",
		"invalid error handler" },
	[MPI_ERR_ABI] = { "MPI_ERR_ABI", "ABI mismatch" },
	[MPIX_ERR_PROC_FAILED] = { "MPIX_ERR_PROC_FAILED",
		"a process of the operation has failed" },
	[MPIX_ERR_PROC_FAILED_PENDING] = { "MPIX_ERR_PROC_FAILED_PENDING",
		"a member has failed; the receive is still active" },
	[MPIX_ERR_REVOKED] = { "MPIX_ERR_REVOKED",
		"the communicator is revoked" },
};

bool weft_mpi_class_string(int code, char *buf)
{
	enum { N = sizeof(class_texts) / sizeof(class_texts[0]) };

	if (code >= 0 && code < N && class_texts[code].name) {
		snprintf(buf, MPI_MAX_ERROR_STRING, "%s: %s",
			class_texts[code].name, class_texts[code].sentence);
		return true;
	}
	buf[0] = 0;
	return code == MPI_ERR_LASTCODE ||
	       weft_errcode_text(code, buf, MPI_MAX_ERROR_STRING);
}

int weft_mpi_class(int code)
{
	return code <= MPI_ERR_LASTCODE ? code : weft_errcode_class(code);
}

/* An error that is being raised. */
struct raised {
	int kind; /* enum weft_kind of the object, 0: none */
	void *handle;
	struct weft_comm
		*comm; /* the communicator whose members it concerns, or NULL */
	struct weft_errh *errh;
	const char *name; /* name of the object, may be NULL */
	const char *func;
	int rank; /* this process's rank in the object, or -1 */
	int err;
	int as; /* class to return; 0: the class of err */
	int code;
};

/* Returns the handler for errors without an object: the initial handler before
 * MPI_COMM_SELF exists, and then the handler of MPI_COMM_SELF. MPI-3.1 used the
 * handler of MPI_COMM_WORLD. If a program sets only that handler, this function
 * returns it. */
struct weft_errh *weft_mpi_errh_without_object(void)
{
	struct weft_errh *initial = weft_session_initial_errh();
	struct weft_comm *world = weft_world.comms[0];
	struct weft_comm *self = weft_world.comms[1];

	if (!self || !world)
		return initial;
	return self->errh != initial ? self->errh : world->errh;
}

/* The last error that was raised in this thread, for MPI_Error_string. code is
 * the code that the call returned. If that is MPI_ERR_IN_STATUS, cause is the
 * code in the status. text names the call and describes the error. */
static _Thread_local struct {
	int code, cause;
	char text[MPI_MAX_ERROR_STRING];
} last_raised;

/* Prints the name of a class. Unless a description follows (has_more), also
 * prints the text of the class, which covers many errors. */
static bool print_class(int code, bool has_more, char *buf)
{
	if (!weft_mpi_class_string(code, buf))
		return false;
	if (code <= MPI_ERR_LASTCODE && has_more)
		buf[strcspn(buf, ":")] = 0;
	return true;
}

bool weft_mpi_string(int code, char *buf)
{
	size_t n;

	if (code == MPI_SUCCESS ||
		(code != last_raised.code && code != last_raised.cause))
		return weft_mpi_class_string(code, buf);
	if (!print_class(code, true, buf))
		return false;
	n = strlen(buf);
	snprintf(buf + n, MPI_MAX_ERROR_STRING - n, ": %s", last_raised.text);
	return true;
}

/* Returns the description of an error, or the text of its class if it has none.
 * "" for a code of the program. */
static const char *detail_of(const struct raised *r)
{
	const char *detail = "";

	if (r->err < 0)
		detail = weft_err_detail_peek(r->err);
	return r->err < 0 && !detail[0] ? weft_err_str(r->err) : detail;
}

static void store_raised(const struct raised *r)
{
	const char *detail = detail_of(r);

	last_raised.code = last_raised.cause = 0;
	if (!detail[0])
		return;
	last_raised.code = r->code;
	last_raised.cause = weft_mpi_code(r->err);
	snprintf(last_raised.text, sizeof(last_raised.text), "%s: %s", r->func,
		detail);
}

static const char *kind_name(int kind)
{
	switch (kind) {
	case WEFT_KIND_COMM:
		return "communicator";
	case WEFT_KIND_SESSION:
		return "session";
	case WEFT_KIND_WIN:
		return "window";
	case WEFT_KIND_FILE:
		return "file";
	default:
		return "object";
	}
}

static void end_fatal(const struct raised *r) __attribute__((noreturn));

/* Handles a fatal error: prints one line that describes the error, then ends
 * the job, or the part of it that the session's scope selects. */
static void end_fatal(const struct raised *r)
{
	char text[1024], class[MPI_MAX_ERROR_STRING];
	const char *detail = detail_of(r);
	struct weft_session *session = NULL;
	struct weft_comm *comm = NULL;
	struct weft_win *win = NULL;
	struct weft_file *file = NULL;
	size_t n;

	print_class(r->code, detail[0], class);
	n = (size_t)snprintf(text, sizeof(text), "%s: %s", r->func, class);
	if (detail[0] && n < sizeof(text))
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, ": %s", detail);
	if (r->kind && n < sizeof(text))
		n += (size_t)snprintf(text + n, sizeof(text) - n, ", on %s %s",
			kind_name(r->kind),
			r->name && r->name[0] ? r->name : "without a name");
	if (r->rank >= 0 && n < sizeof(text))
		snprintf(text + n, sizeof(text) - n, ", rank %d", r->rank);
	weft_log_error("MPI-FATAL",
		"%s; the error handler in force ends the job", text);
	if (r->kind == WEFT_KIND_COMM)
		comm = weft_mpi_comm(r->handle);
	if (r->kind == WEFT_KIND_WIN)
		win = weft_mpi_win(r->handle);
	if (win)
		comm = win->comm;
	if (r->kind == WEFT_KIND_FILE)
		file = weft_mpi_file(r->handle);
	if (file)
		comm = file->comm;
	if (r->kind == WEFT_KIND_SESSION)
		session = weft_mpi_session(r->handle);
	weft_abort_end(comm, comm ? comm->child.session : session,
		weft_mpi_class(r->code), text);
}

/* Calls the user's function. The procedure returns the code as the function
 * leaves it. If the code is MPI_ERR_IN_STATUS, the function gets the code in
 * the status (MPI 5.0, 9.3). */
static int call(const struct raised *r)
{
	void *handle = r->handle;
	const int passed = r->as ? weft_mpi_code(r->err) : r->code;
	int code = passed;

	switch (r->errh->kind) {
	case WEFT_KIND_SESSION:
		((MPI_Session_errhandler_function *)r->errh->fn)(
			(MPI_Session *)(void *)&handle, &code);
		break;
	case WEFT_KIND_WIN:
		((MPI_Win_errhandler_function *)r->errh->fn)(
			(MPI_Win *)(void *)&handle, &code);
		break;
	case WEFT_KIND_FILE:
		((MPI_File_errhandler_function *)r->errh->fn)(
			(MPI_File *)(void *)&handle, &code);
		break;
	default:
		((MPI_Comm_errhandler_function *)r->errh->fn)(
			(MPI_Comm *)(void *)&handle, &code);
		break;
	}
	return code == passed ? r->code : code;
}

/* A call that needs a failed process ends without a wait. If the program
 * repeats such a call until another member revokes the communicator, only this
 * poll receives the revocation. */
static void poll_revocation(const struct raised *r)
{
	struct weft_vci *vci = r->comm ? r->comm->vci : NULL;

	if (!vci || r->err != WEFT_ERR_PEER)
		return;
	weft_vci_lock(vci);
	weft_progress_try(vci);
	weft_vci_unlock(vci);
}

static int raise_error(struct raised *r)
{
	enum weft_errh_action action =
		r->errh ? r->errh->action : WEFT_ERRH_FATAL;

	if (r->comm)
		weft_comm_explain(r->comm, r->err);
	r->code = r->as ? r->as : weft_mpi_code(r->err);
	if (action == WEFT_ERRH_FATAL || action == WEFT_ERRH_ABORT)
		end_fatal(r);
	store_raised(r);
	weft_log_debug(
		"MPI-ERR", "%s: code %d: %s", r->func, r->code, detail_of(r));
	poll_revocation(r);
	if (action == WEFT_ERRH_CALL) {
		/* the function may replace the handler that calls it */
		struct weft_errh *errh = weft_errh_get(r->errh);

		r->code = call(r);
		weft_errh_put(errh);
	}
	return r->code;
}

int weft_mpi_raise_none(const char *func, int err)
{
	struct weft_comm *self = weft_world.comms[1];
	struct raised r = {
		.handle = self ? MPI_COMM_SELF : MPI_COMM_NULL,
		.errh = weft_mpi_errh_without_object(),
		.func = func,
		.rank = -1,
		.err = err,
	};

	return raise_error(&r);
}

static struct raised raised_of_win(
	struct weft_win *win, const char *func, int err)
{
	return (struct raised){
		.kind = WEFT_KIND_WIN,
		.handle = weft_mpi_win_handle(win),
		.comm = win->comm,
		.errh = win->errh,
		.name = win->name,
		.func = func,
		.rank = win->comm->rank,
		.err = err,
	};
}

static struct raised raised_of_file(
	struct weft_file *file, const char *func, int err)
{
	return (struct raised){
		.kind = WEFT_KIND_FILE,
		.handle = file ? weft_mpi_file_handle(file) : MPI_FILE_NULL,
		.comm = file ? file->comm : NULL,
		.errh = file ? file->errh : weft_file_errh,
		.name = file ? file->name : "MPI_FILE_NULL",
		.func = func,
		.rank = file ? file->comm->rank : -1,
		.err = err,
	};
}

/* Describes an error on a communicator. If a window or file owns the
 * communicator, the error is raised on that window or file. */
static struct raised raised_of_comm(
	struct weft_comm *comm, const char *func, int err)
{
	if (comm->win)
		return raised_of_win(comm->win, func, err);
	if (comm->file)
		return raised_of_file(comm->file, func, err);
	return (struct raised){
		.kind = WEFT_KIND_COMM,
		.handle = weft_mpi_comm_handle(comm),
		.comm = comm,
		.errh = comm->errh,
		.name = comm->name,
		.func = func,
		.rank = comm->rank,
		.err = err,
	};
}

int weft_mpi_raise(struct weft_comm *comm, const char *func, int err)
{
	struct raised r;

	if (!comm)
		return weft_mpi_raise_none(func, err);
	r = raised_of_comm(comm, func, err);
	return raise_error(&r);
}

int weft_mpi_raise_in_status(struct weft_comm *comm, const char *func, int err)
{
	struct raised r;

	if (!comm)
		return weft_mpi_raise_none(func, MPI_ERR_IN_STATUS);
	r = raised_of_comm(comm, func, err);
	r.as = MPI_ERR_IN_STATUS;
	return raise_error(&r);
}

int weft_mpi_raise_session(
	struct weft_session *session, const char *func, int err)
{
	struct raised r;

	if (!session)
		return weft_mpi_raise_none(func, err);
	r = (struct raised){
		.kind = WEFT_KIND_SESSION,
		.handle = weft_mpi_session_handle(session),
		.errh = session->errh,
		.func = func,
		.rank = -1,
		.err = err,
	};
	return raise_error(&r);
}

int weft_mpi_raise_group(
	const struct weft_group *group, const char *func, int err)
{
	struct weft_session *session = NULL;

	if (group && group->session)
		session = weft_table_get(&weft_sessions, group->session_handle);
	return weft_mpi_raise_session(session, func, err);
}

int weft_mpi_raise_win(struct weft_win *win, const char *func, int err)
{
	struct raised r;

	if (!win)
		return weft_mpi_raise_none(func, err);
	r = raised_of_win(win, func, err);
	return raise_error(&r);
}

int weft_mpi_raise_file(struct weft_file *file, const char *func, int err)
{
	struct raised r = raised_of_file(file, func, err);

	return raise_error(&r);
}

int weft_mpi_raise_obj(enum weft_kind kind, void *handle,
	struct weft_errh *errh, const char *name, const char *func, int err)
{
	struct raised r = {
		.kind = (int)kind,
		.handle = handle,
		.errh = errh,
		.name = name,
		.func = func,
		.rank = -1,
		.err = err,
	};

	return raise_error(&r);
}

/* ---- requests of operations that complete later ---- */

struct weft_req *weft_mpi_req_begin(
	struct weft_vci *vci, struct weft_comm *comm)
{
	struct weft_req *req;

	weft_vci_lock(vci);
	req = weft_req_new(vci, WEFT_REQ_OTHER);
	if (req) {
		req->comm = comm ? weft_comm_get(comm) : NULL;
		weft_req_get(req);
	}
	weft_vci_unlock(vci);
	return req;
}

void weft_mpi_req_end(struct weft_req *req, int err)
{
	req->status.source = WEFT_ANY_SOURCE;
	req->status.tag = WEFT_ANY_TAG;
	req->status.len = 0;
	weft_req_complete(req, err);
	weft_req_put(req);
}

void weft_mpi_req_drop(struct weft_req *req)
{
	struct weft_vci *vci = req->vci;

	weft_vci_lock(vci);
	weft_req_put(req);
	weft_req_put(req);
	weft_vci_unlock(vci);
}
