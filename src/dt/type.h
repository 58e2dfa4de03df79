/* SPDX-License-Identifier: BSD-3-Clause */
/* type: datatype objects
 *
 * A type is immutable once made, except for its commit mark, its name and what
 * upper rooms hang on it, so packing needs no lock. Predefined types are static
 * objects whose handle (weft_obj_handle) is their ABI value; derived types live
 * in weft_types. Numbers that an application can see through envelopes
 * (combiners, orders, distributions) have the values of the standard ABI. */
#ifndef WEFT_TYPE_H
#define WEFT_TYPE_H

#include "base/handle.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WEFT_TYPE_FIRST = 0x200, /* ABI value of the null type */
	WEFT_TYPE_LAST = 0x2eb,
	WEFT_TYPE_NAME_LEN = 128, /* with the final NUL */
};

enum weft_combiner {
	WEFT_COMBINER_NAMED = 101,
	WEFT_COMBINER_DUP,
	WEFT_COMBINER_CONTIGUOUS,
	WEFT_COMBINER_VECTOR,
	WEFT_COMBINER_HVECTOR,
	WEFT_COMBINER_INDEXED,
	WEFT_COMBINER_HINDEXED,
	WEFT_COMBINER_INDEXED_BLOCK,
	WEFT_COMBINER_HINDEXED_BLOCK,
	WEFT_COMBINER_STRUCT,
	WEFT_COMBINER_SUBARRAY,
	WEFT_COMBINER_DARRAY,
	WEFT_COMBINER_F90_REAL,
	WEFT_COMBINER_F90_COMPLEX,
	WEFT_COMBINER_F90_INTEGER,
	WEFT_COMBINER_RESIZED,
	WEFT_COMBINER_VALUE_INDEX,
};

enum weft_order { WEFT_ORDER_C = 12, WEFT_ORDER_FORTRAN = 15 };

enum weft_distribute {
	WEFT_DISTRIBUTE_NONE = 16,
	WEFT_DISTRIBUTE_BLOCK,
	WEFT_DISTRIBUTE_CYCLIC,
	WEFT_DISTRIBUTE_DFLT_DARG,
};

/* Which reductions a predefined type takes part in. */
enum weft_type_class {
	WEFT_CLASS_NONE,  /* derived, packed, wide characters */
	WEFT_CLASS_CHAR,  /* printable characters: no reductions */
	WEFT_CLASS_CINT,  /* C integers */
	WEFT_CLASS_FINT,  /* Fortran integers */
	WEFT_CLASS_MULTI, /* address, offset, count */
	WEFT_CLASS_FLOAT,
	WEFT_CLASS_COMPLEX,
	WEFT_CLASS_LOGICAL,
	WEFT_CLASS_BYTE,
	WEFT_CLASS_PAIR, /* value and index */
};

/* How the machine sees a number; chooses reduction kernels. */
enum weft_num {
	WEFT_NUM_NONE,
	WEFT_NUM_I8,
	WEFT_NUM_I16,
	WEFT_NUM_I32,
	WEFT_NUM_I64,
	WEFT_NUM_I128,
	WEFT_NUM_U8,
	WEFT_NUM_U16,
	WEFT_NUM_U32,
	WEFT_NUM_U64,
	WEFT_NUM_F16,
	WEFT_NUM_BF16, /* the upper half of an F32 */
	WEFT_NUM_F32,
	WEFT_NUM_F64,
	WEFT_NUM_FLONG, /* long double */
	WEFT_NUM_F128,
	WEFT_NUM_C16, /* complex of F16, and so on */
	WEFT_NUM_C32,
	WEFT_NUM_C64,
	WEFT_NUM_CLONG,
	WEFT_NUM_C128,
	WEFT_NUM_N,
};

/* MPI_CHAR is text to the standard and takes no reductions; programs reduce it
 * all the same, and other implementations let them. */
enum { WEFT_NUM_CHAR = (char)-1 < 0 ? WEFT_NUM_I8 : WEFT_NUM_U8 };

struct weft_flat;

/* Made by weft_type_make_*() with one reference, held by the handle. Further
 * references: requests, derived types, whoever calls weft_type_get(). The last
 * weft_type_put() destroys it, on any thread. Predefined types ignore both. */
