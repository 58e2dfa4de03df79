/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_topo: process topologies
 *
 * A topology is data attached to a communicator made for it; ranks are not
 * reordered. */
#include "mpi_topo.h"
#include "mpi_check.h"

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

/* Where so many numbers go. */
static int check_out(int *to, int n, const char *name)
{
	return n > 0 ? weft_check_ptr(to, name) : 0;
}

static int check_kind(MPI_Comm comm, int kind, struct weft_comm **comm_out)
{
	int err = weft_check_comm(comm, comm_out);

	if (!err && (!(*comm_out)->topo || (*comm_out)->topo->kind != kind))
		err = weft_err_set(WEFT_ERR_TOPOLOGY,
			"comm %s has no %s topology",
			weft_mpi_comm_print(*comm_out),
			kind == MPI_CART    ? "Cartesian"
			: kind == MPI_GRAPH ? "graph"
					    : "distributed graph");
	return err;
}

/* A communicator of the first n ranks with this topology, which is taken over,
 * also after failure. */
static int attach_take(struct weft_comm *comm, int64_t color, int key,
	struct weft_topo_attached *topo, MPI_Comm *newcomm)
{
	struct weft_comm *made = NULL;
	int err = topo ? weft_create_split(comm, color, key, &made)
		       : WEFT_ERR_NOMEM;

	if (err || !made)
		free(topo);
	else
		made->topo = topo;
	if (!err)
		*newcomm = made ? weft_mpi_comm_handle(made) : MPI_COMM_NULL;
	return err;
}

int PMPI_Topo_test(MPI_Comm comm, int *status)
{
	struct weft_comm *of = NULL;
	int err = weft_check_comm(comm, &of);

	if (!err)
		err = weft_check_ptr(status, "status");
	if (!err)
		*status = of->topo ? of->topo->kind : MPI_UNDEFINED;
	return weft_mpi_end(of, "MPI_Topo_test", err);
}

/* ---- dimensions ---- */

/* The products of k factors, largest first, that make up n are tried; the one
 * whose factors differ least is kept, among equals the one whose smallest is
 * largest, then the next to it, and so on. */
