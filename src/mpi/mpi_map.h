/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_map: translates handles and error classes
 *
 * A handle below 0x1000 is a predefined handle of the standard ABI. Any other
 * handle is looked up in a table of objects, so a stale or invalid handle
 * yields NULL. */
#ifndef WEFT_MPI_MAP_H
#define WEFT_MPI_MAP_H

#include "base/bits.h"
#include "base/err.h"
#include "core/comm.h"
#include "core/errh.h"
#include "core/group.h"
#include "core/info.h"
#include "core/req.h"
#include "dt/redop.h"
#include "dt/type.h"
#include "io/file.h"
#include "p2p/p2p.h"
#include "session/session.h"
#include "win/win.h"

#include "mpi.h"

#include <string.h>

/* ---- handle to object; NULL for a null, stale or foreign handle ---- */

static inline struct weft_comm *weft_mpi_comm(MPI_Comm handle)
{
	uintptr_t n = (uintptr_t)handle - (uintptr_t)MPI_COMM_WORLD;

	return n < 2 ? weft_world.comms[n]
		     : (struct weft_comm *)weft_table_get(
			       &weft_comms, (uintptr_t)handle);
}

static inline struct weft_group *weft_mpi_group(MPI_Group handle)
{
	return handle == MPI_GROUP_EMPTY
		       ? &weft_group_empty
		       : (struct weft_group *)weft_table_get(
				 &weft_groups, (uintptr_t)handle);
}

static inline struct weft_session *weft_mpi_session(MPI_Session handle)
{
	return (struct weft_session *)weft_table_get(
		&weft_sessions, (uintptr_t)handle);
}

static inline struct weft_type *weft_mpi_type(MPI_Datatype handle)
{
	return weft_type_lookup((uintptr_t)handle);
}

static inline struct weft_redop *weft_mpi_op(MPI_Op handle)
{
	return weft_redop_lookup((uintptr_t)handle);
}

static inline struct weft_req *weft_mpi_req(MPI_Request handle)
{
	return (struct weft_req *)weft_table_get(&weft_reqs, (uintptr_t)handle);
}

static inline struct weft_message *weft_mpi_message(MPI_Message handle)
{
	return (struct weft_message *)weft_table_get(
		&weft_messages, (uintptr_t)handle);
}

/* MPI_INFO_NULL yields NULL, like an invalid handle. For optional info
 * arguments, see weft_check_info_or_null(). */
static inline struct weft_info *weft_mpi_info(MPI_Info handle)
{
	return handle == MPI_INFO_ENV ? weft_info_env()
				      : (struct weft_info *)weft_table_get(
						&weft_infos, (uintptr_t)handle);
}

static inline struct weft_win *weft_mpi_win(MPI_Win handle)
{
	return (struct weft_win *)weft_table_get(&weft_wins, (uintptr_t)handle);
}

static inline struct weft_file *weft_mpi_file(MPI_File handle)
{
	return (struct weft_file *)weft_table_get(
		&weft_files, (uintptr_t)handle);
}

static inline struct weft_errh *weft_mpi_errh(MPI_Errhandler handle)
{
	uintptr_t n = (uintptr_t)handle - (uintptr_t)MPI_ERRORS_ARE_FATAL;

	return n < 3 ? &weft_errh_builtin[n]
		     : (struct weft_errh *)weft_table_get(
			       &weft_errhs, (uintptr_t)handle);
}

/* ---- object to handle; the object must not be NULL ---- */

static inline MPI_Comm weft_mpi_comm_handle(const struct weft_comm *comm)
{
	if (comm == weft_world.comms[0])
		return MPI_COMM_WORLD;
	if (comm == weft_world.comms[1])
		return MPI_COMM_SELF;
	if (comm->spread_of)
		return (MPI_Comm)(uintptr_t)comm->spread_of;
	return (MPI_Comm)(uintptr_t)weft_obj_handle(comm);
}

