/* SPDX-License-Identifier: BSD-3-Clause */
/* pointer: the shared file pointer, a number at rank 0
 *
 * To add a number to the pointer, another member sends a request to rank 0: a
 * message of two numbers in the file's communicator. The reply is the former
 * value of the pointer. Rank 0 replies in any call that makes progress. The
 * pointer is not stored in the file system, so a failed process leaves nothing
 * there. */
#include "io/file_priv.h"

#include "core/req.h"
#include "p2p/p2p.h"
#include "transport/vci.h"

#include <stdlib.h>

enum { REQUEST_TAG = 1, REPLY_TAG = 2, REQUEST_ADD = 1 };

static struct weft_msg pointer_msg(struct weft_file *file, int64_t *numbers,
	int64_t n, int32_t rank, int32_t tag)
{
	return (struct weft_msg){
		.comm = file->comm,
		.buf = numbers,
		.count = n,
		.type = weft_type_builtin(WEFT_TYPE_INT64),
		.rank = rank,
		.tag = tag,
		.ctx_offset = WEFT_CTX_OFFSET_P2P,
	};
}

/* ---- at rank 0 ---- */

static void pointer_reply_sent(void *arg, struct weft_req *req)
{
	free(arg);
	weft_req_put(req);
}

/* Sends a reply. There is no retry if the send fails. */
static void pointer_reply(struct weft_file *file, int32_t rank, int64_t old)
{
	int64_t *number = malloc(sizeof(*number));
	struct weft_msg msg = pointer_msg(file, number, 1, rank, REPLY_TAG);
	struct weft_req *req;

	if (!number)
		return;
	*number = old;
	if (weft_isend_locked(&msg, &req)) {
		free(number);
	} else if (req->is_done) {
		pointer_reply_sent(number, req);
	} else {
		req->on_done = pointer_reply_sent;
		req->on_done_arg = number;
	}
}

/* Returns the former value, or -1 if the sum is too large or `by` is negative.
 * VCI's lock held. */
static int64_t pointer_fetch_add(struct weft_file *file, int64_t by)
{
	struct weft_file_pointer *p = &file->pointer;
	int64_t old = p->value;

	if (by < 0 || __builtin_add_overflow(p->value, by, &p->value)) {
		p->value = old;
		return -1;
	}
	return old;
}

/* Replies to a request that was received. False if the receive was cancelled or
 * failed. */
static bool pointer_serve(struct weft_file *file, struct weft_req *req)
{
	const int64_t *request = file->pointer.request;
	bool is_over = req->status.err || req->status.is_cancelled;
	int64_t old = -1;

	if (!is_over && req->status.len == sizeof(file->pointer.request) &&
		request[0] == REQUEST_ADD)
		old = pointer_fetch_add(file, request[1]);
	if (!is_over)
		pointer_reply(file, req->status.source, old);
	weft_req_put(req);
	return !is_over;
}

static void pointer_post_recv(struct weft_file *file);

static void pointer_on_request(void *arg, struct weft_req *req)
{
	struct weft_file *file = arg;

	file->pointer.recv = NULL;
	if (pointer_serve(file, req))
		pointer_post_recv(file);
}

/* Posts the next receive; replies to requests that have arrived already. VCI's
 * lock held. */
static void pointer_post_recv(struct weft_file *file)
{
	struct weft_msg msg = pointer_msg(
		file, file->pointer.request, 2, WEFT_ANY_SOURCE, REQUEST_TAG);
	struct weft_req *req;

	do {
		if (weft_irecv_locked(&msg, &req))
			return;
		if (!req->is_done) {
			file->pointer.recv = req;
			req->on_done = pointer_on_request;
			req->on_done_arg = file;
			return;
		}
	} while (pointer_serve(file, req));
}

void weft_file_pointer_open(struct weft_file *file)
{
	if (file->comm->rank != 0 || file->comm->size == 1)
		return;
	weft_vci_lock(file->comm->vci);
	pointer_post_recv(file);
	weft_vci_unlock(file->comm->vci);
}

void weft_file_pointer_close_locked(struct weft_file *file)
{
	if (file->pointer.recv)
		weft_req_cancel_locked(file->pointer.recv);
}

void weft_file_pointer_set(struct weft_file *file, int64_t value)
{
	weft_vci_lock(file->comm->vci);
	file->pointer.value = value;
	weft_vci_unlock(file->comm->vci);
}

/* ---- at all members ---- */

static int pointer_request_add(
	struct weft_file *file, int64_t by, int64_t *old_out)
{
	int64_t request_numbers[2] = { REQUEST_ADD, by };
	struct weft_msg request_msg =
		pointer_msg(file, request_numbers, 2, 0, REQUEST_TAG);
	struct weft_msg reply_msg = pointer_msg(file, old_out, 1, 0, REPLY_TAG);
	struct weft_vci *vci = file->comm->vci;
	struct weft_req *sent, *got;
	int err;

	/* request and receive are posted under one lock, so that replies match
	 * requests in order */
	weft_vci_lock(vci);
	err = weft_irecv_locked(&reply_msg, &got);
	if (!err) {
		err = weft_isend_locked(&request_msg, &sent);
		if (!err) {
			weft_req_wait_in(vci, sent, "a shared file pointer");
			weft_req_put(sent);
			weft_req_wait_in(vci, got, "a shared file pointer");
			err = got->status.err;
		} else {
			weft_req_cancel_locked(got);
			weft_req_wait(vci, got);
		}
		weft_req_put(got);
	}
	weft_vci_unlock(vci);
	return err;
}

int weft_file_pointer_fetch_add(
	struct weft_file *file, int64_t by, int64_t *old_out)
{
	int err = 0;

	if (weft_comm_is_revoked(file->comm))
		return weft_comm_revoked(file->comm);
	if (file->comm->rank == 0) {
		weft_vci_lock(file->comm->vci);
		*old_out = pointer_fetch_add(file, by);
		weft_vci_unlock(file->comm->vci);
	} else if (file->comm->failed) {
		err = weft_comm_failed(file->comm);
	} else {
		err = pointer_request_add(file, by, old_out);
	}
	if (!err && *old_out < 0)
		err = weft_err_set(WEFT_ERR_ARG,
			"the shared pointer of \"%s\" would pass 2^63",
			weft_syscall_short_name(file->name));
	return err;
}

/* A scan of n computes the offset of each member. Rank 0 adds the former value
 * of the pointer to its n. */
int weft_file_pointer_ordered(
	struct weft_file *file, int64_t n, int64_t *at_out)
{
	int64_t total, base = 0, mine, upto = 0;
	int err = weft_file_numbers(
		file, WEFT_COLL_ALLREDUCE, WEFT_OP_SUM, 1, &n, &total);

	if (!err && file->comm->rank == 0)
		err = weft_file_pointer_fetch_add(file, total, &base);
	mine = base + n;
	/* rank 0 scans also after an error, so that no member waits; the access
	 * reports the error */
	if (!err || file->comm->rank == 0) {
		int rc = weft_file_numbers(
			file, WEFT_COLL_SCAN, WEFT_OP_SUM, 1, &mine, &upto);

		err = err ? err : rc;
	}
	*at_out = upto - n;
	return err;
}
