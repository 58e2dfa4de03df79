/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_topo: process topologies
 *
 * A topology is data attached to a new communicator; ranks are not reordered.
 */
#include "mpi_topo.h"
#include "mpi_check.h"

#include "coll/route.h"
#include "comm/create.h"
#include "comm/disconnect.h"

#include <stdlib.h>
#include <string.h>

/* ---- the data ---- */

static struct weft_topo_attached *mpi_topo_make(int kind, size_t n_ints)
{
	size_t len = sizeof(struct weft_topo_attached) + n_ints * sizeof(int);
	struct weft_topo_attached *topo = calloc(1, len);

	if (topo) {
		topo->len = len;
		topo->kind = kind;
	}
	return topo;
}

int weft_topo_dup(const struct weft_topo_attached *topo,
	struct weft_topo_attached **topo_out)
{
	struct weft_topo_attached *copy;

	if (!topo) {
		*topo_out = NULL;
		return 0;
	}
	copy = malloc(topo->len);
	if (!copy)
		return WEFT_ERR_NOMEM;
	memcpy(copy, topo, topo->len);
	*topo_out = copy;
	return 0;
}

static void mpi_topo_copy_ints(int *to, const int *from, int n)
{
	if (n > 0 && to && from)
		memcpy(to, from, (size_t)n * sizeof(*to));
}

/* Checks an output array of n numbers. */
static int check_out(int *to, int n, const char *name)
{
	return n > 0 ? weft_check_ptr(to, name) : 0;
}

static int check_kind(const struct weft_comm *comm, int kind)
{
	if (!comm->topo || comm->topo->kind != kind)
		return weft_err_set(WEFT_ERR_TOPOLOGY,
			"comm %s has no %s topology", weft_mpi_comm_print(comm),
			kind == MPI_CART    ? "Cartesian"
			: kind == MPI_GRAPH ? "graph"
					    : "distributed graph");
	return 0;
}

/* Creates a communicator of these ranks, in this order, and attaches the
 * topology. Every process computes the ranks from its arguments, so no process
 * sends its part. Takes ownership of both, also on failure; NULL: no memory.
 * The ranks of different processes are equal or have no common member. */
static int attach_take(struct weft_comm *comm, int *ranks, int n,
	struct weft_topo_attached *topo, struct weft_comm **made)
{
	struct weft_group *group = NULL;
	int err = topo && ranks ? weft_group_incl(comm->group, ranks,
					  (uint32_t)n, &group)
				: WEFT_ERR_NOMEM;

	free(ranks);
	if (!err)
		err = weft_create_subset(comm, group, made);
	weft_group_put(group);
	if (err || !*made)
		free(topo);
	else
		(*made)->topo = topo;
	return err;
}

/* Lists the first n ranks. NULL if there is no memory. */
static int *first_ranks(int n)
{
	int *ranks = calloc((size_t)n + 1, sizeof(*ranks));

	for (int i = 0; ranks && i < n; i++)
		ranks[i] = i;
	return ranks;
}

static int mpi_topo_test(const struct weft_comm *comm, int *status)
{
	*status = comm->topo ? comm->topo->kind : MPI_UNDEFINED;
	return 0;
}

/* ---- dimensions ---- */

/* The search for the best product of k factors, largest first, that equals n.
 * The factors of the best product differ least. Among products with equal
 * differences, the best one has the largest smallest factor, then the largest
 * next one, and so on. */
struct factors {
	int64_t *divisors; /* all divisors of n, ascending */
	int n_divisors, k;
	int *tried, *best;
	int64_t best_spread;
};

static int list_divisors(struct factors *f, int64_t n)
{
	int64_t root = 1;
	int count = 0;

	while ((root + 1) * (root + 1) <= n)
		root++;
	for (int64_t d = 1; d <= root; d++)
		count += n % d ? 0 : 1 + (d * d != n);
	f->divisors = calloc((size_t)count, sizeof(*f->divisors));
	if (!f->divisors)
		return WEFT_ERR_NOMEM;
	for (int64_t d = 1, i = 0; d <= root; d++) {
		if (n % d)
			continue;
		f->divisors[i] = d;
		f->divisors[count - 1 - i++] = n / d;
	}
	f->n_divisors = count;
	return 0;
}

