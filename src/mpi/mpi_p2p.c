/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_p2p: point-to-point messages: checks and translates the arguments, and
 * calls p2p once
 *
 * MPI-5.0 chapter 3. gen-api generates most procedures with their large-count
 * forms: both are one call to a function here that takes the wide count. */
#include "mpi_check.h"
#include "mpi_map.h"
#include "mpi_stage.h"

#include "transport/vci.h"
#include "transport/proc.h"
#include "dt/pack.h"

#include <stdlib.h>

/* The arguments of one send or receive. The checks are inlined everywhere,
 * because they are a large part of the cost of a short message. */
struct args {
	const void *buf;
	MPI_Count count;
	MPI_Datatype type;
	int rank;
	int tag;
	MPI_Comm comm;
};

static inline __attribute__((always_inline)) int mpi_p2p_fill(
	struct weft_msg *msg, const struct args *a)
{
	int err = weft_check_comm(a->comm, &msg->comm);

	if (weft_unlikely(err))
		return err;
	err = weft_check_message(a->buf, a->count, a->type, &msg->type);
	msg->buf = (void *)(uintptr_t)a->buf;
	msg->count = a->count;
	msg->rank = a->rank;
	msg->tag = a->tag;
	msg->ctx_offset = WEFT_CTX_OFFSET_P2P;
	return err;
}

/* Returns the communicator that carries messages with this tag: for a spread
 * communicator (session/spread.h), one of several. */
static inline struct weft_comm *comm_of_tag(struct weft_comm *comm, int tag)
{
	if (weft_unlikely(comm->n_spread))
		return comm->spread[(uint32_t)tag % WEFT_VCIS];
	return comm;
}

/* Selects the communicator of a message on a spread communicator. Returns
 * WEFT_ON_DEVICE if the buffer is in device memory: then the caller stages the
 * message (mpi_stage.h). */
static __attribute__((cold, noinline)) int fill_special(struct weft_msg *msg)
{
	bool may_dev = msg->comm->may_dev;

	msg->comm = comm_of_tag(msg->comm, msg->tag);
	return may_dev ? weft_stage_look(msg->buf, msg->count, msg->type) : 0;
}

/* Returns the error of a receive with MPI_ANY_TAG on a communicator with
 * mpi_assert_no_any_tag. */
static __attribute__((cold)) int any_tag(const struct weft_comm *comm)
{
	return weft_err_set(WEFT_ERR_TAG,
		"tag is MPI_ANY_TAG on a communicator that was made with "
		"mpi_assert_no_any_tag: its messages use %u VCIs by their "
		"tags (WEFT_COMM_VCIS)",
		comm->n_spread);
}

static inline int check_any_tag(const struct weft_comm *comm, int rank, int tag)
{
	return weft_unlikely(tag < 0) && comm->n_spread && rank != MPI_PROC_NULL
		       ? any_tag(comm)
		       : 0;
}

static inline __attribute__((always_inline)) int fill_send(
	struct weft_msg *msg, const struct args *a, enum weft_send_mode mode)
{
	int err;

	msg->comm = NULL;
	msg->mode = mode;
	err = mpi_p2p_fill(msg, a);
	if (!err)
		err = weft_check_dest(msg->comm, a->rank);
	if (!err)
		err = weft_check_tag_send(a->tag);
	if (!err && weft_unlikely(msg->comm->special))
		err = fill_special(msg);
	return err;
}

static inline __attribute__((always_inline)) int fill_recv(
	struct weft_msg *msg, const struct args *a)
{
	int err;

	msg->comm = NULL;
	msg->mode = WEFT_SEND_STANDARD;
	err = mpi_p2p_fill(msg, a);
	if (!err)
		err = weft_check_source(msg->comm, a->rank);
	if (!err)
		err = weft_check_tag_recv(a->tag);
	if (!err)
		err = check_any_tag(msg->comm, a->rank, a->tag);
	if (!err && weft_unlikely(msg->comm->special))
		err = fill_special(msg);
	return err;
}

