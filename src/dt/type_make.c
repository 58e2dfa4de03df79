/* SPDX-License-Identifier: BSD-3-Clause */
/* type_make: the constructors of derived datatypes
 *
 * Each constructor computes a `shape` (flat tree, bounds and element
 * statistics): it repeats and joins the shapes of the old types. Then it
 * creates a type from the shape and the arguments for the envelope. A subarray
 * or darray is built from simpler types; the result is stored as `expanded`. */
#include "dt/type.h"

#include "base/bits.h"
#include "base/err.h"
#include "dt/flat.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* On the caller's stack. Holds a reference to its tree. */
struct shape {
	struct weft_flat *flat;
	int64_t disp; /* displacement of the tree */
	int64_t size;
	int64_t lb, ub, true_lb, true_ub;
	int64_t align;
	int64_t n_elems, elem_size;
	const struct weft_type *basic;
	bool has_lb_mark, has_ub_mark;
	bool has_bounds; /* has data or marks, so the bounds are defined */
};

static int too_large(void)
{
	return weft_err_set(WEFT_ERR_VALUE_TOO_LARGE,
		"the datatype's size or bounds need more than 63 bits");
}

/* Adds with a check. 0 or WEFT_ERR_VALUE_TOO_LARGE. */
static int type_make_add(int64_t a, int64_t b, int64_t *sum_out)
{
	return __builtin_add_overflow(a, b, sum_out) ? too_large() : 0;
}

static int type_make_mul(int64_t a, int64_t b, int64_t *product_out)
{
	return __builtin_mul_overflow(a, b, product_out) ? too_large() : 0;
}

static void shape_init(struct shape *shape, const struct weft_type *type)
{
	*shape = (struct shape){
		.flat = weft_flat_get(type->flat),
		.disp = type->flat_disp,
		.size = type->size,
		.lb = type->lb,
		.ub = type->lb + type->extent,
		.true_lb = type->true_lb,
		.true_ub = type->true_lb + type->true_extent,
		.align = type->align,
		.n_elems = type->n_elems,
		.elem_size = type->elem_size,
		.basic = type->basic,
		.has_lb_mark = type->has_lb_mark,
		.has_ub_mark = type->has_ub_mark,
		.has_bounds =
			type->size || type->has_lb_mark || type->has_ub_mark,
	};
}

static void shape_fini(struct shape *shape)
{
	weft_flat_put(shape->flat);
	*shape = (struct shape){ .align = 1 };
}

/* Extends [lb, ub) and [true_lb, true_ub), so that each also contains a copy of
 * itself at a distance of `span` bytes. */
static int shape_extend(struct shape *shape, int64_t span)
{
	int err;

	err = type_make_add(shape->lb, weft_min64(span, 0), &shape->lb);
	if (!err)
		err = type_make_add(shape->ub, weft_max64(span, 0), &shape->ub);
	if (!err && shape->size)
		err = type_make_add(
			shape->true_lb, weft_min64(span, 0), &shape->true_lb);
	if (!err && shape->size)
		err = type_make_add(
			shape->true_ub, weft_max64(span, 0), &shape->true_ub);
	return err;
}

/* Replaces the shape by `count` copies of itself, stride bytes apart. After
 * failure, only shape_fini() accepts the shape. */
static int shape_repeat(struct shape *shape, int64_t count, int64_t stride)
{
	int64_t span;
	int err;

	if (!count || !shape->has_bounds)
		shape_fini(shape);
	if (count <= 1 || !shape->has_bounds)
		return 0;
	err = type_make_mul(count - 1, stride, &span);
	if (!err)
		err = shape_extend(shape, span);
	if (!err)
		err = type_make_mul(shape->size, count, &shape->size);
	if (!err)
		err = type_make_mul(shape->n_elems, count, &shape->n_elems);
	if (err || !shape->flat)
		return err;
	shape->flat = weft_flat_loop_take(count, stride, shape->flat);
	if (!shape->flat)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a datatype");
	return 0;
}

