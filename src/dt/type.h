/* SPDX-License-Identifier: BSD-3-Clause */
/* type: datatype objects
 *
 * A type is immutable except for its commit mark, its name and its attributes,
 * so packing needs no lock. Predefined types are static objects whose handle
 * (weft_obj_handle) is their ABI value; derived types are in weft_types.
 * Numbers that a program can read in envelopes (combiners, orders,
 * distributions) have the values of the standard ABI. */
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
	WEFT_TYPE_BYTE = 0x247,	  /* MPI_BYTE */
	WEFT_TYPE_INT32 = 0x250,  /* MPI_INT32_T */
	WEFT_TYPE_UINT32 = 0x251, /* MPI_UINT32_T */
	WEFT_TYPE_INT64 = 0x258,  /* MPI_INT64_T */
	WEFT_TYPE_UINT64 = 0x259, /* MPI_UINT64_T */
	WEFT_TYPE_NAME_LEN = 128, /* bytes, with the final NUL */
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

/* The class of a predefined type, which selects the reductions that the
 * standard defines on the type. */
enum weft_type_class {
	WEFT_CLASS_NONE,  /* derived types, MPI_PACKED */
	WEFT_CLASS_CHAR,  /* Fortran and wide characters: no reductions */
	WEFT_CLASS_CINT,  /* C integers */
	WEFT_CLASS_FINT,  /* Fortran integers */
	WEFT_CLASS_MULTI, /* MPI_AINT, MPI_OFFSET, MPI_COUNT */
	WEFT_CLASS_FLOAT,
	WEFT_CLASS_COMPLEX,
	WEFT_CLASS_LOGICAL,
	WEFT_CLASS_BYTE,
	WEFT_CLASS_PAIR, /* value and index */
};

/* The machine's type of a number; selects the reduction kernel. */
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

/* The standard defines no reductions on MPI_CHAR. This library supports them,
 * because programs use them and other implementations support them. */
enum { WEFT_NUM_CHAR = (char)-1 < 0 ? WEFT_NUM_I8 : WEFT_NUM_U8 };

struct weft_flat;

/* Created by weft_type_make_*() with one reference, which the handle holds.
 * Requests, derived types and callers of weft_type_get() hold further
 * references. The last weft_type_put() destroys the type, on any thread.
 * Predefined types and those of weft_type_make_f90() are never destroyed and
 * count no references. */
struct weft_type {
	struct weft_obj obj;
	int64_t size; /* bytes of data */
	int64_t lb, extent;
	int64_t true_lb, true_extent;
	/* the data of any number of items is one run of bytes, which begins at
	 * buf + true_lb; or there is no data */
	bool is_contig;
	bool is_one_run; /* one item has one run or no data */
	bool is_committed;
	bool is_builtin;   /* the user may not free it */
	int builtin_index; /* ABI value - WEFT_TYPE_FIRST, or -1 */
	_Atomic uint32_t refs;
	void *attrs; /* private to core/attr.c; initially NULL */

	/* Envelope: the arguments of the constructor. args has n_ints integers,
	 * then n_aints byte values. types holds a reference to each type. */
	enum weft_combiner combiner;
	bool is_large; /* made by a large-count call; set by the caller */
	int64_t n_ints, n_aints, n_types;
	int64_t *args;
	struct weft_type **types;

	enum weft_type_class class_;
	enum weft_num num; /* kernel; of a pair: kernel of its value */
	int64_t n_elems;   /* predefined elements in one item; a pair has two */
	int64_t elem_size; /* bytes of an element; 0: sizes differ */
	/* the predefined type of all elements; NULL if they differ */
	const struct weft_type *basic;
	char name[WEFT_TYPE_NAME_LEN];

	/* private to src/dt and the inline functions of this file */
	_Atomic uint32_t n_handles;
	bool has_lb_mark, has_ub_mark; /* the program has set the bound */
	int64_t align;
	int64_t flat_disp;	    /* displacement of flat in an item */
	struct weft_flat *flat;	    /* NULL when size is 0 */
	struct weft_type *expanded; /* equal type, for sub- and darray */
	struct weft_type *next_f90; /* next in f90_made, whose lock guards it */
};

extern struct weft_table weft_types;