static inline int send_any(
	const char *func, enum weft_send_mode mode, const struct args *a)
{
	struct weft_msg msg;
	int err = fill_send(&msg, a, mode);

	if (weft_likely(!err))
		err = weft_send(&msg);
	else if (err == WEFT_ON_DEVICE)
		err = weft_stage_send(&msg);
	return weft_mpi_end(msg.comm, func, err);
}

typedef int p2p_start_fn(const struct weft_msg *msg, struct weft_req **req_out);

/* Starts or initialises an operation on a buffer in device memory. */
static __attribute__((cold, noinline)) int start_on_device(
	const struct weft_msg *msg, p2p_start_fn *start, bool is_recv,
	const MPI_Request *request, struct weft_req **req_out)
{
	struct weft_msg staged = *msg;
	struct weft_stage *stage;
	struct weft_req *inner = NULL, *outer;
	int err = weft_check_ptr(request, "request");

	if (!err && !is_recv && weft_send_is_direct(msg)) {
		staged.mode = WEFT_SEND_DEVICE;
		return start(&staged, req_out);
	}
	if (!err)
		err = weft_stage_open(msg->comm, &stage, &outer);
	if (err)
		return err;
	err = is_recv ? weft_stage_result(stage, &staged.buf, staged.count,
				staged.type, false)
		      : weft_stage_source(
				stage, &staged.buf, staged.count, staged.type);
	if (!err)
		err = start(&staged, &inner);
	err = weft_stage_follow_take(outer, err, inner);
	if (!err)
		*req_out = outer;
	return err;
}

/* Returns a started or initialised request to the caller. */
static inline int mpi_p2p_return(struct weft_comm *comm, const char *func,
	int err, const struct weft_req *req, MPI_Request *request)
{
	if (weft_unlikely(err)) {
		weft_mpi_null(request, MPI_REQUEST_NULL);
		return weft_mpi_raise(comm, func, err);
	}
	*request = weft_mpi_req_handle(req);
	return MPI_SUCCESS;
}

static inline int isend_any(const char *func, enum weft_send_mode mode,
	const struct args *a, MPI_Request *request)
{
	struct weft_msg msg;
	struct weft_req *req = NULL;
	int err = fill_send(&msg, a, mode);

	if (weft_likely(!err))
		err = weft_check_ptr(request, "request");
	if (weft_likely(!err))
		err = weft_isend(&msg, &req);
	else if (err == WEFT_ON_DEVICE)
		err = start_on_device(&msg, weft_isend, false, request, &req);
	return mpi_p2p_return(msg.comm, func, err, req, request);
}

static int send_init_any(const char *func, enum weft_send_mode mode,
	const struct args *a, MPI_Request *request)
{
	struct weft_msg msg;
	struct weft_req *req = NULL;
	int err = fill_send(&msg, a, mode);

	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err)
		err = weft_send_init(&msg, &req);
	else if (err == WEFT_ON_DEVICE)
		err = start_on_device(
			&msg, weft_send_init, false, request, &req);
	return mpi_p2p_return(msg.comm, func, err, req, request);
}

/* Ends a receive whose arguments are wrong, or whose buffer is in device
 * memory. */
static __attribute__((cold, noinline)) int recv_special(const char *func,
	const struct weft_msg *msg, int err, MPI_Status *status)
{
	struct weft_status st = { 0 };

	if (err == WEFT_ON_DEVICE) {
		err = weft_stage_recv(msg, &st);
		if (!err || st.err)
			weft_status_to_mpi(&st, status);
	}
	return weft_mpi_end(msg->comm, func, err);
}