static int shape_shift(struct shape *shape, int64_t by)
{
	int err;

	if (!shape->has_bounds)
		return 0;
	err = type_make_add(shape->lb, by, &shape->lb);
	if (!err)
		err = type_make_add(shape->ub, by, &shape->ub);
	if (!err && shape->size)
		err = type_make_add(shape->true_lb, by, &shape->true_lb);
	if (!err && shape->size)
		err = type_make_add(shape->true_ub, by, &shape->true_ub);
	shape->disp += shape->size ? by : 0;
	return err;
}

/* Bounds that the program has set replace those of the data. */
static void join_bounds(struct shape *to, const struct shape *part)
{
	if (!to->has_bounds || part->has_lb_mark > to->has_lb_mark)
		to->lb = part->lb;
	else if (part->has_lb_mark == to->has_lb_mark)
		to->lb = weft_min64(to->lb, part->lb);
	if (!to->has_bounds || part->has_ub_mark > to->has_ub_mark)
		to->ub = part->ub;
	else if (part->has_ub_mark == to->has_ub_mark)
		to->ub = weft_max64(to->ub, part->ub);
	to->has_lb_mark |= part->has_lb_mark;
	to->has_ub_mark |= part->has_ub_mark;
	to->has_bounds = true;
}

/* Adds `part`, without its tree, to the shape. */
static int shape_join(struct shape *to, const struct shape *part)
{
	int err;

	if (!part->has_bounds)
		return 0;
	join_bounds(to, part);
	to->align = weft_max64(to->align, part->align);
	if (!part->size)
		return 0;
	to->true_lb = to->size ? weft_min64(to->true_lb, part->true_lb)
			       : part->true_lb;
	to->true_ub = to->size ? weft_max64(to->true_ub, part->true_ub)
			       : part->true_ub;
	if (to->size && to->basic != part->basic)
		to->basic = NULL;
	else
		to->basic = part->basic;
	if (to->size && to->elem_size != part->elem_size)
		to->elem_size = 0;
	else
		to->elem_size = part->elem_size;
	err = type_make_add(to->size, part->size, &to->size);
	if (!err)
		err = type_make_add(to->n_elems, part->n_elems, &to->n_elems);
	return err;
}

/* Rounds the extent up to the alignment unless the program has set the upper
 * bound (epsilon of MPI-5.0, 5.1). Called for all constructors, as in Open MPI;
 * MPICH rounds up for structs only. */
static int shape_pad(struct shape *shape)
{
	int64_t extent, rest;
	int err;

	if (shape->has_ub_mark || !shape->has_bounds)
		return 0;
	err = type_make_add(shape->ub, -shape->lb, &extent);
	if (err)
		return err;
	rest = extent % shape->align;
	return rest ? type_make_add(shape->ub, shape->align - rest, &shape->ub)
		    : 0;
}

/* The envelope of a type. */
struct envelope {
	enum weft_combiner combiner;
	int64_t n_ints, n_aints, n_types;
	struct weft_type *const *types;
};

static int alloc_envelope(struct weft_type *type, const struct envelope *env)
{
	size_t n_args = (size_t)(env->n_ints + env->n_aints);

	type->args = calloc(n_args + 1, sizeof *type->args);
	type->types = calloc((size_t)env->n_types + 1, sizeof *type->types);
	if (!type->args || !type->types)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a datatype");
	type->combiner = env->combiner;
	type->n_ints = env->n_ints;
	type->n_aints = env->n_aints;
	for (int64_t i = 0; i < env->n_types; i++)
		type->types[i] = weft_type_get(env->types[i]);
	type->n_types = env->n_types;
	return 0;
}

static int set_shape(struct weft_type *type, struct shape *shape)
{
	int err;

	/* displacements of runs need no check: they are within the true bounds
	 */
	err = type_make_add(shape->ub, -shape->lb, &type->extent);
	if (!err)
		err = type_make_add(
			shape->true_ub, -shape->true_lb, &type->true_extent);
	if (err)
		return err;
	type->size = shape->size;
	type->lb = shape->lb;
	type->true_lb = shape->true_lb;
	type->has_lb_mark = shape->has_lb_mark;
	type->has_ub_mark = shape->has_ub_mark;
	type->align = shape->align;
	type->n_elems = shape->n_elems;
	type->elem_size = shape->elem_size;
	type->basic = shape->basic;
	type->flat_disp = shape->disp;
	type->flat = weft_flat_get(shape->flat);
	type->is_one_run = !type->flat || type->flat->kind == WEFT_FLAT_RUN;
	type->is_contig =
		!type->flat || (type->is_one_run && type->size == type->extent);
	return 0;
}

