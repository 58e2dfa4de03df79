/* SPDX-License-Identifier: BSD-3-Clause */
/* op: the header of every operation that is posted to a transport
 *
 * The owner embeds a struct weft_op and sets `done`. The owner must not free or
 * reuse the op until `done` has been called. weft_progress() or the posting
 * function calls `done` exactly once. Until then, `scratch` belongs to the
 * provider (libfabric's FI_CONTEXT2). `scratch` is the first field, so that the
 * address of the op is the address of the context. */
#ifndef WEFT_OP_H
#define WEFT_OP_H

#include <stddef.h>

struct weft_op;

/* err: 0 or a negative enum weft_err. len: bytes received, for a receive.
 * Called with the VCI's lock held. */
typedef void weft_op_done_fn(struct weft_op *op, int err, size_t len);

struct weft_op {
	void *scratch[8];
	weft_op_done_fn *done;
};

#endif