static inline int recv_any(
	const char *func, const struct args *a, MPI_Status *status)
{
	struct weft_msg msg;
	struct weft_status st;
	int err = fill_recv(&msg, a);

	if (weft_unlikely(err))
		return recv_special(func, &msg, err, status);
	st.err = 0;
	err = weft_recv(&msg, &st);
	if (weft_likely(!err) || st.err)
		weft_status_to_mpi(&st, status);
	return weft_mpi_end(msg.comm, func, err);
}

static inline int irecv_any(
	const char *func, const struct args *a, MPI_Request *request)
{
	struct weft_msg msg;
	struct weft_req *req = NULL;
	int err = fill_recv(&msg, a);

	if (weft_likely(!err))
		err = weft_check_ptr(request, "request");
	if (weft_likely(!err))
		err = weft_irecv(&msg, &req);
	else if (err == WEFT_ON_DEVICE)
		err = start_on_device(&msg, weft_irecv, true, request, &req);
	return mpi_p2p_return(msg.comm, func, err, req, request);
}

static int recv_init_any(
	const char *func, const struct args *a, MPI_Request *request)
{
	struct weft_msg msg;
	struct weft_req *req = NULL;
	int err = fill_recv(&msg, a);

	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err)
		err = weft_recv_init(&msg, &req);
	else if (err == WEFT_ON_DEVICE)
		err = start_on_device(
			&msg, weft_recv_init, true, request, &req);
	return mpi_p2p_return(msg.comm, func, err, req, request);
}

static inline int mpi_send(const char *func, const void *buf, MPI_Count count,
	MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return send_any(func, WEFT_SEND_STANDARD, &a);
}

static inline int mpi_ssend(const char *func, const void *buf, MPI_Count count,
	MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return send_any(func, WEFT_SEND_SYNC, &a);
}

static inline int mpi_rsend(const char *func, const void *buf, MPI_Count count,
	MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return send_any(func, WEFT_SEND_READY, &a);
}

static inline int mpi_recv(const char *func, void *buf, MPI_Count count,
	MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
	MPI_Status *status)
{
	const struct args a = { buf, count, datatype, source, tag, comm };

	return recv_any(func, &a, status);
}

static inline int mpi_isend(const char *func, const void *buf, MPI_Count count,
	MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
	MPI_Request *request)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return isend_any(func, WEFT_SEND_STANDARD, &a, request);
}

static inline int mpi_issend(const char *func, const void *buf, MPI_Count count,
	MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
	MPI_Request *request)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return isend_any(func, WEFT_SEND_SYNC, &a, request);
}

static inline int mpi_irsend(const char *func, const void *buf, MPI_Count count,
	MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
	MPI_Request *request)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return isend_any(func, WEFT_SEND_READY, &a, request);
}

static inline int mpi_irecv(const char *func, void *buf, MPI_Count count,
	MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
	MPI_Request *request)
{
	const struct args a = { buf, count, datatype, source, tag, comm };

	return irecv_any(func, &a, request);
}

static inline int mpi_send_init(const char *func, const void *buf,
	MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	MPI_Comm comm, MPI_Request *request)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return send_init_any(func, WEFT_SEND_STANDARD, &a, request);
}

static inline int mpi_ssend_init(const char *func, const void *buf,
	MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	MPI_Comm comm, MPI_Request *request)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return send_init_any(func, WEFT_SEND_SYNC, &a, request);
}

static inline int mpi_rsend_init(const char *func, const void *buf,
	MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	MPI_Comm comm, MPI_Request *request)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return send_init_any(func, WEFT_SEND_READY, &a, request);
}

static inline int mpi_recv_init(const char *func, void *buf, MPI_Count count,
	MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
	MPI_Request *request)
{
	const struct args a = { buf, count, datatype, source, tag, comm };

	return recv_init_any(func, &a, request);
}

/* ---- buffered ---- */

/* Returns the buffers of a send, in this order: of the communicator, of its
 * session, and of the process. */
static struct weft_bsend_places places_of(struct weft_comm *comm)
{
	struct weft_session *session = comm->child.session;
	struct weft_comm *of = weft_comm_whole(comm);