/* Creates a type from the shape, which the function consumes. The caller sets
 * type->args. */
static int type_new_take(struct shape *shape, const struct envelope *env,
	struct weft_type **type_out)
{
	struct weft_type *type = weft_table_new(&weft_types);
	int err = WEFT_ERR_NOMEM;

	if (!type) {
		weft_err_set(err, "no memory for a datatype");
		goto out;
	}
	type->builtin_index = -1;
	atomic_store_explicit(&type->refs, 1, memory_order_relaxed);
	atomic_store_explicit(&type->n_handles, 1, memory_order_relaxed);
	err = alloc_envelope(type, env);
	if (!err)
		err = shape_pad(shape);
	if (!err)
		err = set_shape(type, shape);
	if (err)
		weft_type_put(type);
	else
		*type_out = type;
out:
	shape_fini(shape);
	return err;
}

static int check_counts(const char *what, int64_t n, const int64_t *values)
{
	for (int64_t i = 0; i < n; i++)
		if (values[i] < 0)
			return weft_err_set(WEFT_ERR_ARG,
				"%s %lld is negative: %lld", what, (long long)i,
				(long long)values[i]);
	return 0;
}

/* Creates a type from one old type. split: the numbers of integers and of byte
 * values in its args. If err is not 0, only returns err. Consumes the shape in
 * all cases. */
static int type_wrap_take(int err, struct shape *shape,
	enum weft_combiner combiner, struct weft_type *old,
	const int64_t split[2], struct weft_type **type_out)
{
	struct envelope env = { combiner, split[0], split[1], 1, &old };

	if (err) {
		shape_fini(shape);
		return err;
	}
	return type_new_take(shape, &env, type_out);
}

int weft_type_make_dup(struct weft_type *old, struct weft_type **type_out)
{
	const int64_t split[2] = { 0, 0 };
	struct shape shape;
	int err;

	shape_init(&shape, old);
	err = type_wrap_take(
		0, &shape, WEFT_COMBINER_DUP, old, split, type_out);
	if (!err)
		(*type_out)->is_committed = old->is_committed;
	return err;
}

int weft_type_make_contiguous(
	int64_t count, struct weft_type *old, struct weft_type **type_out)
{
	const int64_t split[2] = { 1, 0 };
	struct shape shape;
	int err;

	err = check_counts("count", 1, &count);
	if (err)
		return err;
	shape_init(&shape, old);
	err = shape_repeat(&shape, count, old->extent);
	err = type_wrap_take(
		err, &shape, WEFT_COMBINER_CONTIGUOUS, old, split, type_out);
	if (!err)
		(*type_out)->args[0] = count;
	return err;
}

/* Creates a vector, with a stride in bytes or in items. */
static int type_make_vector(const int64_t args[3], bool is_bytes,
	struct weft_type *old, struct weft_type **type_out)
{
	const int64_t split[2] = { is_bytes ? 2 : 3, is_bytes ? 1 : 0 };
	struct shape shape;
	int64_t stride;
	int err;

	err = check_counts("count or block length", 2, args);
	if (!err)
		err = type_make_mul(
			args[2], is_bytes ? 1 : old->extent, &stride);
	if (err)
		return err;
	shape_init(&shape, old);
	err = shape_repeat(&shape, args[1], old->extent);
	if (!err)
		err = shape_repeat(&shape, args[0], stride);
	err = type_wrap_take(err, &shape,
		is_bytes ? WEFT_COMBINER_HVECTOR : WEFT_COMBINER_VECTOR, old,
		split, type_out);
	if (!err)
		memcpy((*type_out)->args, args, 3 * sizeof *args);
	return err;
}

