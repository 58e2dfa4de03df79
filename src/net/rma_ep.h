/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_ep: one-sided access through separate endpoints
 *
 * An RMA domain is a domain with its address table and the memory exposed in
 * it. Peers access that memory through its first endpoint; the other endpoints
 * initiate operations. So no two endpoints connect to each other, which could
 * lose operations (plan.connects_one_way). No order is requested and
 * completions are selective. An operation has its own completion only if it is
 * posted with a struct weft_op. To complete operations without an op, the
 * caller posts an empty write with plan.flush_flags. After the completion of
 * this write, all earlier operations of the endpoint to that peer are visible
 * there.
 *
 * Threads: different endpoints may be used at the same time; the owner of an
 * endpoint guards all its calls, including polls.
 *
 * ep->err keeps the first error of an operation without an op, until the owner
 * reads it. Back-pressure is WEFT_AGAIN, as in net.h. */
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
	int err; /* first error of an operation without an op; 0: none */
	struct weft_counters counters;
};

/* The target of an operation. */
struct weft_rma_ep_target {
	uint64_t addr;	 /* address from weft_rma_domain_peer_add() */
	uint64_t remote; /* base of weft_rma_ep_key plus the byte offset */
	uint64_t key;	 /* key of weft_rma_ep_key */
};

/* Base address and key with which peers access exposed memory. */
struct weft_rma_ep_key {
	uint64_t base;
	uint64_t key;
};

/* Chooses a fabric as weft_net_open() does, with the same errors, and opens the
 * first endpoint. hints->is_rma need not be set. */
int weft_rma_domain_open(const struct weft_net_hints *hints,
	struct weft_rma_domain **domain_out);

/* Closes the domain and its first endpoint. All other endpoints must have been
 * closed. Pending operations are abandoned. NULL is accepted. */
void weft_rma_domain_close(struct weft_rma_domain *domain);

/* Returns the first endpoint. */
struct weft_rma_ep *weft_rma_domain_ep(struct weft_rma_domain *domain);

/* Opens an endpoint that only initiates operations. WEFT_ERR_OTHER if the
 * fabric has none left. */
int weft_rma_ep_open(
	struct weft_rma_domain *domain, struct weft_rma_ep **ep_out);

/* Closes an endpoint of weft_rma_ep_open(). Pending operations are abandoned.
 * NULL is accepted. */
void weft_rma_ep_close(struct weft_rma_ep *ep);

/* weft_rma_domain_expose() permits peers to read and write the memory, until
 * weft_rma_domain_withdraw() or the close of the domain. If the library chooses
 * keys, it uses the keys below plan.n_keys first, and random keys when all of
 * them are in use. A released key is reused last. The caller must not make two
 * of these calls at the same time. */
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

/* Flag: the data at buf, or an atomic's operand, is copied before the post
 * returns. At most plan.rma_inject_len bytes; not for fetching operations. */
#define WEFT_RMA_EP_COPY FI_INJECT

/* weft_rma_ep_write() posts a write, and weft_rma_ep_read() a read, of at most
 * plan.rma_max_len bytes. flags: those of the plan and WEFT_RMA_EP_COPY. If op
 * is NULL, there is no completion. Otherwise op->done is called when buf may be
 * reused (write) or is filled (read). */
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

/* An atomic operation of the fabric (plan.has_fabric_amo) on one word. Operands
 * and result must stay valid until op->done, except an operand that is copied
 * (WEFT_RMA_EP_COPY). */
struct weft_rma_ep_amo {
	enum weft_rma_ep_what what;
	uint32_t width; /* bytes of the word: 4 or 8 */
	const void *operand;
	const void *compare; /* NULL: not a compare-and-swap */
	void *result;	     /* NULL: not a fetching operation */
};
int weft_rma_ep_amo(struct weft_rma_ep *ep, const struct weft_rma_ep_target *to,
	const struct weft_rma_ep_amo *amo, uint64_t flags, struct weft_op *op);

/* Makes progress and calls op->done. The first endpoint also makes progress on
 * the accesses of peers to local memory. Returns the number of completions. */
int weft_rma_ep_poll(struct weft_rma_ep *ep);

#endif
