/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm_dist_graph: MPI_Dist_graph_create with random edges
 *
 * Each process passes edges between any processes, also from a process to
 * itself, and several edges between the same two. All processes compute all
 * edges from the seed, and compare the neighbours and weights with those. The
 * order is that of the processes that pass the edges.
 *
 * seed= is the first seed; rounds= is the number of graphs.
 */
#include "mtest.h"

enum { MOST = 40 };

struct graph {
	int n, sources[MOST], degrees[MOST], dests[MOST * 3], weights[MOST * 3];
};

static unsigned next(unsigned *state)
{
	*state = *state * 1103515245U + 12345U;
	return *state >> 16;
}

/* The edges that a process passes. Some processes pass none. */
static void draw(struct graph *g, unsigned seed, int rank)
{
	unsigned state = seed * 7919U + (unsigned)rank;
	int k = 0;

	g->n = next(&state) % 3 ? (int)(next(&state) % MOST) : 0;
	for (int i = 0; i < g->n; i++) {
		g->sources[i] = (int)(next(&state) % (unsigned)mtest.size);
		g->degrees[i] = (int)(next(&state) % 4);
		for (int j = 0; j < g->degrees[i]; j++, k++) {
			g->dests[k] =
				(int)(next(&state) % (unsigned)mtest.size);
			g->weights[k] = (int)(next(&state) % 1000);
		}
	}
}

/* The neighbours of this process in one direction. */
struct side {
	int n, *ranks, *weights;
};

static void add(struct side *side, int rank, int weight)
{
	side->ranks[side->n] = rank;
	side->weights[side->n++] = weight;
}

static void compare(const char *what, const struct side *is,
	const struct side *wanted, bool weighted)
{
	int n = is->n < wanted->n ? is->n : wanted->n, wrong = 0;

	for (int i = 0; i < n; i++)
		wrong += is->ranks[i] != wanted->ranks[i] ||
			 (weighted && is->weights[i] != wanted->weights[i]);
	CHECK(is->n == wanted->n && !wrong,
		"%d %s, wanted %d; %d of them are wrong", is->n, what,
		wanted->n, wrong);
}

static struct side make_side(void)
{
	size_t most = (size_t)mtest.size * MOST * 3;

	return (struct side){ 0, calloc(most, sizeof(int)),
		calloc(most, sizeof(int)) };
}

static void free_side(struct side *side)
{
	free(side->ranks);
	free(side->weights);
}

static void check_graph(unsigned seed, bool weighted)
{
	struct side in = make_side(), out = make_side();
	struct side wanted_in = make_side(), wanted_out = make_side();
	struct graph g;
	int is_weighted = -1;
	MPI_Comm comm;

	for (int r = 0; r < mtest.size; r++) {
		draw(&g, seed, r);
		for (int i = 0, k = 0; i < g.n; i++)
			for (int j = 0; j < g.degrees[i]; j++, k++) {
				if (g.dests[k] == mtest.rank)
					add(&wanted_in, g.sources[i],
						g.weights[k]);
				if (g.sources[i] == mtest.rank)
					add(&wanted_out, g.dests[k],
						g.weights[k]);
			}
	}
	draw(&g, seed, mtest.rank);
	OK(MPI_Dist_graph_create(MPI_COMM_WORLD, g.n, g.sources, g.degrees,
		g.dests, weighted ? g.weights : MPI_UNWEIGHTED, MPI_INFO_NULL,
		0, &comm));
	OK(MPI_Dist_graph_neighbors_count(comm, &in.n, &out.n, &is_weighted));
	CHECK(is_weighted == weighted, "the graph has weights: %d", weighted);
	if (in.n <= wanted_in.n && out.n <= wanted_out.n)
		OK(MPI_Dist_graph_neighbors(comm, in.n, in.ranks, in.weights,
			out.n, out.ranks, out.weights));
	compare("sources", &in, &wanted_in, weighted);
	compare("destinations", &out, &wanted_out, weighted);
	OK(MPI_Barrier(comm));
	OK(MPI_Comm_free(&comm));
	free_side(&in);
	free_side(&out);
	free_side(&wanted_in);
	free_side(&wanted_out);
}

int main(int argc, char **argv)
{
	unsigned seed;
	long rounds;

	mtest_init(&argc, &argv);
	seed = (unsigned)mtest_arg(argc, argv, "seed", 1);
	rounds = mtest_arg(argc, argv, "rounds", 20);
	for (unsigned i = 0; i < (unsigned)rounds; i++)
		check_graph(seed + i, i % 2);
	return mtest_finish();
}
