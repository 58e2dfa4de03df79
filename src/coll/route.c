/* SPDX-License-Identifier: BSD-3-Clause */
/* route: delivers edges of a graph to members of a communicator
 *
 * In the round of each bit, a member sends the edges whose receiver is an odd
 * multiple of this distance away to the member at this distance. After the last
 * round, each edge has arrived. A round has two messages: the number of edges,
 * and the edges. A member with an error sends FAILED as the number. It takes
 * part in the remaining rounds, so that no member waits for it. */
#include "coll/route.h"

#include "base/err.h"
#include "p2p/p2p.h"

#include <stdlib.h>
#include <string.h>

enum { FAILED = -1 };

/* One round of a member. */
struct hop {
	struct weft_comm *comm;
	const char *call;
	int32_t to, from;
};

/* Returns the distance from this member to a rank. */
static uint32_t distance(const struct weft_comm *comm, int32_t rank)
{
	return (uint32_t)(rank < comm->rank ? rank - comm->rank + comm->size
					    : rank - comm->rank);
}

/* Sends out_len bytes, and receives in_len bytes. */
static int swap(const struct hop *hop, void *out, size_t out_len, void *in,
	size_t in_len)
{
	struct weft_comm *comm = hop->comm;
	struct weft_msg send = { .comm = comm,
		.buf = out,
		.count = (int64_t)out_len,
		.type = weft_type_builtin(WEFT_TYPE_BYTE),
		.rank = hop->to };
	struct weft_msg recv = send;
	struct weft_req *req;
	int err;

	recv.buf = in;
	recv.count = (int64_t)in_len;
	recv.rank = hop->from;
	err = weft_isendrecv(&send, &recv, false, &req);
	if (err)
		return err;
	weft_vci_lock(comm->vci);
	weft_recv_wait_in(comm->vci, req, hop->call);
	err = req->status.err;
	if (err)
		weft_failure_explain(req);
	else if ((size_t)req->status.len != in_len)
		err = weft_err_set(WEFT_ERR_PROTO,
			"rank %d sent %lld bytes of edges, %zu were announced",
			(int)hop->from, (long long)req->status.len, in_len);
	weft_req_put(req);
	weft_vci_unlock(comm->vci);
	return err;
}

/* Moves the edges whose distance has the bit to out. Returns their number. */
static size_t route_take(const struct weft_comm *comm, struct weft_route *route,
	uint32_t bit, struct weft_routed_edge *out)
{
	size_t n = route->n, n_out = 0;

	route->n = 0;
	for (size_t i = 0; i < n; i++)
		if (distance(comm, route->edges[i].to) & bit)
			out[n_out++] = route->edges[i];
		else
			route->edges[route->n++] = route->edges[i];
	return n_out;
}

/* Makes space for n more edges. */
static int grow(struct weft_route *route, size_t n)
{
	struct weft_routed_edge *edges = NULL;

	if (n < (size_t)PTRDIFF_MAX / sizeof(*edges) - route->n)
		edges = realloc(
			route->edges, (route->n + n + 1) * sizeof(*edges));
	if (!edges)
		return WEFT_ERR_NOMEM;
	route->edges = edges;
	return 0;
}

static bool is_rank(const struct weft_comm *comm, int32_t rank)
{
	return rank >= 0 && rank < comm->size;
}

/* Checks the edges that another member has sent, from number `first` on. */
static int check_edges_from(
	const struct hop *hop, const struct weft_route *route, size_t first)
{
	for (size_t i = first; i < route->n; i++) {
		const struct weft_routed_edge *e = &route->edges[i];

		if (!is_rank(hop->comm, e->to) ||
			!is_rank(hop->comm, e->source) ||
			!is_rank(hop->comm, e->dest))
			return weft_err_set(WEFT_ERR_PROTO,
				"rank %d sent an edge from %d to %d for rank "
				"%d; the communicator has %d members",
				(int)hop->from, (int)e->source, (int)e->dest,
				(int)e->to, (int)hop->comm->size);
	}
	return 0;
}

/* Returns err, or the error of this round. */
static int route_round(
	const struct hop *hop, struct weft_route *route, uint32_t bit, int err)
{
	struct weft_routed_edge *out = NULL;
	int64_t n_out = FAILED, n_in = 0;
	int rc;

	if (!err) {
		out = malloc((route->n + 1) * sizeof(*out));
		if (out)
			n_out = (int64_t)route_take(hop->comm, route, bit, out);
		else
			err = WEFT_ERR_NOMEM;
	}
	rc = swap(hop, &n_out, sizeof(n_out), &n_in, sizeof(n_in));
	if (!rc && n_in < 0)
		rc = WEFT_ERR_NOMEM;
	if (!rc)
		rc = grow(route, (size_t)n_in);
	if (rc)
		n_in = 0; /* the edges that arrive are dropped */
	if (!err)
		err = rc;
	rc = swap(hop, out, n_out > 0 ? (size_t)n_out * sizeof(*out) : 0,
		route->edges + route->n, (size_t)n_in * sizeof(*out));
	free(out);
	if (!rc) {
		route->n += (size_t)n_in;
		rc = check_edges_from(hop, route, route->n - (size_t)n_in);
	}
	return err ? err : rc;
}

static int route_order(const void *a_void, const void *b_void)
{
	const struct weft_routed_edge *a = a_void, *b = b_void;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

int weft_route(
	struct weft_comm *comm, struct weft_route *route, const char *call)
{
	uint32_t size = (uint32_t)comm->size, rank = (uint32_t)comm->rank;
	int err = 0;

	for (uint32_t bit = 1; bit < size; bit <<= 1) {
		const struct hop hop = {
			.comm = comm,
			.call = call,
			.to = (int32_t)((rank + bit) % size),
			.from = (int32_t)((rank + size - bit) % size),
		};

		err = route_round(&hop, route, bit, err);
	}
	if (!err)
		qsort(route->edges, route->n, sizeof(*route->edges),
			route_order);
	return err;
}
