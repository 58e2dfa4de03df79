/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_algo_test: every algorithm of the table against plain loops
 *
 * Among 1 to 17 members and more, whose steps are done in one process
 * (coll_sim.h) in several orders of delivery. Data is compared with all that
 * lies between and around it. */
#include "coll/edges.h"
#include "coll_sim.h"

#include "base/knob.h"

enum { N_MAX = 17, GUARD = 64, ITEM_MAX = 16, MOD = 65521 };

/* ---- data ---- */

struct item_kind {
	const char *name;
	struct weft_type *type;
	struct weft_type *alias; /* another type of as many bytes */
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

/* Few values, so that places decide. */
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

/* x -> v[0] * x + v[1]: first in, then inout. */
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
	struct weft_type *int32 = weft_type_builtin(0x250);
	struct weft_type *int64 = weft_type_builtin(0x258);
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

/* Memory of items with room before and after, and what it is to be. */
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
		weft_type_copy(weft_type_builtin(BYTE_ABI_VALUE), b->type->size,
			item, b->type, 1, mem + GUARD + i * b->type->extent),
		0);
}

/* ---- a case ---- */

enum form { REGULAR, VECTOR, WIDE, N_FORMS }; /* WIDE: a type each */

struct setup {
	enum weft_coll_kind kind;
	const struct weft_coll_algo *algo; /* NULL: the rules choose */
	const struct item_kind *items;
	int32_t n, root;
	int64_t count;
	int layout;
	enum form form;
	bool is_in_place, is_permuted, has_aliases;
	bool is_rough; /* sums that are rounded: only compared with others */
};

/* What describes the blocks of one side. */
struct arrays {
	int64_t counts[SIM_MAX], displs[SIM_MAX];
	struct weft_type *types[SIM_MAX];
};

/* Of one place; of two things the second is of the receiving side. */
struct place {
	struct items send, recv;
	struct arrays of[2], lent[2];
};

struct run {
	struct setup s;
	struct sim sim;
	struct place *places;
	int32_t rank_of[SIM_MAX];   /* by place */
	int32_t ranks[2 * SIM_MAX]; /* as the view has them */
	int32_t arrays[4 * SIM_MAX + 1];
	struct weft_nodes nodes;
	uint64_t salt;
	char *sums; /* over all places, packed */
	char what[SIM_WHAT];
};

static uint64_t cases;	   /* counted, which turns what is not multiplied out */
static unsigned done[100]; /* by algorithm */

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

