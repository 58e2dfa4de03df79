/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_check: argument checks
 *
 * Each check returns 0 or a described error, which names the argument if there
 * is one. WEFT_CHECK=off omits the checks of numbers and addresses. Handles and
 * the properties of their objects, string tags, and whether a session is open
 * are always checked. The slow paths are in mpi_check.c, so that a check costs
 * a compare and a branch. */
#ifndef WEFT_MPI_CHECK_H
#define WEFT_MPI_CHECK_H

#include "base/knob.h"
#include "transport/proc.h"
#include "mpi_map.h"

enum { WEFT_TAG_UB = 0x7fffffff };

/* Slow paths: describe the fault and return its error. */
int weft_check_bad_comm(MPI_Comm handle) __attribute__((cold));
int weft_check_bad_handle(int err, const char *name, const void *handle)
	__attribute__((cold));
int weft_check_bad_int(int err, const char *name, int64_t value, int64_t first,
	int64_t last) __attribute__((cold));
int weft_check_bad_type(MPI_Datatype handle) __attribute__((cold));
int weft_check_bad_buf(int64_t count) __attribute__((cold));
int weft_check_bad_ptr(const void *ptr, const char *name) __attribute__((cold));

int weft_check_not_up(void) __attribute__((cold));

/* Lets the compiler assume that a slow path returns an error. */
static inline int weft_check_failed(int err)
{
	if (err >= 0)
		__builtin_unreachable();
	return err;
}

static inline bool weft_check_is_on(void)
{
	return weft_knobs.check[1] != 'f'; /* false for "off", true for "on" and
					      "strict" */
}

/* Checks that a session or the World Model is open. */
static inline int weft_check_up(void)
{
	if (weft_unlikely(!atomic_load_explicit(
		    &weft_proc.n_sessions, memory_order_relaxed)))
		return weft_check_failed(weft_check_not_up());
	return 0;
}

/* ---- objects ---- */

static inline int weft_check_comm(MPI_Comm handle, struct weft_comm **comm_out)
{
	struct weft_comm *comm = weft_mpi_comm(handle);

	if (weft_unlikely(!comm))
		return weft_check_failed(weft_check_bad_comm(handle));
	*comm_out = comm;
	return 0;
}

/* Returns an error for an intercommunicator. */
int weft_check_is_intra(const struct weft_comm *comm);

/* Checks as weft_check_comm() and weft_check_is_intra(). *comm_out is also set
 * for an intercommunicator, so that the error can be raised on it. */
int weft_check_intra(MPI_Comm handle, struct weft_comm **comm_out);

/* Checks a type, which need not be committed. */
static inline int weft_check_type(
	MPI_Datatype handle, struct weft_type **type_out)
{
	struct weft_type *type = weft_mpi_type(handle);

	if (weft_unlikely(!type))
		return weft_check_failed(weft_check_bad_type(handle));
	*type_out = type;
	return 0;
}

/* Checks a type that does not exist or is not committed. MPI_DATATYPE_NULL is
 * valid if count is 0: then *type_out is the type of bytes. All other types are
 * errors. */
int weft_check_no_type(MPI_Datatype handle, MPI_Count count,
	struct weft_type **type_out) __attribute__((cold));

/* Checks a type, which must be committed. */
static inline int weft_check_type_ready(
	MPI_Datatype handle, struct weft_type **type_out)
{
	struct weft_type *type = weft_mpi_type(handle);

	if (weft_unlikely(!type || !type->is_committed))
		return weft_check_failed(weft_check_bad_type(handle));
	*type_out = type;
	return 0;
}

static inline int weft_check_op(MPI_Op handle, struct weft_redop **op_out)
{
	struct weft_redop *op = weft_mpi_op(handle);

	if (weft_unlikely(!op))
		return weft_check_failed(
			weft_check_bad_handle(WEFT_ERR_OP, "op", handle));
	*op_out = op;
	return 0;
}