struct factors {
	int64_t *divisors; /* of all of it, ascending */
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

/* Is what is tried better than the best of the same spread? */
static bool is_evener(const struct factors *f)
{
	int i = f->k - 1;

	while (i > 0 && f->tried[i] == f->best[i])
		i--;
	return f->tried[i] > f->best[i];
}

static void keep_best(struct factors *f)
{
	int64_t spread = f->tried[0] - f->tried[f->k - 1];

	if (spread > f->best_spread ||
		(spread == f->best_spread && !is_evener(f)))
		return;
	f->best_spread = spread;
	memcpy(f->best, f->tried, (size_t)f->k * sizeof(*f->best));
}

/* Factor at and those behind it, none above the one before, of n. */
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
		if (power < n) /* the others could not reach n either */
			continue;
		f->tried[at] = (int)d;
		if (at < f->k - 1)
			factor(f, at + 1, n / d);
		else if (d == n)
			keep_best(f);
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

int PMPI_Dims_create(int nnodes, int ndims, int dims[])
{
	int err;

	err = weft_check_range(WEFT_ERR_ARG, "nnodes", nnodes, 1, INT32_MAX);
	if (!err)
		err = weft_check_range(
			WEFT_ERR_DIMS, "ndims", ndims, 0, INT32_MAX);
	if (!err && ndims)
		err = weft_check_ptr(dims, "dims");
	if (!err && ndims)
		err = fill_dims(nnodes, ndims, dims);
	return err ? weft_mpi_raise_none("MPI_Dims_create", err) : MPI_SUCCESS;
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

/* Row-major: the last coordinate runs fastest. */
static void coords_of(const struct weft_topo_attached *t, int rank, int *coords)
{
	for (int i = t->n_dims - 1; i >= 0; i--) {
		coords[i] = rank % cart_dims(t)[i];
		rank /= cart_dims(t)[i];
	}
}

static int check_cart(const struct weft_comm *comm, int ndims, const int *dims,
	const int *periods, int *n_out)
{
	int64_t n = 1;
	int err;

	err = weft_check_range(WEFT_ERR_DIMS, "ndims", ndims, 0, INT32_MAX);
	if (!err && ndims)
		err = weft_check_ptr(dims, "dims");
	if (!err && ndims)
		err = weft_check_ptr(periods, "periods");
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

int PMPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[],
	const int periods[], int reorder, MPI_Comm *comm_cart)
{
	struct weft_comm *of = NULL;
	int n, err;

	weft_mpi_null(comm_cart, MPI_COMM_NULL);
	(void)reorder;
	err = weft_check_intra(comm_old, &of);
	if (!err)
		err = weft_check_ptr(comm_cart, "comm_cart");
	if (!err)
		err = check_cart(of, ndims, dims, periods, &n);
	if (!err)
		err = attach_take(of, of->rank < n ? 0 : -1, of->rank,
			make_cart(ndims, dims, periods, of->rank), comm_cart);
	return weft_mpi_end(of, "MPI_Cart_create", err);
}

int PMPI_Cart_map(MPI_Comm comm, int ndims, const int dims[],
	const int periods[], int *newrank)
{
	struct weft_comm *of = NULL;
	int n, err;

	err = weft_check_intra(comm, &of);
	if (!err)
		err = weft_check_range(
			WEFT_ERR_DIMS, "ndims", ndims, 0, INT32_MAX);
	if (!err)
		err = weft_check_ptr(newrank, "newrank");
	if (!err)
		err = check_cart(of, ndims, dims, periods, &n);
	if (!err)
		*newrank = of->rank < n ? of->rank : MPI_UNDEFINED;
	return weft_mpi_end(of, "MPI_Cart_map", err);
}

int PMPI_Cartdim_get(MPI_Comm comm, int *ndims)
{
	struct weft_comm *of = NULL;
	int err = check_kind(comm, MPI_CART, &of);

	if (!err)
		err = weft_check_ptr(ndims, "ndims");
	if (!err)
		*ndims = of->topo->n_dims;
	return weft_mpi_end(of, "MPI_Cartdim_get", err);
}

int PMPI_Cart_get(
	MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
	struct weft_comm *of = NULL;
	int n, err = check_kind(comm, MPI_CART, &of);

	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "maxdims", maxdims,
			of->topo->n_dims, INT32_MAX);
	n = err ? 0 : of->topo->n_dims;
	if (!err)
		err = check_out(dims, n, "dims");
	if (!err)
		err = check_out(periods, n, "periods");
	if (!err)
		err = check_out(coords, n, "coords");
	if (err)
		return weft_mpi_raise(of, "MPI_Cart_get", err);
	mpi_topo_copy_ints(dims, cart_dims(of->topo), n);
	mpi_topo_copy_ints(periods, cart_periods(of->topo), n);
	mpi_topo_copy_ints(coords, cart_coords(of->topo), n);
	return MPI_SUCCESS;
}

int PMPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
	struct weft_comm *of = NULL;
	int r = 0, err = check_kind(comm, MPI_CART, &of);

	if (!err && of->topo->n_dims)
		err = weft_check_ptr(coords, "coords");
	if (!err)
		err = weft_check_ptr(rank, "rank");
	for (int i = 0; !err && i < of->topo->n_dims; i++) {
		int dim = cart_dims(of->topo)[i], c = coords[i];

		if (cart_periods(of->topo)[i])
			c = (c % dim + dim) % dim;
		else
			err = weft_check_range(
				WEFT_ERR_ARG, "coords[]", c, 0, dim - 1);
		r = r * dim + c;
	}
	if (!err)
		*rank = r;
	return weft_mpi_end(of, "MPI_Cart_rank", err);
}

int PMPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
	struct weft_comm *of = NULL;
	int err = check_kind(comm, MPI_CART, &of);

	if (!err)
		err = weft_check_range(
			WEFT_ERR_RANK, "rank", rank, 0, of->size - 1);
	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "maxdims", maxdims,
			of->topo->n_dims, INT32_MAX);
	if (!err)
		err = check_out(coords, of->topo->n_dims, "coords");
	if (!err)
		coords_of(of->topo, rank, coords);
	return weft_mpi_end(of, "MPI_Cart_coords", err);
}

/* The rank at a distance along one direction, or MPI_PROC_NULL. */
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

int PMPI_Cart_shift(MPI_Comm comm, int direction, int disp, int *rank_source,
	int *rank_dest)
{
	struct weft_comm *of = NULL;
	int err = check_kind(comm, MPI_CART, &of);

	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "direction", direction, 0,
			of->topo->n_dims - 1);
	if (!err)
		err = weft_check_ptr(rank_source, "rank_source");
	if (!err)
		err = weft_check_ptr(rank_dest, "rank_dest");
	if (err)
		return weft_mpi_raise(of, "MPI_Cart_shift", err);
	*rank_source = shifted(of->topo, direction, -(int64_t)disp);
	*rank_dest = shifted(of->topo, direction, disp);
	return MPI_SUCCESS;
}

