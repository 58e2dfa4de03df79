/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_neighbor_test: neighbourhood collectives on random graphs and grids */
#include "coll/edges.h"
#include "coll_run.h"

enum { NEIGHBORS = 6 };

struct edges {
	int32_t n_sources, n_dests;
	int sources[NEIGHBORS * N_MAX], dests[NEIGHBORS * N_MAX];
};

/* A random graph. It may have edges from a place to itself, and several edges
 * between two places. */
static void draw_graph(struct edges *edges, int32_t n, uint64_t seed)
{
	memset(edges, 0, (size_t)n * sizeof(*edges));
	for (int32_t i = 0; i < n; i++)
		for (uint32_t k = sim_rnd(&seed, NEIGHBORS); k > 0; k--) {
			struct edges *from = &edges[i];
			int32_t to = (int32_t)sim_rnd(&seed, (uint32_t)n);

			from->dests[from->n_dests++] = to;
			edges[to].sources[edges[to].n_sources++] = i;
		}
}

/* A grid of n / rows columns, periodic or not. */
static void draw_grid(
	struct edges *edges, int32_t n, int32_t rows, bool is_periodic)
{
	const int32_t cols = n / rows;

	for (int32_t i = 0; i < n; i++) {
		int32_t y = i / cols, x = i % cols;
		int32_t near[4] = { (y + rows - 1) % rows * cols + x,
			(y + 1) % rows * cols + x,
			y * cols + (x + cols - 1) % cols,
			y * cols + (x + 1) % cols };
		bool is_edge[4] = { y == 0, y == rows - 1, x == 0,
			x == cols - 1 };

		edges[i].n_sources = edges[i].n_dests = 4;
		for (int k = 0; k < 4; k++)
			edges[i].sources[k] = edges[i].dests[k] =
				!is_periodic && is_edge[k] ? WEFT_PROC_NULL
							   : near[k];
	}
}

/* Place p receives a block of its k-th source as block k. Returns the number of
 * that block at the source. */
static int32_t source_block(
	const struct edges *edges, int32_t p, int32_t k, bool is_grid)
{
	const int from = edges[p].sources[k];
	int32_t nth = 0, i = 0;

	if (is_grid)
		return k ^ 1;
	for (int32_t j = 0; j < k; j++)
		nth += edges[p].sources[j] == from;
	for (;; i++)
		if (edges[from].dests[i] == p && nth-- == 0)
			return i;
}

static void set_neighbors(struct run *r, struct edges *edges, bool is_grid)
{
	bool is_same = r->s.kind == WEFT_COLL_NEIGHBOR_ALLGATHER;

	for (int32_t p = 0; p < r->s.n; p++) {
		struct weft_coll *args = &r->sim.members[p].args;

		args->n_sources = edges[p].n_sources;
		args->n_dests = edges[p].n_dests;
		args->sources = edges[p].sources;
		args->dests = edges[p].dests;
		args->is_grid = is_grid;
		args->is_same_block = is_same;
		set_blocks(r, p, true, block_count, args->n_sources);
		if (is_same)
			set_one(r, p, false, r->s.count);
		else
			set_blocks(r, p, false, block_count, args->n_dests);
	}
}

/* Creates the edges that the members of a node have after they have exchanged
 * their neighbours. */