	return (struct weft_bsend_places){ { of ? &of->bsend : NULL,
		session ? &session->bsend : NULL, &weft_proc.bsend } };
}

static int bsend_any(const char *func, const struct args *a)
{
	struct weft_bsend_places places;
	struct weft_msg msg;
	struct weft_stage stage = { 0 };
	int err = fill_send(&msg, a, WEFT_SEND_BUFFERED);

	if (err == WEFT_ON_DEVICE)
		err = weft_stage_source(&stage, &msg.buf, msg.count, msg.type);
	if (!err) {
		places = places_of(msg.comm);
		err = weft_bsend(&msg, &places);
	}
	err = weft_stage_close(&stage, err, 0);
	return weft_mpi_end(msg.comm, func, err);
}

/* Initialises a buffered send of device memory, which each start copies. */
static __attribute__((cold, noinline)) int bsend_init_on_device(
	struct weft_msg *msg, const struct weft_bsend_places *places,
	struct weft_req **req_out)
{
	struct weft_stage *stage;
	struct weft_req *inner = NULL, *outer;
	int err = weft_stage_open(msg->comm, &stage, &outer);

	if (err)
		return err;
	err = weft_stage_source(stage, &msg->buf, msg->count, msg->type);
	if (!err)
		err = weft_bsend_init(msg, places, &inner);
	err = weft_stage_follow_take(outer, err, inner);
	if (!err)
		*req_out = outer;
	return err;
}

static int ibsend_any(const char *func, const struct args *a, bool is_init,
	MPI_Request *request)
{
	struct weft_bsend_places places;
	struct weft_msg msg;
	struct weft_req *req = NULL;
	struct weft_stage stage = { 0 };
	int err = fill_send(&msg, a, WEFT_SEND_BUFFERED);
	bool is_dev = err == WEFT_ON_DEVICE;

	if (!err || is_dev)
		err = weft_check_ptr(request, "request");
	if (!err && is_dev && !is_init)
		err = weft_stage_source(&stage, &msg.buf, msg.count, msg.type);
	if (!err) {
		places = places_of(msg.comm);
		if (is_dev && is_init)
			err = bsend_init_on_device(&msg, &places, &req);
		else
			err = is_init ? weft_bsend_init(&msg, &places, &req)
				      : weft_ibsend(&msg, &places, &req);
	}
	err = weft_stage_close(&stage, err, 0);
	return mpi_p2p_return(msg.comm, func, err, req, request);
}

static inline int mpi_bsend(const char *func, const void *buf, MPI_Count count,
	MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return bsend_any(func, &a);
}

static inline int mpi_ibsend(const char *func, const void *buf, MPI_Count count,
	MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
	MPI_Request *request)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return ibsend_any(func, &a, false, request);
}

static inline int mpi_bsend_init(const char *func, const void *buf,
	MPI_Count count, MPI_Datatype datatype, int dest, int tag,
	MPI_Comm comm, MPI_Request *request)
{
	const struct args a = { buf, count, datatype, dest, tag, comm };

	return ibsend_any(func, &a, true, request);
}

/* ---- both directions at once ---- */

/* Waits for an internal request and releases it. */
static int wait_own(const char *func, struct weft_req *req, MPI_Status *status)
{
	struct weft_vci *vci = req->vci;
	int err;

	weft_vci_lock(vci);
	weft_recv_wait_in(vci, req, func);
	err = req->status.err;
	if (weft_unlikely(err))
		weft_failure_explain(req);
	weft_status_to_mpi(&req->status, status);
	weft_req_put(req);
	weft_vci_unlock(vci);
	return err;
}

