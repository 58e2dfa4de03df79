/* SPDX-License-Identifier: BSD-3-Clause */
/* dt_map: random datatypes with their type maps
 *
 * A node is a datatype, its complete type map and its text. Maps follow the
 * definitions of the standard and use no layout of the library. All ranks draw
 * the same random numbers, so all create the same types. */
#ifndef TEST_DT_MAP_H
#define TEST_DT_MAP_H

#include "mtest.h"

enum {
	DEPTH_MAX = 5,
	ENTRIES_MAX = 200,
	BOUND_MAX = 1 << 14, /* bytes of an item, in both directions */
	BLOCKS_MAX = 4,
	TEXT_MAX = 8192,
	GUARD = 64, /* bytes around an area */
};

/* ---- random numbers ---- */

static uint64_t dt_seed;

static inline int draw(int n)
{
	dt_seed = dt_seed * 6364136223846793005ull + 1442695040888963407ull;
	return (int)((dt_seed >> 33) % (uint64_t)n);
}

static inline bool one_of(int n)
{
	return draw(n) == 0;
}

/* ---- predefined types ---- */

/* A predefined type. Its item has one value, or two (MPI_DOUBLE_INT). at, len:
 * displacement and length of each value; align: alignment of the C type. */
struct basic {
	MPI_Datatype type;
	const char *name;
	int extent, align;
	int at[2], len[2];
	int external[2]; /* bytes of each value in external32 */
	bool is_integer;
};

static struct basic basics[] = {
	{ MPI_DATATYPE_NULL, "byte", 1, 1, { 0, 0 }, { 1, 0 }, { 1, 0 }, 0 },
	{ MPI_DATATYPE_NULL, "short", 2, 2, { 0, 0 }, { 2, 0 }, { 2, 0 }, 1 },
	{ MPI_DATATYPE_NULL, "int", 4, 4, { 0, 0 }, { 4, 0 }, { 4, 0 }, 1 },
	{ MPI_DATATYPE_NULL, "int64", 8, 8, { 0, 0 }, { 8, 0 }, { 8, 0 }, 1 },
	{ MPI_DATATYPE_NULL, "double", 8, 8, { 0, 0 }, { 8, 0 }, { 8, 0 }, 0 },
	{ MPI_DATATYPE_NULL, "complex", 16, 8, { 0, 8 }, { 8, 8 }, { 8, 8 },
		0 },
	{ MPI_DATATYPE_NULL, "float_int", 8, 4, { 0, 4 }, { 4, 4 }, { 4, 4 },
		0 },
	{ MPI_DATATYPE_NULL, "short_int", 8, 4, { 0, 4 }, { 2, 4 }, { 2, 4 },
		0 },
	{ MPI_DATATYPE_NULL, "double_int", 16, 8, { 0, 8 }, { 8, 4 }, { 8, 4 },
		0 },
};

enum { BASIC_BYTE, N_SINGLE = 5, N_BASICS = 9 };

static inline void basics_init(void)
{
	const MPI_Datatype types[N_BASICS] = { MPI_BYTE, MPI_SHORT, MPI_INT,
		MPI_INT64_T, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_FLOAT_INT,
		MPI_SHORT_INT, MPI_DOUBLE_INT };

	for (int i = 0; i < N_BASICS; i++)
		basics[i].type = types[i];
}

/* ---- type maps ---- */

struct entry {
	MPI_Aint at;
	int basic;
};

struct map {
	int n;
	struct entry e[ENTRIES_MAX];
	MPI_Aint lb, ub;
	bool is_marked; /* bounds were set and replace those of the data */
	bool is_any;	/* has data, or bounds that were set */
};

struct node {
	MPI_Datatype type;
	bool is_basic;
	struct map map;
	char text[TEXT_MAX];
};

static inline MPI_Aint map_extent(const struct map *m)
{
	return m->ub - m->lb;
}

static inline MPI_Aint map_size(const struct map *m)
{
	MPI_Aint size = 0;

	for (int i = 0; i < m->n; i++)
		size += basics[m->e[i].basic].len[0] +
			basics[m->e[i].basic].len[1];
	return size;
}

