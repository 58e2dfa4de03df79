/* SPDX-License-Identifier: BSD-3-Clause */
/* req: requests
 *
 * Created by the operation that starts (p2p, coll), destroyed by wait, test or
 * free once it is done, whichever is later. `refs` counts the user's handle
 * and the library's own interest (the transport, a matched message). A request
 * completes exactly once, through weft_req_complete(). Guarded by the lane's
 * lock. */
#ifndef WEFT_REQ_H
#define WEFT_REQ_H

#include "base/handle.h"
#include "base/list.h"
#include "base/op.h"
#include "core/peer.h"
#include "core/status.h"

struct weft_comm;
struct weft_type;
struct weft_lane;
struct weft_req;

enum weft_req_kind {
	WEFT_REQ_SEND,
	WEFT_REQ_RECV,
	WEFT_REQ_COLL,
	WEFT_REQ_GENERAL, /* MPI_Grequest_start */
	WEFT_REQ_OTHER,
};

/* What a kind of request can do beyond completing; NULL slots mean "nothing
 * to do". Kept by the room that made the request. */
struct weft_req_ops {
	/* Starts a persistent request again; is_done is false already. */
	int (*start)(struct weft_req *req);
	/* Tries to withdraw; completion follows in any case. */
	int (*cancel)(struct weft_req *req);
	/* Before wait/test report completion: may fill status (general
	 * requests). */
	int (*query)(struct weft_req *req, struct weft_status *status);
	/* Last reference dropped; frees what the room attached. */
	void (*release)(struct weft_req *req);
};

struct weft_req {
	/* what each short message touches stands together */
	struct weft_obj obj;
	enum weft_req_kind kind;
	bool is_done;
	bool is_persistent;
	bool is_active;	    /* persistent: started, not yet waited */
	bool is_user_freed; /* MPI_Request_free came first */
	bool is_posted;	    /* in a match queue */
	bool is_eager;	    /* a send whose data left at once; seq is its number
			       at the peer */
	uint32_t refs;
	struct weft_lane *lane;
	struct weft_status status;
	const struct weft_req_ops *ops;
	struct weft_comm *comm; /* referenced; NULL for general ones */

	/* two-sided messages; see p2p */
	struct weft_link link; /* match queue or pending list */
	uint64_t seq;	       /* order among posted receives */
	uint64_t ctx;	       /* with plane */
	int32_t src;	       /* to match; may be a wildcard */
	int32_t tag;
	uint8_t mode; /* enum weft_send_mode */
	void *buf;
	int64_t count;
	struct weft_type *type; /* referenced */
	struct weft_peer *peer;
	size_t len; /* bytes to move */
	size_t n_moved;
	void *staging;	 /* packed copy, owned; NULL: none */
	uint64_t remote; /* the other side's request */
	size_t n_parts;	 /* fabric pieces in flight */

	/* called by weft_req_complete() with the lane's lock held; may start
	 * further operations. Set right after a _held start, which may already
	 * have completed the request: check is_done then. */
	void (*on_done)(void *arg, struct weft_req *req);
	void *on_done_arg;

	/* the room that made it may attach its own state */
	void *state;

	/* only for what waits or goes through a fabric */
	struct weft_op op;
	struct weft_out out;	   /* waits for its turn at the peer */
	struct weft_wire_net wire; /* in front of it on the fabric */
};

extern struct weft_table weft_reqs;

/* A live request with one reference (the user's) or NULL. Lane's lock held. */
struct weft_req *weft_req_new(struct weft_lane *lane, enum weft_req_kind kind);

static inline struct weft_req *weft_req_get(struct weft_req *req)
{
	req->refs++;
	return req;
}

/* Drops a reference; the last one frees. Lane's lock held. */
void weft_req_put(struct weft_req *req);

/* The one place where a request completes. status.err is the argument.
 * Lane's lock held. */
void weft_req_complete(struct weft_req *req, int err);

/* Starts an inactive persistent request. WEFT_ERR_REQUEST when it is active or
 * not persistent. Takes the lane's lock. */
int weft_req_start(struct weft_req *req);

/* Blocks, progressing, until req is done. Lane's lock held; it is given up
 * between rounds. Does not drop the reference. */
void weft_req_wait(struct weft_lane *lane, struct weft_req *req);

/* User frees the handle while the operation may be active. Lane's lock
 * held. */
void weft_req_detach(struct weft_req *req);

#endif
