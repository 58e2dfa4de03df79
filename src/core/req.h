/* SPDX-License-Identifier: BSD-3-Clause */
/* req: requests
 *
 * The room of an operation (p2p, coll) creates its request. The last
 * weft_req_put() recycles the request: in wait, test or free, or at completion.
 * `refs` counts the user's handle and the library's own references (the
 * transport, a matched message). Only weft_req_complete() completes a
 * pending request, once for each start. An eager send may be complete from the
 * start; a cancel makes it incomplete again, until the receiver has answered
 * (p2p/cancel.c). The VCI's lock guards the request. */
#ifndef WEFT_REQ_H
#define WEFT_REQ_H

#include "base/handle.h"
#include "base/list.h"
#include "base/op.h"
#include "transport/vci.h"
#include "transport/peer.h"
#include "core/status.h"
#include "core/vci_core.h"

struct weft_comm;
struct weft_type;
struct weft_req;
struct weft_bsend_sent;
struct weft_general;
struct weft_parts;
struct weft_sched;

enum weft_req_kind {
	WEFT_REQ_SEND,
	WEFT_REQ_RECV,
	WEFT_REQ_COLL,
	WEFT_REQ_GENERAL, /* MPI_Grequest_start */
	WEFT_REQ_OTHER,
};

/* Modes of a send. */
enum weft_send_mode {
	WEFT_SEND_STANDARD,
	WEFT_SEND_SYNC,
	WEFT_SEND_READY,
	WEFT_SEND_BUFFERED, /* the data is in an attached buffer already */
	WEFT_SEND_DEVICE,   /* the data is in device memory; see
			       p2p/rndv_dev.c */
};

/* The operations of a kind of request besides completion; a NULL slot does
 * nothing. Defined by the room that creates the request. */
struct weft_req_ops {
	/* Starts a persistent request again; is_done is false already. */
	int (*start)(struct weft_req *req);
	/* Tries to cancel; the request completes in any case. */
	int (*cancel)(struct weft_req *req);
	/* Called before wait or test reports completion; may fill status
	 * (generalized requests). Calls a user function, so no lock is held. */
	int (*query)(struct weft_req *req, struct weft_status *status);
	/* Called after query, before the user's handle is freed: calls the
	 * user's free function (generalized requests). No lock held. */
	int (*free)(struct weft_req *req);
	/* Returns the request that must complete before this one does, or NULL.
	 * VCI's lock held. */
	struct weft_req *(*inner)(const struct weft_req *req);
	/* Frees the data that the room attached. Called after the last
	 * reference was dropped. */
	void (*release)(struct weft_req *req);
};

/* The next structs are in unions of struct weft_req. The kind of the request
 * selects the valid one. */

struct weft_req_send {
	uint8_t mode;	       /* enum weft_send_mode */
	bool is_eager;	       /* the data was sent with the envelope */
	bool is_uncancellable; /* this process will not cancel the send */
	bool is_cancelling;    /* a cancel was sent; its answer is pending */
	bool in_fabric;	       /* posted to the fabric; op completes it */
	bool is_announced;     /* RTS sent to a peer of this node, and counted
				  in the peer's n_offered */
	uint16_t number;       /* is_eager: number in the message's head */
};

struct weft_req_recv {
	bool is_posted; /* queued in the match queue of the communicator */
	bool in_fabric; /* posted to the fabric, which matches it */
	bool is_inner;	/* a wait for the request that waits for it may return
			   while it is active; see the slot `inner` */
	uint64_t order; /* is_posted: number in the order of posting */
};

/* A send or receive whose data does not arrive with its envelope. */
struct weft_req_rndv {
	uint64_t remote;    /* the peer's request; 0: not known yet */
	size_t n_segs;	    /* segments in the fabric; see p2p/rndv_seg.c */
	size_t n_moved;	    /* bytes transferred so far */
	size_t total;	    /* bytes to transfer */
	uint8_t n_rails;    /* rails that carry segments, except the first */
	bool is_failed;	    /* a segment failed, and the peer was not notified
			     */
	bool is_unanswered; /* the receiver's answer is pending, and counted in
			       n_segs */
	bool is_copying;    /* a deferred copy runs, and only it completes the
			       request; see rndv_copy.c */
	bool is_short;	    /* short segments; see p2p/rndv_seg.c */
	uint32_t since_ms;  /* time when a send was announced: weft_now_ns() in
			       ms */
};