/* Sets the displacement of the lowest byte of count items, and the displacement
 * after the highest byte. */
static inline void map_span(
	const struct map *m, int count, MPI_Aint *low, MPI_Aint *high)
{
	MPI_Aint rest = (count - 1) * map_extent(m);

	*low = *high = 0;
	if (!m->n || !count)
		return;
	*low = *high = m->e[0].at;
	for (int i = 0; i < m->n; i++) {
		const struct basic *b = &basics[m->e[i].basic];
		MPI_Aint end = m->e[i].at +
			       (b->len[1] ? b->at[1] + b->len[1] : b->len[0]);

		*low = m->e[i].at < *low ? m->e[i].at : *low;
		*high = end > *high ? end : *high;
	}
	*low += rest < 0 ? rest : 0;
	*high += rest > 0 ? rest : 0;
}

/* Appends the map of old, shifted by disp bytes. False if `to` would have more
 * than ENTRIES_MAX entries. */
static inline bool map_place(
	struct map *to, const struct map *old, MPI_Aint disp)
{
	bool wins = !to->is_any || (old->is_marked && !to->is_marked);
	bool ties = to->is_any && old->is_marked == to->is_marked;

	if (!old->is_any)
		return true;
	if (to->n + old->n > ENTRIES_MAX)
		return false;
	for (int i = 0; i < old->n; i++)
		to->e[to->n++] =
			(struct entry){ old->e[i].at + disp, old->e[i].basic };
	if (wins || (ties && old->lb + disp < to->lb))
		to->lb = old->lb + disp;
	if (wins || (ties && old->ub + disp > to->ub))
		to->ub = old->ub + disp;
	to->is_marked |= old->is_marked;
	to->is_any = true;
	return true;
}

static inline bool map_block(
	struct map *to, const struct map *old, MPI_Aint disp, int len)
{
	for (int i = 0; i < len; i++)
		if (!map_place(to, old, disp + i * map_extent(old)))
			return false;
	return true;
}

/* Returns the predefined type of all entries, as an index into basics[]; -1:
 * there are several types, or no entries. */
static inline int map_basic(const struct map *m)
{
	for (int i = 1; i < m->n; i++)
		if (m->e[i].basic != m->e[0].basic)
			return -1;
	return m->n ? m->e[0].basic : -1;
}

/* True if no two bytes of count items overlap. */
static inline bool map_is_disjoint(const struct map *m, int count)
{
	MPI_Aint low, high;
	bool is_disjoint = true;
	char *seen;

	map_span(m, count, &low, &high);
	seen = mtest_alloc((size_t)(high - low));
	for (int i = 0; i < count * m->n && is_disjoint; i++) {
		const struct entry *e = &m->e[i % m->n];
		MPI_Aint at = e->at + i / m->n * map_extent(m) - low;

		for (int k = 0; k < 2; k++)
			for (int b = 0; b < basics[e->basic].len[k]; b++) {
				char *byte =
					&seen[at + basics[e->basic].at[k] + b];

				is_disjoint &= !*byte;
				*byte = 1;
			}
	}
	free(seen);
	return is_disjoint;
}

/* ---- nodes ---- */

