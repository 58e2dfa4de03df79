/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_algo_test: every algorithm of the table against plain loops
 *
 * The members, 1 to 17 and more, are simulated in one process, with several
 * orders of delivery. */
#include "coll_run.h"

/* ---- input and expected result ---- */

/* The reduction of item i over the places below `to`. */
static void reduced(const struct run *r, int32_t to, int64_t i, void *item)
{
	char one[ITEM_MAX];

	make_item(r, to - 1, 0, i, item);
	for (int32_t k = to - 2; k >= 0; k--) {
		make_item(r, k, 0, i, one);
		r->s.items->apply(one, item);
	}
}

static void fill_moves(struct run *r, int32_t p)
{
	const struct setup *s = &r->s;
	bool is_here = member(r, p)->args.is_in_place;

	if (s->kind == WEFT_COLL_BCAST) {
		put_block(r, p, true, -1, s->root, 0, s->count, p == s->root);
		return;
	}
	if (s->kind == WEFT_COLL_SCATTER) {
		for (int32_t i = 0; p == s->root && i < s->n; i++)
			put_block(r, p, false, i, s->root, i,
				block_count(r, i, s->root), true);
		if (!is_here)
			put_block(r, p, true, -1, s->root, p,
				block_count(r, p, s->root), false);
		return;
	}
	if (!is_here && s->kind != WEFT_COLL_ALLTOALL)
		put_block(r, p, false, -1, p, 0,
			block_count(r, p,
				s->kind == WEFT_COLL_GATHER ? s->root : 0),
			true);
	if (s->kind == WEFT_COLL_GATHER && p != s->root)
		return;
	for (int32_t i = 0; i < s->n; i++) {
		if (s->kind == WEFT_COLL_ALLTOALL) {
			put_block(r, p, is_here, i, p, i, block_count(r, p, i),
				true);
			continue;
		}
		put_block(r, p, true, i, i, 0,
			block_count(r, i,
				s->kind == WEFT_COLL_GATHER ? s->root : 0),
			is_here && i == p);
	}
	for (int32_t i = 0; s->kind == WEFT_COLL_ALLTOALL && i < s->n; i++)
		put_block(r, p, true, i, i, p, block_count(r, p, i), false);
}

static void put_reduced(struct run *r, int32_t p, int32_t to)
{
	struct items *b = &r->places[p].recv;
	char item[ITEM_MAX];

	for (int64_t i = 0; to > 0 && i < r->s.count; i++) {
		reduced(r, to, i, item);
		item_put(b, b->want, i, item);
	}
}

/* Stores items first to first + n - 1 of the reduction over all places. */
static void put_sums(struct run *r, int32_t p, int64_t first, int64_t n)
{
	struct items *b = &r->places[p].recv;

	for (int64_t i = 0; i < n; i++)
		item_put(b, b->want, i, r->sums + (first + i) * ITEM_MAX);
}

static int64_t whole_count(const struct run *r)
{
	return r->s.kind == WEFT_COLL_REDUCE_SCATTER ? parts_before(r, r->s.n)
						     : r->s.count;
}

static void sum_all(struct run *r)
{
	int64_t all = whole_count(r);

	free(r->sums);
	r->sums = malloc((size_t)all * ITEM_MAX + 1);
	assert_non_null(r->sums);
	for (int64_t i = 0; i < all; i++)
		reduced(r, r->s.n, i, r->sums + i * ITEM_MAX);
}

static void fill_reduction(struct run *r, int32_t p)
{
	const struct setup *s = &r->s;
	bool is_here = member(r, p)->args.is_in_place;

	put_block(r, p, is_here, -1, p, 0, whole_count(r), true);
	if (s->kind == WEFT_COLL_SCAN)
		put_reduced(r, p, p + 1);
	else if (s->kind == WEFT_COLL_EXSCAN)
		put_reduced(r, p, p);
	else if (s->kind == WEFT_COLL_REDUCE_SCATTER)
		put_sums(r, p, parts_before(r, p), block_count(r, p, 0));
	else if (s->kind == WEFT_COLL_ALLREDUCE || p == s->root)
		put_sums(r, p, 0, s->count);
}

