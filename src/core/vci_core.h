/* SPDX-License-Identifier: BSD-3-Clause */
/* vci_core: the state of core in a VCI: communicators and spare requests */
#ifndef WEFT_VCI_CORE_H
#define WEFT_VCI_CORE_H

#include "transport/vci.h"

struct weft_comm;
struct weft_req;

/* Created when the VCI opens, freed when it closes. The VCI's lock guards it.
 */
struct weft_vci_core {
	struct weft_req *spare_reqs; /* recycled requests */
	struct weft_comm *last_comm; /* communicator of the last message */
	struct weft_map comms;	/* the weft_comm of each context id (without its
				   offset) */
	struct weft_map broken; /* context ids of communicators that were closed
				   without a barrier; see
				   weft_vci_core_broken() */
};

/* Result of weft_vci_core_broken(): the communicator was revoked. */
#define WEFT_CORE_REVOKED UINT64_MAX

/* weft_vci_core_open() allocates the state, before any request or communicator
 * is created. 0 or WEFT_ERR_NOMEM. weft_vci_core_close() frees the state. */
int weft_vci_core_open(struct weft_vci *vci);
void weft_vci_core_close(struct weft_vci *vci);

/* Returns the communicator with this context id, without its offset, or NULL.
 */
static inline struct weft_comm *weft_vci_core_comm(
	const struct weft_vci *vci, uint64_t ctx)
{
	return weft_map_get(&vci->core->comms, ctx);
}

/* Returns why the communicator with this context id was closed without a
 * barrier: WEFT_CORE_REVOKED, or the number of a failed member + 1. Other
 * members may still send on it. 0: the communicator is open, was closed
 * normally, or is not created yet. */
static inline uint64_t weft_vci_core_broken(
	const struct weft_vci *vci, uint64_t ctx)
{
	return ctx ? (uintptr_t)weft_map_get(&vci->core->broken, ctx) : 0;
}

#endif