/* True if the current product is better than the best with the same spread. */
static bool is_better_product(const struct factors *f)
{
	int i = f->k - 1;

	while (i > 0 && f->tried[i] == f->best[i])
		i--;
	return f->tried[i] > f->best[i];
}

static void store_best(struct factors *f)
{
	int64_t spread = f->tried[0] - f->tried[f->k - 1];

	if (spread > f->best_spread ||
		(spread == f->best_spread && !is_better_product(f)))
		return;
	f->best_spread = spread;
	memcpy(f->best, f->tried, (size_t)f->k * sizeof(*f->best));
}

/* Tries all values of factor `at`, none above the factor before, with all
 * values of the following factors. The product of these factors must be n. */
static void factor(struct factors *f, int at, int64_t n)
{
	int64_t limit = at ? f->tried[at - 1] : n;

	for (int i = 0; i < f->n_divisors; i++) {
		int64_t d = f->divisors[i], power = 1;

		if (d > limit || d > n)
			break;
		if (n % d || (at && f->tried[0] - d > f->best_spread))
			continue;
		for (int k = at; k < f->k && power < n; k++)
			power *= d;
		if (power < n) /* the remaining factors could not reach n */
			continue;
		f->tried[at] = (int)d;
		if (at < f->k - 1)
			factor(f, at + 1, n / d);
		else if (d == n)
			store_best(f);
	}
}

/* Writes n as a product of k factors. */
static int find_factors(int64_t n, int k, int *out)
{
	struct factors f = { .k = k, .best = out, .best_spread = INT64_MAX };
	int err = list_divisors(&f, n);

	f.tried = calloc((size_t)k, sizeof(*f.tried));
	if (!f.tried)
		err = WEFT_ERR_NOMEM;
	if (!err)
		factor(&f, 0, n);
	free(f.divisors);
	free(f.tried);
	return err;
}

static int fill_dims(int nnodes, int ndims, int *dims)
{
	int64_t rest = nnodes;
	int n_free = 0, *found, err;

	for (int i = 0; i < ndims; i++) {
		if (dims[i] < 0)
			return weft_err_set(
				WEFT_ERR_DIMS, "dims[%d] is %d", i, dims[i]);
		if (!dims[i])
			n_free++;
		else if (rest % dims[i])
			return weft_err_set(WEFT_ERR_DIMS,
				"%d nodes cannot be divided by dims[%d] = %d",
				nnodes, i, dims[i]);
		else
			rest /= dims[i];
	}
	if (!n_free)
		return rest == 1 ? 0
				 : weft_err_set(WEFT_ERR_DIMS,
					   "the product of dims is not %d",
					   nnodes);
	found = calloc((size_t)n_free, sizeof(*found));
	err = found ? find_factors(rest, n_free, found) : WEFT_ERR_NOMEM;
	for (int i = 0, k = 0; !err && i < ndims; i++)
		if (!dims[i])
			dims[i] = found[k++];
	free(found);
	return err;
}

static int mpi_dims_create(int nnodes, int ndims, int dims[])
{
	int err =
		weft_check_range(WEFT_ERR_ARG, "nnodes", nnodes, 1, INT32_MAX);

	return err || !ndims ? err : fill_dims(nnodes, ndims, dims);
}

/* ---- Cartesian ---- */

static const int *cart_dims(const struct weft_topo_attached *t)
{
	return t->data;
}

static const int *cart_periods(const struct weft_topo_attached *t)
{
	return t->data + t->n_dims;
}

static int *cart_coords(struct weft_topo_attached *t)
{
	return t->data + 2 * t->n_dims;
}

/* Row-major: the last coordinate varies fastest. */
static void coords_of(const struct weft_topo_attached *t, int rank, int *coords)
{
	for (int i = t->n_dims - 1; i >= 0; i--) {
		coords[i] = rank % cart_dims(t)[i];
		rank /= cart_dims(t)[i];
	}
}

static int check_cart(
	const struct weft_comm *comm, int ndims, const int *dims, int *n_out)
{
	int64_t n = 1;
	int err = weft_check_is_intra(comm);

	for (int i = 0; !err && i < ndims; i++) {
		if (dims[i] <= 0)
			return weft_err_set(WEFT_ERR_DIMS,
				"dims[%d] is %d, must be positive", i, dims[i]);
		n *= dims[i];
		if (n > comm->size)
			return weft_err_set(WEFT_ERR_TOPOLOGY,
				"the dimensions need more than the %d "
				"processes of the communicator",
				comm->size);
	}
	*n_out = (int)n;
	return err;
}

