/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_run: one collective among simulated members (coll_sim.h): its arguments,
 * buffers and expected result, with which the result is compared
 *
 * The comparison includes the bytes between and around the data. */
#ifndef WEFT_TEST_COLL_RUN_H
#define WEFT_TEST_COLL_RUN_H

#include "coll_sim.h"

#include "base/knob.h"

enum { N_MAX = 17, GUARD = 64, ITEM_MAX = 16, MOD = 65521 };

/* ---- data ---- */

struct item_kind {
	const char *name;
	struct weft_type *type;
	struct weft_type *alias; /* another type of the same size */
	struct weft_redop *op;
	void (*make)(uint64_t key, void *item);
	void (*apply)(const void *in, void *inout); /* inout = in op inout */
};

enum {
	INT_SUM,
	INT_MAX_OP,
	DOUBLE_SUM,
	PAIR_MAX,
	PAIR_MIN,
	AFFINE,
	MIXED,
	N_KINDS
};

static struct item_kind item_kinds[N_KINDS];

/* Items as they are packed, without gaps. */
static void make_int(uint64_t key, void *item)
{
	int32_t v = (int32_t)(key % 2001) - 1000;

	memcpy(item, &v, sizeof(v));
}

static void make_double(uint64_t key, void *item)
{
	double v = (double)(key % 2001) - 1000;

	memcpy(item, &v, sizeof(v));
}

/* Few different values, so that the index often decides. */
static void make_int_pair(uint64_t key, void *item)
{
	int32_t v[2] = { (int32_t)(key % 3), (int32_t)(key >> 20 & 63) };

	memcpy(item, v, sizeof(v));
}

static void make_double_pair(uint64_t key, void *item)
{
	int32_t at = (int32_t)(key >> 20 & 63);
	double v = (double)(key % 3);

	memcpy(item, &v, sizeof(v));
	memcpy((char *)item + sizeof(v), &at, sizeof(at));
}

static void make_map(uint64_t key, void *item)
{
	uint32_t v[2] = { 1 + (uint32_t)(key % (MOD - 1)),
		(uint32_t)(key >> 17) % MOD };

	memcpy(item, v, sizeof(v));
}

static void int_sum(const void *in, void *inout)
{
	int32_t a, b;

	memcpy(&a, in, 4);
	memcpy(&b, inout, 4);
	b = a + b;
	memcpy(inout, &b, 4);
}

static void int_max(const void *in, void *inout)
{
	int32_t a, b;

	memcpy(&a, in, 4);
	memcpy(&b, inout, 4);
	if (a > b)
		memcpy(inout, &a, 4);
}

static void double_sum(const void *in, void *inout)
{
	double a, b;

	memcpy(&a, in, 8);
	memcpy(&b, inout, 8);
	b = a + b;
	memcpy(inout, &b, 8);
}

static void int_pair_max(const void *in, void *inout)
{
	int32_t a[2], b[2];

	memcpy(a, in, 8);
	memcpy(b, inout, 8);
	if (a[0] > b[0] || (a[0] == b[0] && a[1] < b[1]))
		memcpy(inout, a, 8);
}

static void double_pair_min(const void *in, void *inout)
{
	double a, b;
	int32_t i, k;

	memcpy(&a, in, 8);
	memcpy(&b, inout, 8);
	memcpy(&i, (const char *)in + 8, 4);
	memcpy(&k, (char *)inout + 8, 4);
	if (a < b || (!(b < a) && i < k))
		memcpy(inout, in, 12);
}

/* Composes two maps x -> v[0] * x + v[1]: `in` first, then inout. */
static void map_after(const void *in, void *inout)
{
	uint64_t r0, r1;
	uint32_t a[2], b[2];

	memcpy(a, in, 8);
	memcpy(b, inout, 8);
	r0 = (uint64_t)a[0] * b[0] % MOD;
	r1 = ((uint64_t)b[0] * a[1] + b[1]) % MOD;
	b[0] = (uint32_t)r0;
	b[1] = (uint32_t)r1;
	memcpy(inout, b, 8);
}

static void mix(const void *in, void *inout)
{
	uint32_t a[2], b[2];

	memcpy(a, in, 8);
	memcpy(b, inout, 8);
	b[0] = (a[0] + b[0]) % MOD;
	b[1] ^= a[1];
	memcpy(inout, b, 8);
}

