/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_topo: the queries of Cartesian, graph and distributed graph topologies
 *
 * Six processes: a grid of three by two whose first dimension is periodic, and
 * rings. */
#include "mtest.h"

enum { N = 6, ROWS = 3, COLUMNS = 2 };

static const int dims[2] = { ROWS, COLUMNS }, periods[2] = { 1, 0 };

static void check_kind(MPI_Comm comm, int want)
{
	int kind = -1;

	OK(MPI_Topo_test(comm, &kind));
	CHECK(kind == want, "the topology has kind %d, not %d", kind, want);
}

static void check_ranks(MPI_Comm cart)
{
	for (int i = 0; i < N; i++) {
		int at[2] = { -1, -1 }, rank = -1;

		OK(MPI_Cart_coords(cart, i, 2, at));
		CHECK(at[0] == i / COLUMNS && at[1] == i % COLUMNS,
			"the coordinates of rank %d are right: %d, %d", i,
			at[0], at[1]);
		OK(MPI_Cart_rank(cart, at, &rank));
		CHECK(rank == i, "the coordinates are of rank %d, not %d", rank,
			i);
		at[0] -= ROWS; /* periodic */
		OK(MPI_Cart_rank(cart, at, &rank));
		CHECK(rank == i, "coordinates below the grid wrap: %d, not %d",
			rank, i);
		at[0] += 2 * ROWS;
		OK(MPI_Cart_rank(cart, at, &rank));
		CHECK(rank == i, "coordinates above the grid wrap: %d, not %d",
			rank, i);
	}
}

static void check_get(MPI_Comm cart)
{
	int n = -1, sides[2], wraps[2], at[2];

	OK(MPI_Cartdim_get(cart, &n));
	CHECK(n == 2, "the grid has 2 dimensions, got %d", n);
	OK(MPI_Cart_get(cart, 2, sides, wraps, at));
	CHECK(!memcmp(sides, dims, sizeof(dims)) &&
			!memcmp(wraps, periods, sizeof(periods)),
		"the grid is as it was created");
	CHECK(at[0] == mtest.rank / COLUMNS && at[1] == mtest.rank % COLUMNS,
		"the coordinates of this rank are right: %d, %d", at[0], at[1]);
}

static void check_shift(MPI_Comm cart)
{
	const int row = mtest.rank / COLUMNS, column = mtest.rank % COLUMNS;
	int from = -1, to = -1;

	OK(MPI_Cart_shift(cart, 0, 1, &from, &to));
	CHECK(from == (row + ROWS - 1) % ROWS * COLUMNS + column &&
			to == (row + 1) % ROWS * COLUMNS + column,
		"the neighbours along the periodic dimension are right: from "
		"%d to %d",
		from, to);
	OK(MPI_Cart_shift(cart, 1, -1, &from, &to));
	CHECK(from == (column ? MPI_PROC_NULL : mtest.rank + 1) &&
			to == (column ? mtest.rank - 1 : MPI_PROC_NULL),
		"the neighbours along the other dimension are right: from %d "
		"to %d",
		from, to);
}

static void check_sub(MPI_Comm cart)
{
	const int rows[2] = { 1, 0 }, none[2] = { 0, 0 };
	int n = -1, rank = -1, side = -1, wrap = -1, at = -1;
	MPI_Comm sub, point;

	OK(MPI_Cart_sub(cart, rows, &sub));
	OK(MPI_Comm_size(sub, &n));
	OK(MPI_Comm_rank(sub, &rank));
	CHECK(n == ROWS && rank == mtest.rank / COLUMNS,
		"the grid of a column has this rank: %d of %d", rank, n);
	OK(MPI_Cart_get(sub, 1, &side, &wrap, &at));
	CHECK(side == ROWS && wrap == 1 && at == rank,
		"length, period and coordinate in the column are right: %d, "
		"%d, %d",
		side, wrap, at);
	OK(MPI_Comm_free(&sub));
	OK(MPI_Cart_sub(cart, none, &point));
	OK(MPI_Comm_size(point, &n));
	CHECK(n == 1, "a grid without a dimension has one member: %d", n);
	OK(MPI_Cartdim_get(point, &n));
	CHECK(n == 0, "the grid has no dimension, got %d", n);
	OK(MPI_Comm_free(&point));
}

/* Checks the members of a subgrid: the ranks of the grid with the coordinates
 * of this process in the dimensions that do not remain, in their order. */
static void check_members(MPI_Comm cart, const int *remain)
{
	int all[N], at[3], mine[3], rank, n = 0, size = -1;
	MPI_Comm sub;

	OK(MPI_Comm_rank(cart, &rank));
	OK(MPI_Cart_coords(cart, rank, 3, mine));
	OK(MPI_Cart_sub(cart, remain, &sub));
	OK(MPI_Comm_size(sub, &size));
	OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, sub));
	for (int r = 0; r < N; r++) {
		bool is_member = true;

		OK(MPI_Cart_coords(cart, r, 3, at));
		for (int i = 0; i < 3; i++)
			is_member &= remain[i] || at[i] == mine[i];
		if (!is_member)
			continue;
		CHECK(n < size && all[n] == r,
			"rank %d of the subgrid is rank %d of the grid", n, r);
		n++;
	}
	CHECK(n == size, "the subgrid has %d members, got %d", n, size);
	OK(MPI_Comm_free(&sub));
}