static int sub_cart(
	struct weft_comm *comm, const int *remain, MPI_Comm *newcomm)
{
	struct weft_topo_attached *old = comm->topo, *topo;
	size_t n = (size_t)old->n_dims;
	int *dims = calloc(2 * n + 1, sizeof(*dims));
	int *periods = dims + n;
	int color = 0, key = 0, n_kept = 0, err;

	if (!dims)
		return WEFT_ERR_NOMEM;
	for (int i = 0; i < old->n_dims; i++) {
		int dim = cart_dims(old)[i], c = cart_coords(old)[i];

		if (!remain[i]) {
			color = color * dim + c;
			continue;
		}
		key = key * dim + c;
		dims[n_kept] = dim;
		periods[n_kept++] = cart_periods(old)[i];
	}
	topo = make_cart(n_kept, dims, periods, key);
	err = attach_take(comm, color, key, topo, newcomm);
	free(dims);
	return err;
}

int PMPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL;
	int err = check_kind(comm, MPI_CART, &of);

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	if (!err && of->topo->n_dims)
		err = weft_check_ptr(remain_dims, "remain_dims");
	if (!err)
		err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = sub_cart(of, remain_dims, newcomm);
	return weft_mpi_end(of, "MPI_Cart_sub", err);
}

/* ---- graph ---- */

static int check_graph(const struct weft_comm *comm, int nnodes,
	const int *index, const int *edges)
{
	int last = 0, err;

	err = weft_check_range(WEFT_ERR_ARG, "nnodes", nnodes, 0, comm->size);
	if (!err && nnodes)
		err = weft_check_ptr(index, "index");
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

int PMPI_Graph_create(MPI_Comm comm_old, int nnodes, const int indx[],
	const int edges[], int reorder, MPI_Comm *comm_graph)
{
	struct weft_topo_attached *topo;
	struct weft_comm *of = NULL;
	int n_edges, err;

	weft_mpi_null(comm_graph, MPI_COMM_NULL);
	(void)reorder;
	err = weft_check_intra(comm_old, &of);
	if (!err)
		err = weft_check_ptr(comm_graph, "comm_graph");
	if (!err)
		err = check_graph(of, nnodes, indx, edges);
	if (err)
		return weft_mpi_raise(of, "MPI_Graph_create", err);
	n_edges = nnodes ? indx[nnodes - 1] : 0;
	topo = mpi_topo_make(MPI_GRAPH, (size_t)nnodes + (size_t)n_edges);
	if (topo) {
		topo->n_nodes = nnodes;
		topo->n_edges = n_edges;
		mpi_topo_copy_ints(topo->data, indx, nnodes);
		mpi_topo_copy_ints(topo->data + nnodes, edges, n_edges);
	}
	err = attach_take(
		of, of->rank < nnodes ? 0 : -1, of->rank, topo, comm_graph);
	return weft_mpi_end(of, "MPI_Graph_create", err);
}

int PMPI_Graph_map(MPI_Comm comm, int nnodes, const int indx[],
	const int edges[], int *newrank)
{
	struct weft_comm *of = NULL;
	int err = weft_check_intra(comm, &of);

	if (!err)
		err = weft_check_range(
			WEFT_ERR_ARG, "nnodes", nnodes, 1, of->size);
	if (!err)
		err = check_graph(of, nnodes, indx, edges);
	if (!err)
		err = weft_check_ptr(newrank, "newrank");
	if (!err)
		*newrank = of->rank < nnodes ? of->rank : MPI_UNDEFINED;
	return weft_mpi_end(of, "MPI_Graph_map", err);
}

int PMPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
	struct weft_comm *of = NULL;
	int err = check_kind(comm, MPI_GRAPH, &of);

	if (!err)
		err = weft_check_ptr(nnodes, "nnodes");
	if (!err)
		err = weft_check_ptr(nedges, "nedges");
	if (!err) {
		*nnodes = of->topo->n_nodes;
		*nedges = of->topo->n_edges;
	}
	return weft_mpi_end(of, "MPI_Graphdims_get", err);
}

int PMPI_Graph_get(
	MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[])
{
	struct weft_comm *of = NULL;
	int err = check_kind(comm, MPI_GRAPH, &of);

	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "maxindex", maxindex,
			of->topo->n_nodes, INT32_MAX);
	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "maxedges", maxedges,
			of->topo->n_edges, INT32_MAX);
	if (!err)
		err = check_out(indx, of->topo->n_nodes, "index");
	if (!err)
		err = check_out(edges, of->topo->n_edges, "edges");
	if (err)
		return weft_mpi_raise(of, "MPI_Graph_get", err);
	mpi_topo_copy_ints(indx, of->topo->data, of->topo->n_nodes);
	mpi_topo_copy_ints(
		edges, of->topo->data + of->topo->n_nodes, of->topo->n_edges);
	return MPI_SUCCESS;
}

