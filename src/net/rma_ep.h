/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_ep: one-sided access through endpoints of its own
 *
 * A side is a domain with its address table and the memory exposed in it. Its
 * first endpoint is the one that peers reach our memory through; each may
 * initiate. No order is asked for and completions are selective, so that the
 * fabric can do what it does best: an operation completes only when it is
 * posted with a struct weft_op, everything else is covered by
 * an empty write with plan.flush_flags: when that is done, all that was posted
 * to that peer before is visible there.
 *
 * Threads: different endpoints may be used at once; one endpoint, polling
 * included, is guarded by its owner.
 *
 * Errors of operations posted without an op are kept in ep->err, the first
 * one, for the owner to take. Back-pressure is WEFT_AGAIN, as in net.h. */
#ifndef WEFT_RMA_EP_H
#define WEFT_RMA_EP_H

#include "base/counter.h"
#include "base/op.h"
#include "net/net.h"
#include "net/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_rma_domain {
	struct weft_plan plan; /* constant once open */
};

struct weft_rma_ep {
	struct weft_rma_domain *domain;
	int err; /* of an operation that nobody waits for; 0: none */
	struct weft_counters counters;
};

/* Where an operation goes. */
struct weft_rma_ep_target {
	uint64_t addr;	 /* of the peer */
	uint64_t remote; /* what weft_rma_domain_expose gave as base, plus
			    offset */
	uint64_t key;
};

struct weft_rma_ep_key {
	uint64_t base;
	uint64_t key;
};

/* Chooses as weft_net_open() does and opens the first endpoint. Same errors.
 * hints->is_side need not be set. */
int weft_rma_domain_open(const struct weft_net_hints *hints,
	struct weft_rma_domain **domain_out);

/* All further endpoints must have been closed. What is under way is abandoned.
 * NULL is accepted. */
void weft_rma_domain_close(struct weft_rma_domain *domain);

/* The endpoint that came with the side. */
struct weft_rma_ep *weft_rma_domain_ep(struct weft_rma_domain *domain);

/* One that only initiates. WEFT_ERR_OTHER when the fabric has none left. */
int weft_rma_ep_open(
	struct weft_rma_domain *domain, struct weft_rma_ep **ep_out);
void weft_rma_ep_close(struct weft_rma_ep *ep);

/* Lets peers read and write the memory until it is withdrawn or the domain
 * closes. Where we pick keys, the special ones come first, and one given back
 * is the last to be used again; all others are random. The caller has one of
 * these calls at a time. */
struct weft_rma_mr;
int weft_rma_domain_expose(struct weft_rma_domain *domain, void *buf,
	size_t len, struct weft_rma_ep_key *key_out,
	struct weft_rma_mr **mr_out);
void weft_rma_domain_withdraw(
	struct weft_rma_domain *domain, struct weft_rma_mr *mr);

/* As weft_net_name() and weft_net_peer_add(). */
int weft_rma_domain_name(
	struct weft_rma_domain *domain, void *buf, size_t *len);
int weft_rma_domain_peer_add(struct weft_rma_domain *domain, const void *name,
	size_t len, uint64_t *addr_out);

/* Flag: what lies at buf, or an atomic's operand, is copied before the post
 * returns. At most plan.rma_inject_len bytes, and nothing fetched. */
#define WEFT_RMA_EP_COPY FI_INJECT

/* At most plan.rma_max_len bytes. flags: the plan's and WEFT_RMA_EP_COPY. op
 * NULL: no completion; else done when buf may be reused (write) or is filled
 * (read). */
int weft_rma_ep_write(struct weft_rma_ep *ep,
	const struct weft_rma_ep_target *to, const void *buf, size_t len,
	uint64_t flags, struct weft_op *op);
int weft_rma_ep_read(struct weft_rma_ep *ep,
	const struct weft_rma_ep_target *from, void *buf, size_t len,
	uint64_t flags, struct weft_op *op);

enum weft_rma_ep_what {
	WEFT_RMA_EP_SET,
	WEFT_RMA_EP_ADD,
	WEFT_RMA_EP_AND,
	WEFT_RMA_EP_OR,
	WEFT_RMA_EP_XOR,
	WEFT_RMA_EP_FETCH,
	WEFT_RMA_EP_CSWAP,
};

/* The hardware's atomics (plan.has_fabric_amo) on one word of 4 or 8 bytes.
 * Operands and result must stay until done; an operand that is copied need
 * not. */
struct weft_rma_ep_amo {
	enum weft_rma_ep_what what;
	uint32_t width;
	const void *operand;
	const void *compare; /* NULL: not a compare-and-swap */
	void *result;	     /* NULL: nothing is fetched */
};
int weft_rma_ep_amo(struct weft_rma_ep *ep, const struct weft_rma_ep_target *to,
	const struct weft_rma_ep_amo *amo, uint64_t flags, struct weft_op *op);

/* Drives progress, also of what peers do to our memory if this is the first
 * endpoint; calls op->done. Returns the number of completions. */
int weft_rma_ep_poll(struct weft_rma_ep *ep);

#endif