/* Two numbers with gaps before, between and after. */
enum { GAPPED_A = 4, GAPPED_B = 12, GAPPED_EXTENT = 24 };

static void on_gapped(
	void *in, void *inout, int n, void (*apply)(const void *, void *))
{
	for (int i = 0; i < n; i++) {
		char *a = (char *)in + i * GAPPED_EXTENT;
		char *b = (char *)inout + i * GAPPED_EXTENT;
		uint32_t x[2], y[2];

		memcpy(&x[0], a + GAPPED_A, 4);
		memcpy(&x[1], a + GAPPED_B, 4);
		memcpy(&y[0], b + GAPPED_A, 4);
		memcpy(&y[1], b + GAPPED_B, 4);
		apply(x, y);
		memcpy(b + GAPPED_A, &y[0], 4);
		memcpy(b + GAPPED_B, &y[1], 4);
	}
}

static void user_map(void *in, void *inout, int *count, void **type)
{
	(void)type;
	on_gapped(in, inout, *count, map_after);
}

static void user_mix(void *in, void *inout, int *count, void **type)
{
	(void)type;
	on_gapped(in, inout, *count, mix);
}

static struct weft_type *gapped_type(void)
{
	const int64_t lens[] = { 1, 1 }, at[] = { GAPPED_A, GAPPED_B };
	struct weft_type *pair, *type;

	assert_int_equal(weft_type_make_hindexed(
				 2, lens, at, weft_type_builtin(0x251), &pair),
		0);
	assert_int_equal(
		weft_type_make_resized(pair, 0, GAPPED_EXTENT, &type), 0);
	weft_type_put(pair);
	weft_type_commit(type);
	return type;
}

static int open_kinds(void **state)
{
	struct weft_type *gapped = gapped_type();
	struct weft_type *int32 = weft_type_builtin(WEFT_TYPE_INT32);
	struct weft_type *int64 = weft_type_builtin(WEFT_TYPE_INT64);
	struct weft_redop *sum = weft_redop_builtin(WEFT_OP_SUM);

	(void)state;
	assert_int_equal(weft_coll_rules_load(), 0);
	item_kinds[INT_SUM] = (struct item_kind){ "int sum", int32, int32, sum,
		make_int, int_sum };
	item_kinds[INT_MAX_OP] = (struct item_kind){ "int max", int32, int32,
		weft_redop_builtin(WEFT_OP_MAX), make_int, int_max };
	item_kinds[DOUBLE_SUM] = (struct item_kind){ "double sum",
		weft_type_builtin(0x214), int64, sum, make_double, double_sum };
	item_kinds[PAIR_MAX] =
		(struct item_kind){ "int pair maxloc", weft_type_builtin(0x22b),
			int64, weft_redop_builtin(WEFT_OP_MAXLOC),
			make_int_pair, int_pair_max };
	item_kinds[PAIR_MIN] = (struct item_kind){ "double-int minloc",
		weft_type_builtin(0x229), weft_type_builtin(0x229),
		weft_redop_builtin(WEFT_OP_MINLOC), make_double_pair,
		double_pair_min };
	item_kinds[AFFINE] = (struct item_kind){ "gapped, not commutative",
		gapped, int64, weft_redop_make(user_map, NULL, false), make_map,
		map_after };
	item_kinds[MIXED] = (struct item_kind){ "gapped, user's", gapped, int64,
		weft_redop_make(user_mix, NULL, true), make_map, mix };
	return 0;
}

static int close_kinds(void **state)
{
	(void)state;
	weft_redop_close_handle(item_kinds[AFFINE].op);
	weft_redop_close_handle(item_kinds[MIXED].op);
	weft_type_close_handle(item_kinds[AFFINE].type);
	return 0;
}

/* ---- buffers ---- */

/* Memory for items with space before and after them, and its expected
 * contents. */
struct items {
	struct weft_type *type;
	char *mem, *want;
	size_t len;
};

static void items_open(struct items *b, struct weft_type *type, int64_t n_items)
{
	b->type = type;
	b->len = (size_t)(n_items * type->extent) + 2 * GUARD;
	b->mem = malloc(2 * b->len);
	assert_non_null(b->mem);
	b->want = b->mem + b->len;
	memset(b->mem, 0xa5, 2 * b->len);
}