static void fill(struct run *r)
{
	if (is_reduction(r->s.kind))
		sum_all(r);
	for (int32_t p = 0; p < r->s.n; p++) {
		struct place *at = &r->places[p];

		if (at->send.mem)
			memset(at->send.mem, 0xa5, 2 * at->send.len);
		if (at->recv.mem)
			memset(at->recv.mem, 0xa5, 2 * at->recv.len);
		if (is_reduction(r->s.kind))
			fill_reduction(r, p);
		else if (r->s.kind != WEFT_COLL_BARRIER)
			fill_moves(r, p);
	}
}

/* ---- a run ---- */

/* True if the algorithm supports the case at all members, which must agree. */
static bool can_all(struct run *r)
{
	const struct weft_coll_algo *chosen = NULL;
	bool can = true;

	for (int32_t p = 0; p < r->s.n; p++) {
		const struct sim_member *m = member(r, p);
		const struct weft_coll_algo *algo;
		struct weft_coll_case c;

		weft_coll_case_of(&c, r->s.kind, &m->view, &m->args);
		algo = weft_coll_choose(&c, NULL);
		if (p && algo != chosen)
			sim_fail(&r->sim, "place %d chooses %s, others %s",
				(int)p, algo->name, chosen->name);
		chosen = algo;
		if (r->s.algo && p && weft_coll_can(r->s.algo, &c) != can)
			sim_fail(&r->sim, "place %d can%s", (int)p,
				can ? " not" : "");
		if (r->s.algo)
			can = weft_coll_can(r->s.algo, &c);
	}
	return can;
}

static void check_run(struct run *r, enum sim_order order, uint64_t seed)
{
	fill(r);
	sim_run(&r->sim, order, seed);
	for (int32_t p = 0; p < r->s.n; p++) {
		compare(r, p, &r->places[p].send, "send");
		compare(r, p, &r->places[p].recv, "receive");
	}
}

/* The steps are written once and executed twice with different data, as in a
 * persistent collective. */
static void run_case(const struct setup *s)
{
	struct run r;

	cases++;
	run_open(&r, s);
	if (can_all(&r)) {
		int32_t bad = (int32_t)(cases % (uint64_t)s->n);

		write_all(&r);
		write_with_error(&r, bad);
		/* arguments in arrays may change after the steps were
		 * written */
		for (int32_t p = 0; p < s->n; p++)
			memset(r.places[p].lent, 0x5a,
				sizeof(r.places[p].lent));
		r.salt = cases;
		check_run(&r, (enum sim_order)(cases % SIM_ORDERS), cases);
		r.salt++;
		if (cases % 2)
			check_run(&r,
				(enum sim_order)((cases / 2) % SIM_ORDERS),
				cases + 1);
		count_done(s->algo);
	}
	run_close(&r);
}

/* ---- all algorithms of the table ---- */

static bool has_form(enum weft_coll_kind kind, enum form form)
{
	if (form == REGULAR)
		return true;
	if (form == WIDE)
		return kind == WEFT_COLL_ALLTOALL;
	return kind == WEFT_COLL_GATHER || kind == WEFT_COLL_SCATTER ||
	       kind == WEFT_COLL_ALLGATHER || kind == WEFT_COLL_ALLTOALL ||
	       kind == WEFT_COLL_REDUCE_SCATTER;
}

/* True for operations without data, which write no steps. */
static bool is_nothing(const struct setup *s)
{
	return s->algo && s->count == 0 &&
	       (s->kind == WEFT_COLL_BCAST || is_reduction(s->kind) ||
		       (s->kind == WEFT_COLL_ALLTOALL && s->form == REGULAR));
}