/* Looks up a request. MPI_REQUEST_NULL is an error. */
static inline int weft_check_req(MPI_Request handle, struct weft_req **req_out)
{
	struct weft_req *req = weft_mpi_req(handle);

	if (weft_unlikely(!req))
		return weft_check_failed(weft_check_bad_handle(
			WEFT_ERR_REQUEST, "request", handle));
	*req_out = req;
	return 0;
}

static inline int weft_check_group(
	MPI_Group handle, struct weft_group **group_out)
{
	struct weft_group *group = weft_mpi_group(handle);

	if (weft_unlikely(!group))
		return weft_check_failed(
			weft_check_bad_handle(WEFT_ERR_GROUP, "group", handle));
	*group_out = group;
	return 0;
}

static inline int weft_check_session(
	MPI_Session handle, struct weft_session **session_out)
{
	struct weft_session *session = weft_mpi_session(handle);

	if (weft_unlikely(!session))
		return weft_check_failed(weft_check_bad_handle(
			WEFT_ERR_SESSION, "session", handle));
	*session_out = session;
	return 0;
}

static inline int weft_check_win(MPI_Win handle, struct weft_win **win_out)
{
	struct weft_win *win = weft_mpi_win(handle);

	if (weft_unlikely(!win))
		return weft_check_failed(
			weft_check_bad_handle(WEFT_ERR_WIN, "win", handle));
	*win_out = win;
	return 0;
}

static inline int weft_check_file(MPI_File handle, struct weft_file **file_out)
{
	struct weft_file *file = weft_mpi_file(handle);

	if (weft_unlikely(!file))
		return weft_check_failed(
			weft_check_bad_handle(WEFT_ERR_FILE, "file", handle));
	*file_out = file;
	return 0;
}

/* Looks up an info object. MPI_INFO_NULL is an error. */
static inline int weft_check_info(MPI_Info handle, struct weft_info **info_out)
{
	struct weft_info *info = weft_mpi_info(handle);

	if (weft_unlikely(!info))
		return weft_check_failed(
			weft_check_bad_handle(WEFT_ERR_INFO, "info", handle));
	*info_out = info;
	return 0;
}

/* As weft_check_info(), but MPI_INFO_NULL yields NULL. */
static inline int weft_check_info_or_null(
	MPI_Info handle, struct weft_info **info_out)
{
	if (handle == MPI_INFO_NULL) {
		*info_out = NULL;
		return 0;
	}
	return weft_check_info(handle, info_out);
}

/* Checks that the handler exists and may be used for objects of this kind. */
static inline int weft_check_errh(
	MPI_Errhandler handle, enum weft_kind kind, struct weft_errh **errh_out)
{
	struct weft_errh *errh = weft_mpi_errh(handle);

	if (weft_unlikely(!errh || (errh->kind && errh->kind != (int)kind)))
		return weft_check_failed(weft_check_bad_handle(
			WEFT_ERR_ERRHANDLER, "errhandler", handle));
	*errh_out = errh;
	return 0;
}

/* ---- numbers ---- */

static inline int weft_check_count(MPI_Count count)
{
	if (weft_unlikely(count < 0) && weft_check_is_on())
		return weft_check_failed(weft_check_bad_int(
			WEFT_ERR_COUNT, "count", count, 0, INT64_MAX));
	return 0;
}

/* Checks an argument that must lie in first..last. */
static inline int weft_check_range(
	int err, const char *name, int64_t value, int64_t first, int64_t last)
{
	if (weft_unlikely(value < first || value > last) && weft_check_is_on())
		return weft_check_failed(
			weft_check_bad_int(err, name, value, first, last));
	return 0;
}

/* Checks the rank of a destination: on an intercommunicator, a rank of the
 * remote group. MPI_PROC_NULL is valid. */
static inline int weft_check_remote(
	const struct weft_comm *comm, const char *what, int rank)
{
	if (weft_unlikely((uint32_t)rank >= (uint32_t)comm->remote_size) &&
		rank != MPI_PROC_NULL && weft_check_is_on())
		return weft_check_failed(weft_check_bad_int(
			WEFT_ERR_RANK, what, rank, 0, comm->remote_size - 1));
	return 0;
}

static inline int weft_check_dest(const struct weft_comm *comm, int rank)
{
	return weft_check_remote(comm, "dest", rank);
}