static struct weft_topo_attached *make_cart(
	int ndims, const int *dims, const int *periods, int rank)
{
	struct weft_topo_attached *topo =
		mpi_topo_make(MPI_CART, 3 * (size_t)ndims);

	if (!topo)
		return NULL;
	topo->n_dims = ndims;
	for (int i = 0; i < ndims; i++) {
		topo->data[i] = dims[i];
		topo->data[ndims + i] = periods[i] != 0;
	}
	coords_of(topo, rank, cart_coords(topo));
	return topo;
}

static int mpi_cart_create(struct weft_comm *comm, int ndims, const int dims[],
	const int periods[], int reorder, struct weft_comm **made)
{
	int n, err = check_cart(comm, ndims, dims, &n);

	(void)reorder;
	if (!err)
		err = attach_take(comm, first_ranks(n), n,
			make_cart(ndims, dims, periods, comm->rank), made);
	return err;
}

static int mpi_cart_map(const struct weft_comm *comm, int ndims,
	const int dims[], const int periods[], int *newrank)
{
	int n, err = check_cart(comm, ndims, dims, &n);

	(void)periods;
	if (!err)
		*newrank = comm->rank < n ? comm->rank : MPI_UNDEFINED;
	return err;
}

static int mpi_cartdim_get(const struct weft_comm *comm, int *ndims)
{
	int err = check_kind(comm, MPI_CART);

	if (!err)
		*ndims = comm->topo->n_dims;
	return err;
}

/* Checks that the output arrays have space for the grid. */
static int check_dims(const struct weft_comm *comm, int maxdims)
{
	int err = check_kind(comm, MPI_CART);

	return err ? err
		   : weft_check_range(WEFT_ERR_ARG, "maxdims", maxdims,
			     comm->topo->n_dims, INT32_MAX);
}

static int mpi_cart_get(const struct weft_comm *comm, int maxdims, int dims[],
	int periods[], int coords[])
{
	int err = check_dims(comm, maxdims);
	int n = err ? 0 : comm->topo->n_dims;

	if (!err)
		err = check_out(dims, n, "dims");
	if (!err)
		err = check_out(periods, n, "periods");
	if (!err)
		err = check_out(coords, n, "coords");
	if (err)
		return err;
	mpi_topo_copy_ints(dims, cart_dims(comm->topo), n);
	mpi_topo_copy_ints(periods, cart_periods(comm->topo), n);
	mpi_topo_copy_ints(coords, cart_coords(comm->topo), n);
	return 0;
}

static int mpi_cart_rank(
	const struct weft_comm *comm, const int coords[], int *rank)
{
	int r = 0, err = check_kind(comm, MPI_CART);

	if (!err && comm->topo->n_dims)
		err = weft_check_ptr(coords, "coords");
	for (int i = 0; !err && i < comm->topo->n_dims; i++) {
		int dim = cart_dims(comm->topo)[i], c = coords[i];

		if (cart_periods(comm->topo)[i])
			c = (c % dim + dim) % dim;
		else
			err = weft_check_range(
				WEFT_ERR_ARG, "coords[]", c, 0, dim - 1);
		r = r * dim + c;
	}
	if (!err)
		*rank = r;
	return err;
}

static int mpi_cart_coords(
	const struct weft_comm *comm, int rank, int maxdims, int coords[])
{
	int err = check_dims(comm, maxdims);

	if (!err)
		err = check_out(coords, comm->topo->n_dims, "coords");
	if (!err)
		coords_of(comm->topo, rank, coords);
	return err;
}

/* Returns the rank at a displacement along one direction, or MPI_PROC_NULL. */
static int shifted(struct weft_topo_attached *t, int direction, int64_t disp)
{
	int dim = cart_dims(t)[direction];
	int64_t at = cart_coords(t)[direction] + disp;
	int rank = 0;

	if (cart_periods(t)[direction])
		at = (at % dim + dim) % dim;
	else if (at < 0 || at >= dim)
		return MPI_PROC_NULL;
	for (int i = 0; i < t->n_dims; i++)
		rank = rank * cart_dims(t)[i] +
		       (i == direction ? (int)at : cart_coords(t)[i]);
	return rank;
}