/* The neighbors of a node. */
static const int *graph_neighbors(
	const struct weft_topo_attached *t, int node, int *n_out)
{
	int first = node ? t->data[node - 1] : 0;

	*n_out = t->data[node] - first;
	return t->data + t->n_nodes + first;
}

int PMPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors)
{
	struct weft_comm *of = NULL;
	int err = check_kind(comm, MPI_GRAPH, &of);

	if (!err)
		err = weft_check_range(
			WEFT_ERR_RANK, "rank", rank, 0, of->size - 1);
	if (!err)
		err = weft_check_ptr(nneighbors, "nneighbors");
	if (!err)
		graph_neighbors(of->topo, rank, nneighbors);
	return weft_mpi_end(of, "MPI_Graph_neighbors_count", err);
}

int PMPI_Graph_neighbors(
	MPI_Comm comm, int rank, int maxneighbors, int neighbors[])
{
	struct weft_comm *of = NULL;
	const int *list = NULL;
	int n = 0, err = check_kind(comm, MPI_GRAPH, &of);

	if (!err)
		err = weft_check_range(
			WEFT_ERR_RANK, "rank", rank, 0, of->size - 1);
	if (!err)
		list = graph_neighbors(of->topo, rank, &n);
	if (n > maxneighbors)
		n = maxneighbors;
	if (!err)
		err = check_out(neighbors, n, "neighbors");
	if (!err)
		mpi_topo_copy_ints(neighbors, list, n);
	return weft_mpi_end(of, "MPI_Graph_neighbors", err);
}

/* ---- distributed graph ---- */

/* Where each of the four lists begins. */
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

int PMPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree,
	const int sources[], const int sourceweights[], int outdegree,
	const int destinations[], const int destweights[], MPI_Info info,
	int reorder, MPI_Comm *comm_dist_graph)
{
	bool weighted = sourceweights != MPI_UNWEIGHTED ||
			destweights != MPI_UNWEIGHTED;
	struct weft_topo_attached *topo;
	struct weft_info *hints = NULL;
	struct weft_comm *of = NULL;
	int err;

	weft_mpi_null(comm_dist_graph, MPI_COMM_NULL);
	(void)reorder;
	err = weft_check_intra(comm_old, &of);
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	if (!err)
		err = check_list(
			of, "sources", indegree, sources, sourceweights);
	if (!err)
		err = check_list(of, "destinations", outdegree, destinations,
			destweights);
	if (!err)
		err = weft_check_ptr(comm_dist_graph, "comm_dist_graph");
	if (err)
		return weft_mpi_raise(
			of, "MPI_Dist_graph_create_adjacent", err);
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
	err = attach_take(of, 0, of->rank, topo, comm_dist_graph);
	return weft_mpi_end(of, "MPI_Dist_graph_create_adjacent", err);
}

struct edge {
	int source, dest, weight;
};

/* This process's edges, one after the other. */
static int list_edges(int n, const int *sources, const int *degrees,
	const int *dests, const int *weights, struct edge **edges_out,
	int *n_out)
{
	size_t n_edges = 0, k = 0;
	struct edge *edges;

	for (int i = 0; i < n; i++)
		n_edges += (size_t)degrees[i];
	edges = calloc(n_edges + 1, sizeof(*edges));
	if (!edges)
		return WEFT_ERR_NOMEM;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < degrees[i]; j++, k++)
			edges[k] = (struct edge){ sources[i], dests[k],
				weights == MPI_UNWEIGHTED ? 1 : weights[k] };
	*edges_out = edges;
	*n_out = (int)n_edges;
	return 0;
}

/* Everybody's edges, a row of max for each rank; unused ones have source -1. */
static int gather_edges(struct weft_comm *comm, const struct edge *mine, int n,
	struct edge **all_out, size_t *n_out)
{
	struct edge *row;
	void *counts, *all;
	int max = 0, err;

	err = weft_create_gather(comm, &n, sizeof(n), &counts);
	if (err)
		return err;
	for (int i = 0; i < comm->size; i++)
		if (((int *)counts)[i] > max)
			max = ((int *)counts)[i];
	free(counts);
	row = calloc((size_t)max + 1, sizeof(*row));
	if (!row)
		return WEFT_ERR_NOMEM;
	for (int i = 0; i < max; i++)
		row[i] = i < n ? mine[i] : (struct edge){ -1, -1, 0 };
	err = weft_create_gather(comm, row, (size_t)max * sizeof(*row), &all);
	free(row);
	if (err)
		return err;
	*all_out = all;
	*n_out = (size_t)max * (size_t)comm->size;
	return 0;
}