/* Runs cases in which the remaining parameters vary from case to case. */
static void run_turned(struct setup *s)
{
	const int32_t roots[] = { 0, s->n - 1, s->n / 2, 1 % s->n };
	const bool has_nodes = s->layout > ALONE;

	s->root = roots[cases % 4];
	s->is_in_place = (cases / 4) % 2;
	s->is_permuted = !has_nodes && (cases / 2) % 2;
	s->has_aliases = !is_reduction(s->kind) && (cases / 8) % 2;
	if (!is_nothing(s))
		run_case(s);
	else
		cases++;
}

static bool is_of_blocks(enum weft_coll_kind kind)
{
	return !is_reduction(kind) && kind != WEFT_COLL_BCAST;
}

static void run_counts(struct setup *s)
{
	const bool has_blocks = is_of_blocks(s->kind);
	const int64_t counts[] = { 0, 1, 2, has_blocks ? 5 : s->n,
		3 * s->n + 1 };

	for (int c = 0; c < 5 - has_blocks; c++)
		for (int k = 0; k < N_KINDS; k++) {
			if (!is_reduction(s->kind) && k != INT_SUM &&
				k != PAIR_MIN && k != AFFINE)
				continue;
			/* runs half of these cases only */
			if (is_reduction(s->kind) && k != AFFINE &&
				(k + s->n + c) % 2)
				continue;
			s->count = counts[c];
			s->items = &item_kinds[k];
			run_turned(s);
		}
}

static void run_algo(const struct weft_coll_algo *algo,
	enum weft_coll_kind kind, int32_t n, int layout)
{
	struct setup s = {
		.kind = kind, .algo = algo, .n = n, .layout = layout
	};

	for (int f = REGULAR; f < N_FORMS; f++) {
		s.form = (enum form)f;
		if (has_form(kind, s.form))
			run_counts(&s);
	}
}

static bool is_moved_or_reduced(enum weft_coll_kind kind)
{
	return kind != WEFT_COLL_BARRIER &&
	       kind != WEFT_COLL_NEIGHBOR_ALLGATHER &&
	       kind != WEFT_COLL_NEIGHBOR_ALLTOALL;
}

static void test_algorithms(void **state)
{
	const struct weft_coll_algo *algo;

	(void)state;
	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++) {
		bool has_nodes = algo->needs & WEFT_NEEDS_NODES;

		if (!algo->write || !is_moved_or_reduced(algo->kind))
			continue;
		for (int32_t n = 1; n <= N_MAX; n++)
			for (int l = has_nodes ? TWOS : UNKNOWN;
				l < (has_nodes ? N_LAYOUTS : ONE_NODE); l++)
				if (n < 8 || !has_nodes || (n + l) % 2)
					run_algo(algo, algo->kind, n, l);
		if (!done[i])
			fail_msg("%s:%s was never run",
				weft_coll_kind_name(algo->kind), algo->name);
	}
}

/* The choices of the rules, with parts within and between nodes. */
static void test_rules(void **state)
{
	const int32_t sizes[] = { 1, 3, 8, 11, 17 };
	const int layouts[] = { UNKNOWN, ONE_NODE, THREES, CYCLIC_2, DEALT };

	(void)state;
	for (int k = 0; k < WEFT_COLL_N; k++)
		for (int i = 0; i < 5 * 5; i++)
			if (is_moved_or_reduced((enum weft_coll_kind)k))
				run_algo(NULL, (enum weft_coll_kind)k,
					sizes[i / 5], layouts[i % 5]);
}

/* Runs an algorithm with data that it cuts into pieces, and with more members
 * than it sends to at a time. */
static void run_long(
	const struct weft_coll_algo *algo, enum weft_coll_kind kind, int layout)
{
	struct setup s = { .kind = kind, .algo = algo, .layout = layout };
	bool is_commutative = algo && algo->needs & WEFT_NEEDS_COMMUTATIVE;

	for (s.n = 2; s.n <= N_MAX; s.n = 2 * s.n + 2) {
		s.count = is_of_blocks(kind) ? 101 : 9001;
		s.items = &item_kinds[is_commutative || s.n == 6 ? DOUBLE_SUM
								 : AFFINE];
		run_turned(&s);
	}
	s.n = 70;
	s.count = is_reduction(kind) ? 71 : 1;
	s.layout = layout ? TWOS : UNKNOWN;
	run_turned(&s);
}

