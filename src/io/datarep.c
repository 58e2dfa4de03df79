/* SPDX-License-Identifier: BSD-3-Clause */
/* datarep: data representations of files */
#include "io/datarep.h"

#include "base/err.h"
#include "dt/pack.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct weft_datarep builtin_reps[] = {
	{ .kind = WEFT_DATAREP_NATIVE, .name = "native" },
	{ .kind = WEFT_DATAREP_NATIVE, .name = "internal" },
	{ .kind = WEFT_DATAREP_EXTERNAL, .name = "external32" },
};

enum { N_BUILTIN = sizeof(builtin_reps) / sizeof(builtin_reps[0]) };

/* Representations that the program registered, newest first; guarded by the
 * mutex. */
static struct {
	pthread_mutex_t lock;
	const struct weft_datarep *first;
} user_reps = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- names ---- */

/* The caller holds the mutex. */
static const struct weft_datarep *find_rep(const char *name)
{
	const struct weft_datarep *rep = user_reps.first;

	for (int i = 0; i < N_BUILTIN; i++)
		if (!strcmp(builtin_reps[i].name, name))
			return &builtin_reps[i];
	while (rep && strcmp(rep->name, name) != 0)
		rep = rep->next;
	return rep;
}

const struct weft_datarep *weft_datarep_find(const char *name)
{
	const struct weft_datarep *rep;

	pthread_mutex_lock(&user_reps.lock);
	rep = find_rep(name);
	pthread_mutex_unlock(&user_reps.lock);
	return rep;
}

int weft_datarep_register(const struct weft_datarep *rep)
{
	struct weft_datarep *copy = malloc(sizeof(*copy));
	bool is_new;

	if (!copy)
		return weft_err_set(
			WEFT_ERR_NOMEM, "no memory for a representation");
	*copy = *rep;
	pthread_mutex_lock(&user_reps.lock);
	is_new = !find_rep(rep->name);
	if (is_new) {
		copy->next = user_reps.first;
		user_reps.first = copy;
	}
	pthread_mutex_unlock(&user_reps.lock);
	if (is_new)
		return 0;
	free(copy);
	return weft_err_set(WEFT_ERR_DUP_DATAREP,
		"datarep \"%.100s\" is registered already", rep->name);
}

/* ---- sizes ---- */

/* The size in a file of a predefined type. */
static int rep_element(const struct weft_datarep *rep,
	const struct weft_type *basic, int64_t *size_out)
{
	intptr_t extent = 0;
	int rc;

	*size_out = basic->size;
	if (rep->kind == WEFT_DATAREP_EXTERNAL)
		*size_out = weft_external_size(basic, 1);
	if (rep->kind != WEFT_DATAREP_USER)
		return 0;
	rc = rep->extent(
		(void *)(uintptr_t)weft_obj_handle(basic), &extent, rep->extra);
	if (rc || extent < 0)
		return weft_err_set(WEFT_ERR_CONVERSION,
			"the extent function of datarep \"%.60s\" returned "
			"%d, extent %lld",
			rep->name, rc, (long long)extent);
	*size_out = extent;
	return 0;
}

/* The state of a walk over the elements of a type. */
struct rep_walk {
	const struct weft_datarep *rep;
	int64_t size;	/* bytes in the file of the elements so far */
	int64_t limit;	/* the walk ends before size exceeds it */
	int64_t memory; /* bytes in memory of the elements so far */
	int64_t n;	/* elements so far */
	int err;
};

static int rep_visit(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n)
{
	struct rep_walk *w = arg;
	int64_t one, some = n;

	(void)disp;
	w->err = rep_element(w->rep, basic, &one);
	if (w->err)
		return 1;
	if (one && some > (w->limit - w->size) / one)
		some = (w->limit - w->size) / one;
	w->size += some * one;
	w->memory += some * basic->size;
	w->n += some;
	return some < n;
}

int weft_datarep_size(const struct weft_datarep *rep,
	const struct weft_type *type, int64_t *size_out)
{
	struct rep_walk w = { .rep = rep, .limit = INT64_MAX };

	*size_out = type->size;
	if (rep->kind == WEFT_DATAREP_NATIVE)
		return 0;
	weft_type_visit(type, 1, rep_visit, &w);
	*size_out = w.size;
	return w.err;
}

/* Walks over the complete elements in len bytes of a file. */
static int rep_walk_data(
	struct rep_walk *w, const struct weft_type *type, int64_t len)
{
	int64_t size, items;
	int err = weft_datarep_size(w->rep, type, &size);

