/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_buffer: attaches, detaches and flushes the buffers of buffered sends
 *
 * MPI-5.0 section 3.6. A process, a communicator and a session have the same
 * four operations. */
#include "mpi_buffer.h"

#include "mpi_check.h"
#include "mpi_map.h"
#include "mpi_stage.h"

#include "transport/proc.h"

#include <limits.h>

/* Where the buffer is stored, and the object on which an error is raised. */
struct at {
	struct weft_vci *vci;
	struct weft_bsend **place;
	struct weft_comm *comm;
	struct weft_session *session;
};

static int at_process(struct at *at)
{
	*at = (struct at){ &weft_proc.vci, &weft_proc.bsend, NULL, NULL };
	if (!weft_proc.is_open)
		return weft_err_set(WEFT_ERR_OTHER,
			"no session is open and MPI is not initialized");
	return 0;
}

static int at_comm(struct at *at, MPI_Comm handle)
{
	int err;

	*at = (struct at){ 0 };
	err = weft_check_comm(handle, &at->comm);
	if (!err) {
		at->vci = at->comm->vci;
		at->place = &at->comm->bsend;
	}
	return err;
}

static int at_session(struct at *at, MPI_Session handle)
{
	int err;

	*at = (struct at){ 0 };
	err = weft_check_session(handle, &at->session);
	if (!err) {
		at->vci = &weft_proc.vci;
		at->place = &at->session->bsend;
	}
	return err;
}

static int mpi_buffer_end(const struct at *at, const char *func, int err)
{
	if (!err)
		return MPI_SUCCESS;
	if (at->session)
		return weft_mpi_raise_session(at->session, func, err);
	return weft_mpi_raise(at->comm, func, err);
}

static int attach(const struct at *at, const char *func, int err, void *buf,
	MPI_Count len)
{
	bool is_auto = buf == MPI_BUFFER_AUTOMATIC;

	if (!err && !is_auto)
		err = weft_check_count(len);
	if (!err && !is_auto && !buf && len > 0)
		err = weft_check_bad_buf(len);
	if (!err && !is_auto && weft_dev_is_on())
		err = weft_dev_refuse(buf, "buffer", "attach host memory");
	if (!err)
		err = weft_bsend_attach(
			at->vci, at->place, buf, (size_t)len, is_auto);
	return mpi_buffer_end(at, func, err);
}

static int detach(const struct at *at, const char *func, int err,
	void *addr_out, MPI_Count *len_out)
{
	void *addr;
	size_t len;
	bool is_auto;

	if (!err)
		err = weft_check_ptr(addr_out, "buffer_addr");
	if (!err)
		err = weft_check_ptr(len_out, "size");
	if (!err)
		err = weft_bsend_detach(
			at->vci, at->place, &addr, &len, &is_auto);
	if (err)
		return mpi_buffer_end(at, func, err);
	memcpy(addr_out, &addr, sizeof(addr));
	*len_out = is_auto ? 0 : (MPI_Count)len;
	return MPI_SUCCESS;
}

static int detach_int(const struct at *at, const char *func, int err,
	void *addr_out, int *len_out)
{
	MPI_Count len;

	if (!err)
		err = weft_check_ptr(len_out, "size");
	err = detach(at, func, err, addr_out, &len);
	if (!err)
		*len_out = len > INT_MAX ? MPI_UNDEFINED : (int)len;
	return err;
}

static int iflush(
	const struct at *at, const char *func, int err, MPI_Request *request)
{
	struct weft_req *req;

	weft_mpi_null(request, MPI_REQUEST_NULL);
	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err)
		err = weft_bsend_iflush(at->vci, at->place, &req);
	if (!err)
		*request = weft_mpi_req_handle(req);
	return mpi_buffer_end(at, func, err);
}

static int mpi_buffer_flush(const struct at *at, const char *func, int err)
{
	if (!err)
		err = weft_bsend_flush(at->vci, at->place, func);
	return mpi_buffer_end(at, func, err);
}