int weft_type_make_vector(int64_t count, int64_t blocklen, int64_t stride,
	struct weft_type *old, struct weft_type **type_out)
{
	const int64_t args[3] = { count, blocklen, stride };

	return type_make_vector(args, false, old, type_out);
}

int weft_type_make_hvector(int64_t count, int64_t blocklen, int64_t stride,
	struct weft_type *old, struct weft_type **type_out)
{
	const int64_t args[3] = { count, blocklen, stride };

	return type_make_vector(args, true, old, type_out);
}

/* A shape under construction: the union of shapes at displacements. */
struct shape_sum {
	struct shape sum; /* its tree is in `list` until shape_sum_finish() */
	struct weft_flat_list list;
};

static int shape_sum_add(
	struct shape_sum *acc, const struct shape *part, int64_t disp)
{
	struct shape moved = *part;
	int err;

	err = shape_shift(&moved, disp);
	if (!err)
		err = shape_join(&acc->sum, &moved);
	if (!err && moved.flat)
		err = weft_flat_list_add(&acc->list, moved.disp, moved.flat);
	return err;
}

/* Completes the shape of the whole in acc->sum. Returns err, or an error of
 * this step. */
static int shape_sum_finish(struct shape_sum *acc, int err)
{
	if (!err)
		err = weft_flat_list_finish(
			&acc->list, &acc->sum.flat, &acc->sum.disp);
	weft_flat_list_fini(&acc->list);
	return err;
}

/* Blocks of one old type. */
struct blocks {
	enum weft_combiner combiner;
	int64_t n;
	const int64_t *lens; /* NULL: all are `len` */
	int64_t len;
	const int64_t *displs;
	int64_t unit; /* bytes of a unit of displs */
};

static int type_make_check_blocks(const struct blocks *blocks)
{
	int err = check_counts("count", 1, &blocks->n);

	if (!err && blocks->lens)
		err = check_counts("block length", blocks->n, blocks->lens);
	else if (!err)
		err = check_counts("block length", 1, &blocks->len);
	return err;
}

static int shape_sum_blocks(struct shape_sum *acc, const struct blocks *blocks,
	const struct weft_type *old)
{
	struct shape block = { .align = 1 };
	int64_t len = 0;
	int err = 0;

	for (int64_t i = 0; i < blocks->n && !err; i++) {
		int64_t want = blocks->lens ? blocks->lens[i] : blocks->len;
		int64_t disp;

		if (want != len) {
			shape_fini(&block);
			shape_init(&block, old);
			err = shape_repeat(&block, want, old->extent);
			len = want;
		}
		if (!err && want)
			err = type_make_mul(
				blocks->displs[i], blocks->unit, &disp);
		if (!err && want)
			err = shape_sum_add(acc, &block, disp);
	}
	shape_fini(&block);
	return err;
}

static int type_make_blocks(const struct blocks *blocks, struct weft_type *old,
	struct weft_type **type_out)
{
	struct shape_sum acc = { .sum = { .align = 1 } };
	bool is_bytes = blocks->combiner == WEFT_COMBINER_HINDEXED ||
			blocks->combiner == WEFT_COMBINER_HINDEXED_BLOCK;
	int64_t n_lens = blocks->lens ? blocks->n : 1;
	int64_t split[2] = { 1 + n_lens, blocks->n };
	int64_t *args;
	int err;

	err = type_make_check_blocks(blocks);
	if (err)
		return err;
	if (!is_bytes) {
		split[0] += blocks->n;
		split[1] = 0;
	}
	err = shape_sum_finish(&acc, shape_sum_blocks(&acc, blocks, old));
	err = type_wrap_take(
		err, &acc.sum, blocks->combiner, old, split, type_out);
	if (err)
		return err;
	args = (*type_out)->args;
	*args++ = blocks->n;
	if (n_lens)
		memcpy(args, blocks->lens ? blocks->lens : &blocks->len,
			(size_t)n_lens * sizeof *args);
	if (blocks->n)
		memcpy(args + n_lens, blocks->displs,
			(size_t)blocks->n * sizeof *args);
	return 0;
}

