/* SPDX-License-Identifier: BSD-3-Clause */
/* coll: collective operations, as the rooms above call them
 *
 * Each operation has three forms: blocking, non-blocking, persistent. The
 * caller has checked the arguments. The caller keeps the buffers valid until
 * the operation is complete. Counts and displacements are read before the call
 * returns. All members of a communicator make their calls in the same order. */
#ifndef WEFT_COLL_H
#define WEFT_COLL_H

#include "core/coll_args.h"
#include "core/req.h"

/* Allocates the next sequence number of the context. Returns the operation's
 * tag. VCI's lock held. */
int32_t weft_coll_tag(struct weft_comm *comm, enum weft_ctx_offset ctx_offset,
	enum weft_coll_kind kind);

/* Describes a mismatch: a message of `rank` with tag `met` arrived while this
 * process waits in a collective with tag `tag`. Returns the error. */
int weft_coll_tag_mismatch(int32_t tag, int32_t met, int32_t rank)
	__attribute__((cold));

/* Runs a blocking collective. Returns when this process's part is complete: 0
 * or an error. No lock held. */
int weft_coll_run(enum weft_coll_kind kind, const struct weft_coll *args);

/* As weft_coll_run(), with args->is_on_device. WEFT_AGAIN: the selected
 * algorithm cannot use device memory. Then nothing was sent, and the caller
 * calls weft_coll_run() with buffers in host memory. No lock held. */
int weft_coll_run_on_device(enum weft_coll_kind kind,
	const struct weft_coll *args) __attribute__((cold));

/* Both functions start a non-blocking collective. The caller gets one reference
 * of *req_out. weft_coll_start(): no lock held. weft_coll_start_locked(): VCI's
 * lock held. */
int weft_coll_start(enum weft_coll_kind kind, const struct weft_coll *args,
	struct weft_req **req_out);
int weft_coll_start_locked(enum weft_coll_kind kind,
	const struct weft_coll *args, struct weft_req **req_out);

/* Creates a persistent collective: an inactive request for weft_req_start(). No
 * lock held. */
int weft_coll_init(enum weft_coll_kind kind, const struct weft_coll *args,
	struct weft_req **req_out);

/* Frees the scratch memory that a VCI has cached. The VCI is
 * about to close. */
void weft_coll_close(struct weft_vci *vci);

/* Starts an allgather of len bytes from each member, in the control context.
 * For src/rma. Both buffers must stay valid until the request is complete. The
 * caller gets one reference of *req_out. VCI's lock held. */
int weft_coll_allgather_bytes(struct weft_comm *comm, const void *mine,
	void *all, size_t len, struct weft_req **req_out);

#endif