static int mpi_cart_shift(const struct weft_comm *comm, int direction, int disp,
	int *rank_source, int *rank_dest)
{
	int err = check_kind(comm, MPI_CART);

	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "direction", direction, 0,
			comm->topo->n_dims - 1);
	if (err)
		return err;
	*rank_source = shifted(comm->topo, direction, -(int64_t)disp);
	*rank_dest = shifted(comm->topo, direction, disp);
	return 0;
}

/* Lists the n ranks of the subgrid of this process, which has the dimensions
 * that remain. NULL if there is no memory. */
static int *sub_ranks(struct weft_topo_attached *t, const int *remain, int n)
{
	int *ranks = calloc((size_t)n, sizeof(*ranks));

	for (int k = 0; ranks && k < n; k++) {
		int rest = k, step = 1;

		for (int i = t->n_dims - 1; i >= 0; i--) {
			int dim = cart_dims(t)[i], c = cart_coords(t)[i];

			if (remain[i]) {
				c = rest % dim;
				rest /= dim;
			}
			ranks[k] += c * step;
			step *= dim;
		}
	}
	return ranks;
}

static int sub_cart(
	struct weft_comm *comm, const int *remain, struct weft_comm **newcomm)
{
	struct weft_topo_attached *old = comm->topo, *topo;
	size_t n = (size_t)old->n_dims;
	int *dims = calloc(2 * n + 1, sizeof(*dims));
	int *periods = dims + n;
	int rank = 0, size = 1, n_kept = 0, err;

	if (!dims)
		return WEFT_ERR_NOMEM;
	for (int i = 0; i < old->n_dims; i++) {
		int dim = cart_dims(old)[i], c = cart_coords(old)[i];

		if (!remain[i])
			continue;
		rank = rank * dim + c;
		size *= dim;
		dims[n_kept] = dim;
		periods[n_kept++] = cart_periods(old)[i];
	}
	topo = make_cart(n_kept, dims, periods, rank);
	err = attach_take(
		comm, sub_ranks(old, remain, size), size, topo, newcomm);
	free(dims);
	return err;
}

static int mpi_cart_sub(struct weft_comm *comm, const int remain_dims[],
	struct weft_comm **made)
{
	int err = check_kind(comm, MPI_CART);

	if (!err && comm->topo->n_dims)
		err = weft_check_ptr(remain_dims, "remain_dims");
	return err ? err : sub_cart(comm, remain_dims, made);
}

/* ---- graph ---- */

static int check_graph(const struct weft_comm *comm, int nnodes,
	const int *index, const int *edges)
{
	int last = 0, err = weft_check_is_intra(comm);

	if (!err)
		err = weft_check_range(
			WEFT_ERR_ARG, "nnodes", nnodes, 0, comm->size);
	for (int i = 0; !err && i < nnodes; i++) {
		err = weft_check_range(
			WEFT_ERR_ARG, "index[]", index[i], last, INT32_MAX);
		last = index[i];
	}
	if (!err && last)
		err = weft_check_ptr(edges, "edges");
	for (int i = 0; !err && i < last; i++)
		err = weft_check_range(
			WEFT_ERR_ARG, "edges[]", edges[i], 0, nnodes - 1);
	return err;
}

static int mpi_graph_create(struct weft_comm *comm, int nnodes,
	const int indx[], const int edges[], int reorder,
	struct weft_comm **made)
{
	struct weft_topo_attached *topo;
	int n_edges, err = check_graph(comm, nnodes, indx, edges);

	(void)reorder;
	if (err)
		return err;
	n_edges = nnodes ? indx[nnodes - 1] : 0;
	topo = mpi_topo_make(MPI_GRAPH, (size_t)nnodes + (size_t)n_edges);
	if (topo) {
		topo->n_nodes = nnodes;
		topo->n_edges = n_edges;
		mpi_topo_copy_ints(topo->data, indx, nnodes);
		mpi_topo_copy_ints(topo->data + nnodes, edges, n_edges);
	}
	return attach_take(comm, first_ranks(nnodes), nnodes, topo, made);
}

