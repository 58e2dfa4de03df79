/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_stage: operations on buffers in device memory
 *
 * An operation on device memory runs on a shadow of each buffer (dev/shadow.h).
 * Its sources are copied before it starts, and its results when it completes. A
 * non-blocking or persistent operation has two requests: the inner request of
 * the operation on the shadows, and the outer request that the program gets.
 * The outer request completes when the inner request has completed and the
 * results are in device memory. */
#ifndef WEFT_MPI_STAGE_H
#define WEFT_MPI_STAGE_H

#include "core/coll_args.h"
#include "core/req.h"
#include "dev/shadow.h"
#include "io/file.h"
#include "p2p/p2p.h"

/* Result of a check of arguments: a buffer is in device memory. Errors are
 * negative. */
enum { WEFT_ON_DEVICE = 1 };

/* The shadows of an operation. Zeroed at first. */
struct weft_stage {
	struct weft_shadow source, result;
	bool is_both;		/* the result has data before the operation */
	int64_t len;		/* bytes that the operation writes to result; 0:
				   as many as its status has */
	struct weft_req *inner; /* NULL: none */
};

/* Returns WEFT_ON_DEVICE, 0 for host memory, or an error. Asks the driver, so
 * call it only if the object or process may use device memory. */
int weft_stage_look(const void *buf, int64_t count, struct weft_type *type)
	__attribute__((cold));

/* Both functions replace a buffer in device memory by its shadow, and change
 * nothing if the buffer is in host memory. The first is for an operation that
 * reads the buffer, and copies the data. The second is for an operation that
 * writes the buffer; is_both: and reads it. After an error, the caller calls
 * weft_stage_close(). */
int weft_stage_source(struct weft_stage *stage, void **buf, int64_t count,
	struct weft_type *type) __attribute__((cold));
int weft_stage_result(struct weft_stage *stage, void **buf, int64_t count,
	struct weft_type *type, bool is_both) __attribute__((cold));

/* As weft_stage_source() for a message to send. If the message is sent from
 * device memory (weft_send_is_direct()), sets the mode WEFT_SEND_DEVICE instead
 * of replacing the buffer. */
int weft_stage_message(struct weft_stage *stage, struct weft_msg *msg)
	__attribute__((cold));

/* True if a collective only moves data, a buffer is in device memory, and the
 * blocks are contiguous and so long that copying each message costs less than
 * copying whole buffers. */
bool weft_stage_coll_is_direct(enum weft_coll_kind kind,
	const struct weft_coll *coll) __attribute__((cold));

/* As both functions for the two sides of a collective. */
int weft_stage_coll(struct weft_stage *stage, enum weft_coll_kind kind,
	struct weft_coll *coll) __attribute__((cold));

/* Ends a blocking operation: copies the first len bytes of the result to device
 * memory if err is 0 or WEFT_ERR_TRUNCATE, and frees the shadows. Returns err
 * or the error of the copy. */
int weft_stage_close(struct weft_stage *stage, int err, int64_t len)
	__attribute__((cold));

/* Creates the outer request of an operation on this communicator, and its stage
 * *stage_out, which the request owns. 0 or WEFT_ERR_NOMEM. No lock held. */
int weft_stage_open(struct weft_comm *comm, struct weft_stage **stage_out,
	struct weft_req **outer_out) __attribute__((cold));

/* Makes the outer request complete after the inner request, which is started,
 * or persistent and inactive. err: the result of the operation's start; if it
 * is not 0, frees the outer request and returns err. Consumes the caller's
 * reference to inner. No lock held. */
int weft_stage_follow_take(struct weft_req *outer, int err,
	struct weft_req *inner) __attribute__((cold));

/* As the functions of p2p.h for messages on a communicator that may use device
 * memory. At least one buffer is in device memory. */
int weft_stage_send(const struct weft_msg *msg) __attribute__((cold));
int weft_stage_recv(const struct weft_msg *msg, struct weft_status *status_out)
	__attribute__((cold));

#endif