/* Subgrids of a grid over a communicator in another order than the world. */
static void check_subgrids(void)
{
	const int sides[3] = { 2, 1, 3 }, wraps[3] = { 0 };
	MPI_Comm mixed, cart;

	OK(MPI_Comm_split(MPI_COMM_WORLD, 0, mtest.rank * 5 % N % 4, &mixed));
	OK(MPI_Cart_create(mixed, 3, sides, wraps, 0, &cart));
	for (int mask = 0; mask < 8; mask++)
		check_members(cart,
			(int[3]){ mask & 1, mask >> 1 & 1, mask >> 2 & 1 });
	OK(MPI_Comm_free(&cart));
	OK(MPI_Comm_free(&mixed));
}

static void check_cart(void)
{
	const int small[2] = { 2, 2 };
	MPI_Comm cart;
	int rank = -1;

	OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart));
	check_kind(cart, MPI_CART);
	check_ranks(cart);
	check_get(cart);
	check_shift(cart);
	check_sub(cart);
	check_subgrids();
	OK(MPI_Comm_free(&cart));
	OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &rank));
	CHECK(rank >= 0 && rank < N, "MPI_Cart_map returns a rank: %d", rank);
	OK(MPI_Cart_map(MPI_COMM_WORLD, 2, small, periods, &rank));
	CHECK(rank == MPI_UNDEFINED || (rank >= 0 && rank < 4),
		"a rank below 4 or MPI_UNDEFINED is returned: %d", rank);
}

/* The edges of each rank lead to the next rank. */
static void check_graph(void)
{
	int ends[N], edges[N], got_ends[N], got_edges[N];
	int n = -1, n_edges = -1, next = -1, rank = -1;
	MPI_Comm graph;

	for (int i = 0; i < N; i++) {
		ends[i] = i + 1;
		edges[i] = (i + 1) % N;
	}
	OK(MPI_Graph_create(MPI_COMM_WORLD, N, ends, edges, 0, &graph));
	check_kind(graph, MPI_GRAPH);
	OK(MPI_Graphdims_get(graph, &n, &n_edges));
	CHECK(n == N && n_edges == N, "the graph has N nodes and edges: %d, %d",
		n, n_edges);
	OK(MPI_Graph_get(graph, N, N, got_ends, got_edges));
	CHECK(!memcmp(ends, got_ends, sizeof(ends)) &&
			!memcmp(edges, got_edges, sizeof(edges)),
		"the graph is as it was created");
	for (int i = 0; i < N; i++) {
		OK(MPI_Graph_neighbors_count(graph, i, &n));
		OK(MPI_Graph_neighbors(graph, i, 1, &next));
		CHECK(n == 1 && next == (i + 1) % N,
			"the neighbour of a rank is the next rank: %d "
			"neighbours of %d, first %d",
			n, i, next);
	}
	OK(MPI_Graph_map(MPI_COMM_WORLD, N, ends, edges, &rank));
	CHECK(rank >= 0 && rank < N, "MPI_Graph_map returns a rank: %d", rank);
	OK(MPI_Comm_free(&graph));
}

/* Checks that the neighbours are `from` and `to`, with weights 3 and 4. */
static void check_neighbors(MPI_Comm graph, int from, int to)
{
	int n_in = -1, n_out = -1, is_weighted = -1;
	int source = -1, in_weight = -1, dest = -1, out_weight = -1;

	check_kind(graph, MPI_DIST_GRAPH);
	OK(MPI_Dist_graph_neighbors_count(graph, &n_in, &n_out, &is_weighted));
	CHECK(n_in == 1 && n_out == 1 && is_weighted,
		"a rank has one source, one destination and weights: %d, %d, "
		"%d",
		n_in, n_out, is_weighted);
	OK(MPI_Dist_graph_neighbors(
		graph, 1, &source, &in_weight, 1, &dest, &out_weight));
	CHECK(source == from && in_weight == 3,
		"the source is the left neighbour with weight 3: %d, %d",
		source, in_weight);
	CHECK(dest == to && out_weight == 4,
		"the destination is the right neighbour with weight 4: %d, %d",
		dest, out_weight);
}

static void check_dist_graph(void)
{
	const int from = (mtest.rank + N - 1) % N, to = (mtest.rank + 1) % N;
	const int one = 1, in_weight = 3, out_weight = 4, weight = 7;
	int n_in = -1, n_out = -1, is_weighted = -1, source, dest, w[2];
	MPI_Comm graph;

	OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, &in_weight,
		1, &to, &out_weight, MPI_INFO_NULL, 0, &graph));
	check_neighbors(graph, from, to);
	OK(MPI_Comm_free(&graph));
	/* each process passes an edge that begins at the next process */
	source = to;
	dest = (to + 1) % N;
	OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &one, &dest,
		&weight, MPI_INFO_NULL, 0, &graph));
	OK(MPI_Dist_graph_neighbors_count(graph, &n_in, &n_out, &is_weighted));
	CHECK(n_in == 1 && n_out == 1 && is_weighted,
		"a rank has one source, one destination and weights: %d, %d, "
		"%d",
		n_in, n_out, is_weighted);
	OK(MPI_Dist_graph_neighbors(graph, 1, &source, &w[0], 1, &dest, &w[1]));
	CHECK(source == from && dest == to && w[0] == 7 && w[1] == 7,
		"the neighbours have the weight 7: from %d with %d to %d with "
		"%d",
		source, w[0], dest, w[1]);
	OK(MPI_Comm_free(&graph));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(N);
	if (mtest.size != N)
		mtest_skip("needs exactly 6 processes");
	check_kind(MPI_COMM_WORLD, MPI_UNDEFINED);
	check_cart();
	check_graph();
	check_dist_graph();
	return mtest_finish();
}
