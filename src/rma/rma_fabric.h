/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_fabric: the process's RMA domain, and memory exposed in it
 *
 * OpenSHMEM and all windows share one domain. The first user opens it, and it
 * stays open until the process ends. Peers access this process's memory through
 * the domain's first endpoint, which progress polls while the domain has users.
 *
 * Any thread may call. The caller of weft_rma_fabric_open() holds no VCI's
 * lock. The other functions may be called with a VCI's lock held. */
#ifndef WEFT_RMA_FABRIC_H
#define WEFT_RMA_FABRIC_H

#include "net/rma_ep.h"
#include "rma/rma.h"

/* weft_rma_fabric_open() adds a user, and opens the domain for the first one.
 * After each successful call, the caller calls weft_rma_fabric_release() once,
 * with the default VCI's lock held. */
int weft_rma_fabric_open(struct weft_rma_domain **domain_out);
void weft_rma_fabric_release(void);

/* Opens an endpoint of the open domain. The caller closes it. */
int weft_rma_fabric_ep(
	struct weft_rma_domain *domain, struct weft_rma_ep **ep_out);

/* Called after a flush to poll for late errors. For an operation without a
 * completion, some fabrics report an error only after the completion of the
 * flush. */
void weft_rma_fabric_drain(struct weft_rma_ep *ep);

/* Closes the domain at the end of the process. No lock is needed. */
void weft_rma_fabric_close(void);

/* Writes the address of the domain's first endpoint to buf, for peers. *len is
 * the length of buf, then that of the address. WEFT_ERR_ARG if buf is too
 * short. */
int weft_rma_fabric_name(void *buf, size_t *len);

/* Adds a process by its weft_rma_fabric_name(), unless it was added before.
 * Sets *addr_out to its address in the domain. */
int weft_rma_fabric_peer(
	uint64_t proc, const void *name, size_t len, uint64_t *addr_out);

/* weft_rma_fabric_expose() registers the region in the open domain, so that
 * peers can access it. weft_rma_fabric_withdraw() ends the registration, and
 * ignores a region that is not registered. */
int weft_rma_fabric_expose(struct weft_rma_region *region);
void weft_rma_fabric_withdraw(struct weft_rma_region *region);

#endif
