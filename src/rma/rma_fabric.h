/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_fabric: the process's RMA domain, and memory exposed in it
 *
 * OpenSHMEM and all windows share one domain, opened by the first that asks
 * and closed with the process. Its first endpoint is the one that peers reach
 * our memory through; it is polled while somebody uses the domain.
 *
 * Any thread. No VCI's lock held where the domain is opened; it may be
 * elsewhere. */
#ifndef WEFT_RMA_FABRIC_H
#define WEFT_RMA_FABRIC_H

#include "net/rma_ep.h"
#include "rma/rma.h"

/* One more user. 0 or an error, described; each 0 is released once, with the
 * default VCI's lock. */
int weft_rma_fabric_open(struct weft_rma_domain **domain_out);
void weft_rma_fabric_release(void);

/* One more endpoint, of whoever closes it. The domain is open. */
int weft_rma_fabric_ep(struct weft_rma_ep **ep_out);

/* After a flush: receives the errors of operations without a completion, which
 * some fabrics report after it. */
void weft_rma_fabric_drain(struct weft_rma_ep *ep);

/* The process ends; the default VCI's lock is no longer needed. */
void weft_rma_fabric_close(void);

/* The address that others reach this process by, as weft_net_name(). */
int weft_rma_fabric_name(void *buf, size_t *len);

/* A process's address in the domain, from its weft_rma_domain_name(). */
int weft_rma_fabric_peer(
	uint64_t proc, const void *name, size_t len, uint64_t *addr_out);

/* Lets peers access region->base, len bytes, or no longer; what is not exposed
 * is withdrawn at no cost. The domain is open. */
int weft_rma_fabric_expose(struct weft_rma_region *region);
void weft_rma_fabric_withdraw(struct weft_rma_region *region);

#endif