__attribute__((format(printf, 2, 3))) static inline void add_text(
	struct node *node, const char *fmt, ...)
{
	size_t at = strlen(node->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(node->text + at, sizeof(node->text) - at, fmt, ap);
	va_end(ap);
}

static inline void add_ints(struct node *node, const int *values, int n)
{
	for (int i = 0; i < n; i++)
		add_text(node, i ? ",%d" : "{%d", values[i]);
	add_text(node, n ? "}, " : "{}, ");
}

static inline void add_aints(struct node *node, const MPI_Aint *values, int n)
{
	for (int i = 0; i < n; i++)
		add_text(node, i ? ",%ld" : "{%ld", (long)values[i]);
	add_text(node, n ? "}, " : "{}, ");
}

static inline struct node *node_basic(int which)
{
	struct node *node = mtest_alloc(sizeof(*node));

	node->type = basics[which].type;
	node->is_basic = true;
	node->map.n = 1;
	node->map.e[0].basic = which;
	node->map.ub = basics[which].extent;
	node->map.is_any = true;
	add_text(node, "%s", basics[which].name);
	return node;
}

static inline void node_free(struct node *node)
{
	if (!node->is_basic && node->type != MPI_DATATYPE_NULL)
		MPI_Type_free(&node->type);
	free(node);
}

/* Rules for the random types. */
static struct dt_rules {
	int basic;    /* only this predefined type; -1: any */
	int unit;     /* displacements in bytes are multiples of this */
	bool is_tame; /* displacements rise without overlap */
} dt_rules;

/* Draws the lengths and displacements of blocks. Returns their number. reach:
 * the span of one element in units of displs. */
static inline int draw_blocks(
	int lens[BLOCKS_MAX], int displs[BLOCKS_MAX], int spread, int reach)
{
	int n = draw(BLOCKS_MAX + 1), at = 0;

	for (int i = 0; i < n; i++) {
		lens[i] = draw(4);
		displs[i] = draw(spread) - spread / 3;
		if (dt_rules.is_tame) {
			displs[i] = at + draw(3);
			at = displs[i] + (lens[i] + 1) * reach;
		}
	}
	if (n > 1 && one_of(3) && !dt_rules.is_tame)
		for (int i = 1; i < n; i++) {
			lens[i] = lens[0];
			displs[i] = displs[i - 1] + 5;
		}
	return n;
}

static struct node *node_make(int depth);

static inline bool make_contiguous(struct node *to, const struct node *old)
{
	int n = draw(6);

	add_text(to, "contiguous(%d, %s)", n, old->text);
	OK(MPI_Type_contiguous(n, old->type, &to->type));
	return map_block(&to->map, &old->map, 0, n);
}

static inline bool make_vector(
	struct node *to, const struct node *old, bool is_bytes)
{
	int count = draw(4), len = draw(4), stride = draw(9) - 2;
	MPI_Aint step = (MPI_Aint)stride * map_extent(&old->map);
	bool fits = true;

	if (dt_rules.is_tame)
		stride = len + draw(3);
	step = (MPI_Aint)stride * map_extent(&old->map);
	if (is_bytes && !dt_rules.is_tame)
		step = (MPI_Aint)(draw(80) - 20) * dt_rules.unit;
	if (is_bytes) {
		add_text(to, "hvector(%d, %d, %ld, %s)", count, len, (long)step,
			old->text);
		OK(MPI_Type_create_hvector(
			count, len, step, old->type, &to->type));
	} else {
		add_text(to, "vector(%d, %d, %d, %s)", count, len, stride,
			old->text);
		OK(MPI_Type_vector(count, len, stride, old->type, &to->type));
	}
	for (int i = 0; i < count && fits; i++)
		fits = map_block(&to->map, &old->map, i * step, len);
	return fits;
}

static inline bool make_list(
	struct node *to, const struct node *old, bool is_bytes, bool is_fixed)
{
	MPI_Aint extent = map_extent(&old->map), at[BLOCKS_MAX];
	int lens[BLOCKS_MAX], displs[BLOCKS_MAX];
	int reach = is_bytes ? (int)extent / dt_rules.unit : 1;
	int n = draw_blocks(lens, displs, is_bytes ? 70 : 12, reach);
	bool fits = true;