int weft_type_make_indexed(int64_t n, const int64_t *blocklens,
	const int64_t *displs, struct weft_type *old,
	struct weft_type **type_out)
{
	static const int64_t none;
	const struct blocks blocks = { WEFT_COMBINER_INDEXED, n,
		n ? blocklens : &none, 0, displs, old->extent };

	return type_make_blocks(&blocks, old, type_out);
}

int weft_type_make_hindexed(int64_t n, const int64_t *blocklens,
	const int64_t *displs, struct weft_type *old,
	struct weft_type **type_out)
{
	static const int64_t none;
	const struct blocks blocks = { WEFT_COMBINER_HINDEXED, n,
		n ? blocklens : &none, 0, displs, 1 };

	return type_make_blocks(&blocks, old, type_out);
}

int weft_type_make_indexed_block(int64_t n, int64_t blocklen,
	const int64_t *displs, struct weft_type *old,
	struct weft_type **type_out)
{
	const struct blocks blocks = { WEFT_COMBINER_INDEXED_BLOCK, n, NULL,
		blocklen, displs, old->extent };

	return type_make_blocks(&blocks, old, type_out);
}

int weft_type_make_hindexed_block(int64_t n, int64_t blocklen,
	const int64_t *displs, struct weft_type *old,
	struct weft_type **type_out)
{
	const struct blocks blocks = { WEFT_COMBINER_HINDEXED_BLOCK, n, NULL,
		blocklen, displs, 1 };

	return type_make_blocks(&blocks, old, type_out);
}

static int shape_sum_struct(struct shape_sum *acc, int64_t n,
	const int64_t *blocklens, const int64_t *displs,
	struct weft_type *const *types)
{
	int err = 0;

	for (int64_t i = 0; i < n && !err; i++) {
		struct shape block;

		shape_init(&block, types[i]);
		err = shape_repeat(&block, blocklens[i], types[i]->extent);
		if (!err)
			err = shape_sum_add(acc, &block, displs[i]);
		shape_fini(&block);
	}
	return err;
}

int weft_type_make_struct(int64_t n, const int64_t *blocklens,
	const int64_t *displs, struct weft_type *const *types,
	struct weft_type **type_out)
{
	struct envelope env = { WEFT_COMBINER_STRUCT, 1 + n, n, n, types };
	struct shape_sum acc = { .sum = { .align = 1 } };
	int err;

	err = check_counts("count", 1, &n);
	if (!err)
		err = check_counts("block length", n, blocklens);
	if (err)
		return err;
	err = shape_sum_struct(&acc, n, blocklens, displs, types);
	err = shape_sum_finish(&acc, err);
	if (err) {
		shape_fini(&acc.sum);
		return err;
	}
	err = type_new_take(&acc.sum, &env, type_out);
	if (err || !n)
		return err;
	(*type_out)->args[0] = n;
	memcpy((*type_out)->args + 1, blocklens, (size_t)n * sizeof *displs);
	memcpy((*type_out)->args + 1 + n, displs, (size_t)n * sizeof *displs);
	return 0;
}

int weft_type_make_resized(struct weft_type *old, int64_t lb, int64_t extent,
	struct weft_type **type_out)
{
	const int64_t split[2] = { 0, 2 };
	struct shape shape;
	int err;

	shape_init(&shape, old);
	shape.lb = lb;
	shape.has_lb_mark = true;
	shape.has_ub_mark = true;
	shape.has_bounds = true;
	err = type_make_add(lb, extent, &shape.ub);
	err = type_wrap_take(
		err, &shape, WEFT_COMBINER_RESIZED, old, split, type_out);
	if (!err) {
		(*type_out)->args[0] = lb;
		(*type_out)->args[1] = extent;
	}
	return err;
}

/* The types of weft_type_make_f90(), which are never freed. */
static struct {
	pthread_mutex_t lock;
	struct weft_type *first;
} f90_made = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Creates a type and adds it to f90_made, whose lock is held. */
static int f90_new(enum weft_combiner combiner, int64_t p, int64_t r,
	struct weft_type *old, struct weft_type **type_out)
{
	const int64_t split[2] = { 2, 0 };
	struct shape shape;
	int err;