/* Returns the communicator's name for a message text. */
static inline const char *weft_mpi_comm_print(const struct weft_comm *comm)
{
	return comm->name[0] ? comm->name : "without a name";
}

static inline MPI_Group weft_mpi_group_handle(const struct weft_group *group)
{
	return group == &weft_group_empty
		       ? MPI_GROUP_EMPTY
		       : (MPI_Group)(uintptr_t)weft_obj_handle(group);
}

static inline MPI_Session weft_mpi_session_handle(
	const struct weft_session *session)
{
	return (MPI_Session)(uintptr_t)weft_obj_handle(session);
}

static inline MPI_Datatype weft_mpi_type_handle(const struct weft_type *type)
{
	return (MPI_Datatype)(uintptr_t)weft_obj_handle(type);
}

static inline MPI_Op weft_mpi_op_handle(const struct weft_redop *op)
{
	return (MPI_Op)(uintptr_t)weft_obj_handle(op);
}

static inline MPI_Request weft_mpi_req_handle(const struct weft_req *req)
{
	return (MPI_Request)(uintptr_t)weft_obj_handle(req);
}

/* The request of an operation that completes later. weft_mpi_req_begin()
 * creates it, with a reference of the program and one of the operation. Errors
 * of the request are raised on comm, unless comm is NULL. Returns NULL when out
 * of memory. weft_mpi_req_end() completes it with an empty status, and drops
 * the operation's reference; VCI's lock held. weft_mpi_req_drop() drops both
 * references, because the operation did not start. The other two: no lock
 * held. */
struct weft_req *weft_mpi_req_begin(
	struct weft_vci *vci, struct weft_comm *comm);
void weft_mpi_req_end(struct weft_req *req, int err);
void weft_mpi_req_drop(struct weft_req *req);

static inline MPI_Message weft_mpi_message_handle(
	const struct weft_message *message)
{
	return (MPI_Message)(uintptr_t)weft_obj_handle(message);
}

static inline MPI_Info weft_mpi_info_handle(const struct weft_info *info)
{
	return (MPI_Info)(uintptr_t)weft_obj_handle(info);
}

static inline MPI_Win weft_mpi_win_handle(const struct weft_win *win)
{
	return (MPI_Win)(uintptr_t)weft_obj_handle(win);
}

static inline MPI_File weft_mpi_file_handle(const struct weft_file *file)
{
	return (MPI_File)(uintptr_t)weft_obj_handle(file);
}

static inline MPI_Errhandler weft_mpi_errh_handle(const struct weft_errh *errh)
{
	if (!errh)
		return MPI_ERRORS_ARE_FATAL;
	if (errh->action != WEFT_ERRH_CALL)
		return (MPI_Errhandler)((uintptr_t)MPI_ERRORS_ARE_FATAL +
					(uintptr_t)errh->action);
	return (MPI_Errhandler)(uintptr_t)weft_obj_handle(errh);
}

/* ---- errors ---- */

/* Returns the MPI error code of an internal error. 0 and positive arguments
 * (codes from user functions) are returned unchanged. */
int weft_mpi_code(int err);

/* Returns the error class of any error code, predefined or added. */
int weft_mpi_class(int code);

/* Writes the text of an error code to buf, of MPI_MAX_ERROR_STRING bytes. If
 * that code was the last one raised in this thread, the text describes that
 * error. Otherwise, the text is that of weft_mpi_class_string(). False if the
 * code does not exist. */
bool weft_mpi_string(int code, char *buf);

/* Writes the fixed text of an error code to buf, of MPI_MAX_ERROR_STRING bytes.
 * False when the code does not exist. */
bool weft_mpi_class_string(int code, char *buf);

/* The seven functions below raise an error: each finds the responsible handler
 * and ends the job, calls the user's function, or returns, as the handler
 * requires. err is an internal error or a positive MPI error code; func is the
 * name of the MPI procedure. They return what the procedure must return. No
 * lock held.
 *
 * Without an object (comm, session or win NULL, and weft_mpi_raise_none()), the
 * error is raised on MPI_COMM_SELF, on MPI_COMM_WORLD if only its handler was
 * set, or on the initial handler while neither exists. file NULL: on
 * MPI_FILE_NULL. group: on its session; NULL, a group of the World Model or of
 * a finalized session: as weft_mpi_raise_none(). */