static int mpi_graph_map(const struct weft_comm *comm, int nnodes,
	const int indx[], const int edges[], int *newrank)
{
	int err =
		weft_check_range(WEFT_ERR_ARG, "nnodes", nnodes, 1, comm->size);

	if (!err)
		err = check_graph(comm, nnodes, indx, edges);
	if (!err)
		*newrank = comm->rank < nnodes ? comm->rank : MPI_UNDEFINED;
	return err;
}

static int mpi_graphdims_get(
	const struct weft_comm *comm, int *nnodes, int *nedges)
{
	int err = check_kind(comm, MPI_GRAPH);

	if (!err) {
		*nnodes = comm->topo->n_nodes;
		*nedges = comm->topo->n_edges;
	}
	return err;
}

static int mpi_graph_get(const struct weft_comm *comm, int maxindex,
	int maxedges, int indx[], int edges[])
{
	const struct weft_topo_attached *t = comm->topo;
	int err = check_kind(comm, MPI_GRAPH);

	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "maxindex", maxindex,
			t->n_nodes, INT32_MAX);
	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "maxedges", maxedges,
			t->n_edges, INT32_MAX);
	if (!err)
		err = check_out(indx, t->n_nodes, "index");
	if (!err)
		err = check_out(edges, t->n_edges, "edges");
	if (err)
		return err;
	mpi_topo_copy_ints(indx, t->data, t->n_nodes);
	mpi_topo_copy_ints(edges, t->data + t->n_nodes, t->n_edges);
	return 0;
}

/* Returns the neighbours of a node. */
static const int *graph_neighbors(
	const struct weft_topo_attached *t, int node, int *n_out)
{
	int first = node ? t->data[node - 1] : 0;

	*n_out = t->data[node] - first;
	return t->data + t->n_nodes + first;
}

static int mpi_graph_neighbors_count(
	const struct weft_comm *comm, int rank, int *nneighbors)
{
	int err = check_kind(comm, MPI_GRAPH);

	if (!err)
		graph_neighbors(comm->topo, rank, nneighbors);
	return err;
}

static int mpi_graph_neighbors(const struct weft_comm *comm, int rank,
	int maxneighbors, int neighbors[])
{
	const int *list;
	int n, err = check_kind(comm, MPI_GRAPH);

	if (err)
		return err;
	list = graph_neighbors(comm->topo, rank, &n);
	if (n > maxneighbors)
		n = maxneighbors;
	err = check_out(neighbors, n, "neighbors");
	if (!err)
		mpi_topo_copy_ints(neighbors, list, n);
	return err;
}

/* ---- distributed graph ---- */

/* These four functions return the start of a list in t->data: sources, their
 * weights, destinations, their weights. */
static int *dist_sources(struct weft_topo_attached *t)
{
	return t->data;
}

static int *dist_source_weights(struct weft_topo_attached *t)
{
	return t->data + t->n_in;
}

static int *dist_dests(struct weft_topo_attached *t)
{
	return t->data + 2 * t->n_in;
}

static int *dist_dest_weights(struct weft_topo_attached *t)
{
	return t->data + 2 * t->n_in + t->n_out;
}

static struct weft_topo_attached *make_dist(int n_in, int n_out, bool weighted)
{
	struct weft_topo_attached *topo = mpi_topo_make(
		MPI_DIST_GRAPH, 2 * ((size_t)n_in + (size_t)n_out));

	if (topo) {
		topo->n_in = n_in;
		topo->n_out = n_out;
		topo->is_weighted = weighted;
	}
	return topo;
}

static int check_list(const struct weft_comm *comm, const char *name, int n,
	const int *ranks, const int *weights)
{
	int err = weft_check_range(WEFT_ERR_ARG, name, n, 0, INT32_MAX);

	if (!err && n)
		err = weft_check_ptr(ranks, name);
	if (!err && n && weights != MPI_UNWEIGHTED)
		err = weft_check_ptr(
			weights == MPI_WEIGHTS_EMPTY ? NULL : weights,
			"weights");
	for (int i = 0; !err && i < n; i++) {
		err = weft_check_range(
			WEFT_ERR_ARG, name, ranks[i], 0, comm->size - 1);
		if (!err && weights != MPI_UNWEIGHTED)
			err = weft_check_range(WEFT_ERR_ARG, "weights",
				weights[i], 0, INT32_MAX);
	}
	return err;
}