	shape_init(&shape, old);
	err = type_wrap_take(0, &shape, combiner, old, split, type_out);
	if (err)
		return err;
	(*type_out)->args[0] = p;
	(*type_out)->args[1] = r;
	(*type_out)->class_ = old->class_;
	(*type_out)->num = old->num;
	(*type_out)->is_committed = true;
	(*type_out)->is_builtin = true;
	(*type_out)->next_f90 = f90_made.first;
	f90_made.first = *type_out;
	return 0;
}

int weft_type_make_f90(enum weft_combiner combiner, int64_t p, int64_t r,
	struct weft_type *old, struct weft_type **type_out)
{
	struct weft_type *t;
	int err = 0;

	pthread_mutex_lock(&f90_made.lock);
	for (t = f90_made.first; t; t = t->next_f90)
		if (t->combiner == combiner && t->args[0] == p &&
			t->args[1] == r)
			break;
	if (t)
		*type_out = t;
	else
		err = f90_new(combiner, p, r, old, type_out);
	pthread_mutex_unlock(&f90_made.lock);
	return err;
}

/* Creates an array type with an envelope around `expanded`. If err is not 0,
 * only returns err. Consumes `expanded` in all cases. */
static int array_take(int err, struct weft_type *expanded,
	const struct envelope *env, struct weft_type **type_out)
{
	struct shape shape;

	if (!err) {
		shape_init(&shape, expanded);
		err = type_new_take(&shape, env, type_out);
	}
	if (err)
		weft_type_put(expanded);
	else
		(*type_out)->expanded = expanded;
	return err;
}

/* If err is 0, releases *type and replaces it by `next`. */
static int replace_take(
	int err, struct weft_type **type, struct weft_type *next)
{
	if (err)
		return err;
	weft_type_put(*type);
	*type = next;
	return 0;
}

/* Replaces *type by count copies of *type at a stride. The first copy is at
 * disp. */
static int repeat_dim(
	struct weft_type **type, int64_t count, int64_t stride, int64_t disp)
{
	struct weft_type *next = NULL;
	int err;

	err = weft_type_make_hvector(count, 1, stride, *type, &next);
	err = replace_take(err, type, next);
	if (err || !disp)
		return err;
	err = weft_type_make_hindexed_block(1, 1, &disp, *type, &next);
	return replace_take(err, type, next);
}

/* Sets the bounds of *type to those of the whole array. */
static int set_array_bounds(struct weft_type **type, int64_t extent)
{
	struct weft_type *next = NULL;
	int err = weft_type_make_resized(*type, 0, extent, &next);

	return replace_take(err, type, next);
}

static int check_order(enum weft_order order)
{
	if (order != WEFT_ORDER_C && order != WEFT_ORDER_FORTRAN)
		return weft_err_set(WEFT_ERR_ARG,
			"order %d is neither MPI_ORDER_C nor "
			"MPI_ORDER_FORTRAN",
			(int)order);
	return 0;
}

/* Dimension number i, counted from the dimension whose index varies fastest. */
static int dim_at(int i, int n_dims, enum weft_order order)
{
	return order == WEFT_ORDER_C ? n_dims - 1 - i : i;
}

static int check_subarray(const struct weft_type_subarray *desc)
{
	if (desc->n_dims < 1)
		return weft_err_set(WEFT_ERR_ARG,
			"ndims is %d, must be at least 1", desc->n_dims);
	for (int i = 0; i < desc->n_dims; i++)
		if (desc->sizes[i] < 1 || desc->subsizes[i] < 1 ||
			desc->starts[i] < 0 ||
			desc->subsizes[i] > desc->sizes[i] ||
			desc->starts[i] > desc->sizes[i] - desc->subsizes[i])
			return weft_err_set(WEFT_ERR_ARG,
				"dimension %d: subsize %lld at start %lld is "
				"not within size %lld",
				i, (long long)desc->subsizes[i],
				(long long)desc->starts[i],
				(long long)desc->sizes[i]);
	return check_order(desc->order);
}