struct weft_req_sendrecv {
	size_t n_left; /* incomplete halves, plus one while the halves start */
};

struct weft_req_flush {	 /* a flush of a buffer of buffered sends */
	size_t n_left;	 /* messages that were not sent yet */
	uint64_t n_sent; /* the flush waits for messages with lower numbers */
};

struct weft_req {
	/* first cache line: for matching and completing */
	struct weft_obj obj;
	uint8_t kind; /* enum weft_req_kind */
	bool is_done;
	bool is_active; /* persistent: started, not yet completed by wait */
	union {
		struct {
			bool is_persistent : 1;
			bool is_user_freed : 1; /* MPI_Request_free was called
						 */
		};
		uint8_t handle_flags; /* both flags as one value */
	};
	uint32_t refs;
	struct weft_link link; /* match queue or pending list */
	uint64_t ctx;	       /* context id with its offset */
	int32_t src;	       /* rank of the other process: the source, which
				  may be a wildcard, or the destination */
	int32_t tag;
	union {
		struct weft_req_send send;
		struct weft_req_recv recv;
		uint64_t flags; /* overlaps send and recv: one store clears them
				 */
	};

	/* second cache line: the buffer, the peer and the status */
	_Alignas(WEFT_CACHE_LINE) void *buf;
	size_t len;		/* bytes to move */
	struct weft_type *type; /* with a reference, or NULL */
	struct weft_comm *comm; /* with a reference; NULL: none */
	struct weft_peer *peer;
	struct weft_status status;

	/* Further cache lines: a short message only checks that their fields
	 * are unused. In a spare request, the fields from ops to the union with
	 * `attached` are 0, and so are rndv.remote and rndv.n_segs. */
	_Alignas(WEFT_CACHE_LINE) struct weft_vci *vci;
	int64_t count;
	const struct weft_req_ops *ops;
	/* Called by weft_req_complete() with the VCI's lock held; may start
	 * further operations. Set it right after a _locked start, which may
	 * already have completed the request: check is_done then. */
	void (*on_done)(void *arg, struct weft_req *req);
	void *staging; /* owned packed copy of the data; NULL: none */
	union {	       /* attached by the room that created the request */
		void *attached;
		struct weft_sched *sched;     /* a collective */
		struct weft_parts *parts;     /* a partitioned request */
		struct weft_general *general; /* WEFT_REQ_GENERAL */
		struct weft_bsend_sent
			*sent; /* the user's request of a buffered send */
		struct weft_req
			*waiter; /* internal request of a buffered send: the
				    user's request, which is being cancelled */
	};
	union {
		struct weft_req_rndv rndv; /* send, receive */
		struct weft_req_sendrecv sendrecv;
		struct weft_req_flush flush;
	};
	void *on_done_arg;
	struct weft_req *spare; /* next in the VCI's list of spare requests */

	/* only for requests that are queued or use a fabric */
	struct weft_op op;
	struct weft_out out;	   /* link in the peer's queue */
	struct weft_wire_net wire; /* header on the fabric */
};
static_assert(offsetof(struct weft_req, buf) == WEFT_CACHE_LINE, "first line");
static_assert(sizeof(struct weft_req) == 6 * WEFT_CACHE_LINE, "six lines");

extern struct weft_table weft_reqs;

/* Slow path of weft_req_new(): allocates a request, because the VCI has no
 * spare request. NULL when out of memory. */
struct weft_req *weft_req_make(struct weft_vci *vci);

/* Returns the next request of a VCI, from index *pos of the table on, and
 * advances *pos. NULL at the end. The request may be a spare request, without
 * references. VCI's lock held. */
struct weft_req *weft_req_next(const struct weft_vci *vci, uint32_t *pos);

/* Adds a request whose last reference was dropped to the VCI's spare requests.
 * For weft_req_put(). */