static char *items_at(const struct items *b, int64_t i)
{
	return b->mem + GUARD + i * b->type->extent;
}

static void item_put(
	const struct items *b, char *mem, int64_t i, const void *item)
{
	assert_int_equal(
		weft_type_copy(weft_type_builtin(WEFT_TYPE_BYTE), b->type->size,
			item, b->type, 1, mem + GUARD + i * b->type->extent),
		0);
}

/* ---- a case ---- */

enum form { REGULAR, VECTOR, WIDE, N_FORMS }; /* WIDE: each block has a type */

struct setup {
	enum weft_coll_kind kind;
	const struct weft_coll_algo *algo; /* NULL: selected by the rules */
	const struct item_kind *items;
	int32_t n, root;
	int64_t count;
	int layout;
	enum form form;
	bool is_in_place, is_permuted, has_aliases;
	bool is_rough; /* sums are rounded, so results are compared only with
			* results of other runs */
};

/* Description of the blocks of one side. */
struct arrays {
	int64_t counts[SIM_MAX], displs[SIM_MAX];
	struct weft_type *types[SIM_MAX];
};

/* The data of one place. of: the blocks of the sending [0] and of the receiving
 * [1] side; lent: a copy that is passed to the algorithm. */
struct place {
	struct items send, recv;
	struct arrays of[2], lent[2];
};

struct run {
	struct setup s;
	struct sim sim;
	struct place *places;
	int32_t rank_of[SIM_MAX];   /* the rank of each place */
	int32_t ranks[2 * SIM_MAX]; /* list of ranks of the view */
	struct weft_nodes *nodes;
	uint64_t salt;
	char *sums; /* reductions over all places, packed */
	char what[SIM_WHAT];
};

static uint64_t cases;	   /* number of cases so far: it selects the parameters
			    * that vary from case to case */
static unsigned done[100]; /* number of runs by algorithm */

static void make_item(
	const struct run *r, int32_t from, int32_t to, int64_t i, void *item)
{
	uint64_t key = r->salt * 0x9e3779b97f4a7c15ull +
		       (uint64_t)from * 0xbf58476d1ce4e5b9ull +
		       (uint64_t)to * 0x94d049bb133111ebull + (uint64_t)i;

	for (int k = 0; k < 3; k++) {
		key ^= key >> 29;
		key *= 0xd6e8feb86659fd93ull;
	}
	if (r->s.is_rough) {
		double v = (double)(key >> 11) * 0x1p-53;

		v *= key % 5 ? 1 : 1e9;
		memcpy(item, &v, sizeof(v));
	} else {
		r->s.items->make(key >> 3, item);
	}
}

/* ---- layouts ---- */

enum {
	UNKNOWN,
	ONE_NODE,
	ALONE,
	TWOS,
	THREES,
	HALVES,
	CYCLIC_2,
	CYCLIC_3,
	DEALT,
	N_LAYOUTS
};

static const char *const layout_names[] = { "unknown", "one node", "alone",
	"twos", "threes", "halves", "cyclic over 2", "cyclic over 3", "dealt" };

/* Returns the node of member i. Node numbers are arbitrary: the caller replaces
 * them by the lowest member of the node. */
static int32_t node_of(int layout, int32_t i, int32_t n)
{
	uint64_t seed = (uint64_t)i * 77 + 5;

	switch (layout) {
	case ALONE:
		return i;
	case TWOS:
		return i / 2;
	case THREES:
		return i / 3;
	case HALVES:
		return i / ((n + 1) / 2);
	case CYCLIC_2:
		return i % 2;
	case CYCLIC_3:
		return i % 3;
	case DEALT:
		return (int32_t)sim_rnd(&seed, (uint32_t)(n / 3 + 1));
	default:
		return 0;
	}
}