static void test_long(void **state)
{
	const struct weft_coll_algo *algo;

	(void)state;
	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++)
		if (algo->write && is_moved_or_reduced(algo->kind))
			run_long(algo, algo->kind,
				algo->needs & WEFT_NEEDS_NODES ? THREES
							       : UNKNOWN);
	for (int k = 0; k < WEFT_COLL_N; k++)
		if (is_moved_or_reduced((enum weft_coll_kind)k))
			run_long(NULL, (enum weft_coll_kind)k, DEALT);
}

/* ---- barriers ---- */

static void hold_one(
	const struct weft_coll_algo *algo, int32_t n, int layout, int32_t held)
{
	struct setup s = { .kind = WEFT_COLL_BARRIER,
		.algo = algo,
		.n = n,
		.layout = layout,
		.items = &item_kinds[INT_SUM] };
	struct run r;

	cases++;
	run_open(&r, &s);
	if (can_all(&r)) {
		write_all(&r);
		write_with_error(&r, held);
		r.sim.members[held].is_held = true;
		r.sim.seed = cases;
		r.sim.order = (enum sim_order)(cases % SIM_ORDERS);
		sim_advance(&r.sim);
		for (int32_t i = 0; i < n; i++)
			if (n > 1 && sim_is_done(&r.sim.members[i]))
				sim_fail(&r.sim, "%d leaves before %d enters",
					(int)i, (int)held);
		r.sim.members[held].is_held = false;
		sim_advance(&r.sim);
		for (int32_t i = 0; i < n; i++)
			if (!sim_is_done(&r.sim.members[i]))
				sim_fail(&r.sim, "%d stays", (int)i);
		check_run(&r, SIM_MIXED, cases);
		count_done(algo);
	}
	run_close(&r);
}

static void test_barriers(void **state)
{
	const struct weft_coll_algo *algo;

	(void)state;
	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++) {
		if (!algo->write || algo->kind != WEFT_COLL_BARRIER)
			continue;
		for (int32_t n = 1; n <= N_MAX; n++)
			for (int32_t held = 0; held < n; held++)
				for (int l = TWOS; l < N_LAYOUTS; l++)
					hold_one(algo, n, l, held);
		assert_true(done[i]);
	}
}

/* ---- sums that are rounded ---- */

/* Writes the results of all members one after the other to out. Returns the
 * number of bytes. */
static size_t rough_results(
	const struct setup *s, enum sim_order order, char *out, size_t room)
{
	struct run r;
	size_t len = 0;

	cases++;
	run_open(&r, s);
	if (can_all(&r)) {
		write_all(&r);
		r.salt = 4711;
		fill(&r);
		sim_run(&r.sim, order, cases);
		for (int32_t p = 0; p < s->n; p++) {
			const struct items *b = &r.places[p].recv;

			assert_true(len + b->len <= room);
			if (b->mem)
				memcpy(out + len, b->mem, b->len);
			len += b->len;
		}
	}
	run_close(&r);
	return len;
}

enum { ROUGH_ROOM = 4 << 20 };

static char rough[2][ROUGH_ROOM];

static void expect_same(const struct setup *s, enum sim_order order, size_t len,
	const char *what)
{
	if (rough_results(s, order, rough[1], ROUGH_ROOM) != len ||
		memcmp(rough[0], rough[1], len) != 0)
		fail_msg("%s:%s, %d members, %lld items, %s: another sum %s",
			weft_coll_kind_name(s->kind),
			s->algo ? s->algo->name : "by the rules", (int)s->n,
			(long long)s->count, layout_names[s->layout], what);
}