static int mpi_dist_graph_create_adjacent(struct weft_comm *comm, int indegree,
	const int sources[], const int sourceweights[], int outdegree,
	const int destinations[], const int destweights[],
	const struct weft_info *info, int reorder, struct weft_comm **made)
{
	bool weighted = sourceweights != MPI_UNWEIGHTED ||
			destweights != MPI_UNWEIGHTED;
	struct weft_topo_attached *topo;
	int err = weft_check_is_intra(comm);

	(void)reorder;
	(void)info;
	if (!err)
		err = check_list(
			comm, "sources", indegree, sources, sourceweights);
	if (!err)
		err = check_list(comm, "destinations", outdegree, destinations,
			destweights);
	if (err)
		return err;
	topo = make_dist(indegree, outdegree, weighted);
	if (topo) {
		mpi_topo_copy_ints(dist_sources(topo), sources, indegree);
		mpi_topo_copy_ints(dist_dests(topo), destinations, outdegree);
		if (sourceweights != MPI_UNWEIGHTED)
			mpi_topo_copy_ints(dist_source_weights(topo),
				sourceweights, indegree);
		if (destweights != MPI_UNWEIGHTED)
			mpi_topo_copy_ints(dist_dest_weights(topo), destweights,
				outdegree);
	}
	return attach_take(
		comm, first_ranks(comm->size), comm->size, topo, made);
}

/* Lists the edges that this process passed, once for the process of the source
 * and once for that of the destination. */
static int list_edges(int rank, int n, const int *sources, const int *degrees,
	const int *dests, const int *weights, struct weft_route *route)
{
	size_t n_edges = 0, k = 0;

	for (int i = 0; i < n; i++)
		n_edges += (size_t)degrees[i];
	route->edges = calloc(2 * n_edges + 1, sizeof(*route->edges));
	if (!route->edges)
		return WEFT_ERR_NOMEM;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < degrees[i]; j++, k++) {
			struct weft_routed_edge *e = route->edges + route->n;

			e[0] = (struct weft_routed_edge){
				.to = sources[i],
				.from = rank,
				.number = (int32_t)k,
				.source = sources[i],
				.dest = dests[k],
				.weight = weights == MPI_UNWEIGHTED
						  ? 1
						  : weights[k],
			};
			e[1] = e[0];
			e[1].to = dests[k];
			e[1].is_in = 1;
			route->n += 2;
		}
	return 0;
}

/* Makes the topology from the edges of this process. */
static struct weft_topo_attached *my_part(
	const struct weft_route *route, bool weighted)
{
	struct weft_topo_attached *topo;
	int n_in = 0, n_out = 0;

	for (size_t i = 0; i < route->n; i++)
		*(route->edges[i].is_in ? &n_in : &n_out) += 1;
	topo = make_dist(n_in, n_out, weighted);
	if (!topo)
		return NULL;
	n_in = n_out = 0;
	for (size_t i = 0; i < route->n; i++) {
		const struct weft_routed_edge *e = &route->edges[i];

		if (e->is_in) {
			dist_sources(topo)[n_in] = e->source;
			dist_source_weights(topo)[n_in++] = e->weight;
		} else {
			dist_dests(topo)[n_out] = e->dest;
			dist_dest_weights(topo)[n_out++] = e->weight;
		}
	}
	return topo;
}

static int check_edges(const struct weft_comm *comm, int n, const int *sources,
	const int *degrees, const int *dests, const int *weights)
{
	int64_t n_edges = 0;
	int err = check_list(comm, "sources", n, sources, MPI_UNWEIGHTED);

	for (int i = 0; !err && i < n; i++) {
		err = weft_check_range(
			WEFT_ERR_ARG, "degrees[]", degrees[i], 0, INT32_MAX);
		n_edges += degrees[i];
	}
	if (!err)
		err = weft_check_range(
			WEFT_ERR_ARG, "edges", n_edges, 0, INT32_MAX);
	return err ? err
		   : check_list(comm, "destinations", (int)n_edges, dests,
			     weights);
}