void weft_req_recycle(struct weft_req *req);

/* Allocates a request with one reference (the user's); NULL when out of memory.
 * VCI's lock held. */
static inline struct weft_req *weft_req_new(
	struct weft_vci *vci, enum weft_req_kind kind)
{
	struct weft_req *req = vci->core->spare_reqs;

	if (weft_likely(req)) {
		vci->core->spare_reqs = req->spare;
		weft_obj_renew(req);
	} else {
		req = weft_req_make(vci);
		if (!req)
			return NULL;
	}
	req->kind = (uint8_t)kind;
	req->is_done = false;
	req->is_active = true;
	req->handle_flags = 0;
	req->flags = 0;
	req->refs = 1;
	req->type = NULL;
	req->comm = NULL;
	req->status.err = 0;
	req->status.is_cancelled = false;
	return req;
}

static inline struct weft_req *weft_req_get(struct weft_req *req)
{
	req->refs++;
	return req;
}

/* Drops a reference. The last reference recycles the request. VCI's lock held.
 */
static inline void weft_req_put(struct weft_req *req)
{
	if (--req->refs == 0)
		weft_req_recycle(req);
}

/* Completes a request with status.err = err. No other function completes a
 * request. VCI's lock held. */
static inline void weft_req_complete(struct weft_req *req, int err)
{
	req->status.err = err;
	req->is_done = true;
	if (weft_unlikely(req->on_done))
		req->on_done(req->on_done_arg, req);
}

/* True for a receive in a match queue. */
static inline bool weft_req_is_posted(const struct weft_req *req)
{
	return req->kind == WEFT_REQ_RECV && req->recv.is_posted;
}

/* True for a send or receive that only the fabric completes. */
static inline bool weft_req_in_fabric(const struct weft_req *req)
{
	return req->kind == WEFT_REQ_SEND ? req->send.in_fabric
					  : req->recv.in_fabric;
}

/* True for a send whose RTS was sent and that has no answer yet. */
static inline bool weft_req_is_announced(const struct weft_req *req)
{
	return req->kind == WEFT_REQ_SEND && !req->is_done && req->peer &&
	       !req->send.is_eager && !req->send.in_fabric &&
	       !req->rndv.remote && req->rndv.n_segs == 0 &&
	       !req->rndv.is_copying && req->out.link.next == &req->out.link;
}

/* True for a send in its peer's queue: no part of it was sent. */
static inline bool weft_req_is_queued(const struct weft_req *req)
{
	return req->kind == WEFT_REQ_SEND && !req->is_done &&
	       !req->rndv.remote && req->rndv.n_segs == 0 &&
	       req->out.link.next != &req->out.link;
}

/* Starts an inactive persistent request. WEFT_ERR_REQUEST when it is active or
 * not persistent. Acquires the VCI's lock. */
int weft_req_start(struct weft_req *req);

/* As weft_req_start() for an inactive persistent request, without the check.
 * VCI's lock held. */
int weft_req_start_locked(struct weft_req *req);

/* Makes progress until req is done. Returns earlier if the VCI's on_wait() ends
 * the wait for a receive from any source; the receive remains active. Reports
 * of long waits name the MPI procedure `call`; NULL: the procedure of the
 * request. VCI's lock held, and released between rounds. Does not drop the
 * reference. */
void weft_req_wait_more(
	struct weft_vci *vci, struct weft_req *req, const char *call);

static inline void weft_req_wait_in(
	struct weft_vci *vci, struct weft_req *req, const char *call)
{
	if (!req->is_done)
		weft_req_wait_more(vci, req, call);
}

static inline void weft_req_wait(struct weft_vci *vci, struct weft_req *req)
{
	weft_req_wait_in(vci, req, NULL);
}

/* Registers the function that continues a wait after some rounds without
 * success. */
typedef void weft_req_wait_fn(
	struct weft_vci *vci, struct weft_req *req, const char *call);
void weft_req_on_wait(weft_req_wait_fn *fn);

/* Frees the user's handle. The operation may be active. VCI's lock held. */
void weft_req_detach(struct weft_req *req);

#endif
