/* SPDX-License-Identifier: BSD-3-Clause */
/* redop: reduction operations and their kernels */
#ifndef WEFT_REDOP_H
#define WEFT_REDOP_H

#include "dt/type.h"

/* Predefined operations, by ABI value. */
enum weft_redop_builtin {
	WEFT_OP_NULL = 0x20,
	WEFT_OP_SUM,
	WEFT_OP_MIN,
	WEFT_OP_MAX,
	WEFT_OP_PROD,
	WEFT_OP_BAND = 0x28,
	WEFT_OP_BOR,
	WEFT_OP_BXOR,
	WEFT_OP_LAND = 0x30,
	WEFT_OP_LOR,
	WEFT_OP_LXOR,
	WEFT_OP_MINLOC = 0x38,
	WEFT_OP_MAXLOC,
	WEFT_OP_REPLACE = 0x3c,
	WEFT_OP_NO_OP,
	WEFT_OP_LAST = WEFT_OP_NO_OP,
};

/* Functions of the program; type points to a handle, as MPI defines it. */
typedef void weft_redop_fn(void *in, void *inout, int *count, void **type);
typedef void weft_redop_large_fn(
	void *in, void *inout, int64_t *count, void **type);

/* Created by weft_redop_make() with one reference, which the handle holds.
 * Collectives and accumulates in progress hold further references. Predefined
 * operations are static.
 */
struct weft_redop {
	struct weft_obj obj;
	bool is_builtin;
	bool is_commutative;
	enum weft_redop_builtin builtin; /* WEFT_OP_NULL for user operations */
	const char *name;		 /* static, for error texts */
	_Atomic uint32_t refs;
	weft_redop_fn *fn; /* user operations have one of the two functions */
	weft_redop_large_fn *large_fn;
};

extern struct weft_table weft_redops;

/* The predefined operation with this ABI value (0x20 to 0x3d), or NULL. */
struct weft_redop *weft_redop_builtin(unsigned abi_value);

/* The operation of a handle, or NULL. */
static inline struct weft_redop *weft_redop_lookup(uint64_t handle)
{
	return handle <= WEFT_OP_LAST ? weft_redop_builtin((unsigned)handle)
				      : (struct weft_redop *)weft_table_get(
						&weft_redops, handle);
}

/* Creates an operation of the program; exactly one of the functions is not
 * NULL. NULL if out of memory. */
struct weft_redop *weft_redop_make(
	weft_redop_fn *fn, weft_redop_large_fn *large_fn, bool is_commutative);

struct weft_redop *weft_redop_get(struct weft_redop *op);
void weft_redop_put(struct weft_redop *op);

/* Makes the handle stale and drops its reference. */
void weft_redop_close_handle(struct weft_redop *op);

/* True if the operation is defined on items of this type. Always true for
 * operations of the program, MPI_REPLACE and MPI_NO_OP. */
bool weft_redop_is_defined(
	const struct weft_redop *op, const struct weft_type *type);

/* out[i] = left[i] op right[i] for count items, by a predefined operation. out
 * may be left or right, but must not overlap them otherwise. For accumulates,
 * the type may be derived from one predefined type. WEFT_ERR_OP if the
 * operation is not defined on the type. */
int weft_redop_apply(const struct weft_redop *op, const void *left,
	const void *right, void *out, int64_t count,
	const struct weft_type *type);

/* Returns the kernel of a predefined operation for a predefined type. NULL if
 * the operation is not defined on the type, only moves data (MPI_REPLACE,
 * MPI_NO_OP), or the compiler has no arithmetic for the type. */
typedef void weft_redop_kernel_fn(
	const void *left, const void *right, void *out, int64_t n);
weft_redop_kernel_fn *weft_redop_kernel(
	const struct weft_redop *op, const struct weft_type *basic);

/* inout[i] = in[i] op inout[i] by an operation of the program. No lock held. */
void weft_redop_call(const struct weft_redop *op, const void *in, void *inout,
	int64_t count, const struct weft_type *type);

#endif
