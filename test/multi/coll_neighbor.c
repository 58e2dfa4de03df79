/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_neighbor: neighbourhood collectives, on graphs and grids of all kinds
 *
 * Every block contains its sender, its index and its round. Ranks without
 * neighbours pass arbitrary counts, as MPICH and Open MPI permit.
 */
#include "mtest.h"

enum { EDGES = 40, ROUNDS = 12, ITEMS = 300 };

static struct graph {
	int n_sources, n_dests;
	int sources[EDGES], dests[EDGES];
	int block[EDGES]; /* the index of the block that sources[i] sends here
			   */
} graph;

static int item_of(int from, int block, int round, int i)
{
	return ((from * EDGES + block) * ROUNDS + round) * ITEMS + i;
}

static void fill(int *items, int from, int n_blocks, int round, int count)
{
	for (int b = 0; b < n_blocks; b++)
		for (int i = 0; i < count; i++)
			items[b * count + i] = item_of(from, b, round, i);
}

static void check(
	const int *items, bool is_same, int round, int count, const char *what)
{
	long n_wrong = 0;

	for (int k = 0; k < graph.n_sources; k++)
		for (int i = 0; i < count; i++)
			if (graph.sources[k] == MPI_PROC_NULL)
				n_wrong += items[k * count + i] != -1;
			else
				n_wrong += items[k * count + i] !=
					   item_of(graph.sources[k],
						   is_same ? 0 : graph.block[k],
						   round, i);
	CHECK(n_wrong == 0, "%s, round %d, %d items: %ld are wrong", what,
		round, count, n_wrong);
}

static void run(MPI_Comm comm, int count, const char *what)
{
	static int out[EDGES * ITEMS], in[EDGES * ITEMS];
	const bool is_alone = !graph.n_sources && !graph.n_dests;
	MPI_Request req;

	for (int round = 0; round < ROUNDS; round++) {
		int n = is_alone ? round : count;

		fill(out, mtest.rank, graph.n_dests ? graph.n_dests : 1, round,
			is_alone ? 0 : n);
		memset(in, -1, sizeof(in));
		OK(MPI_Neighbor_alltoall(
			out, n, MPI_INT, in, n, MPI_INT, comm));
		check(in, false, round, count, what);
		memset(in, -1, sizeof(in));
		OK(MPI_Neighbor_allgather(
			out, n, MPI_INT, in, n, MPI_INT, comm));
		check(in, true, round, count, what);
		if (round % 3)
			continue;
		memset(in, -1, sizeof(in));
		OK(MPI_Ineighbor_alltoall(
			out, n, MPI_INT, in, n, MPI_INT, comm, &req));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		check(in, false, round, count, what);
	}
}

/* All ranks draw the same random edges. A pair of ranks, or a rank and itself,
 * may have several edges. The last rank has none. */
static void draw(int n, unsigned seed, int degree)
{
	int blocks[64] = { 0 };

	memset(&graph, 0, sizeof(graph));
	for (int from = 0; from < n - 1; from++)
		for (int k = 0; k < degree; k++) {
			int to;

			seed = seed * 1103515245 + 12345;
			to = (int)(seed >> 16) % (n - 1);
			if (from == mtest.rank && graph.n_dests < EDGES)
				graph.dests[graph.n_dests++] = to;
			if (to == mtest.rank) {
				graph.sources[graph.n_sources] = from;
				graph.block[graph.n_sources++] = blocks[from];
			}
			blocks[from]++;
		}
}

static void graphs(int n)
{
	for (int degree = 1; degree <= 4 && degree * n <= EDGES; degree++) {
		MPI_Comm comm;

		draw(n, (unsigned)degree, degree);
		OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD,
			graph.n_sources, graph.sources, MPI_UNWEIGHTED,
			graph.n_dests, graph.dests, MPI_UNWEIGHTED,
			MPI_INFO_NULL, 0, &comm));
		run(comm, degree, "graph");
		run(comm, 0, "graph");
		run(comm, ITEMS, "graph");
		OK(MPI_Comm_free(&comm));
	}
}

static void grids(int n)
{
	for (int is_periodic = 0; is_periodic < 2; is_periodic++) {
		int dims[2] = { 0, 0 }, periods[2] = { is_periodic, 1 };
		MPI_Comm comm;

		OK(MPI_Dims_create(n, 2, dims));
		OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm));
		graph.n_sources = graph.n_dests = 4;
		for (int d = 0; d < 2; d++) {
			OK(MPI_Cart_shift(comm, d, 1, &graph.sources[2 * d],
				&graph.sources[2 * d + 1]));
			graph.block[2 * d] = 2 * d + 1;
			graph.block[2 * d + 1] = 2 * d;
		}
		run(comm, 3, "grid");
		run(comm, ITEMS, "grid");
		OK(MPI_Comm_free(&comm));
	}
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	graphs(mtest.size);
	grids(mtest.size);
	return mtest_finish();
}