/* My part of everybody's edges. */
static struct weft_topo_attached *my_part(
	const struct edge *all, size_t n, int rank, bool weighted)
{
	struct weft_topo_attached *topo;
	int n_in = 0, n_out = 0;

	for (size_t i = 0; i < n; i++) {
		n_in += all[i].source >= 0 && all[i].dest == rank;
		n_out += all[i].source == rank;
	}
	topo = make_dist(n_in, n_out, weighted);
	if (!topo)
		return NULL;
	n_in = n_out = 0;
	for (size_t i = 0; i < n; i++) {
		if (all[i].source >= 0 && all[i].dest == rank) {
			dist_sources(topo)[n_in] = all[i].source;
			dist_source_weights(topo)[n_in++] = all[i].weight;
		}
		if (all[i].source == rank) {
			dist_dests(topo)[n_out] = all[i].dest;
			dist_dest_weights(topo)[n_out++] = all[i].weight;
		}
	}
	return topo;
}

static int check_edges(const struct weft_comm *comm, int n, const int *sources,
	const int *degrees, const int *dests, const int *weights)
{
	int64_t n_edges = 0;
	int err = check_list(comm, "sources", n, sources, MPI_UNWEIGHTED);

	if (!err && n)
		err = weft_check_ptr(degrees, "degrees");
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

int PMPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[],
	const int degrees[], const int destinations[], const int weights[],
	MPI_Info info, int reorder, MPI_Comm *comm_dist_graph)
{
	bool weighted = weights != MPI_UNWEIGHTED;
	struct edge *mine = NULL, *all = NULL;
	struct weft_info *hints = NULL;
	struct weft_comm *of = NULL;
	size_t n_all = 0;
	int n_mine = 0, err;

	weft_mpi_null(comm_dist_graph, MPI_COMM_NULL);
	(void)reorder;
	err = weft_check_intra(comm_old, &of);
	if (!err)
		err = weft_check_ptr(comm_dist_graph, "comm_dist_graph");
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	if (!err)
		err = check_edges(
			of, n, sources, degrees, destinations, weights);
	if (!err)
		err = list_edges(n, sources, degrees, destinations, weights,
			&mine, &n_mine);
	if (!err)
		err = gather_edges(of, mine, n_mine, &all, &n_all);
	if (!err)
		err = attach_take(of, 0, of->rank,
			my_part(all, n_all, of->rank, weighted),
			comm_dist_graph);
	free(mine);
	free(all);
	return weft_mpi_end(of, "MPI_Dist_graph_create", err);
}

int PMPI_Dist_graph_neighbors_count(
	MPI_Comm comm, int *indegree, int *outdegree, int *weighted)
{
	struct weft_comm *of = NULL;
	int err = check_kind(comm, MPI_DIST_GRAPH, &of);

	if (!err)
		err = weft_check_ptr(indegree, "indegree");
	if (!err)
		err = weft_check_ptr(outdegree, "outdegree");
	if (!err)
		err = weft_check_ptr(weighted, "weighted");
	if (!err) {
		*indegree = of->topo->n_in;
		*outdegree = of->topo->n_out;
		*weighted = of->topo->is_weighted;
	}
	return weft_mpi_end(of, "MPI_Dist_graph_neighbors_count", err);
}

/* Copies one of the lists with its weights where there are any. */
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

int PMPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[],
	int sourceweights[], int maxoutdegree, int destinations[],
	int destweights[])
{
	struct weft_comm *of = NULL;
	int err = check_kind(comm, MPI_DIST_GRAPH, &of);

	if (!err)
		err = weft_check_range(
			WEFT_ERR_ARG, "maxindegree", maxindegree, 0, INT32_MAX);
	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "maxoutdegree",
			maxoutdegree, 0, INT32_MAX);
	if (!err && maxindegree)
		err = check_out(sources, of->topo->n_in, "sources");
	if (!err && maxoutdegree)
		err = check_out(destinations, of->topo->n_out, "destinations");
	if (err)
		return weft_mpi_raise(of, "MPI_Dist_graph_neighbors", err);
	mpi_topo_copy_list(of->topo, maxindegree, of->topo->n_in,
		dist_sources(of->topo), dist_source_weights(of->topo), sources,
		sourceweights);
	mpi_topo_copy_list(of->topo, maxoutdegree, of->topo->n_out,
		dist_dests(of->topo), dist_dest_weights(of->topo), destinations,
		destweights);
	return MPI_SUCCESS;
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
