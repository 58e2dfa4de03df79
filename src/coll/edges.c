/* SPDX-License-Identifier: BSD-3-Clause */
/* edges: computes off-node lists (`rows`), and the edges of a bundle leader */
#include "coll/edges.h"

#include <stdlib.h>
#include <string.h>

/* ---- off-node lists ---- */

struct item {
	int32_t node, rank, order, place;
};

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int32_t find_items(struct item *items, const struct weft_nodes *nodes,
	int32_t me, const int *neighbors, int32_t n, bool is_swapped)
{
	int32_t k = 0;

	for (int32_t i = 0; i < n; i++)
		if (neighbors[i] >= 0 && weft_nodes_of(nodes, neighbors[i]) !=
						 weft_nodes_of(nodes, me))
			items[k++] = (struct item){ weft_nodes_of(nodes,
							    neighbors[i]),
				neighbors[i], is_swapped ? i ^ 1 : i, i };
	qsort(items, (size_t)k, sizeof(*items), compare_items);
	return k;
}

int32_t weft_coll_row_of(const struct weft_nodes *nodes, int32_t me,
	const int *neighbors, int32_t n, bool is_swapped, int32_t *places)
{
	struct item *items = malloc(((size_t)n + 1) * sizeof(*items));
	int32_t k;

	if (!items)
		return -1;
	k = find_items(items, nodes, me, neighbors, n, is_swapped);
	for (int32_t i = 0; i < k; i++)
		places[i] = items[i].place;
	free(items);
	return k;
}

int32_t weft_coll_edges_leader(const struct weft_nodes *nodes,
	const struct weft_coll_degrees *degrees, int32_t node)
{
	const int32_t end = nodes->first[node + 1];

	for (int32_t i = nodes->first[node]; i < end; i++) {
		int32_t rank = weft_nodes_member(nodes, i);

		if (degrees[rank].out || degrees[rank].in)
			return rank;
	}
	return -1;
}

/* ---- edges ---- */

static int compare_edges(const void *a, const void *b)
{
	const struct weft_coll_edge *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->dest != y->dest)
		return x->dest < y->dest ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Takes n numbers from the allocation of the edges. */
static int32_t *edges_take(int32_t **room, int64_t n)
{
	int32_t *taken = *room;

	*room += n;
	return taken;
}

/* At a bundle leader: creates the edges of one direction from the off-node
 * lists of this node's members. */
static void read_rows(struct weft_coll_row *row, const struct weft_nodes *nodes,
	int32_t node, const struct weft_coll_degrees *degrees,
	const int32_t *rows, bool is_out, int32_t **room)
{
	const int32_t begin = nodes->first[node];
	const int32_t n = weft_nodes_size(nodes, node);
	int32_t *first = edges_take(room, n + 1);
	struct weft_coll_edge *edges = (struct weft_coll_edge *)*room;
	int32_t at = 0;

	for (int32_t m = 0; m < n; m++) {
		const int32_t member = weft_nodes_member(nodes, begin + m);
		const struct weft_coll_degrees *d = &degrees[member];

		first[m] = at;
		if (!is_out)
			rows += d->out;
		for (int32_t i = 0; i < (is_out ? d->out : d->in); i++, at++)
			edges[at] = (struct weft_coll_edge){
				.node = weft_nodes_of(nodes, rows[i]),
				.source = is_out ? member : rows[i],
				.dest = is_out ? rows[i] : member,
				.member = m,
				.at = at,
			};
		rows += is_out ? d->out + d->in : d->in;
	}
	first[n] = at;
	qsort(edges, (size_t)at, sizeof(*edges), compare_edges);
	edges_take(room,
		(int64_t)at * (int64_t)(sizeof(*edges) / sizeof(int32_t)));
	row->first = first;
	row->edges = edges;
	row->n_edges = at;
}

struct weft_coll_edges *weft_coll_edges_create(const struct weft_nodes *nodes,
	int32_t me, const struct weft_coll_degrees *degrees,
	const int32_t *places_out, const int32_t *places_in,
	const int32_t *rows)
{
	const size_t per_edge = sizeof(struct weft_coll_edge) / sizeof(int32_t);
	const int32_t node = weft_nodes_of(nodes, me);
	const int32_t end = nodes->first[node + 1];
	const bool is_leader =
		weft_coll_edges_leader(nodes, degrees, node) == me;
	const struct weft_coll_degrees *mine = &degrees[me];
	size_t n = (size_t)nodes->n + (size_t)mine->out + (size_t)mine->in;
	struct weft_coll_edges *edges;
	int32_t *room, *leaders;

	for (int32_t i = nodes->first[node]; is_leader && i < end; i++) {
		const struct weft_coll_degrees *d =
			&degrees[weft_nodes_member(nodes, i)];

		n += 2 + per_edge * ((size_t)d->out + (size_t)d->in);
	}
	edges = calloc(1, sizeof(*edges) + (n + 2) * sizeof(int32_t));
	if (!edges)
		return NULL;
	room = (int32_t *)(edges + 1);
	edges->leaders = leaders = edges_take(&room, nodes->n);
	for (int32_t k = 0; k < nodes->n; k++)
		leaders[k] = weft_coll_edges_leader(nodes, degrees, k);
	edges->out.n = mine->out;
	edges->out.places = memcpy(edges_take(&room, mine->out), places_out,
		(size_t)mine->out * sizeof(int32_t));
	edges->in.n = mine->in;
	edges->in.places = memcpy(edges_take(&room, mine->in), places_in,
		(size_t)mine->in * sizeof(int32_t));
	if (is_leader) {
		read_rows(&edges->out, nodes, node, degrees, rows, true, &room);
		read_rows(&edges->in, nodes, node, degrees, rows, false, &room);
	}
	return edges;
}