	if (err || !size)
		return err;
	items = len / size;
	w->limit = len % size;
	weft_type_visit(type, 1, rep_visit, w);
	w->memory += items * type->size;
	w->n += items * type->n_elems;
	return w->err;
}

int weft_datarep_in_memory(const struct weft_datarep *rep,
	const struct weft_type *type, int64_t len, int64_t *len_out)
{
	struct rep_walk w = { .rep = rep };
	int err = 0;

	*len_out = len;
	if (rep->kind != WEFT_DATAREP_NATIVE) {
		err = rep_walk_data(&w, type, len);
		*len_out = w.memory;
	}
	return err;
}

/* ---- layouts ---- */

static int layout_basic(const struct weft_datarep *rep,
	const struct weft_type *basic, struct weft_type **type_out)
{
	int64_t size;
	int err = rep_element(rep, basic, &size);

	return err ? err
		   : weft_type_make_contiguous(
			     size, weft_type_builtin(WEFT_TYPE_BYTE), type_out);
}

static int layout_subarray(
	const int64_t *a, struct weft_type *old, struct weft_type **type_out)
{
	const int64_t n = a[0];
	struct weft_type_subarray desc = { .n_dims = (int)n };

	desc.sizes = a + 1;
	desc.subsizes = a + 1 + n;
	desc.starts = a + 1 + 2 * n;
	desc.order = (enum weft_order)a[1 + 3 * n];
	return weft_type_make_subarray(&desc, old, type_out);
}

static int layout_darray(
	const int64_t *a, struct weft_type *old, struct weft_type **type_out)
{
	const int64_t n = a[2];
	struct weft_type_darray desc = { .size = (int)a[0],
		.rank = (int)a[1],
		.n_dims = (int)n,
		.gsizes = a + 3 };
	int *numbers = malloc(3 * (size_t)n * sizeof(*numbers) + 1);
	int err;

	if (!numbers)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a datatype");
	for (int64_t i = 0; i < 3 * n; i++)
		numbers[i] = (int)a[3 + n + i];
	desc.distribs = numbers;
	desc.dargs = numbers + n;
	desc.psizes = numbers + 2 * n;
	desc.order = (enum weft_order)a[3 + 4 * n];
	err = weft_type_make_darray(&desc, old, type_out);
	free(numbers);
	return err;
}

/* Calls the constructor of type with other parts. a: the integers of the
 * envelope. b: the byte displacements of the envelope. */
static int layout_like(const struct weft_type *type,
	struct weft_type *const *parts, struct weft_type **type_out)
{
	const int64_t *a = type->args, *b = a + type->n_ints;
	struct weft_type *old = parts[0];

	switch (type->combiner) {
	case WEFT_COMBINER_CONTIGUOUS:
		return weft_type_make_contiguous(a[0], old, type_out);
	case WEFT_COMBINER_VECTOR:
		return weft_type_make_vector(a[0], a[1], a[2], old, type_out);
	case WEFT_COMBINER_HVECTOR:
		return weft_type_make_hvector(a[0], a[1], b[0], old, type_out);
	case WEFT_COMBINER_INDEXED:
		return weft_type_make_indexed(
			a[0], a + 1, a + 1 + a[0], old, type_out);
	case WEFT_COMBINER_HINDEXED:
		return weft_type_make_hindexed(a[0], a + 1, b, old, type_out);
	case WEFT_COMBINER_INDEXED_BLOCK:
		return weft_type_make_indexed_block(
			a[0], a[1], a + 2, old, type_out);
	case WEFT_COMBINER_HINDEXED_BLOCK:
		return weft_type_make_hindexed_block(
			a[0], a[1], b, old, type_out);
	case WEFT_COMBINER_STRUCT:
		return weft_type_make_struct(a[0], a + 1, b, parts, type_out);
	case WEFT_COMBINER_SUBARRAY:
		return layout_subarray(a, old, type_out);
	case WEFT_COMBINER_DARRAY:
		return layout_darray(a, old, type_out);
	case WEFT_COMBINER_RESIZED:
		return weft_type_make_resized(old, b[0], b[1], type_out);
	default:
		return weft_type_make_dup(old, type_out);
	}
}

static int layout_of(const struct weft_datarep *rep,
	const struct weft_type *type, struct weft_type **type_out);

static int layout_derived(const struct weft_datarep *rep,
	const struct weft_type *type, struct weft_type **type_out)
{
	struct weft_type **parts =
		calloc((size_t)type->n_types + 1, sizeof(*parts));
	int err = parts ? 0
			: weft_err_set(
				  WEFT_ERR_NOMEM, "no memory for a datatype");

	for (int64_t i = 0; i < type->n_types && !err; i++)
		err = layout_of(rep, type->types[i], &parts[i]);
	if (!err)
		err = layout_like(type, parts, type_out);
	for (int64_t i = 0; parts && i < type->n_types; i++)
		weft_type_put(parts[i]);
	free(parts);
	return err;
}

