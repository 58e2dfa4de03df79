/* SPDX-License-Identifier: BSD-3-Clause */
/* coll: collective operations, as upper rooms call them
 *
 * One description of arguments for all of them, and three ways to run it:
 * blocking, non-blocking, persistent. Arguments have been checked. Buffers stay
 * the caller's; counts and displacements are read before the call returns.
 * Calls on one communicator must be made in the same order by all members. */
#ifndef WEFT_COLL_H
#define WEFT_COLL_H

#include "core/comm.h"
#include "core/req.h"
#include "dt/redop.h"
#include "dt/type.h"

#include <stdbool.h>
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

/* One side's blocks: block i is `count` or counts[i] items of `type` or
 * types[i], at buf + i * count * extent, or buf + displs[i] * extent, or, with
 * has_byte_displs, buf + displs[i]. The regular form (Gather, Alltoall...) sets
 * count and leaves the arrays NULL. */
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
	enum weft_ctx_offset ctx_offset; /* COLL for users, CTL for sessions */
	/* What each operation reads: bcast: recv only. reduce and scans:
	 * send and recv with the same count and type. reduce_scatter: send
	 * one block of all, recv.counts[] (or recv.count each) the parts. */
	struct weft_blocks send;
	struct weft_blocks recv;
	bool is_in_place;
	bool is_irregular;  /* a v or w form */
	bool is_same_block; /* neighbourhood: all get block 0 */
	int32_t root;	    /* a rank; on intercommunicators also WEFT_ROOT,
			       WEFT_PROC_NULL */
	struct weft_redop *op;
	/* neighbourhoods */
	int32_t n_sources, n_dests;
	const int *sources, *dests;
	bool is_grid; /* sources and dests are pairs, down and up, of each
			 dimension */
};

/* The tag of the next operation of this kind in its context. */
int32_t weft_coll_tag(struct weft_comm *comm, enum weft_ctx_offset ctx_offset,
	enum weft_coll_kind kind);

/* Describes that a message of rank's collective came where one with the other
 * tag was expected; returns its error. */
int weft_coll_differs(int32_t tag, int32_t met, int32_t rank)
	__attribute__((cold));

/* The procedure, of its several forms the plain one: "MPI_Bcast". */
const char *weft_coll_name(enum weft_coll_kind kind);

/* Blocking. Takes the VCI's lock. */
int weft_coll_run(enum weft_coll_kind kind, const struct weft_coll *args);

/* Non-blocking: *req_out has one reference, the caller's. Takes the VCI's
 * lock. */
int weft_coll_start(enum weft_coll_kind kind, const struct weft_coll *args,
	struct weft_req **req_out);
int weft_coll_start_locked(enum weft_coll_kind kind,
	const struct weft_coll *args, struct weft_req **req_out); /* held */

/* Persistent: inactive; start it with weft_req_start(). */
int weft_coll_init(enum weft_coll_kind kind, const struct weft_coll *args,
	struct weft_req **req_out);

/* A VCI is closed: scratch memory that it kept goes. */
void weft_coll_close(struct weft_vci *vci);

/* Short forms for rooms that make and leave communicators; all on the control
 * context, VCI's lock held. */
int weft_coll_allgather_bytes(struct weft_comm *comm, const void *mine,
	void *all, size_t len, struct weft_req **req_out);

#endif