static int mpi_dist_graph_create(struct weft_comm *comm, int n,
	const int sources[], const int degrees[], const int destinations[],
	const int weights[], const struct weft_info *info, int reorder,
	struct weft_comm **made)
{
	struct weft_topo_attached *topo = NULL;
	struct weft_route route = { 0 };
	int err = weft_check_is_intra(comm);

	(void)reorder;
	(void)info;
	if (!err)
		err = check_edges(
			comm, n, sources, degrees, destinations, weights);
	if (!err)
		err = list_edges(comm->rank, n, sources, degrees, destinations,
			weights, &route);
	if (!err)
		err = attach_take(comm, first_ranks(comm->size), comm->size,
			make_dist(0, 0, false), made);
	if (err) {
		free(route.edges);
		return err;
	}
	err = weft_route(*made, &route, "MPI_Dist_graph_create");
	if (!err)
		topo = my_part(&route, weights != MPI_UNWEIGHTED);
	if (!err && !topo)
		err = WEFT_ERR_NOMEM;
	free(route.edges);
	if (err) {
		weft_disconnect_free(*made);
		return err;
	}
	free((*made)->topo);
	(*made)->topo = topo;
	return 0;
}

static int mpi_dist_graph_neighbors_count(const struct weft_comm *comm,
	int *indegree, int *outdegree, int *weighted)
{
	int err = check_kind(comm, MPI_DIST_GRAPH);

	if (!err) {
		*indegree = comm->topo->n_in;
		*outdegree = comm->topo->n_out;
		*weighted = comm->topo->is_weighted;
	}
	return err;
}

/* Copies one of the lists, with its weights if there are any. */
static void mpi_topo_copy_list(const struct weft_topo_attached *t, int max,
	int n, const int *from, const int *from_weights, int *to,
	int *to_weights)
{
	if (n > max)
		n = max;
	mpi_topo_copy_ints(to, from, n);
	if (t->is_weighted && to_weights != MPI_UNWEIGHTED &&
		to_weights != MPI_WEIGHTS_EMPTY)
		mpi_topo_copy_ints(to_weights, from_weights, n);
}

static int mpi_dist_graph_neighbors(const struct weft_comm *comm,
	int maxindegree, int sources[], int sourceweights[], int maxoutdegree,
	int destinations[], int destweights[])
{
	struct weft_topo_attached *t = comm->topo;
	int err = check_kind(comm, MPI_DIST_GRAPH);

	if (!err && maxindegree)
		err = check_out(sources, t->n_in, "sources");
	if (!err && maxoutdegree)
		err = check_out(destinations, t->n_out, "destinations");
	if (err)
		return err;
	mpi_topo_copy_list(t, maxindegree, t->n_in, dist_sources(t),
		dist_source_weights(t), sources, sourceweights);
	mpi_topo_copy_list(t, maxoutdegree, t->n_out, dist_dests(t),
		dist_dest_weights(t), destinations, destweights);
	return 0;
}

/* ---- neighbours, for mpi_collarg.c ---- */

void weft_topo_degrees(
	const struct weft_comm *comm, int *n_sources_out, int *n_dests_out)
{
	const struct weft_topo_attached *t = comm->topo;
	int n = 2 * t->n_dims;

	if (t->kind == MPI_GRAPH)
		graph_neighbors(t, comm->rank, &n);
	*n_sources_out = t->kind == MPI_DIST_GRAPH ? t->n_in : n;
	*n_dests_out = t->kind == MPI_DIST_GRAPH ? t->n_out : n;
}

void weft_topo_neighbors(const struct weft_comm *comm, int *sources, int *dests)
{
	struct weft_topo_attached *t = comm->topo;
	int n;

	if (t->kind == MPI_DIST_GRAPH) {
		mpi_topo_copy_ints(sources, dist_sources(t), t->n_in);
		mpi_topo_copy_ints(dests, dist_dests(t), t->n_out);
		return;
	}
	if (t->kind == MPI_GRAPH) {
		const int *list = graph_neighbors(t, comm->rank, &n);

		mpi_topo_copy_ints(sources, list, n);
		mpi_topo_copy_ints(dests, list, n);
		return;
	}
	for (int i = 0; i < 2 * t->n_dims; i++)
		sources[i] = dests[i] = shifted(t, i / 2, i % 2 ? 1 : -1);
}

#include "api_topo.h"