static void agree_on_edges(struct run *r, struct edges *edges, bool is_grid)
{
	const struct weft_nodes *nodes = r->nodes;
	struct weft_coll_degrees degrees[N_MAX];
	static int32_t out[N_MAX][NEIGHBORS * N_MAX],
		in[N_MAX][NEIGHBORS * N_MAX], rows[2 * NEIGHBORS * N_MAX];

	for (int32_t p = 0; p < r->s.n; p++) {
		degrees[p].out = weft_coll_row_of(nodes, p, edges[p].dests,
			edges[p].n_dests, false, out[p]);
		degrees[p].in = weft_coll_row_of(nodes, p, edges[p].sources,
			edges[p].n_sources, is_grid, in[p]);
	}
	for (int32_t p = 0; p < r->s.n; p++) {
		const int32_t *first = nodes->first + weft_nodes_of(nodes, p);
		int32_t k = 0, q;

		for (int32_t m = first[0]; m < first[1]; m++) {
			q = weft_nodes_member(nodes, m);
			for (int32_t i = 0; i < degrees[q].out; i++)
				rows[k++] = edges[q].dests[out[q][i]];
			for (int32_t i = 0; i < degrees[q].in; i++)
				rows[k++] = edges[q].sources[in[q][i]];
		}
		r->sim.members[p].comm.coll.edges = weft_coll_edges_create(
			nodes, p, degrees, out[p], in[p], rows);
		r->sim.members[p].comm.coll.edges->n_per_bundle = 1;
	}
}

/* Runs one case. Block i that a place sends has the items (place, i), or
 * (place, 0) if all its neighbours receive one block. */
static void run_neighbors(struct setup *s, struct edges *edges, bool is_grid)
{
	bool is_same = s->kind == WEFT_COLL_NEIGHBOR_ALLGATHER;
	struct run r;

	cases++;
	run_open(&r, s);
	set_neighbors(&r, edges, is_grid);
	if (s->layout != UNKNOWN)
		agree_on_edges(&r, edges, is_grid);
	write_all(&r);
	write_with_error(&r, (int32_t)(cases % (uint64_t)s->n));
	for (int32_t p = 0; p < s->n; p++) {
		for (int32_t k = 0; k < edges[p].n_sources; k++)
			if (edges[p].sources[k] != WEFT_PROC_NULL)
				put_block(&r, p, true, k, edges[p].sources[k],
					is_same ? 0
						: source_block(
							  edges, p, k, is_grid),
					s->count, false);
		for (int32_t k = 0; k < (is_same ? 1 : edges[p].n_dests); k++)
			put_block(&r, p, false, is_same ? -1 : k, p, k,
				s->count, true);
	}
	sim_run(&r.sim, (enum sim_order)(cases % SIM_ORDERS), cases);
	for (int32_t p = 0; p < s->n; p++) {
		compare(&r, p, &r.places[p].send, "send");
		compare(&r, p, &r.places[p].recv, "receive");
		free(r.sim.members[p].comm.coll.edges);
	}
	count_done(s->algo);
	run_close(&r);
}

static void run_graphs(struct setup *s)
{
	struct edges edges[N_MAX];

	s->items = &item_kinds[s->count % 2 ? AFFINE : INT_SUM];
	draw_graph(edges, s->n, cases);
	run_neighbors(s, edges, false);
	for (int32_t rows = 1; rows <= s->n; rows++) {
		if (s->n % rows)
			continue;
		draw_grid(edges, s->n, rows, rows % 2);
		run_neighbors(s, edges, true);
	}
}

static void test_neighbors(void **state)
{
	const struct weft_coll_algo *algo;

	(void)state;
	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++) {
		const bool has_nodes = algo->needs & WEFT_NEEDS_NODES;
		struct setup s = { .kind = algo->kind, .algo = algo };

		if (algo->kind < WEFT_COLL_NEIGHBOR_ALLGATHER)
			continue;
		for (s.n = 1; s.n <= N_MAX; s.n++)
			for (s.count = 0; s.count < 4; s.count++)
				for (s.layout = has_nodes ? TWOS : UNKNOWN;
					s.layout <
					(has_nodes ? N_LAYOUTS : ONE_NODE);
					s.layout++)
					run_graphs(&s);
		assert_true(done[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_neighbors),
	};

	unsetenv("WEFT_COLL");
	unsetenv("WEFT_COLL_FILE");
	unsetenv("WEFT_COLL_REPRODUCIBLE");
	return cmocka_run_group_tests(tests, open_kinds, close_kinds);
}
