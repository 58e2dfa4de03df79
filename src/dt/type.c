/* SPDX-License-Identifier: BSD-3-Clause */
/* type: datatype objects */
#include "dt/type.h"

#include "base/bits.h"
#include "base/err.h"
#include "base/quad.h"
#include "dt/flat.h"

#include <stddef.h>
#include <stdlib.h>
#include <wchar.h>

struct weft_table weft_types =
	WEFT_TABLE_INIT(struct weft_type, WEFT_KIND_TYPE);

typedef struct {
	uint16_t re, im;
} weft_pair16;

typedef struct {
	weft_quad re, im;
} weft_pair128;

enum { N_ABI_VALUES = WEFT_TYPE_LAST - WEFT_TYPE_FIRST + 1 };

/* Indices of the predefined types. */
enum type_index {
#define X(value, name, ctype, class, num) INDEX_##name,
#define P(value, name, vtype, itype, num) INDEX_##name,
#include "dt/builtin.def"
#undef X
#undef P
	N_BUILTINS
};

const unsigned char weft_type_indices[N_ABI_VALUES] = {
#define X(value, name, ctype, class, num) \
	[(value)-WEFT_TYPE_FIRST] = INDEX_##name + 1,
#define P(value, name, vtype, itype, num) \
	[(value)-WEFT_TYPE_FIRST] = INDEX_##name + 1,
#include "dt/builtin.def"
#undef X
#undef P
};

/* The struct of a pair, and the size of its data. */
#define PAIR(vtype, itype) \
	struct {           \
		vtype v;   \
		itype i;   \
	}
#define PAIR_SIZE(vtype, itype) (sizeof(vtype) + sizeof(itype))

/* MPI_SHORT_INT, the only pair with a gap between value and index. */
static struct weft_flat short_int_flat = {
	.kind = WEFT_FLAT_LIST,
	.size = PAIR_SIZE(short, int),
	.n_parts = 2,
	.span = offsetof(PAIR(short, int), i) + sizeof(int),
	.part = { { 0, sizeof(short), NULL },
		{ offsetof(PAIR(short, int), i), PAIR_SIZE(short, int),
			NULL } },
};

static struct weft_flat builtin_flats[N_BUILTINS] = {
#define X(value, name, ctype, class, num_) \
	[INDEX_##name] = {                 \
		.kind = WEFT_FLAT_RUN,     \
		.size = sizeof(ctype),     \
	},
#define P(value, name, vtype, itype, num_)       \
	[INDEX_##name] = {                       \
		.kind = WEFT_FLAT_RUN,           \
		.size = PAIR_SIZE(vtype, itype), \
	},
#include "dt/builtin.def"
#undef X
#undef P
};