	for (int i = 0; i < n; i++) {
		lens[i] = is_fixed ? lens[0] : lens[i];
		if (is_fixed && i && dt_rules.is_tame)
			displs[i] = displs[i - 1] + lens[0] * reach + draw(3);
		at[i] = (MPI_Aint)displs[i] *
			(is_bytes ? dt_rules.unit : extent);
	}
	add_text(to, "%sindexed%s(", is_bytes ? "h" : "",
		is_fixed ? "_block" : "");
	if (is_fixed)
		add_text(to, "%d, %d, ", n, n ? lens[0] : 0);
	else
		add_ints(to, lens, n);
	if (is_bytes)
		add_aints(to, at, n);
	else
		add_ints(to, displs, n);
	add_text(to, "%s)", old->text);
	if (is_bytes && is_fixed)
		OK(MPI_Type_create_hindexed_block(
			n, n ? lens[0] : 0, at, old->type, &to->type));
	else if (is_bytes)
		OK(MPI_Type_create_hindexed(n, lens, at, old->type, &to->type));
	else if (is_fixed)
		OK(MPI_Type_create_indexed_block(
			n, n ? lens[0] : 0, displs, old->type, &to->type));
	else
		OK(MPI_Type_indexed(n, lens, displs, old->type, &to->type));
	for (int i = 0; i < n && fits; i++)
		fits = map_block(&to->map, &old->map, at[i], lens[i]);
	return fits;
}

static inline bool make_struct(struct node *to, int depth)
{
	struct node *old[BLOCKS_MAX];
	MPI_Datatype types[BLOCKS_MAX];
	MPI_Aint at[BLOCKS_MAX], end = 0;
	int lens[BLOCKS_MAX], displs[BLOCKS_MAX];
	int n = draw_blocks(lens, displs, 90, 0);
	bool fits = true;

	for (int i = 0; i < n; i++) {
		MPI_Aint low, high;

		old[i] = node_make(depth - 1);
		types[i] = old[i]->type;
		at[i] = (MPI_Aint)displs[i] * dt_rules.unit;
		map_span(&old[i]->map, lens[i], &low, &high);
		if (dt_rules.is_tame)
			at[i] = end - low + draw(3) * dt_rules.unit;
		end = at[i] + high;
	}
	add_text(to, "struct(");
	add_ints(to, lens, n);
	add_aints(to, at, n);
	for (int i = 0; i < n; i++)
		add_text(to, i ? ", %s" : "{%s", old[i]->text);
	add_text(to, n ? "})" : "{})");
	OK(MPI_Type_create_struct(n, lens, at, types, &to->type));
	for (int i = 0; i < n; i++) {
		fits = fits &&
		       map_block(&to->map, &old[i]->map, at[i], lens[i]);
		node_free(old[i]);
	}
	return fits;
}

static inline bool make_subarray(struct node *to, const struct node *old)
{
	int sizes[3], subs[3], starts[3], at[3] = { 0 }, n = 1 + draw(3);
	int order = one_of(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
	MPI_Aint whole = map_extent(&old->map);
	bool fits = true, is_over = false;

	for (int i = 0; i < n; i++) {
		subs[i] = 1 + draw(3);
		starts[i] = draw(3);
		sizes[i] = subs[i] + starts[i] + draw(2);
		whole *= sizes[i];
	}
	add_text(to, "subarray(");
	add_ints(to, sizes, n);
	add_ints(to, subs, n);
	add_ints(to, starts, n);
	add_text(to, "%s, %s)", order == MPI_ORDER_C ? "C" : "Fortran",
		old->text);
	OK(MPI_Type_create_subarray(
		n, sizes, subs, starts, order, old->type, &to->type));
	while (fits && !is_over) {
		MPI_Aint index = 0;

		for (int k = 0; k < n; k++) {
			int d = order == MPI_ORDER_C ? k : n - 1 - k;

			index = index * sizes[d] + starts[d] + at[d];
		}
		fits = map_place(
			&to->map, &old->map, index * map_extent(&old->map));
		is_over = true;
		for (int k = n - 1; k >= 0 && is_over; k--) {
			int d = order == MPI_ORDER_C ? k : n - 1 - k;

			is_over = ++at[d] == subs[d];
			at[d] = is_over ? 0 : at[d];
		}
	}
	to->map.lb = 0;
	to->map.ub = whole;
	to->map.is_marked = to->map.is_any = true;
	return fits;
}

/* Creates a type of a two-dimensional array that is distributed over a grid of
 * processes. */
static inline bool make_darray(struct node *to, const struct node *old)
{
	static const int kinds[3] = { MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK,
		MPI_DISTRIBUTE_CYCLIC };
	int gsizes[2], kind[2], args[2], procs[2], coord[2], block[2], size = 1;
	int order = one_of(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, rank;
	int fast = order == MPI_ORDER_C, slow = !fast;
	MPI_Aint extent = map_extent(&old->map);
	bool fits = true;

	for (int d = 0; d < 2; d++) {
		gsizes[d] = 1 + draw(8);
		kind[d] = kinds[draw(3)];
		procs[d] = kind[d] == MPI_DISTRIBUTE_NONE ? 1 : 1 + draw(3);
		args[d] = MPI_DISTRIBUTE_DFLT_DARG;
		block[d] = kind[d] == MPI_DISTRIBUTE_CYCLIC
				   ? 1
				   : (gsizes[d] + procs[d] - 1) / procs[d];
		if (kind[d] == MPI_DISTRIBUTE_CYCLIC && one_of(2))
			args[d] = block[d] = 1 + draw(3);
		size *= procs[d];
	}
	rank = draw(size);
	coord[0] = rank / procs[1];
	coord[1] = rank % procs[1];
	add_text(to, "darray(%d, %d, ", size, rank);
	add_ints(to, gsizes, 2);
	add_ints(to, kind, 2);
	add_ints(to, args, 2);
	add_ints(to, procs, 2);
	add_text(to, "%s, %s)", fast ? "C" : "Fortran", old->text);
	OK(MPI_Type_create_darray(size, rank, 2, gsizes, kind, args, procs,
		order, old->type, &to->type));
	for (int i = 0; i < gsizes[0] * gsizes[1] && fits; i++) {
		int x = i % gsizes[fast], y = i / gsizes[fast];

		if (x / block[fast] % procs[fast] == coord[fast] &&
			y / block[slow] % procs[slow] == coord[slow])
			fits = map_place(&to->map, &old->map, i * extent);
	}
	to->map.lb = 0;
	to->map.ub = gsizes[0] * gsizes[1] * extent;
	to->map.is_marked = to->map.is_any = true;
	return fits;
}

static inline bool make_resized(
	struct node *to, const struct node *old, MPI_Aint lb, MPI_Aint extent)
{
	add_text(
		to, "resized(%ld, %ld, %s)", (long)lb, (long)extent, old->text);
	OK(MPI_Type_create_resized(old->type, lb, extent, &to->type));
	to->map = old->map;
	to->map.lb = lb;
	to->map.ub = lb + extent;
	to->map.is_marked = to->map.is_any = true;
	return true;
}

/* Sets bounds before, within or after the data. The extent may be negative or
 * zero. */
static inline bool make_bounds(struct node *to, const struct node *old)
{
	MPI_Aint low, high, lb, extent;

	map_span(&old->map, 1, &low, &high);
	lb = (draw(20) - 10) * dt_rules.unit;
	extent = (draw(80) - 20) * dt_rules.unit;
	if (one_of(3))
		extent = -(high - low) / dt_rules.unit * dt_rules.unit;
	if (dt_rules.is_tame) {
		lb = 0;
		extent = (high + dt_rules.unit - 1) / dt_rules.unit *
				 dt_rules.unit +
			 draw(4) * dt_rules.unit;
	}
	return make_resized(to, old, lb, extent);
}

/* The standard permits the library to pad an extent to the alignment. If the
 * extent of old could be padded, returns a type with that extent set, and frees
 * old. Otherwise returns old. */
static inline struct node *node_unpadded(struct node *old)
{
	struct node *to;
	int align = 1;

	for (int i = 0; i < old->map.n; i++)
		if (basics[old->map.e[i].basic].align > align)
			align = basics[old->map.e[i].basic].align;
	if (old->map.is_marked || map_extent(&old->map) % align == 0)
		return old;
	to = mtest_alloc(sizeof(*to));
	make_resized(to, old, old->map.lb, map_extent(&old->map));
	node_free(old);
	return to;
}

static inline bool node_wrap(struct node *to, const struct node *old)
{
	int kind = draw(12);

	switch (kind) {
	case 0:
		return make_contiguous(to, old);
	case 1:
	case 2:
		return make_vector(to, old, kind == 1);
	case 3:
	case 4:
	case 5:
	case 6:
		return make_list(to, old, kind & 1, kind > 4);
	case 7:
		return make_subarray(to, old);
	case 8:
		return make_darray(to, old);
	case 9:
		add_text(to, "dup(%s)", old->text);
		OK(MPI_Type_dup(old->type, &to->type));
		to->map = old->map;
		return true;
	default:
		return make_bounds(to, old);
	}
}

/* Creates a random type of at most `depth` levels. It is not committed. */
static struct node *node_make(int depth)
{
	struct node *to, *old;
	MPI_Aint low, high;
	bool fits;

	if (depth <= 0 || one_of(7))
		return node_basic(
			dt_rules.basic < 0 ? draw(N_BASICS) : dt_rules.basic);
	to = mtest_alloc(sizeof(*to));
	old = node_make(depth - 1);
	fits = one_of(5) ? make_struct(to, depth) : node_wrap(to, old);
	map_span(&to->map, 1, &low, &high);
	if (fits && low > -BOUND_MAX && high < BOUND_MAX &&
		labs(to->map.lb) < BOUND_MAX && labs(to->map.ub) < BOUND_MAX) {
		node_free(old);
		return node_unpadded(to);
	}
	node_free(to);
	return old;
}

/* Creates a type with the signature of m whose entries do not overlap. */
static inline struct node *node_spread(const struct map *m)
{
	struct node *to = mtest_alloc(sizeof(*to)), *sized;
	static int lens[ENTRIES_MAX], slot[ENTRIES_MAX];
	static MPI_Aint at[ENTRIES_MAX];
	static MPI_Datatype types[ENTRIES_MAX];
	MPI_Aint width = dt_rules.unit > 1 ? 2 * dt_rules.unit : 16;
	MPI_Aint whole = m->n * width;

	for (int i = 0; i < m->n; i++)
		slot[i] = i;
	for (int i = m->n - 1; i > 0 && !one_of(4); i--) {
		int k = draw(i + 1), was = slot[i];

		slot[i] = slot[k];
		slot[k] = was;
	}
	for (int i = 0; i < m->n; i++) {
		lens[i] = 1;
		types[i] = basics[m->e[i].basic].type;
		at[i] = slot[i] * width;
		to->map.e[i] = (struct entry){ at[i], m->e[i].basic };
	}
	to->map.n = m->n;
	to->map.is_any = m->n > 0;
	add_text(to, "struct(");
	add_aints(to, at, m->n);
	add_text(to, "its basic types)");
	OK(MPI_Type_create_struct(m->n, lens, at, types, &to->type));
	sized = mtest_alloc(sizeof(*sized));
	make_resized(sized, to, draw(9) - 4, one_of(2) ? whole : -whole);
	node_free(to);
	return sized;
}

/* ---- areas and streams ---- */

/* Memory of count items, between guards. */
struct area {
	char *mem, *at; /* at: the buffer's address */
	size_t len;
};

static inline void fill(char *mem, size_t len, uint64_t tag)
{
	uint64_t x = tag * 0x9e3779b97f4a7c15ull + 12345;

	for (size_t i = 0; i < len; i++) {
		if (i % 8 == 0)
			x = x * 6364136223846793005ull + 1442695040888963407ull;
		mem[i] = (char)(x >> 16 >> i % 8 * 5);
	}
}

static inline struct area area_new(const struct map *m, int count, uint64_t tag)
{
	MPI_Aint low, high;
	struct area area;

	map_span(m, count, &low, &high);
	area.len = (size_t)(high - low) + 2 * GUARD;
	area.mem = mtest_alloc(area.len);
	area.at = area.mem + GUARD - low;
	fill(area.mem, area.len, tag);
	return area;
}

/* Copies the data of count items from the buffer `at` to a contiguous stream
 * (is_out), or from the stream to the buffer. */
static inline void map_move(
	const struct map *m, int count, char *at, char *stream, bool is_out)
{
	for (int i = 0; i < count; i++)
		for (int k = 0; k < m->n; k++) {
			const struct basic *b = &basics[m->e[k].basic];
			char *place = at + i * map_extent(m) + m->e[k].at;

			for (int p = 0; p < 2 && b->len[p]; p++) {
				memcpy(is_out ? stream : place + b->at[p],
					is_out ? place + b->at[p] : stream,
					(size_t)b->len[p]);
				stream += b->len[p];
			}
		}
}

#endif
