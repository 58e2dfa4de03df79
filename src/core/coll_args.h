/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_args: the arguments of a collective call as data
 *
 * One struct describes the calls of all collectives in all their forms. The
 * caller owns the buffers and arrays. */
#ifndef WEFT_COLL_ARGS_H
#define WEFT_COLL_ARGS_H

#include "core/comm.h"
#include "dt/redop.h"
#include "dt/type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weft_coll_kind {
	WEFT_COLL_BARRIER,
	WEFT_COLL_BCAST,
	WEFT_COLL_GATHER,
	WEFT_COLL_SCATTER,
	WEFT_COLL_ALLGATHER,
	WEFT_COLL_ALLTOALL,
	WEFT_COLL_REDUCE,
	WEFT_COLL_ALLREDUCE,
	WEFT_COLL_REDUCE_SCATTER,
	WEFT_COLL_SCAN,
	WEFT_COLL_EXSCAN,
	WEFT_COLL_NEIGHBOR_ALLGATHER,
	WEFT_COLL_NEIGHBOR_ALLTOALL,
	WEFT_COLL_N,
};

/* The blocks of one side, as in the arguments of MPI. A regular form (Gather,
 * Alltoall) sets count and type, and the arrays are NULL: block i begins at
 * buf + i * count * extent. A v form sets counts and displs: block i begins at
 * buf + displs[i] * extent, or at buf + displs[i] if has_byte_displs. A w form
 * also sets types. */
struct weft_blocks {
	void *buf;
	int64_t count;
	struct weft_type *type;
	const int64_t *counts;
	const int64_t *displs;
	struct weft_type *const *types;
	bool has_byte_displs;
};

struct weft_coll {
	struct weft_comm *comm;
	enum weft_ctx_offset ctx_offset; /* COLL: a call of the program; CTL: a
					    call of the library */
	/* A broadcast uses recv only. Reductions and scans use send and recv
	 * with one count and type. A reduce-scatter sends one block with all
	 * parts; recv.counts[], or recv.count, are the parts. */
	struct weft_blocks send;
	struct weft_blocks recv;
	bool is_in_place;
	bool is_irregular;  /* a v or w form */
	bool is_same_block; /* neighbourhood: block 0 is sent to all */
	bool is_on_device;  /* a buffer is in device memory; all blocks are
			       contiguous (weft_coll_run_on_device()) */
	int32_t root;	    /* a rank; on intercommunicators also WEFT_ROOT,
			       WEFT_PROC_NULL */
	struct weft_redop *op;
	int err; /* a failure of the caller, or 0: then this member sends errors
		    in place of its data, and accesses no buffer */
	/* arguments of neighbourhood collectives */
	int32_t n_sources, n_dests;
	const int *sources, *dests;
	bool is_grid; /* sources and dests have two entries per dimension: the
			 lower and the upper neighbour */
};

/* The data of one step of an algorithm. */
struct weft_span {
	void *buf;
	int64_t count;
	struct weft_type *type;
};

/* Returns the number of bytes to allocate for count items. Their data begins
 * *low_out bytes after the address of the buffer. Returns PTRDIFF_MAX if the
 * number exceeds 63 bits, so that the allocation fails. */
static inline size_t weft_items_len(
	int64_t count, const struct weft_type *type, int64_t *low_out)
{
	int64_t len;

	return weft_type_span(type, count, low_out, &len) ? (size_t)len
							  : PTRDIFF_MAX;
}

/* Returns the data of block i. */
static inline struct weft_span weft_block(
	const struct weft_blocks *blocks, int64_t i)
{
	struct weft_type *type =
		blocks->types ? blocks->types[i] : blocks->type;
	int64_t count = blocks->counts ? blocks->counts[i] : blocks->count;
	int64_t at =
		blocks->displs
			? blocks->displs[i] *
				  (blocks->has_byte_displs ? 1 : type->extent)
			: i * blocks->count * type->extent;

	return (struct weft_span){ (char *)blocks->buf + at, count, type };
}

static inline struct weft_span weft_span_bytes(void *buf, size_t len)
{
	return (struct weft_span){ buf, (int64_t)len,
		weft_type_builtin(WEFT_TYPE_BYTE) };
}

static inline struct weft_span weft_slice(
	struct weft_span span, int64_t from, int64_t to)
{
	return (struct weft_span){ (char *)span.buf + from * span.type->extent,
		to - from, span.type };
}

/* Returns the first item of slice i, if `count` items are cut into n slices; i
 * may be n. The lengths of slices differ by one item at most. */
static inline int64_t weft_slice_start(int64_t count, int64_t i, int64_t n)
{
	return count / n * i + count % n * i / n;
}

/* Slices i to j - 1 of n. */
static inline struct weft_span weft_slices(
	struct weft_span span, int64_t i, int64_t j, int64_t n)
{
	return weft_slice(span, weft_slice_start(span.count, i, n),
		weft_slice_start(span.count, j, n));
}

/* Returns the name of the blocking procedure: "MPI_Bcast". */
const char *weft_coll_name(enum weft_coll_kind kind);

/* Describes a mismatch: this process calls collective `kind`, and rank calls
 * `other`, which may be out of range. Returns WEFT_ERR_NOT_SAME. */
int weft_coll_mismatch(enum weft_coll_kind kind, unsigned other, int32_t rank)
	__attribute__((cold));

#endif