static void lay_out(struct run *r)
{
	const int32_t n = r->s.n;
	struct weft_node_run runs[SIM_MAX];
	struct weft_nodes *nodes;
	uint32_t n_runs = 0;

	for (int32_t i = 0; i < n; i++) {
		int32_t leader = 0;

		while (node_of(r->s.layout, leader, n) !=
			node_of(r->s.layout, i, n))
			leader++;
		n_runs = weft_node_runs_append(runs, n_runs,
			(struct weft_node_run){
				(uint32_t)i, (uint32_t)leader, 1, 0 });
	}
	assert_true(weft_node_runs_are_valid(runs, n_runs, n));
	nodes = weft_comm_nodes_create(runs, n_runs, n);
	assert_non_null(nodes);
	r->nodes = nodes;
}

/* Sets the rank of each place: its number, or (is_permuted) an entry of a list
 * with a stride and one exception. */
static void set_views(struct run *r)
{
	const int32_t n = r->s.n, other = n / 2;

	for (int32_t p = 0; p < n; p++)
		r->rank_of[p] = r->s.is_permuted ? (p * 5 + 3) % n : p;
	if (r->s.is_permuted && n % 5 == 0)
		for (int32_t p = 0; p < n; p++)
			r->rank_of[p] = n - 1 - p;
	for (int32_t p = 0; p < n; p++) {
		struct sim_member *m = &r->sim.members[r->rank_of[p]];

		r->ranks[2 * p] = p == other ? -77 : r->rank_of[p];
		r->ranks[2 * p + 1] = -78;
		m->view.nodes = r->s.layout == UNKNOWN ? NULL : r->nodes;
		if (!r->s.is_permuted)
			continue;
		m->view = weft_coll_view_ranks(&m->comm, r->ranks, n, p);
		m->view.stride = 2;
		m->view.other = other;
		m->view.other_rank = r->rank_of[other];
	}
}

/* ---- arguments ---- */

static struct sim_member *member(struct run *r, int32_t p)
{
	return &r->sim.members[r->rank_of[p]];
}

static bool is_irregular(const struct run *r)
{
	return r->s.form != REGULAR;
}

/* Returns the number of items in the block between two places, equal in both
 * directions. */
static int64_t block_count(const struct run *r, int32_t i, int32_t j)
{
	if (!is_irregular(r))
		return r->s.count;
	return (r->s.count + 3 * (int64_t)(i + j)) % (r->s.count + 2);
}

static struct weft_type *place_type(const struct run *r, int32_t p)
{
	return r->s.has_aliases && p % 2 ? r->s.items->alias : r->s.items->type;
}

/* Sets the n blocks of a side. In irregular forms, the last block is first, and
 * blocks are one item apart. */
static void set_blocks(struct run *r, int32_t p, bool is_recv,
	int64_t (*count)(const struct run *, int32_t, int32_t), int32_t n)
{
	struct place *place = &r->places[p];
	struct arrays *of = &place->of[is_recv], *lent = &place->lent[is_recv];
	struct weft_coll *args = &member(r, p)->args;
	struct weft_blocks *blocks = is_recv ? &args->recv : &args->send;
	struct items *b = is_recv ? &place->recv : &place->send;
	struct weft_type *type = place_type(r, p);
	int64_t total = 0;

	for (int32_t i = n - 1; i >= 0; i--) {
		of->counts[i] = count(r, p, i);
		of->displs[i] = is_irregular(r) ? total : i * r->s.count;
		total += of->counts[i] + is_irregular(r);
		of->types[i] = type;
	}
	*lent = *of;
	items_open(b, type, total);
	*blocks = (struct weft_blocks){ .buf = items_at(b, 0),
		.count = is_irregular(r) ? 0 : r->s.count,
		.type = type };
	if (!is_irregular(r))
		return;
	blocks->counts = lent->counts;
	blocks->displs = lent->displs;
	if (r->s.form != WIDE)
		return;
	for (int32_t i = 0; i < n; i++)
		lent->displs[i] *= type->extent;
	blocks->types = lent->types;
	blocks->type = NULL;
	blocks->has_byte_displs = true;
}

static void set_one(struct run *r, int32_t p, bool is_recv, int64_t count)
{
	struct weft_coll *args = &member(r, p)->args;
	struct weft_blocks *blocks = is_recv ? &args->recv : &args->send;
	struct items *b = is_recv ? &r->places[p].recv : &r->places[p].send;

	items_open(b, place_type(r, p), count);
	*blocks = (struct weft_blocks){
		.buf = items_at(b, 0), .count = count, .type = b->type
	};
}