/* Sends and receives on different VCIs. */
static int sendrecv_two_vcis(const char *func, const struct weft_msg *smsg,
	const struct weft_msg *rmsg, MPI_Status *status)
{
	struct weft_req *sreq, *rreq;
	struct weft_vci *vci = rmsg->comm->vci;
	int err = weft_irecv(rmsg, &rreq);

	if (err)
		return err;
	err = weft_isend(smsg, &sreq);
	if (!err)
		err = wait_own(func, sreq, MPI_STATUS_IGNORE);
	if (!err)
		return wait_own(func, rreq, status);
	weft_req_cancel(rreq);
	weft_vci_lock(vci);
	weft_req_wait_in(vci, rreq, func); /* its data may be in flight */
	weft_req_put(rreq);
	weft_vci_unlock(vci);
	return err;
}

/* Fills both messages. Returns WEFT_ON_DEVICE if a buffer is in device memory.
 */
static inline __attribute__((always_inline)) int fill_both(
	struct weft_msg *smsg, struct weft_msg *rmsg, const struct args *s,
	const struct args *r)
{
	int err = fill_send(smsg, s, WEFT_SEND_STANDARD), recv_err;

	if (weft_unlikely(err < 0))
		return err;
	recv_err = fill_recv(rmsg, r);
	return recv_err ? recv_err : err;
}

static int sendrecv_run(const char *func, const struct weft_msg *smsg,
	const struct weft_msg *rmsg, MPI_Status *status)
{
	struct weft_req *sreq = NULL, *rreq = NULL;
	struct weft_vci *vci = smsg->comm->vci;
	int err;

	if (weft_unlikely(smsg->comm != rmsg->comm))
		return sendrecv_two_vcis(func, smsg, rmsg, status);
	weft_vci_lock(vci);
	err = weft_irecv_locked(rmsg, &rreq);
	if (!err)
		err = weft_isend_locked(smsg, &sreq);
	if (sreq) {
		weft_req_wait_in(vci, sreq, func);
		err = sreq->status.err;
		if (weft_unlikely(err))
			weft_failure_explain(sreq);
		weft_req_put(sreq);
	}
	if (rreq && !err) {
		weft_recv_wait_in(vci, rreq, func);
		err = rreq->status.err;
		if (weft_unlikely(err))
			weft_failure_explain(rreq);
		weft_status_to_mpi(&rreq->status, status);
	}
	weft_vci_unlock(vci);
	if (rreq && !rreq->is_done)
		weft_req_cancel(rreq);
	if (rreq) {
		weft_vci_lock(vci);
		weft_req_wait_in(
			vci, rreq, func); /* its data may be in flight */
		weft_req_put(rreq);
		weft_vci_unlock(vci);
	}
	return err;
}

/* Prepares the message that an operation sends while it receives another one.
 * If both have the same buffer, each needs a shadow of its own. */
static int stage_beside(struct weft_stage *stage, struct weft_msg *smsg,
	const struct weft_msg *rmsg)
{
	return smsg->buf == rmsg->buf ? weft_stage_source(stage, &smsg->buf,
						smsg->count, smsg->type)
				      : weft_stage_message(stage, smsg);
}

/* Sends and receives if a buffer is in device memory. */
static __attribute__((cold, noinline)) int sendrecv_on_device(const char *func,
	struct weft_msg *smsg, struct weft_msg *rmsg, MPI_Status *status)
{
	struct weft_stage stage = { 0 };
	MPI_Status st = { 0 };
	int err = stage_beside(&stage, smsg, rmsg);

	if (!err)
		err = weft_stage_result(
			&stage, &rmsg->buf, rmsg->count, rmsg->type, false);
	if (!err)
		err = sendrecv_run(func, smsg, rmsg, &st);
	err = weft_stage_close(&stage, err, weft_status_len(&st));
	if (!err && status != MPI_STATUS_IGNORE) {
		st.MPI_ERROR = status->MPI_ERROR;
		*status = st;
	}
	return err;
}

