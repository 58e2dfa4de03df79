/* SPDX-License-Identifier: BSD-3-Clause */
/* coll: what the algorithm files share */
#ifndef WEFT_COLL_PRIV_H
#define WEFT_COLL_PRIV_H

#include "coll/coll.h"
#include "coll/sched.h"

/* Writes the steps of one collective. */
typedef void weft_coll_fn(
	struct weft_sched *sched, const struct weft_coll *args);

weft_coll_fn weft_barrier_build, weft_bcast_build, weft_gather_build,
	weft_scatter_build, weft_allgather_build, weft_alltoall_build,
	weft_reduce_build, weft_allreduce_build, weft_reduce_scatter_build,
	weft_scan_build, weft_exscan_build, weft_neighbor_build;

/* The same on intercommunicators. */
weft_coll_fn weft_inter_build_barrier, weft_inter_build_bcast,
	weft_inter_build_gather, weft_inter_build_scatter,
	weft_inter_build_allgather, weft_inter_build_alltoall,
	weft_inter_build_reduce, weft_inter_build_allreduce,
	weft_inter_build_reduce_scatter;

/* Short blocking operations done at once, on intracommunicators, VCI's lock
 * held: WEFT_AGAIN when this one is not short or simple enough. */
typedef int weft_fast_fn(const struct weft_coll *args);

weft_fast_fn weft_barrier_fast, weft_bcast_fast, weft_allreduce_fast;

enum { WEFT_FAST_LEN = 2048 }; /* bytes */

/* What their messages have in common; begin takes the next tag. After an error
 * the further messages are as a list's would be: the loops just go on. */
struct weft_fast {
	struct weft_comm *comm;
	enum weft_ctx_offset ctx_offset;
	int32_t tag;
	enum weft_coll_kind kind;
	int err; /* the first */
};

struct weft_fast weft_fast_begin(
	const struct weft_coll *args, enum weft_coll_kind kind);

/* Blocking; exchange sends and receives at the same time. */
void weft_fast_send(struct weft_fast *q, struct weft_span span, int32_t rank);
void weft_fast_recv(struct weft_fast *q, struct weft_span span, int32_t rank);
void weft_fast_exchange(struct weft_fast *q, struct weft_span out, int32_t to,
	struct weft_span in, int32_t from);

/* inout = in op inout, by an operation of the program's: without the lock. */
void weft_fast_call(const struct weft_fast *q, const struct weft_redop *op,
	const void *in, struct weft_span inout);

/* The same by any. */
static inline void weft_fast_reduce(struct weft_fast *q,
	const struct weft_redop *op, const void *in, struct weft_span inout)
{
	if (weft_likely(op->is_builtin))
		q->err = weft_redop_apply(
			op, in, inout.buf, inout.count, inout.type);
	else
		weft_fast_call(q, op, in, inout);
}

/* In a tag: a message of the members' agreement on a segment (shm_settle.c),
 * whose sender waits for an answer. */
enum { WEFT_COLL_TAG_SETTLE = 1 << (WEFT_TAG_COLL_SHIFT + 4) };

/* Describes that rank's collective was met in another one, which is an error;
 * other may be out of range. */
int weft_coll_differ(enum weft_coll_kind kind, unsigned other, int32_t rank)
	__attribute__((cold));

/* Likewise when a message of rank came where one with the other tag was
 * expected: answers it where its sender needs that. VCI's lock held. */
int weft_coll_met(struct weft_comm *comm, int32_t tag, int32_t met,
	int32_t rank) __attribute__((cold));

/* ABI value of MPI_BYTE. */
enum { BYTE_ABI_VALUE = 0x247 };

/* Block i of one side. */
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
		weft_type_builtin(BYTE_ABI_VALUE) };
}

/* Binomial broadcast of one span over all of comm from root. */
void weft_bcast_tree(struct weft_sched *sched, struct weft_comm *comm,
	struct weft_span span, int32_t root);

/* Binomial reduction of `mine` to `result`, which only root needs; mine is not
 * changed. Order of operands is kept for operations that need it. */
void weft_reduce_tree(struct weft_sched *sched, struct weft_comm *comm,
	struct weft_redop *op, struct weft_span mine, void *result,
	int32_t root);

#endif