/* Checks the target of a one-sided operation. MPI_PROC_NULL is valid. */
static inline int weft_check_target(const struct weft_win *win, int rank)
{
	return weft_check_remote(win->comm, "target_rank", rank);
}

/* Checks the source of a receive. MPI_ANY_SOURCE is valid, too. */
static inline int weft_check_source(const struct weft_comm *comm, int rank)
{
	if (weft_unlikely((uint32_t)rank >= (uint32_t)comm->remote_size) &&
		rank != MPI_PROC_NULL && rank != MPI_ANY_SOURCE &&
		weft_check_is_on())
		return weft_check_failed(weft_check_bad_int(WEFT_ERR_RANK,
			"source", rank, 0, comm->remote_size - 1));
	return 0;
}

static inline int weft_check_tag_send(int tag)
{
	if (weft_unlikely(tag < 0) && weft_check_is_on())
		return weft_check_failed(weft_check_bad_int(
			WEFT_ERR_TAG, "tag", tag, 0, WEFT_TAG_UB));
	return 0;
}

static inline int weft_check_tag_recv(int tag)
{
	if (weft_unlikely(tag < 0) && tag != MPI_ANY_TAG && weft_check_is_on())
		return weft_check_failed(weft_check_bad_int(
			WEFT_ERR_TAG, "tag", tag, 0, WEFT_TAG_UB));
	return 0;
}

/* Checks the root of a collective. MPI_ROOT and MPI_PROC_NULL are valid on an
 * intercommunicator. */
static inline int weft_check_root(const struct weft_comm *comm, int root)
{
	if (weft_unlikely((uint32_t)root >= (uint32_t)comm->remote_size) &&
		!(comm->is_inter &&
			(root == MPI_ROOT || root == MPI_PROC_NULL)) &&
		weft_check_is_on())
		return weft_check_failed(weft_check_bad_int(
			WEFT_ERR_ROOT, "root", root, 0, comm->remote_size - 1));
	return 0;
}

/* ---- memory ---- */

/* Checks the address of a buffer. NULL is MPI_BOTTOM, and valid with derived
 * types, which may contain absolute addresses. */
static inline int weft_check_buf(
	const void *buf, MPI_Count count, const struct weft_type *type)
{
	if (weft_unlikely(!buf) && count > 0 && type->is_builtin &&
		type->size > 0 && weft_check_is_on())
		return weft_check_failed(weft_check_bad_buf(count));
	return 0;
}

static inline int weft_check_ptr(const void *ptr, const char *name)
{
	if (weft_unlikely((uintptr_t)ptr < 4096) && weft_check_is_on())
		return weft_check_failed(weft_check_bad_ptr(ptr, name));
	return 0;
}

/* Sets an output handle to the null handle, for the case that the constructor
 * fails. */
static inline void weft_mpi_null(void *handle, const void *null)
{
	if ((uintptr_t)handle >= 4096)
		memcpy(handle, &null, sizeof(null));
}

/* Checks the string tag of a creation from a group: it must not be NULL or too
 * long. */
int weft_check_stringtag(const char *tag);

/* ---- combined ---- */

/* Checks buffer, count and type of an operation. */
static inline int weft_check_data(const void *buf, MPI_Count count,
	MPI_Datatype handle, struct weft_type **type_out)
{
	int err = weft_check_count(count);

	if (!err)
		err = weft_check_type_ready(handle, type_out);
	if (!err)
		err = weft_check_buf(buf, count, *type_out);
	return err;
}

/* Checks buffer, count and type of a message. Unlike in weft_check_data(), the
 * type may be MPI_DATATYPE_NULL if count is 0. */
static inline int weft_check_message(const void *buf, MPI_Count count,
	MPI_Datatype handle, struct weft_type **type_out)
{
	int err = weft_check_count(count);
	struct weft_type *type = weft_mpi_type(handle);

	if (weft_unlikely(err))
		return err;
	if (weft_unlikely(!type || !type->is_committed))
		return weft_check_no_type(handle, count, type_out);
	*type_out = type;
	return weft_check_buf(buf, count, type);
}

#endif
