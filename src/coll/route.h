/* SPDX-License-Identifier: BSD-3-Clause */
/* route: delivers edges of a graph to members of a communicator
 *
 * Each edge goes through at most log2(n) members of n. Each member sends 2
 * log2(n) messages and needs memory for its own edges and those that pass
 * through it, not for each member. */
#ifndef WEFT_ROUTE_H
#define WEFT_ROUTE_H

#include "core/comm.h"

#include <stddef.h>
#include <stdint.h>

/* weft_route() sorts edges by `from`, then by `number`. */
struct weft_routed_edge {
	int32_t to;	/* the rank that needs the edge */
	int32_t from;	/* the rank that has passed the edge to the library */
	int32_t number; /* index of the edge among those of that rank */
	int32_t is_in;	/* to is the destination of the edge, not the source */
	int32_t source, dest, weight;
};

_Static_assert(sizeof(struct weft_routed_edge) == 28, "sent as it is");

struct weft_route {
	struct weft_routed_edge *edges; /* from malloc(), owned by the caller */
	size_t n;
};

/* Replaces the edges by those of all members that are for this one.
 * Collective over an intracommunicator without other messages; blocks. `call`
 * is the MPI procedure. No lock held. If a member has no memory, it and some
 * other members return WEFT_ERR_NOMEM. WEFT_ERR_PROTO: a member has sent
 * malformed edges. */
int weft_route(
	struct weft_comm *comm, struct weft_route *route, const char *call);

#endif