/* weft_type_builtins has the predefined types. weft_type_indices has, for each
 * ABI value - WEFT_TYPE_FIRST, the index in weft_type_builtins + 1; 0: none. */
extern struct weft_type weft_type_builtins[];
extern const unsigned char weft_type_indices[];

/* The predefined type with this ABI value (0x200 to 0x2eb), or NULL; NULL also
 * for the null type. Never destroyed. */
static inline struct weft_type *weft_type_builtin(unsigned abi_value)
{
	unsigned i = abi_value - WEFT_TYPE_FIRST;

	if (i > WEFT_TYPE_LAST - WEFT_TYPE_FIRST || !weft_type_indices[i])
		return NULL;
	return &weft_type_builtins[weft_type_indices[i] - 1];
}

/* The type of a handle, predefined or derived, or NULL. */
static inline struct weft_type *weft_type_lookup(uint64_t handle)
{
	return handle <= WEFT_TYPE_LAST ? weft_type_builtin((unsigned)handle)
					: (struct weft_type *)weft_table_get(
						  &weft_types, handle);
}

/* Adds a reference. Returns the type. */
struct weft_type *weft_type_get(struct weft_type *type);

/* Releases a reference. The last release destroys the type. NULL is accepted.
 */
void weft_type_put(struct weft_type *type);

/* Closes the handle and drops its reference. The handle becomes stale unless
 * weft_type_open_handle() has opened it again. */
void weft_type_close_handle(struct weft_type *type);

/* Opens the handle of a type again, with a new reference. The handle may be
 * closed. For the types that MPI_Type_get_contents returns. */
uint64_t weft_type_open_handle(struct weft_type *type);

/* True if the handle is open at most once. */
static inline bool weft_type_is_last_handle(const struct weft_type *type)
{
	return atomic_load_explicit(&type->n_handles, memory_order_acquire) <=
	       1;
}

/* Marks the type usable in communication. Idempotent. */
void weft_type_commit(struct weft_type *type);

/* Constructors. WEFT_ERR_ARG if an argument is invalid, for example a negative
 * count or block length; WEFT_ERR_VALUE_TOO_LARGE if a size or displacement
 * needs more than 63 bits; WEFT_ERR_NOMEM. The new type has references to the
 * old types. On success *type_out is a type with one reference; it is
 * uncommitted, except a duplicate of a committed type. After a failure nothing
 * has changed. */
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

/* A committed type equal to `old` with the envelope F90_REAL, F90_COMPLEX or
 * F90_INTEGER of precision p and range r. Calls with the same arguments return
 * the same object, which is never freed. Any thread. */
int weft_type_make_f90(enum weft_combiner combiner, int64_t p, int64_t r,
	struct weft_type *old, struct weft_type **type_out);

/* True if the data of count items is one run of bytes, at buf + true_lb. */
static inline bool weft_type_is_run(const struct weft_type *type, int64_t count)
{
	return type->is_contig | ((count == 1) & type->is_one_run);
}

/* Computes the memory span of count items: the bytes from the first to the last
 * byte of their data, with gaps (opal_datatype_span() in Open MPI). *first_out
 * is the displacement of its first byte, *len_out its length. Both are 0
 * without data. False if a value needs more than 63 bits. */
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

/* The number of complete predefined elements in the first `len` bytes of packed
 * data of this type. */
int64_t weft_type_elements(const struct weft_type *type, int64_t len);

/* True if the displacements of an item's runs never decrease in the order of
 * the type map. *is_disjoint is true if, in addition, no two runs overlap. */
bool weft_type_is_monotone(const struct weft_type *type, bool *is_disjoint);

/* The length in bytes of the first n predefined elements of packed data of this
 * type. */
int64_t weft_type_elements_len(const struct weft_type *type, int64_t n);

/* Called with n items of one predefined type, `basic->extent` bytes apart, the
 * first at displacement disp. A result other than 0 ends the visit. */
typedef int weft_type_visit_fn(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n);

/* Calls visit() for all predefined elements of count items, in the order of the
 * type map. Returns the result of the last call. */
int weft_type_visit(const struct weft_type *type, int64_t count,
	weft_type_visit_fn *visit, void *arg);

/* The predefined pair type of a value and an index type, or NULL. */
struct weft_type *weft_type_pair(
	const struct weft_type *value, const struct weft_type *index);

#endif