/* The order of arrival does not matter, and all members have the same bits. */
static void test_any_order(void **state)
{
	const struct weft_coll_algo *algo;

	(void)state;
	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++) {
		struct setup s = { .kind = algo->kind,
			.algo = algo,
			.layout = algo->needs & WEFT_NEEDS_NODES ? THREES
								 : UNKNOWN,
			.items = &item_kinds[DOUBLE_SUM],
			.is_rough = true };

		if (!algo->write || !is_reduction(algo->kind))
			continue;
		for (s.n = 2; s.n <= N_MAX; s.n++) {
			size_t len, one;

			s.count = 40;
			s.root = s.n / 2;
			len = rough_results(
				&s, SIM_EARLY, rough[0], ROUGH_ROOM);
			one = len / (size_t)s.n;
			for (int32_t p = 1;
				s.kind == WEFT_COLL_ALLREDUCE && p < s.n; p++)
				assert_memory_equal(rough[0],
					rough[0] + (size_t)p * one, one);
			for (int k = 0; k < 4; k++)
				expect_same(&s, k ? SIM_MIXED : SIM_LATE, len,
					"in another order");
		}
	}
}

/* With WEFT_COLL_REPRODUCIBLE, the placement of ranks does not change the
 * result. */
static void test_reproducible(void **state)
{
	const int64_t counts[] = { 1, 100, 600, 9000 };
	uint64_t n_others = 0;
	struct weft_coll_case job;

	(void)state;
	weft_knobs.coll_reproducible = 1;
	weft_coll_case_of_job(&job, WEFT_COLL_ALLREDUCE, 8, 8, 64, "");
	assert_false(job.has_segment);
	for (int k = WEFT_COLL_REDUCE; k <= WEFT_COLL_EXSCAN; k++)
		for (size_t c = 0; c < 4; c++)
			for (int32_t n = 2; n <= N_MAX; n += c == 3 ? 5 : 3) {
				struct setup s = {
					.kind = (enum weft_coll_kind)k,
					.n = n,
					.root = n / 2,
					.count = k == WEFT_COLL_REDUCE_SCATTER
							 ? counts[c] / n + 1
							 : counts[c],
					.items = &item_kinds[DOUBLE_SUM],
					.is_rough = true
				};
				size_t len = rough_results(
					&s, SIM_EARLY, rough[0], ROUGH_ROOM);

				for (s.layout = 1; s.layout < N_LAYOUTS;
					s.layout++)
					expect_same(&s, SIM_MIXED, len,
						"on other nodes");
				weft_knobs.coll_reproducible = 0;
				s.layout = THREES;
				rough_results(
					&s, SIM_LATE, rough[1], ROUGH_ROOM);
				n_others +=
					memcmp(rough[0], rough[1], len) != 0;
				weft_knobs.coll_reproducible = 1;
			}
	weft_knobs.coll_reproducible = 0;
	assert_true(n_others > 0); /* otherwise the test would prove nothing */
}

/* ---- scratch memory ---- */

/* The next request for about the same length returns the same long memory. */
static void test_scratch(void **state)
{
	static struct weft_vci vci;
	struct weft_sched sched = { .vci = &vci };
	void *first, *second;

	(void)state;
	first = weft_sched_tmp(&sched, 100000);
	weft_sched_free_tmps(&sched);
	second = weft_sched_tmp(&sched, 90000);
	assert_ptr_equal(first, second);
	assert_ptr_not_equal(weft_sched_tmp(&sched, 90000), first);
	weft_sched_free_tmps(&sched);
	for (int i = 0; i < 1000; i++) {
		weft_sched_tmp(&sched, 1 << 20);
		if (i % 20 == 19)
			weft_sched_free_tmps(&sched);
	}
	weft_knobs.coll_scratch = 0;
	weft_sched_free_tmps(&sched);
	weft_sched_tmp(&sched, 100000);
	weft_sched_free_tmps(&sched);
	assert_null(vci.scratch);
	weft_knobs.coll_scratch = 16 << 20;
	weft_sched_tmp(&sched, 100000);
	weft_sched_free_tmps(&sched);
	assert_non_null(vci.scratch);
	weft_coll_close(&vci);
	assert_null(vci.scratch);
}