static int64_t parts_before(const struct run *r, int32_t part)
{
	int64_t total = 0;

	for (int32_t i = 0; i < part; i++)
		total += block_count(r, i, 0);
	return total;
}

static int64_t own_count(const struct run *r, int32_t p, int32_t i)
{
	(void)p;
	return block_count(r, i, 0);
}

static void set_parts(struct run *r, int32_t p)
{
	struct weft_coll *args = &member(r, p)->args;
	struct place *place = &r->places[p];
	int64_t all = parts_before(r, r->s.n);

	set_one(r, p, true, r->s.is_in_place ? all : block_count(r, p, 0));
	if (!r->s.is_in_place)
		set_one(r, p, false, all);
	args->recv.count = is_irregular(r) ? 0 : r->s.count;
	for (int32_t i = 0; i < r->s.n; i++)
		place->lent[1].counts[i] = block_count(r, i, 0);
	if (is_irregular(r))
		args->recv.counts = place->lent[1].counts;
	args->send = (struct weft_blocks){ .buf = args->send.buf,
		.count = args->recv.count,
		.counts = args->recv.counts,
		.type = args->recv.type };
}

static bool is_rooted(enum weft_coll_kind kind)
{
	return kind == WEFT_COLL_BCAST || kind == WEFT_COLL_GATHER ||
	       kind == WEFT_COLL_SCATTER || kind == WEFT_COLL_REDUCE;
}

static bool is_reduction(enum weft_coll_kind kind)
{
	return kind >= WEFT_COLL_REDUCE && kind <= WEFT_COLL_EXSCAN;
}

/* Sets the arguments as the API rooms do: those that are not significant are
 * 0. */
static void set_args(struct run *r, int32_t p)
{
	const struct setup *s = &r->s;
	struct weft_coll *args = &member(r, p)->args;
	bool is_root = p == s->root, is_here;

	args->is_in_place = is_here =
		s->is_in_place && (is_root || !is_rooted(s->kind));
	args->root = is_rooted(s->kind) ? s->root : 0;
	args->is_irregular = is_irregular(r);
	if (is_reduction(s->kind))
		args->op = s->items->op;
	switch (s->kind) {
	case WEFT_COLL_BCAST:
		set_one(r, p, true, s->count);
		break;
	case WEFT_COLL_GATHER:
		if (!is_here)
			set_one(r, p, false, block_count(r, p, s->root));
		if (is_root)
			set_blocks(r, p, true, block_count, s->n);
		break;
	case WEFT_COLL_SCATTER:
		if (!is_here)
			set_one(r, p, true, block_count(r, p, s->root));
		if (is_root)
			set_blocks(r, p, false, block_count, s->n);
		break;
	case WEFT_COLL_ALLGATHER:
		if (!is_here)
			set_one(r, p, false, block_count(r, p, 0));
		set_blocks(r, p, true, own_count, s->n);
		break;
	case WEFT_COLL_REDUCE_SCATTER:
		set_parts(r, p);
		break;
	case WEFT_COLL_ALLTOALL:
		if (!is_here)
			set_blocks(r, p, false, block_count, s->n);
		set_blocks(r, p, true, block_count, s->n);
		break;
	case WEFT_COLL_REDUCE:
	case WEFT_COLL_ALLREDUCE:
	case WEFT_COLL_SCAN:
	case WEFT_COLL_EXSCAN:
		if (!is_here)
			set_one(r, p, false, s->count);
		if (is_root || s->kind != WEFT_COLL_REDUCE)
			set_one(r, p, true, s->count);
		break;
	default:
		break;
	}
}

static void set_all_args(struct run *r)
{
	for (int32_t p = 0; p < r->s.n; p++)
		set_args(r, p);
}

/* ---- input and expected result ---- */

/* Stores the n items that place `from` sends to place `to` in a block: as
 * input, which must not change, or as the expected result. block < 0: the side
 * has only one block. */
static void put_block(struct run *r, int32_t p, bool is_recv, int32_t block,
	int32_t from, int32_t to, int64_t n, bool is_input)
{
	struct items *b = is_recv ? &r->places[p].recv : &r->places[p].send;
	char item[ITEM_MAX];

	for (int64_t i = 0; i < n; i++) {
		int64_t at =
			block < 0 ? i
				  : r->places[p].of[is_recv].displs[block] + i;

		make_item(r, from, to, i, item);
		if (is_input)
			item_put(b, b->mem, at, item);
		item_put(b, b->want, at, item);
	}
}