static int sendrecv(const char *func, const struct args *s,
	const struct args *r, MPI_Status *status)
{
	struct weft_msg smsg, rmsg;
	int err = fill_both(&smsg, &rmsg, s, r);

	if (weft_likely(!err))
		err = sendrecv_run(func, &smsg, &rmsg, status);
	else if (err == WEFT_ON_DEVICE)
		err = sendrecv_on_device(func, &smsg, &rmsg, status);
	return weft_mpi_end(smsg.comm, func, err);
}

static inline int mpi_sendrecv(const char *func, const void *sendbuf,
	MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
	void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
	int recvtag, MPI_Comm comm, MPI_Status *status)
{
	const struct args s = { sendbuf, sendcount, sendtype, dest, sendtag,
		comm };
	const struct args r = { recvbuf, recvcount, recvtype, source, recvtag,
		comm };

	return sendrecv(func, &s, &r, status);
}

/* Returns a packed copy of the data to send; NULL when out of memory. */
static void *mpi_p2p_copy_out(
	const struct args *s, const struct weft_type *type)
{
	size_t len = (size_t)(s->count * type->size);
	void *copy = malloc(len ? len : 1);

	if (copy)
		weft_pack(type, s->count, s->buf, 0, copy, len);
	return copy;
}

static int sendrecv_replace(const char *func, const struct args *s,
	const struct args *r, MPI_Status *status)
{
	struct weft_msg msg, rmsg;
	struct args copy = *s;
	void *packed;
	int err = fill_both(&msg, &rmsg, s, r);

	if (err == WEFT_ON_DEVICE)
		return weft_mpi_end(msg.comm, func,
			sendrecv_on_device(func, &msg, &rmsg, status));
	if (err)
		return weft_mpi_raise(msg.comm, func, err);
	packed = mpi_p2p_copy_out(s, msg.type);
	if (!packed)
		return weft_mpi_raise(msg.comm, func, WEFT_ERR_NOMEM);
	copy.buf = packed;
	copy.count = s->count * msg.type->size;
	copy.type = MPI_BYTE;
	err = sendrecv(func, &copy, r, status);
	free(packed);
	return err;
}

static inline int mpi_sendrecv_replace(const char *func, void *buf,
	MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
	int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
	const struct args s = { buf, count, datatype, dest, sendtag, comm };
	const struct args r = { buf, count, datatype, source, recvtag, comm };

	return sendrecv_replace(func, &s, &r, status);
}

static __attribute__((cold, noinline)) int isendrecv_on_device(
	struct weft_msg *smsg, struct weft_msg *rmsg, struct weft_req **req_out)
{
	struct weft_stage *stage;
	struct weft_req *inner = NULL, *outer;
	int err = weft_stage_open(weft_comm_whole(smsg->comm), &stage, &outer);

	if (err)
		return err;
	err = stage_beside(stage, smsg, rmsg);
	if (!err)
		err = weft_stage_result(
			stage, &rmsg->buf, rmsg->count, rmsg->type, false);
	if (!err)
		err = weft_isendrecv(smsg, rmsg, false, &inner);
	err = weft_stage_follow_take(outer, err, inner);
	if (!err)
		*req_out = outer;
	return err;
}

static int isendrecv(const char *func, const struct args *s,
	const struct args *r, bool is_replace, MPI_Request *request)
{
	struct weft_msg smsg, rmsg;
	struct weft_req *req = NULL;
	int err = fill_both(&smsg, &rmsg, s, r);
	bool is_dev = err == WEFT_ON_DEVICE;

	if (!err || is_dev)
		err = weft_check_ptr(request, "request");
	if (!err && is_dev)
		err = isendrecv_on_device(&smsg, &rmsg, &req);
	else if (!err)
		err = weft_isendrecv(&smsg, &rmsg, is_replace, &req);
	return mpi_p2p_return(smsg.comm, func, err, req, request);
}