static int expand_subarray(
	const struct weft_type_subarray *desc, struct weft_type **type)
{
	int64_t stride = (*type)->extent;
	int err = 0;

	for (int i = 0; i < desc->n_dims && !err; i++) {
		int d = dim_at(i, desc->n_dims, desc->order);
		int64_t disp;

		err = type_make_mul(desc->starts[d], stride, &disp);
		if (!err)
			err = repeat_dim(type, desc->subsizes[d], stride, disp);
		if (!err)
			err = type_make_mul(stride, desc->sizes[d], &stride);
	}
	return err ? err : set_array_bounds(type, stride);
}

int weft_type_make_subarray(const struct weft_type_subarray *desc,
	struct weft_type *old, struct weft_type **type_out)
{
	struct envelope env = { WEFT_COMBINER_SUBARRAY, 0, 0, 1, &old };
	struct weft_type *expanded;
	int n = desc->n_dims;
	int64_t *args;
	int err;

	err = check_subarray(desc);
	if (err)
		return err;
	expanded = weft_type_get(old);
	env.n_ints = 3 * (int64_t)n + 2;
	err = expand_subarray(desc, &expanded);
	err = array_take(err, expanded, &env, type_out);
	if (err)
		return err;
	args = (*type_out)->args;
	*args++ = n;
	for (int i = 0; i < n; i++) {
		args[i] = desc->sizes[i];
		args[n + i] = desc->subsizes[i];
		args[2 * n + i] = desc->starts[i];
	}
	args[3 * n] = desc->order;
	return 0;
}

/* One dimension of a distributed array, at this process. */
struct dist_dim {
	int64_t gsize;
	int64_t n_procs, coord;
	int64_t block; /* consecutive elements of a process */
};

static int dist_dim_init(
	struct dist_dim *dim, const struct weft_type_darray *desc, int d)
{
	const int64_t gsize = desc->gsizes[d], n_procs = desc->psizes[d];
	const int64_t least = gsize / n_procs + (gsize % n_procs != 0);
	int64_t darg = desc->dargs[d];

	*dim = (struct dist_dim){ .gsize = gsize, .n_procs = n_procs };
	switch (desc->distribs[d]) {
	case WEFT_DISTRIBUTE_NONE:
		if (dim->n_procs != 1)
			break;
		dim->block = dim->gsize;
		return 0;
	case WEFT_DISTRIBUTE_BLOCK:
		if (darg == WEFT_DISTRIBUTE_DFLT_DARG)
			darg = least;
		if (darg < 1 || darg < least)
			break;
		dim->block = darg;
		return 0;
	case WEFT_DISTRIBUTE_CYCLIC:
		dim->block = darg == WEFT_DISTRIBUTE_DFLT_DARG ? 1 : darg;
		if (dim->block < 1)
			break;
		return 0;
	}
	return weft_err_set(WEFT_ERR_ARG,
		"dimension %d: distribution %d with argument %d is not valid "
		"for %d processes",
		d, desc->distribs[d], desc->dargs[d], desc->psizes[d]);
}

static int check_darray(const struct weft_type_darray *desc)
{
	int64_t n = 1;
	struct dist_dim dim;
	int err;

	if (desc->n_dims < 1 || desc->size < 1 || desc->rank < 0 ||
		desc->rank >= desc->size)
		return weft_err_set(WEFT_ERR_ARG,
			"ndims is %d, rank %d, size %d; ndims and size must be "
			"at least 1, and rank below size",
			desc->n_dims, desc->rank, desc->size);
	for (int d = 0; d < desc->n_dims; d++) {
		if (desc->gsizes[d] < 1 || desc->psizes[d] < 1)
			return weft_err_set(WEFT_ERR_ARG,
				"dimension %d: gsize %lld and psize %d must be "
				"at least 1",
				d, (long long)desc->gsizes[d], desc->psizes[d]);
		err = dist_dim_init(&dim, desc, d);
		if (!err)
			err = type_make_mul(n, desc->psizes[d], &n);
		if (err)
			return err;
	}
	if (n != desc->size)
		return weft_err_set(WEFT_ERR_ARG,
			"the product of psizes is %lld, size is %d",
			(long long)n, desc->size);
	return check_order(desc->order);
}