struct weft_type weft_type_builtins[N_BUILTINS] = {
#define X(value, name_, ctype, klass, num_) \
	BASIC("MPI_" #name_, value, name_, ctype, klass, num_)
#define E(value, name_, ctype, klass, num_) \
	BASIC("MPIX_" #name_, value, name_, ctype, klass, num_)
#define BASIC(text, value, name_, ctype, klass, num_)        \
	[INDEX_##name_] = {                                  \
		.obj = { .low = (value) },                   \
		.size = sizeof(ctype),                       \
		.extent = sizeof(ctype),                     \
		.true_extent = sizeof(ctype),                \
		.is_contig = true,                           \
		.is_one_run = true,                          \
		.is_committed = true,                        \
		.is_builtin = true,                          \
		.builtin_index = (value)-WEFT_TYPE_FIRST,    \
		.combiner = WEFT_COMBINER_NAMED,             \
		.class_ = WEFT_CLASS_##klass,                \
		.num = (enum weft_num)WEFT_NUM_##num_,       \
		.n_elems = 1,                                \
		.elem_size = sizeof(ctype),                  \
		.basic = &weft_type_builtins[INDEX_##name_], \
		.align = _Alignof(ctype),                    \
		.flat = &builtin_flats[INDEX_##name_],       \
		.name = text,                                \
	},
#define P(value, name_, vtype, itype, num_)                                    \
	[INDEX_##name_] = {                                                    \
		.obj = { .low = (value) },                                     \
		.size = PAIR_SIZE(vtype, itype),                               \
		.extent = sizeof(PAIR(vtype, itype)),                          \
		.true_extent =                                                 \
			offsetof(PAIR(vtype, itype), i) + sizeof(itype),       \
		.is_contig =                                                   \
			PAIR_SIZE(vtype, itype) == sizeof(PAIR(vtype, itype)), \
		.is_one_run =                                                  \
			offsetof(PAIR(vtype, itype), i) == sizeof(vtype),      \
		.is_committed = true,                                          \
		.is_builtin = true,                                            \
		.builtin_index = (value)-WEFT_TYPE_FIRST,                      \
		.combiner = WEFT_COMBINER_NAMED,                               \
		.class_ = WEFT_CLASS_PAIR,                                     \
		.num = WEFT_NUM_##num_,                                        \
		.n_elems = 2,                                                  \
		.elem_size =                                                   \
			sizeof(vtype) == sizeof(itype) ? sizeof(vtype) : 0,    \
		.basic = &weft_type_builtins[INDEX_##name_],                   \
		.align = _Alignof(PAIR(vtype, itype)),                         \
		.flat = offsetof(PAIR(vtype, itype), i) == sizeof(vtype)       \
				? &builtin_flats[INDEX_##name_]                \
				: &short_int_flat,                             \
		.name = "MPI_" #name_,                                         \
	},
#include "dt/builtin.def"
#undef X
#undef P
};

/* True if the type counts references. Types that are never destroyed do not. */
static bool type_is_counted(const struct weft_type *type)
{
	return !type->is_builtin;
}

struct weft_type *weft_type_get(struct weft_type *type)
{
	if (type_is_counted(type))
		atomic_fetch_add_explicit(&type->refs, 1, memory_order_relaxed);
	return type;
}

static void type_destroy(struct weft_type *type)
{
	for (int64_t i = 0; i < type->n_types; i++)
		weft_type_put(type->types[i]);
	weft_type_put(type->expanded);
	weft_flat_put(type->flat);
	free(type->types);
	free(type->args);
	weft_table_free(&weft_types, type);
}

void weft_type_put(struct weft_type *type)
{
	if (!type || !type_is_counted(type))
		return;
	/* release: the accesses of this holder happen before the free. acquire:
	 * the last holder frees after the accesses of all others. */
	if (atomic_fetch_sub_explicit(&type->refs, 1, memory_order_acq_rel) ==
		1)
		type_destroy(type);
}

void weft_type_close_handle(struct weft_type *type)
{
	if (!type_is_counted(type))
		return;
	if (atomic_fetch_sub_explicit(
		    &type->n_handles, 1, memory_order_acq_rel) == 1)
		weft_obj_renew(type);
	weft_type_put(type);
}

uint64_t weft_type_open_handle(struct weft_type *type)
{
	if (type_is_counted(type)) {
		atomic_fetch_add_explicit(
			&type->n_handles, 1, memory_order_relaxed);
		weft_type_get(type);
	}
	return weft_obj_handle(type);
}

void weft_type_commit(struct weft_type *type)
{
	type->is_committed = true;
}

/* The old type; NULL for structs and predefined types. */
static const struct weft_type *child_of(const struct weft_type *type)
{
	if (type->combiner == WEFT_COMBINER_STRUCT || !type->n_types)
		return NULL;
	return type->types[0];
}

/* Number of complete elements in the first len < type->size bytes of one struct
 * or pair. */
static int64_t part_elements(const struct weft_type *type, int64_t len)
{
	int64_t n = 0;

	if (!type->n_types) /* a pair: value first */
		return type->class_ == WEFT_CLASS_PAIR &&
		       len >= type->size -
				       (type->elem_size ? type->elem_size
							: (int64_t)sizeof(int));
	for (int64_t i = 0; i < type->n_types && len > 0; i++) {
		int64_t part = type->args[1 + i] * type->types[i]->size;

		if (part > len)
			part = len;
		n += weft_type_elements(type->types[i], part);
		len -= part;
	}
	return n;
}

int64_t weft_type_elements(const struct weft_type *type, int64_t len)
{
	const struct weft_type *child;
	int64_t n = 0;

	while (type->size && len > 0) {
		if (type->elem_size)
			return n + len / type->elem_size;
		n += len / type->size * type->n_elems;
		len %= type->size;
		child = child_of(type);
		if (!child)
			return len ? n + part_elements(type, len) : n;
		type = child;
	}
	return n;
}

/* Bytes of the first n < type->n_elems elements of one struct or pair. */
static int64_t part_len(const struct weft_type *type, int64_t n)
{
	int64_t len = 0;

	if (!type->n_types) /* a pair: value first */
		return n ? type->size - (int64_t)sizeof(int) : 0;
	for (int64_t i = 0; i < type->n_types && n > 0; i++) {
		int64_t part = type->args[1 + i] * type->types[i]->n_elems;

		if (part > n)
			part = n;
		len += weft_type_elements_len(type->types[i], part);
		n -= part;
	}
	return len;
}

int64_t weft_type_elements_len(const struct weft_type *type, int64_t n)
{
	const struct weft_type *child;
	int64_t len = 0;

	while (type->n_elems && n > 0) {
		if (type->elem_size)
			return len + n * type->elem_size;
		len += n / type->n_elems * type->size;
		n %= type->n_elems;
		child = child_of(type);
		if (!child)
			return n ? len + part_len(type, n) : len;
		type = child;
	}
	return len;
}

struct visit {
	weft_type_visit_fn *fn;
	void *arg;
};

static int visit_items(const struct visit *v, const struct weft_type *type,
	int64_t disp, int64_t count);

static int visit_strided(const struct visit *v, const struct weft_type *type,
	int64_t disp, int64_t stride)
{
	const struct weft_type *child = type->types[0];
	int err = 0;

	for (int64_t i = 0; i < type->args[0] && !err; i++)
		err = visit_items(v, child, disp + i * stride, type->args[1]);
	return err;
}

/* Visits the blocks of a type. The displacements follow the block lengths, or
 * the common block length, in the arguments of the constructor. */
static int visit_blocks(const struct visit *v, const struct weft_type *type,
	int64_t disp, int64_t unit, bool is_fixed)
{
	int64_t n = type->args[0];
	const int64_t *displs = type->args + 1 + (is_fixed ? 1 : n);
	bool is_struct = type->combiner == WEFT_COMBINER_STRUCT;
	int err = 0;

	for (int64_t i = 0; i < n && !err; i++)
		err = visit_items(v, type->types[is_struct ? i : 0],
			disp + displs[i] * unit,
			type->args[is_fixed ? 1 : 1 + i]);
	return err;
}

static int visit_item(
	const struct visit *v, const struct weft_type *type, int64_t disp)
{
	const struct weft_type *child = type->n_types ? type->types[0] : NULL;

	switch (type->combiner) {
	case WEFT_COMBINER_CONTIGUOUS:
		return visit_items(v, child, disp, type->args[0]);
	case WEFT_COMBINER_VECTOR:
		return visit_strided(
			v, type, disp, type->args[2] * child->extent);
	case WEFT_COMBINER_HVECTOR:
		return visit_strided(v, type, disp, type->args[2]);
	case WEFT_COMBINER_INDEXED:
		return visit_blocks(v, type, disp,
			type->n_types ? child->extent : 0, false);
	case WEFT_COMBINER_HINDEXED:
	case WEFT_COMBINER_STRUCT:
		return visit_blocks(v, type, disp, 1, false);
	case WEFT_COMBINER_INDEXED_BLOCK:
		return visit_blocks(v, type, disp, child->extent, true);
	case WEFT_COMBINER_HINDEXED_BLOCK:
		return visit_blocks(v, type, disp, 1, true);
	case WEFT_COMBINER_SUBARRAY:
	case WEFT_COMBINER_DARRAY:
		return visit_items(v, type->expanded, disp, 1);
	default: /* dup, resized, Fortran's parametrized types */
		return visit_items(v, child, disp, 1);
	}
}

static int visit_items(const struct visit *v, const struct weft_type *type,
	int64_t disp, int64_t count)
{
	int err = 0;

	if (type->combiner == WEFT_COMBINER_NAMED)
		return count ? v->fn(v->arg, type, disp, count) : 0;
	for (int64_t i = 0; i < count && !err; i++)
		err = visit_item(v, type, disp + i * type->extent);
	return err;
}

int weft_type_visit(const struct weft_type *type, int64_t count,
	weft_type_visit_fn *visit, void *arg)
{
	struct visit v = { visit, arg };

	return visit_items(&v, type, 0, count);
}

struct weft_type *weft_type_pair(
	const struct weft_type *value, const struct weft_type *index)
{
	/* value, index, pair; by ABI value */
	static const unsigned short pairs[][3] = {
		{ 0x210, 0x209, 0x228 }, /* float, int */
		{ 0x214, 0x209, 0x229 }, /* double, int */
		{ 0x20a, 0x209, 0x22a }, /* long, int */
		{ 0x209, 0x209, 0x22b }, /* int, int */
		{ 0x208, 0x209, 0x22c }, /* short, int */
		{ 0x220, 0x209, 0x22d }, /* long double, int */
		{ 0x21a, 0x21a, 0x230 }, /* real, real */
		{ 0x21c, 0x21c, 0x231 }, /* double precision, twice */
		{ 0x219, 0x219, 0x232 }, /* integer, integer */
	};

	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		if (value->builtin_index + WEFT_TYPE_FIRST == pairs[i][0] &&
			index->builtin_index + WEFT_TYPE_FIRST == pairs[i][1])
			return weft_type_builtin(pairs[i][2]);
	return NULL;
}

bool weft_type_is_monotone(const struct weft_type *type, bool *is_disjoint)
{
	return weft_flat_is_monotone(type->flat, is_disjoint);
}