/* The reduction of item i over the places below one. */
static void reduced(const struct run *r, int32_t to, int64_t i, void *item)
{
	char one[ITEM_MAX];

	make_item(r, to - 1, 0, i, item);
	for (int32_t k = to - 2; k >= 0; k--) {
		make_item(r, k, 0, i, one);
		r->s.items->apply(one, item);
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

/* Any numbers; the lowest member's number follows below. */
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

static void count_nodes(struct weft_nodes *nodes, int32_t *first, int32_t n)
{
	nodes->least = n;
	for (int32_t k = 0; k < nodes->n; k++) {
		int32_t size = first[k + 1] - first[k];

		nodes->most = size > nodes->most ? size : nodes->most;
		nodes->least = size < nodes->least ? size : nodes->least;
	}
}

static void lay_out(struct run *r)
{
	const int32_t n = r->s.n;
	int32_t *of = r->arrays, *members = of + n, *leaders = members + n;
	int32_t *first = leaders + n, at = 0;

	r->nodes = (struct weft_nodes){ .of = of,
		.members = members,
		.first = first,
		.leaders = leaders,
		.is_in_order = true };
	for (int32_t i = 0; i < n; i++)
		of[i] = -1;
	for (int32_t i = 0; i < n; i++) {
		if (of[i] >= 0)
			continue;
		leaders[r->nodes.n] = i;
		first[r->nodes.n] = at;
		for (int32_t j = i; j < n; j++)
			if (node_of(r->s.layout, j, n) ==
				node_of(r->s.layout, i, n)) {
				of[j] = r->nodes.n;
				members[at++] = j;
			}
		first[++r->nodes.n] = at;
	}
	for (int32_t i = 1; i < n; i++)
		r->nodes.is_in_order &= of[i] >= of[i - 1];
	count_nodes(&r->nodes, first, n);
}

/* Places are ranks, or others: a list with a stride and one exception. */
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
		m->view.nodes = r->s.layout == UNKNOWN ? NULL : &r->nodes;
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

/* Items in the block of two places, the same both ways. */
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

/* n blocks, last first and one item apart where the form allows. */
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

/* As the API's rooms give them: what is not significant is 0. */
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

/* ---- input and what is to come of it ---- */

/* Puts items from -> to into a block: input, which stays, or what is wanted. */
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

/* n items from the first on of the reduction over all places. */
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
	free(r->places);
	free(r->sums);
	sim_close(&r->sim);
}

/* All members see the same case, as far as the choice goes by it. */
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

/* A member that has an error from the start writes the same messages, as the
 * others wait for word of it and send theirs. */
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

static void check_run(struct run *r, enum sim_order order, uint64_t seed)
{
	fill(r);
	sim_run(&r->sim, order, seed);
	for (int32_t p = 0; p < r->s.n; p++) {
		compare(r, p, &r->places[p].send, "send");
		compare(r, p, &r->places[p].recv, "receive");
	}
}

static void count_done(const struct weft_coll_algo *algo)
{
	for (size_t i = 0; weft_coll_algo_at(i); i++)
		if (weft_coll_algo_at(i) == algo)
			done[i]++;
}

/* Written once and done again with other data, as persistent ones are. */
static void run_case(const struct setup *s)
{
	struct run r;

	cases++;
	run_open(&r, s);
	if (can_all(&r)) {
		int32_t bad = (int32_t)(cases % (uint64_t)s->n);

		write_all(&r);
		write_with_error(&r, bad);
		/* arrays are read while steps are written and no longer */
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

/* ---- all of the table ---- */

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

/* Nothing is written of operations on nothing. */
static bool is_nothing(const struct setup *s)
{
	return s->algo && s->count == 0 &&
	       (s->kind == WEFT_COLL_BCAST || is_reduction(s->kind) ||
		       (s->kind == WEFT_COLL_ALLTOALL && s->form == REGULAR));
}

/* Turns what is left to turns. */
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
			/* of most kinds every other */
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

/* What the rules choose, with parts within and between nodes. */
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

/* Data that is cut in pieces, more members than are served at a time. */
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
	struct setup s = { .kind = WEFT_COLL_BCAST,
		.n = 3,
		.root = 1,
		.count = 1100001,
		.items = &item_kinds[DOUBLE_SUM] };

	(void)state;
	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++)
		if (algo->write && is_moved_or_reduced(algo->kind))
			run_long(algo, algo->kind,
				algo->needs & WEFT_NEEDS_NODES ? THREES
							       : UNKNOWN);
	for (int k = 0; k < WEFT_COLL_N; k++)
		if (is_moved_or_reduced((enum weft_coll_kind)k))
			run_long(NULL, (enum weft_coll_kind)k, DEALT);
	for (size_t i = 0; (algo = weft_coll_algo_at(i)) != NULL; i++)
		if (algo->kind == s.kind && !strcmp(algo->name, "chain")) {
			s.algo = algo;
			run_case(&s);
		}
	assert_non_null(s.algo);
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

/* ---- neighbourhoods ---- */

enum { NEIGHBORS = 6 };

struct edges {
	int32_t n_sources, n_dests;
	int sources[NEIGHBORS * N_MAX], dests[NEIGHBORS * N_MAX];
};

/* Any graph, edges to oneself and several of one pair included. */
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

/* Which block of its source comes as block k of place p. */
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

/* What members know once they have agreed. */
static void agree_on_edges(struct run *r, struct edges *edges, bool is_grid)
{
	const struct weft_nodes *nodes = &r->nodes;
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
		const int32_t *first = nodes->first + nodes->of[p];
		int32_t k = 0, q;

		for (int32_t m = first[0]; m < first[1]; m++) {
			q = nodes->members[m];
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

/* Block i of a place is (place, i), or (place, 0) when all get the same. */
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

/* ---- sums that are rounded ---- */

/* All results one after the other, in out; bytes. */
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

/* Who comes first decides nothing, and all members have the same bits. */
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

/* WEFT_COLL_REPRODUCIBLE: where ranks are decides nothing. */
static void test_reproducible(void **state)
{
	const int64_t counts[] = { 1, 100, 600, 9000 };
	uint64_t n_others = 0;

	(void)state;
	weft_knobs.coll_reproducible = 1;
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
	assert_true(n_others > 0); /* or sums would be the same anyhow */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_algorithms),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_barriers),
		cmocka_unit_test(test_neighbors),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_reproducible),
	};

	unsetenv("WEFT_COLL");
	unsetenv("WEFT_COLL_FILE");
	unsetenv("WEFT_COLL_REPRODUCIBLE");
	return cmocka_run_group_tests(tests, open_kinds, close_kinds);
}