/* Replaces *type by this process's part of a dimension whose elements are
 * `stride` bytes apart. */
static int distribute_dim(
	struct weft_type **type, const struct dist_dim *dim, int64_t stride)
{
	int64_t first = dim->coord * dim->block;
	int64_t cycle = dim->n_procs * dim->block;
	int64_t n_left =
		dim->gsize - first; /* from this process's first element on */
	int64_t n_full =
		n_left < dim->block ? 0 : (n_left - dim->block) / cycle + 1;
	int64_t rest = n_left - n_full * cycle;
	int64_t lens[2] = { n_full > 0, 0 };
	int64_t displs[2] = { first * stride, 0 };
	struct weft_type *parts[2] = { weft_type_get(*type),
		weft_type_get(*type) };
	struct weft_type *next = NULL;
	int err = 0;

	displs[1] = (first + n_full * cycle) * stride;
	if (n_full > 0) {
		err = repeat_dim(&parts[0], dim->block, stride, 0);
		if (!err)
			err = repeat_dim(&parts[0], n_full, cycle * stride, 0);
	}
	if (!err && rest > 0) {
		lens[1] = 1;
		err = repeat_dim(
			&parts[1], weft_min64(rest, dim->block), stride, 0);
	}
	if (!err)
		err = weft_type_make_struct(2, lens, displs, parts, &next);
	weft_type_put(parts[0]);
	weft_type_put(parts[1]);
	return replace_take(err, type, next);
}

/* Processes are numbered in C order, even if the array is in Fortran order. */
static int64_t coord_of(const struct weft_type_darray *desc, int d)
{
	int64_t rank = desc->rank;

	for (int i = desc->n_dims - 1; i > d; i--)
		rank /= desc->psizes[i];
	return rank % desc->psizes[d];
}

static int expand_darray(
	const struct weft_type_darray *desc, struct weft_type **type)
{
	int64_t stride = (*type)->extent;
	int err = 0;

	for (int i = 0; i < desc->n_dims && !err; i++) {
		int d = dim_at(i, desc->n_dims, desc->order);
		struct dist_dim dim;
		int64_t whole;

		err = dist_dim_init(&dim, desc, d);
		dim.coord = coord_of(desc, d);
		/* no product in distribute_dim() is larger than `whole` */
		if (!err)
			err = type_make_mul(dim.n_procs, dim.block, &whole);
		if (!err)
			err = type_make_add(dim.gsize, whole, &whole);
		if (!err)
			err = type_make_mul(whole, stride, &whole);
		if (!err)
			err = type_make_mul(whole, 2, &whole);
		if (!err)
			err = distribute_dim(type, &dim, stride);
		if (!err)
			stride *= dim.gsize;
	}
	return err ? err : set_array_bounds(type, stride);
}

int weft_type_make_darray(const struct weft_type_darray *desc,
	struct weft_type *old, struct weft_type **type_out)
{
	struct envelope env = { WEFT_COMBINER_DARRAY, 0, 0, 1, &old };
	struct weft_type *expanded;
	int n = desc->n_dims;
	int64_t *args;
	int err;

	err = check_darray(desc);
	if (err)
		return err;
	expanded = weft_type_get(old);
	env.n_ints = 4 * (int64_t)n + 4;
	err = expand_darray(desc, &expanded);
	err = array_take(err, expanded, &env, type_out);
	if (err)
		return err;
	args = (*type_out)->args;
	*args++ = desc->size;
	*args++ = desc->rank;
	*args++ = n;
	for (int i = 0; i < n; i++) {
		args[i] = desc->gsizes[i];
		args[n + i] = desc->distribs[i];
		args[2 * n + i] = desc->dargs[i];
		args[3 * n + i] = desc->psizes[i];
	}
	args[4 * n] = desc->order;
	return 0;
}