/* Between two borders, the rules select one algorithm. The members share a
 * node. */
static void borders_are_where_choices_change(void **state)
{
	struct weft_coll_case c;

	(void)state;
	for (int k = 0; k < WEFT_COLL_NEIGHBOR_ALLGATHER; k++)
		for (int n = 2; n <= 16; n++) {
			enum weft_coll_kind kind = (enum weft_coll_kind)k;
			int64_t from = n, next;

			weft_coll_case_in_segment(&c, kind, n, n > 2);
			for (; from < 1 << 22; from = next) {
				const struct weft_coll_algo *algo;

				next = weft_min64(
					weft_coll_border(kind, from), 1 << 22);
				assert_true(next > from);
				c.bytes = c.count = from;
				algo = weft_coll_choose(&c, NULL);
				c.bytes = c.count = (from + next) / 2;
				assert_ptr_equal(
					weft_coll_choose(&c, NULL), algo);
				c.bytes = c.count = next - 1;
				assert_ptr_equal(
					weft_coll_choose(&c, NULL), algo);
			}
		}
}

/* Each algorithm that sends messages has a formula for its time, except those
 * that depend on a topology. More bytes do not take less time. */
static void test_costs(void **state)
{
	const struct weft_loggp *path = &weft_network_find("hdr")->path;
	const struct weft_coll_algo *algo;
	struct weft_coll_case c;

	(void)state;
	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++) {
		double last = 0;

		if (!algo->write || algo->kind >= WEFT_COLL_NEIGHBOR_ALLGATHER)
			continue;
		assert_non_null(algo->cost);
		for (int64_t bytes = 1; bytes < 1 << 30; bytes *= 8) {
			double ns;

			weft_coll_case_of_job(
				&c, algo->kind, 1 << 20, 64, bytes, "tcp");
			ns = weft_coll_predict(algo, &c, path);
			assert_true(ns >= last && ns > 1400);
			last = ns;
		}
	}
}

/* The predicted time of the fastest algorithm that can run the case. */
static double least_cost(
	const struct weft_coll_case *c, const struct weft_loggp *path)
{
	const struct weft_coll_algo *algo;
	double least = 0;

	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++) {
		double ns;

		if (algo->kind != c->kind || !algo->cost ||
			weft_coll_cannot(algo, c))
			continue;
		ns = weft_coll_predict(algo, c, path);
		if (!least || ns < least)
			least = ns;
	}
	return least;
}

/* On fast networks, no rule selects an algorithm that takes more than four
 * times as long as another one. */
static void test_fast_networks(void **state)
{
	static const int32_t most[] = { 1, 4, 16, 64, 128 };
	const struct weft_loggp *path = &weft_network_find("hdr")->path;
	struct weft_coll_case c;

	(void)state;
	for (int k = 0; k < WEFT_COLL_NEIGHBOR_ALLGATHER; k++)
		for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++)
			for (int32_t nodes = 2; nodes <= 512; nodes *= 4)
				for (int64_t n = 8; n <= 1 << 20; n *= 4) {
					const struct weft_coll_algo *chosen;

					weft_coll_case_of_job(&c,
						(enum weft_coll_kind)k,
						nodes * most[i], most[i], n,
						"verbs");
					chosen = weft_coll_choose(&c, NULL);
					assert_non_null(chosen->cost);
					assert_true(weft_coll_predict(
							    chosen, &c, path) <=
						    4 * least_cost(&c, path));
				}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_algorithms),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_barriers),
		cmocka_unit_test(test_scratch),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_reproducible),
		cmocka_unit_test(borders_are_where_choices_change),
		cmocka_unit_test(test_costs),
		cmocka_unit_test(test_fast_networks),
	};

	unsetenv("WEFT_COLL");
	unsetenv("WEFT_COLL_FILE");
	unsetenv("WEFT_COLL_REPRODUCIBLE");
	return cmocka_run_group_tests(tests, open_kinds, close_kinds);
}
