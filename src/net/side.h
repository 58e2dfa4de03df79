/* SPDX-License-Identifier: BSD-3-Clause */
/* side: one-sided access through endpoints of its own
 *
 * A side is a domain with its address table and the memory exposed in it. Its
 * first endpoint is the one that peers reach our memory through; each may
 * initiate. No order is asked for and completions are selective, so that the
 * fabric can do what it does best: an operation completes only when it is
 * posted with a struct weft_op, everything else is covered by
 * weft_side_flush().
 *
 * Threads: different endpoints may be used at once; one endpoint, polling
 * included, is guarded by its owner.
 *
 * Errors of operations posted without an op are kept in ep->err, the first
 * one, for the owner to take. Back-pressure is WEFT_AGAIN, as in net.h. */
#ifndef WEFT_SIDE_H
#define WEFT_SIDE_H

#include "base/op.h"
#include "net/net.h"
#include "net/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_side {
	struct weft_plan plan; /* constant once open */
};

struct weft_side_ep {
	struct weft_side *side;
	int err; /* of an operation that nobody waits for; 0: none */
	uint64_t n_posted;
	uint64_t n_refused; /* posts answered by WEFT_AGAIN */
};

/* Where an operation goes. */
struct weft_side_target {
	uint64_t addr;	 /* of the peer */
	uint64_t remote; /* what weft_side_expose gave as base, plus offset */
	uint64_t key;
};

struct weft_side_key {
	uint64_t base;
	uint64_t key;
};

/* Chooses as weft_net_open() does and opens the first endpoint. Same errors.
 * hints->is_side need not be set. */
int weft_side_open(
	const struct weft_net_hints *hints, struct weft_side **side_out);

/* All further endpoints must have been closed. What is under way is abandoned.
 * NULL is accepted. */
void weft_side_close(struct weft_side *side);

/* The endpoint that came with the side. */
struct weft_side_ep *weft_side_first(struct weft_side *side);

/* One that only initiates. WEFT_ERR_OTHER when the fabric has none left. */
int weft_side_ep_open(struct weft_side *side, struct weft_side_ep **ep_out);
void weft_side_ep_close(struct weft_side_ep *ep);

/* Lets peers read and write the memory, until the side closes. key_wish is
 * used where we pick keys. */
int weft_side_expose(struct weft_side *side, void *buf, size_t len,
	uint64_t key_wish, struct weft_side_key *key_out);

/* As weft_net_name() and weft_net_peer_add(). */
int weft_side_name(struct weft_side *side, void *buf, size_t *len);
int weft_side_peer_add(struct weft_side *side, const void *name, size_t len,
	uint64_t *addr_out);

/* Flag: what lies at buf, or an atomic's operand, is copied before the post
 * returns. At most plan.rma_inject_len bytes, and nothing fetched. */
#define WEFT_SIDE_COPY FI_INJECT

/* At most plan.rma_max_len bytes. flags: the plan's and WEFT_SIDE_COPY. op
 * NULL: no completion; else done when buf may be reused (write) or is filled
 * (read). */
int weft_side_write(struct weft_side_ep *ep, const struct weft_side_target *to,
	const void *buf, size_t len, uint64_t flags, struct weft_op *op);
int weft_side_read(struct weft_side_ep *ep, const struct weft_side_target *from,
	void *buf, size_t len, uint64_t flags, struct weft_op *op);

enum weft_side_what {
	WEFT_SIDE_SET,
	WEFT_SIDE_ADD,
	WEFT_SIDE_AND,
	WEFT_SIDE_OR,
	WEFT_SIDE_XOR,
	WEFT_SIDE_FETCH,
	WEFT_SIDE_CSWAP,
};

/* The hardware's atomics (plan.has_fabric_amo) on one word of 4 or 8 bytes.
 * Operands and result must stay until done; an operand that is copied need
 * not. */
struct weft_side_amo {
	enum weft_side_what what;
	uint32_t width;
	const void *operand;
	const void *compare; /* NULL: not a compare-and-swap */
	void *result;	     /* NULL: nothing is fetched */
};
int weft_side_amo(struct weft_side_ep *ep, const struct weft_side_target *to,
	const struct weft_side_amo *amo, uint64_t flags, struct weft_op *op);

/* An empty put with plan.flush_flags: when op is done, all that was posted to
 * that peer before is visible there. */
int weft_side_flush(struct weft_side_ep *ep, const struct weft_side_target *to,
	struct weft_op *op);

/* Drives progress, also of what peers do to our memory if this is the first
 * endpoint; calls op->done. Returns the number of completions. */
int weft_side_poll(struct weft_side_ep *ep);

#endif