static inline int mpi_isendrecv(const char *func, const void *sendbuf,
	MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
	void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
	int recvtag, MPI_Comm comm, MPI_Request *request)
{
	const struct args s = { sendbuf, sendcount, sendtype, dest, sendtag,
		comm };
	const struct args r = { recvbuf, recvcount, recvtype, source, recvtag,
		comm };

	return isendrecv(func, &s, &r, false, request);
}

static inline int mpi_isendrecv_replace(const char *func, void *buf,
	MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
	int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
	const struct args s = { buf, count, datatype, dest, sendtag, comm };
	const struct args r = { buf, count, datatype, source, recvtag, comm };

	return isendrecv(func, &s, &r, true, request);
}

/* ---- probe ---- */

static inline __attribute__((always_inline)) int probe(const char *func,
	bool is_blocking, int source, int tag, MPI_Comm handle, int *flag,
	MPI_Status *status)
{
	struct weft_comm *comm = NULL;
	struct weft_status st;
	bool found = false;
	int err = weft_check_comm(handle, &comm);

	if (!err)
		err = weft_check_source(comm, source);
	if (!err)
		err = weft_check_tag_recv(tag);
	if (!err && !is_blocking)
		err = weft_check_ptr(flag, "flag");
	if (!err)
		err = check_any_tag(comm, source, tag);
	if (!err)
		err = weft_probe(comm_of_tag(comm, tag), source, tag,
			is_blocking, &found, &st);
	if (err)
		return weft_mpi_raise(comm, func, err);
	if (found)
		weft_status_to_mpi(&st, status);
	if (!is_blocking)
		*flag = found;
	return MPI_SUCCESS;
}

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	return probe("MPI_Probe", true, source, tag, comm, NULL, status);
}

int PMPI_Iprobe(
	int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	return probe("MPI_Iprobe", false, source, tag, comm, flag, status);
}

static int mprobe(const char *func, bool is_blocking, int source, int tag,
	MPI_Comm handle, int *flag, MPI_Message *message, MPI_Status *status)
{
	static const struct weft_status from_nobody = {
		.source = WEFT_PROC_NULL, .tag = WEFT_ANY_TAG
	};
	struct weft_comm *comm = NULL;
	struct weft_message *m = NULL;
	struct weft_status st;
	int err = weft_check_comm(handle, &comm);

	if (message)
		*message = MPI_MESSAGE_NULL;
	if (!err)
		err = weft_check_source(comm, source);
	if (!err)
		err = weft_check_tag_recv(tag);
	if (!err)
		err = weft_check_ptr(message, "message");
	if (!err && !is_blocking)
		err = weft_check_ptr(flag, "flag");
	if (!err)
		err = check_any_tag(comm, source, tag);
	if (!err && source != MPI_PROC_NULL)
		err = weft_mprobe(comm_of_tag(comm, tag), source, tag,
			is_blocking, &m, &st);
	if (err)
		return weft_mpi_raise(comm, func, err);
	*message = m ? weft_mpi_message_handle(m) : MPI_MESSAGE_NULL;
	if (source == MPI_PROC_NULL) {
		st = from_nobody;
		*message = MPI_MESSAGE_NO_PROC;
	}
	if (*message != MPI_MESSAGE_NULL)
		weft_status_to_mpi(&st, status);
	if (!is_blocking)
		*flag = *message != MPI_MESSAGE_NULL;
	return MPI_SUCCESS;
}

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
	MPI_Status *status)
{
	return mprobe(
		"MPI_Mprobe", true, source, tag, comm, NULL, message, status);
}

int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag,
	MPI_Message *message, MPI_Status *status)
{
	return mprobe(
		"MPI_Improbe", false, source, tag, comm, flag, message, status);
}

/* Creates a receive from MPI_PROC_NULL for a message of MPI_PROC_NULL, so that
 * matched and ordinary receives complete in the same way. */
