/* SPDX-License-Identifier: BSD-3-Clause */
/* coll: collective operations, as upper rooms call them
 *
 * One description of arguments for all of them, and three ways to run it:
 * blocking, non-blocking, persistent. Arguments have been checked. Buffers stay
 * the caller's; counts and displacements are read before the call returns.
 * Calls on one communicator must be made in the same order by all members. */
#ifndef WEFT_COLL_H
#define WEFT_COLL_H

#include "core/coll_args.h"
#include "core/req.h"

/* The tag of the next operation of this kind in its context. */
int32_t weft_coll_tag(struct weft_comm *comm, enum weft_ctx_offset ctx_offset,
	enum weft_coll_kind kind);

/* Describes that a message of rank's collective came where one with the other
 * tag was expected; returns its error. */
int weft_coll_tag_mismatch(int32_t tag, int32_t met, int32_t rank)
	__attribute__((cold));

/* Blocking. Takes the VCI's lock. */
int weft_coll_run(enum weft_coll_kind kind, const struct weft_coll *args);

/* Non-blocking: *req_out has one reference, the caller's. Takes the VCI's
 * lock. */
int weft_coll_start(enum weft_coll_kind kind, const struct weft_coll *args,
	struct weft_req **req_out);
int weft_coll_start_locked(enum weft_coll_kind kind,
	const struct weft_coll *args, struct weft_req **req_out); /* held */

/* Persistent: inactive; start it with weft_req_start(). */
int weft_coll_init(enum weft_coll_kind kind, const struct weft_coll *args,
	struct weft_req **req_out);

/* A VCI is closed: scratch memory that it kept goes. */
void weft_coll_close(struct weft_vci *vci);

/* Short forms for rooms that make and leave communicators; all on the control
 * context, VCI's lock held. */
int weft_coll_allgather_bytes(struct weft_comm *comm, const void *mine,
	void *all, size_t len, struct weft_req **req_out);

#endif