static void compare(
	struct run *r, int32_t p, const struct items *b, const char *name)
{
	size_t i = 0;

	if (!b->mem || !memcmp(b->mem, b->want, b->len))
		return;
	while (b->mem[i] == b->want[i])
		i++;
	sim_fail(&r->sim,
		"place %d: byte %zd of its %s buffer, of %zu, is "
		"%02x and not %02x",
		(int)p, (ssize_t)i - GUARD, name, b->len - 2 * GUARD,
		(unsigned char)b->mem[i], (unsigned char)b->want[i]);
}

/* ---- a run ---- */

static void describe(struct run *r)
{
	const struct setup *s = &r->s;

	snprintf(r->what, sizeof(r->what),
		"%s:%s, %d members, %lld items (%s)%s%s, root %d, nodes %s%s%s"
		", case %llu",
		weft_coll_kind_name(s->kind),
		s->algo ? s->algo->name : "by the rules", (int)s->n,
		(long long)s->count, s->items->name,
		s->form == WIDE	    ? ", w form"
		: s->form == VECTOR ? ", v form"
				    : "",
		s->is_in_place ? ", in place" : "", (int)s->root,
		layout_names[s->layout], s->is_permuted ? ", permuted" : "",
		s->has_aliases ? ", types that differ" : "",
		(unsigned long long)cases);
}

static void run_open(struct run *r, const struct setup *s)
{
	memset(r, 0, sizeof(*r));
	r->s = *s;
	describe(r);
	r->places = calloc((size_t)s->n, sizeof(*r->places));
	assert_non_null(r->places);
	sim_open(&r->sim, s->n, r->what);
	lay_out(r);
	set_views(r);
	set_all_args(r);
}

static void run_close(struct run *r)
{
	for (int32_t p = 0; p < r->s.n; p++) {
		free(r->places[p].send.mem);
		free(r->places[p].recv.mem);
	}
	weft_comm_nodes_put(r->nodes);
	free(r->places);
	free(r->sums);
	sim_close(&r->sim);
}

static void write_place(struct run *r, int32_t p)
{
	struct sim_member *m = member(r, p);
	struct weft_coll_view view = m->view;

	if (r->s.algo)
		r->s.algo->write(&m->sched, &view, &m->args);
	else
		weft_coll_write_among(&m->sched, r->s.kind, &view, &m->args);
	memset(&view, 0x5a, sizeof(view));
}

static void write_all(struct run *r)
{
	for (int32_t p = 0; p < r->s.n; p++) {
		write_place(r, p);
		if (member(r, p)->sched.err)
			sim_fail(&r->sim, "place %d: error %d", (int)p,
				member(r, p)->sched.err);
	}
}

/* A member that has an error from the start writes the same messages, because
 * the other members wait for its error and send to it. */
static void write_with_error(struct run *r, int32_t p)
{
	struct sim_member *m = member(r, p), well = *m;
	size_t i = 0, k = 0;

	m->steps = NULL;
	m->n_steps = m->n_room = 0;
	m->sched.tmps = NULL;
	m->sched.err = WEFT_ERR_NOMEM;
	write_place(r, p);
	for (;; i++, k++) {
		while (i < well.n_steps && well.steps[i].kind > WEFT_STEP_RECV)
			i++;
		while (k < m->n_steps && m->steps[k].kind > WEFT_STEP_RECV)
			k++;
		if (i == well.n_steps || k == m->n_steps)
			break;
		if (well.steps[i].kind != m->steps[k].kind ||
			well.steps[i].rank != m->steps[k].rank)
			break;
	}
	if (i < well.n_steps || k < m->n_steps)
		sim_fail(&r->sim, "place %d: with an error other messages",
			(int)p);
	weft_sched_free_tmps(&m->sched);
	free(m->steps);
	*m = well;
}

static void count_done(const struct weft_coll_algo *algo)
{
	for (size_t i = 0; weft_coll_algo_at(i); i++)
		if (weft_coll_algo_at(i) == algo)
			done[i]++;
}

#endif