/* ---- process ---- */

static inline int mpi_buffer_attach(
	const char *func, void *buffer, MPI_Count size)
{
	struct at at;
	int err = at_process(&at);

	return attach(&at, func, err, buffer, size);
}

int PMPI_Buffer_detach(void *buffer_addr, int *size)
{
	struct at at;
	int err = at_process(&at);

	return detach_int(&at, "MPI_Buffer_detach", err, buffer_addr, size);
}

int PMPI_Buffer_detach_c(void *buffer_addr, MPI_Count *size)
{
	struct at at;
	int err = at_process(&at);

	return detach(&at, "MPI_Buffer_detach_c", err, buffer_addr, size);
}

int PMPI_Buffer_flush(void)
{
	struct at at;
	int err = at_process(&at);

	return mpi_buffer_flush(&at, "MPI_Buffer_flush", err);
}

int PMPI_Buffer_iflush(MPI_Request *request)
{
	struct at at;
	int err = at_process(&at);

	return iflush(&at, "MPI_Buffer_iflush", err, request);
}

/* ---- communicator ---- */

static inline int mpi_comm_attach_buffer(
	const char *func, MPI_Comm comm, void *buffer, MPI_Count size)
{
	struct at at;
	int err = at_comm(&at, comm);

	return attach(&at, func, err, buffer, size);
}

int PMPI_Comm_detach_buffer(MPI_Comm comm, void *buffer_addr, int *size)
{
	struct at at;
	int err = at_comm(&at, comm);

	return detach_int(
		&at, "MPI_Comm_detach_buffer", err, buffer_addr, size);
}

int PMPI_Comm_detach_buffer_c(MPI_Comm comm, void *buffer_addr, MPI_Count *size)
{
	struct at at;
	int err = at_comm(&at, comm);

	return detach(&at, "MPI_Comm_detach_buffer_c", err, buffer_addr, size);
}

int PMPI_Comm_flush_buffer(MPI_Comm comm)
{
	struct at at;
	int err = at_comm(&at, comm);

	return mpi_buffer_flush(&at, "MPI_Comm_flush_buffer", err);
}

int PMPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
	struct at at;
	int err = at_comm(&at, comm);

	return iflush(&at, "MPI_Comm_iflush_buffer", err, request);
}

/* ---- session ---- */

static inline int mpi_session_attach_buffer(
	const char *func, MPI_Session session, void *buffer, MPI_Count size)
{
	struct at at;
	int err = at_session(&at, session);

	return attach(&at, func, err, buffer, size);
}

int PMPI_Session_detach_buffer(
	MPI_Session session, void *buffer_addr, int *size)
{
	struct at at;
	int err = at_session(&at, session);

	return detach_int(
		&at, "MPI_Session_detach_buffer", err, buffer_addr, size);
}

int PMPI_Session_detach_buffer_c(
	MPI_Session session, void *buffer_addr, MPI_Count *size)
{
	struct at at;
	int err = at_session(&at, session);

	return detach(
		&at, "MPI_Session_detach_buffer_c", err, buffer_addr, size);
}

int PMPI_Session_flush_buffer(MPI_Session session)
{
	struct at at;
	int err = at_session(&at, session);

	return mpi_buffer_flush(&at, "MPI_Session_flush_buffer", err);
}

int PMPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request)
{
	struct at at;
	int err = at_session(&at, session);

	return iflush(&at, "MPI_Session_iflush_buffer", err, request);
}

/* ---- end of the last session ---- */

void weft_mpi_buffer_drop(void)
{
	void *addr;
	size_t len;
	bool is_auto;

	/* each error has ended the send of one message */
	while (weft_proc.n_sessions == 0 && weft_proc.bsend)
		(void)weft_bsend_detach(&weft_proc.vci, &weft_proc.bsend, &addr,
			&len, &is_auto);
}

#include "api_buffer.h"