struct weft_type {
	struct weft_obj obj;
	int64_t size; /* bytes of data */
	int64_t lb, extent;
	int64_t true_lb, true_extent;
	/* Data of any number of items is one run, which begins at
	 * buf + true_lb. */
	bool is_contig;
	bool is_one_run; /* that of one item is */
	bool is_committed;
	bool is_builtin;   /* the user may not free it */
	int builtin_index; /* ABI value - WEFT_TYPE_FIRST, or -1 */
	_Atomic uint32_t refs;
	void *attrs; /* of upper rooms; NULL when made */

	/* Envelope: arguments as the constructor's int form takes them,
	 * n_ints counts followed by n_aints byte values, then the types,
	 * on each of which a reference is held. */
	enum weft_combiner combiner;
	bool is_large; /* made through a large-count call; caller sets it */
	int64_t n_ints, n_aints, n_types;
	int64_t *args;
	struct weft_type **types;

	enum weft_type_class class_;
	enum weft_num num; /* kernel; of the value for pairs */
	int64_t n_elems;   /* predefined elements in one item */
	int64_t elem_size; /* bytes of each, 0 when they differ */
	/* The only predefined type used, or NULL. */
	const struct weft_type *basic;
	char name[WEFT_TYPE_NAME_LEN];

	/* below: only src/dt and the inline functions here */
	_Atomic uint32_t n_handles;
	bool has_lb_mark, has_ub_mark; /* bounds were set by the user */
	int64_t align;
	int64_t flat_disp;
	struct weft_flat *flat;	    /* NULL when size is 0 */
	struct weft_type *expanded; /* sub- and darray: made of simpler ones */
	struct weft_type *next_f90; /* guarded by the lock of f90_made */
};

extern struct weft_table weft_types;

/* Predefined types, and the place of each ABI value among them plus one. */
extern struct weft_type weft_type_builtins[];
extern const unsigned char weft_type_indices[];

/* The predefined type with this ABI value (0x200 to 0x2eb), or NULL when there
 * is none (so also for the null type). Never destroyed. */
static inline struct weft_type *weft_type_builtin(unsigned abi_value)
{
	unsigned i = abi_value - WEFT_TYPE_FIRST;

	if (i > WEFT_TYPE_LAST - WEFT_TYPE_FIRST || !weft_type_indices[i])
		return NULL;
	return &weft_type_builtins[weft_type_indices[i] - 1];
}

/* The type a handle names, predefined or derived, or NULL. */
static inline struct weft_type *weft_type_lookup(uint64_t handle)
{
	return handle <= WEFT_TYPE_LAST ? weft_type_builtin((unsigned)handle)
					: (struct weft_type *)weft_table_get(
						  &weft_types, handle);
}

/* Takes a reference; returns the type. */
struct weft_type *weft_type_get(struct weft_type *type);

/* Gives one back and destroys the type with the last. NULL is accepted. */
void weft_type_put(struct weft_type *type);

/* Gives up the handle: it becomes stale, unless weft_type_open_handle() gave
 * it out again, and the handle's reference is put. */
void weft_type_close_handle(struct weft_type *type);

/* The handle of a type that may have been closed, with a reference of its own
 * (for showing the types inside an envelope). */
uint64_t weft_type_open_handle(struct weft_type *type);

/* True if closing the handle now would leave the type without one. */
static inline bool weft_type_is_last_handle(const struct weft_type *type)
{
	return atomic_load_explicit(&type->n_handles, memory_order_acquire) <=
	       1;
}

/* Marks the type usable in communication. Idempotent. */
void weft_type_commit(struct weft_type *type);

/* Constructors. Counts and block lengths must not be negative (WEFT_ERR_ARG);
 * sizes and displacements past 63 bits are WEFT_ERR_VALUE_TOO_LARGE. The old
 * types get a reference and stay the caller's. On success *type_out is a new,
 * uncommitted type with one reference; after failure nothing has changed. */
int weft_type_make_dup(struct weft_type *old, struct weft_type **type_out);
int weft_type_make_contiguous(
	int64_t count, struct weft_type *old, struct weft_type **type_out);