static int layout_of(const struct weft_datarep *rep,
	const struct weft_type *type, struct weft_type **type_out)
{
	return type->combiner == WEFT_COMBINER_NAMED ||
			       type->combiner == WEFT_COMBINER_VALUE_INDEX ||
			       type->n_types == 0
		       ? layout_basic(rep, type, type_out)
		       : layout_derived(rep, type, type_out);
}

int weft_datarep_layout(const struct weft_datarep *rep, struct weft_type *type,
	struct weft_type **type_out)
{
	if (rep->kind != WEFT_DATAREP_NATIVE)
		return layout_of(rep, type, type_out);
	*type_out = weft_type_get(type);
	return 0;
}

/* ---- conversion ---- */

static char *move_items_at(const struct weft_datarep_move *move)
{
	return (char *)((uintptr_t)move->buf +
			(uintptr_t)(move->first * move->type->extent));
}

/* Converts n elements, from item move->first on, by the program's function. */
static int convert_user(const struct weft_datarep *rep,
	const struct weft_datarep_move *move, int64_t n, bool is_write)
{
	weft_datarep_move_fn *fn = is_write ? rep->write : rep->read;
	weft_datarep_move_large_fn *large =
		is_write ? rep->write_large : rep->read_large;
	void *type = (void *)(uintptr_t)weft_obj_handle(move->type);
	int64_t position = move->first * move->type->n_elems;
	int rc;

	if (large)
		rc = large(
			move->buf, type, n, move->data, position, rep->extra);
	else if (n <= INT_MAX)
		rc = fn(move->buf, type, (int)n, move->data, position,
			rep->extra);
	else
		rc = 1;
	return rc ? weft_err_set(WEFT_ERR_CONVERSION,
			    "the %s function of datarep \"%.60s\" returned %d "
			    "for %lld elements",
			    is_write ? "write" : "read", rep->name, rc,
			    (long long)n)
		  : 0;
}

int weft_datarep_write(
	const struct weft_datarep *rep, const struct weft_datarep_move *move)
{
	const struct weft_type *type = move->type;

	if (rep->write || rep->write_large)
		return convert_user(
			rep, move, move->count * type->n_elems, true);
	if (rep->kind == WEFT_DATAREP_EXTERNAL)
		weft_external_pack(
			type, move->count, move_items_at(move), move->data);
	else
		weft_pack(type, move->count, move_items_at(move), 0, move->data,
			(size_t)(move->count * type->size));
	return 0;
}

/* Stores only the first n_bytes of one item, which is converted in a separate
 * buffer. */
static int read_part(const struct weft_datarep_move *move, int64_t n_bytes)
{
	const struct weft_type *type = move->type;
	char *item = malloc((size_t)type->true_extent + 1);
	char *packed = malloc((size_t)type->size + 1);
	int err = item && packed
			  ? 0
			  : weft_err_set(WEFT_ERR_NOMEM, "no memory to read");

	if (!err) {
		char *at = (char *)((uintptr_t)item - (uintptr_t)type->true_lb);

		weft_external_unpack(type, 1, at, move->data);
		weft_pack(type, 1, at, 0, packed, (size_t)n_bytes);
		weft_unpack(type, 1, move_items_at(move), 0, packed,
			(size_t)n_bytes);
	}
	free(item);
	free(packed);
	return err;
}

static int read_external(
	const struct weft_datarep_move *move, int64_t data_len, int64_t memory)
{
	int64_t size = weft_external_size(move->type, 1);
	int64_t whole = size ? data_len / size : 0;
	struct weft_datarep_move rest = *move;

	weft_external_unpack(
		move->type, whole, move_items_at(move), move->data);
	if (memory == whole * move->type->size)
		return 0;
	rest.first += whole;
	rest.data = (char *)move->data + whole * size;
	return read_part(&rest, memory - whole * move->type->size);
}

int weft_datarep_read(const struct weft_datarep *rep,
	const struct weft_datarep_move *move, int64_t data_len)
{
	struct rep_walk w = { .rep = rep };
	int err = rep_walk_data(&w, move->type, data_len);

	if (err)
		return err;
	if (rep->read || rep->read_large)
		return convert_user(rep, move, w.n, false);
	if (rep->kind == WEFT_DATAREP_EXTERNAL)
		return read_external(move, data_len, w.memory);
	weft_unpack(move->type, move->count, move_items_at(move), 0, move->data,
		(size_t)w.memory);
	return 0;
}