int weft_mpi_raise(struct weft_comm *comm, const char *func, int err);

/* As weft_mpi_raise(), for an err that is in a status. The procedure returns
 * MPI_ERR_IN_STATUS, and the description of err applies to both codes. */
int weft_mpi_raise_in_status(struct weft_comm *comm, const char *func, int err);
int weft_mpi_raise_session(
	struct weft_session *session, const char *func, int err);
int weft_mpi_raise_group(
	const struct weft_group *group, const char *func, int err);
int weft_mpi_raise_win(struct weft_win *win, const char *func, int err);
int weft_mpi_raise_file(struct weft_file *file, const char *func, int err);
int weft_mpi_raise_none(const char *func, int err);

/* Returns the handler that weft_mpi_raise_none() uses. The reference count does
 * not change. */
struct weft_errh *weft_mpi_errh_without_object(void);

/* Raises an error on an object that does not exist yet or any more. kind is its
 * kind, handle is passed to the user's function, and errh is the handler to use
 * (NULL: fatal). name is the object's name, or NULL. */
int weft_mpi_raise_obj(enum weft_kind kind, void *handle,
	struct weft_errh *errh, const char *name, const char *func, int err);

/* Ends an API function: raises unless err is 0. */
static inline int weft_mpi_end(
	struct weft_comm *comm, const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS
				 : weft_mpi_raise(comm, func, err);
}

static inline int weft_mpi_end_session(
	struct weft_session *session, const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS
				 : weft_mpi_raise_session(session, func, err);
}

static inline int weft_mpi_end_group(
	const struct weft_group *group, const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS
				 : weft_mpi_raise_group(group, func, err);
}

static inline int weft_mpi_end_win(
	struct weft_win *win, const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS
				 : weft_mpi_raise_win(win, func, err);
}

static inline int weft_mpi_end_file(
	struct weft_file *file, const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS
				 : weft_mpi_raise_file(file, func, err);
}

/* ---- status ---- */

/* MPI_internal[0] and [1] have the number of bytes received, [2] whether the
 * request was cancelled. */
static inline void weft_status_to_mpi(
	const struct weft_status *status, MPI_Status *mpi)
{
	if (mpi == MPI_STATUS_IGNORE)
		return;
	mpi->MPI_SOURCE = status->source;
	mpi->MPI_TAG = status->tag;
	memcpy(&mpi->MPI_internal[0], &status->len, sizeof(status->len));
	mpi->MPI_internal[2] = status->is_cancelled;
}

/* As weft_status_to_mpi(), and writes MPI_ERROR: for calls that complete
 * several requests. */
static inline void weft_status_to_mpi_err(
	const struct weft_status *status, MPI_Status *mpi)
{
	if (mpi == MPI_STATUS_IGNORE)
		return;
	weft_status_to_mpi(status, mpi);
	mpi->MPI_ERROR = status->err ? weft_mpi_code(status->err) : 0;
}

/* Writes the status that wait and test return for a null or inactive request.
 * The standard defines it with its error, so MPI_ERROR is written, too. */
static inline void weft_status_empty(MPI_Status *mpi)
{
	static const struct weft_status empty = { .source = WEFT_ANY_SOURCE,
		.tag = WEFT_ANY_TAG };

	weft_status_to_mpi_err(&empty, mpi);
}

static inline int64_t weft_status_len(const MPI_Status *mpi)
{
	int64_t len;

	memcpy(&len, &mpi->MPI_internal[0], sizeof(len));
	return len;
}

static inline void weft_status_set_len(MPI_Status *mpi, int64_t len)
{
	memcpy(&mpi->MPI_internal[0], &len, sizeof(len));
}

#endif