int weft_type_make_vector(int64_t count, int64_t blocklen, int64_t stride,
	struct weft_type *old, struct weft_type **type_out);
int weft_type_make_hvector(int64_t count, int64_t blocklen, int64_t stride,
	struct weft_type *old, struct weft_type **type_out);
int weft_type_make_indexed(int64_t n, const int64_t *blocklens,
	const int64_t *displs, struct weft_type *old,
	struct weft_type **type_out);
int weft_type_make_hindexed(int64_t n, const int64_t *blocklens,
	const int64_t *displs, struct weft_type *old,
	struct weft_type **type_out);
int weft_type_make_indexed_block(int64_t n, int64_t blocklen,
	const int64_t *displs, struct weft_type *old,
	struct weft_type **type_out);
int weft_type_make_hindexed_block(int64_t n, int64_t blocklen,
	const int64_t *displs, struct weft_type *old,
	struct weft_type **type_out);
int weft_type_make_struct(int64_t n, const int64_t *blocklens,
	const int64_t *displs, struct weft_type *const *types,
	struct weft_type **type_out);
int weft_type_make_resized(struct weft_type *old, int64_t lb, int64_t extent,
	struct weft_type **type_out);

struct weft_type_subarray {
	int n_dims;
	const int64_t *sizes, *subsizes, *starts;
	enum weft_order order;
};

int weft_type_make_subarray(const struct weft_type_subarray *desc,
	struct weft_type *old, struct weft_type **type_out);

struct weft_type_darray {
	int size, rank, n_dims;
	const int64_t *gsizes;
	const int *distribs, *dargs, *psizes;
	enum weft_order order;
};

int weft_type_make_darray(const struct weft_type_darray *desc,
	struct weft_type *old, struct weft_type **type_out);

/* A committed, unfreeable type equal to `old` whose envelope says F90_REAL,
 * F90_COMPLEX or F90_INTEGER of precision p and range r; the same object for
 * the same arguments, which lasts as long as the process. Any thread. */
int weft_type_make_f90(enum weft_combiner combiner, int64_t p, int64_t r,
	struct weft_type *old, struct weft_type **type_out);

/* True if the data of count items is one run of bytes, at buf + true_lb. */
static inline bool weft_type_is_run(const struct weft_type *type, int64_t count)
{
	return type->is_contig | ((count == 1) & type->is_one_run);
}

/* Stores where the data of count items begins, relative to the buffer, and the
 * number of bytes from there to its end, gaps included. Without data both are
 * 0. False if a value needs more than 63 bits. */
static inline bool weft_type_span(const struct weft_type *type, int64_t count,
	int64_t *first_out, int64_t *len_out)
{
	int64_t rest, low, high;

	*first_out = *len_out = 0;
	if (count < 1 || !type->size)
		return true;
	if (__builtin_mul_overflow(count - 1, type->extent, &rest))
		return false;
	low = rest < 0 ? rest : 0;
	high = rest > 0 ? rest : 0;
	return !__builtin_add_overflow(type->true_lb, low, first_out) &&
	       !__builtin_sub_overflow(type->true_extent, low, len_out) &&
	       !__builtin_add_overflow(*len_out, high, len_out);
}

/* Predefined elements in the first `len` bytes of data of items of this type;
 * a last incomplete one is not counted. */
int64_t weft_type_elements(const struct weft_type *type, int64_t len);

/* True if no run of an item's data begins before the one in front of it;
 * *is_disjoint: nor before that one's end. */
bool weft_type_is_monotone(const struct weft_type *type, bool *is_disjoint);

/* Bytes of the first n predefined elements of data of items of this type: the
 * reverse. */
int64_t weft_type_elements_len(const struct weft_type *type, int64_t n);

/* n elements of one predefined type, `basic->extent` bytes apart, the first at
 * displacement disp. Anything but 0 ends the walk. */
typedef int weft_type_visit_fn(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n);

/* Visits all predefined elements of count items in type map order. Returns
 * what the last visit returned. */
int weft_type_visit(const struct weft_type *type, int64_t count,
	weft_type_visit_fn *visit, void *arg);

/* The predefined pair type of a value and an index type, or NULL. */
struct weft_type *weft_type_pair(
	const struct weft_type *value, const struct weft_type *index);

#endif