static int imrecv_proc_null(struct weft_type *type, struct weft_req **req_out)
{
	struct weft_msg msg = { .comm = weft_world.comms[1],
		.type = type,
		.rank = WEFT_PROC_NULL };

	if (!msg.comm)
		return weft_err_set(WEFT_ERR_COMM,
			"MPI_MESSAGE_NO_PROC needs the World "
			"Model to be initialized");
	return weft_irecv(&msg, req_out);
}

/* Finds the message of a handle (NULL for MPI_MESSAGE_NO_PROC), and its
 * communicator, on which errors are raised. */
static int find_message(const MPI_Message *message,
	struct weft_message **message_out, struct weft_comm **comm_out)
{
	int err = weft_check_ptr(message, "message");

	*message_out = NULL;
	*comm_out = NULL;
	if (err || *message == MPI_MESSAGE_NO_PROC)
		return err;
	*message_out = weft_mpi_message(*message);
	if (!*message_out)
		return weft_check_bad_handle(
			WEFT_ERR_REQUEST, "message", *message);
	*comm_out = weft_message_comm(*message_out);
	return 0;
}

/* Receives a message into a buffer in device memory. */
static __attribute__((cold, noinline)) int imrecv_on_device(
	const struct args *a, struct weft_type *type, struct weft_message *m,
	MPI_Message *message, struct weft_req **req_out)
{
	void *buf = (void *)(uintptr_t)a->buf;
	struct weft_stage *stage;
	struct weft_req *inner = NULL, *outer;
	int err = weft_stage_open(weft_message_comm(m), &stage, &outer);

	if (err)
		return err;
	err = weft_stage_result(stage, &buf, a->count, type, false);
	if (!err) {
		*message = MPI_MESSAGE_NULL;
		err = weft_imrecv_take(m, buf, a->count, type, &inner);
	}
	err = weft_stage_follow_take(outer, err, inner);
	if (!err)
		*req_out = outer;
	return err;
}

static int imrecv_any(const struct args *a, struct weft_message *m,
	MPI_Message *message, struct weft_req **req_out)
{
	struct weft_type *type;
	int err = weft_check_message(a->buf, a->count, a->type, &type);

	if (!err && m && weft_message_comm(m)->may_dev)
		err = weft_stage_look(a->buf, a->count, type);
	if (err == WEFT_ON_DEVICE)
		return imrecv_on_device(a, type, m, message, req_out);
	if (err)
		return err;
	*message = MPI_MESSAGE_NULL;
	if (!m)
		return imrecv_proc_null(type, req_out);
	return weft_imrecv_take(
		m, (void *)(uintptr_t)a->buf, a->count, type, req_out);
}

static int mrecv(const char *func, struct args *a, MPI_Message *message,
	MPI_Status *status)
{
	struct weft_message *m;
	struct weft_comm *comm;
	struct weft_req *req;
	int err = find_message(message, &m, &comm);

	if (!err)
		err = imrecv_any(a, m, message, &req);
	if (!err)
		err = wait_own(func, req, status);
	return weft_mpi_end(comm, func, err);
}

static int imrecv(const char *func, struct args *a, MPI_Message *message,
	MPI_Request *request)
{
	struct weft_message *m;
	struct weft_comm *comm;
	struct weft_req *req = NULL;
	int err = find_message(message, &m, &comm);

	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err)
		err = imrecv_any(a, m, message, &req);
	return mpi_p2p_return(comm, func, err, req, request);
}

static inline int mpi_mrecv(const char *func, void *buf, MPI_Count count,
	MPI_Datatype datatype, MPI_Message *message, MPI_Status *status)
{
	struct args a = { .buf = buf, .count = count, .type = datatype };

	return mrecv(func, &a, message, status);
}

static inline int mpi_imrecv(const char *func, void *buf, MPI_Count count,
	MPI_Datatype datatype, MPI_Message *message, MPI_Request *request)
{
	struct args a = { .buf = buf, .count = count, .type = datatype };

	return imrecv(func, &a, message, request);
}

#include "api_p2p.h"
