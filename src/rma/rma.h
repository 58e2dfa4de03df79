/* SPDX-License-Identifier: BSD-3-Clause */
/* rma: one-sided access to symmetric memory, as upper rooms call it
 *
 * Symmetric memory is two spans per process (PE): the heap, and the writable
 * data of the executable. An address is symmetric when it lies in one of my
 * own spans; at another PE it means the same offset in the same span.
 *
 * Near PEs (same node, both spans mapped here) are reached by plain loads,
 * stores and CPU atomics, without a lock. All others are reached through a
 * context's endpoint, or, where the fabric has no atomics that may be mixed
 * with the CPU's, by messages that the target carries out.
 *
 * Threads: calls on one context are serialised inside unless it was made with
 * WEFT_RMA_PRIVATE. No call needs the VCI's lock.
 *
 * Errors: 0, or a negative enum weft_err described by weft_err_set(). An error
 * after a call has returned is returned by the next fence or quiet of the
 * context. PE numbers have been checked by the caller (weft_rma_pe_of). */
#ifndef WEFT_RMA_H
#define WEFT_RMA_H

#include "base/bits.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_comm;
struct weft_plan;
struct weft_rma_ctx;

struct weft_rma_mr;

/* Memory of mine that others access: the heap, the executable's data, a
 * window's. */
struct weft_rma_region {
	char *base;
	size_t len;
	struct weft_rma_mr *mr; /* NULL: not exposed to the fabric */
	uint64_t remote, key;	/* while it is: base and key for peers */
};

/* A PE, as every access reads it; the rest is private to the room. */
struct weft_rma_pe {
	char *heap; /* its spans here; NULL when it is not local */
	char *data;
};

/* One per process; constant between open and close. n_pes is 0 while closed,
 * so that checking a PE number checks for that as well. */
struct weft_rma {
	uint32_t n_pes;
	uint32_t my_pe;
	bool is_all_local; /* no PE needs a fabric */
	struct weft_rma_pe *pes;
	struct weft_rma_region heap;
	struct weft_rma_region data; /* len 0 when it cannot be shared */
	struct weft_rma_ctx *ctx;    /* the default context */
};

extern struct weft_rma weft_rma;

/* Opens one-sided access among the members of comm, ranks becoming PEs.
 * Collective and synchronising: on return everybody's memory may be accessed.
 * heap_len is rounded up to pages.
 * close is collective as well and completes all that is under way. */
int weft_rma_open(struct weft_comm *comm, size_t heap_len);
int weft_rma_close(void);

/* Where a local PE has the byte at symmetric address sym; NULL when the PE is
 * not local or the address is not symmetric. */
static inline void *weft_rma_local(const void *sym, uint32_t pe)
{
	const struct weft_rma_pe *p = &weft_rma.pes[pe];
	size_t at = (size_t)((const char *)sym - weft_rma.heap.base);

	if (weft_likely(at < weft_rma.heap.len))
		return p->heap ? p->heap + at : NULL;
	at = (size_t)((const char *)sym - weft_rma.data.base);
	if (at < weft_rma.data.len)
		return p->data ? p->data + at : NULL;
	return NULL;
}

/* True if [sym, sym + len) lies in one of my spans. */
bool weft_rma_is_symmetric(const void *sym, size_t len);

/* --- contexts --------------------------------------------------------- */

enum weft_rma_ctx_option {
	WEFT_RMA_PRIVATE = 1, /* used by the creating thread only */
};

/* A context of its own completion and order. WEFT_ERR_OTHER when the fabric
 * has no endpoint left. Destroying completes what is under way. */
int weft_rma_ctx_create(unsigned options, struct weft_rma_ctx **ctx_out);
int weft_rma_ctx_destroy(struct weft_rma_ctx *ctx);

/* --- moving bytes ------------------------------------------------------ */

/* Blocking: put returns when src may be reused, get when dest is filled.
 * Non-blocking (nbi): both are complete after the next quiet. pe is a PE of
 * the whole. dest of put and src of get are symmetric addresses. */
int weft_rma_put(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe);
int weft_rma_get(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe);
int weft_rma_put_nbi(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe);
int weft_rma_get_nbi(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe);

/* n blocks of len bytes; strides are in bytes, from block to block. */
struct weft_rma_stride {
	size_t len;
	size_t n;
	ptrdiff_t dest;
	ptrdiff_t src;
};
int weft_rma_iput(struct weft_rma_ctx *ctx, void *dest, const void *src,
	const struct weft_rma_stride *how, uint32_t pe);
int weft_rma_iget(struct weft_rma_ctx *ctx, void *dest, const void *src,
	const struct weft_rma_stride *how, uint32_t pe);

/* --- atomics ------------------------------------------------------------ */

/* Operands and results are bit patterns of `width` bytes (4 or 8), zero
 * extended; float and double are set, fetched and swapped as such. */
enum weft_amo_op {
	WEFT_AMO_SET,
	WEFT_AMO_ADD,
	WEFT_AMO_AND,
	WEFT_AMO_OR,
	WEFT_AMO_XOR,
	/* fetching only */
	WEFT_AMO_FETCH,
	WEFT_AMO_SWAP,
	WEFT_AMO_CSWAP, /* sets to value where it equals cond */
};

struct weft_amo {
	enum weft_amo_op op;
	uint32_t width;
	uint64_t value;
	uint64_t cond;
};

/* Without a result; may still be under way on return. */
int weft_rma_amo(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, uint32_t pe);

/* With the former content: blocking, or (nbi) there after the next quiet,
 * stored with amo->width bytes at `fetched`. */
int weft_rma_amo_fetch(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, uint64_t *fetched, uint32_t pe);
int weft_rma_amo_fetch_nbi(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, void *fetched, uint32_t pe);

/* --- order ---------------------------------------------------------------- */

/* Puts, then updates the 8-byte signal at the same PE by SET or ADD; who sees
 * the signal sees the data. */
int weft_rma_put_signal(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint64_t *sig, enum weft_amo_op op, uint64_t value,
	uint32_t pe, bool is_nbi);

/* Each PE sees later puts, stores and atomics after earlier ones. */
int weft_rma_fence(struct weft_rma_ctx *ctx);

/* All operations of the context are complete and visible at the targets.
 * weft_rma_quiet_pe() flushes that PE alone, but waits for non-blocking gets,
 * fetches and answers of all PEs. */
int weft_rma_quiet(struct weft_rma_ctx *ctx);
int weft_rma_quiet_pe(struct weft_rma_ctx *ctx, uint32_t pe);

/* Releases what the contexts of this thread hold back for their sessions. Call
 * it before blocking in anything that is not of this room (collectives). */
void weft_rma_release(void);

/* One round of a loop that waits on local memory: releases what is held back,
 * makes progress, yields after enough empty rounds. Count rounds from 0. True
 * if something came from another process. */
bool weft_rma_relax(uint32_t round);

/* The same for a wait that has no other end. 0; 1 when it is time to say what
 * is waited for, once, after WEFT_STALL_WARN seconds in which nothing came and
 * the memory watched did not change, or a few times as long in any case;
 * WEFT_ERR_PEER, described, when the PE it is for is gone, or all others are,
 * or one is and the others have let a second pass since. Zeroed, but for that
 * PE and the memory, before the first round. */
struct weft_rma_wait {
	const char *fn; /* the procedure that waits */
	uint32_t from;	/* the PE plus 1; 0: any */
	uint32_t n_rounds;
	bool has_warned, has_moved, is_op;
	const void *watched; /* or NULL */
	size_t len;	     /* of it */
	uint64_t sum;	     /* of what it held when looked at last */
	uint64_t start_ns, moved_ns;
	uint64_t failed_ns; /* since when it is known that a PE is gone */
};
int weft_rma_wait_round(struct weft_rma_wait *wait);

/* How many PEs are known to be gone; the first ones are written to text. */
uint32_t weft_rma_pe_failed(char *text, size_t len);

/* --- session hints -------------------------------------------------------- */

/* Each is turned into operation flags per class when a session starts. The
 * OP_ hints name the classes that the others are for. */
enum weft_rma_hint {
	WEFT_RMA_BUNDLE = 1 << 0,
	WEFT_RMA_HRP = 1 << 1,
	WEFT_RMA_STAMO = 1 << 2,
	WEFT_RMA_NO_CNCR_TACCESS = 1 << 3,
	WEFT_RMA_OP_PUT = 1 << 4,
	WEFT_RMA_OP_AMO = 1 << 5,
	WEFT_RMA_OP_FAMO = 1 << 6,
	WEFT_RMA_OP_PWS = 1 << 7,
	WEFT_RMA_DC = 1 << 8,
	WEFT_RMA_UNIFORM_AMO = 1 << 9,
	WEFT_RMA_HINTS = (1 << 10) - 1, /* all of them */
};

/* Starts a session on the context, or adds hints to the one there is.
 * total_ops: SIZE_MAX when unknown. Hints never change results. report, when
 * given, is called once per hint asked for: what was done with it, in words. */
typedef void weft_rma_report_fn(
	void *arg, const char *hint, bool is_applied, const char *how);
void weft_rma_session_start(struct weft_rma_ctx *ctx, unsigned hints,
	size_t total_ops, weft_rma_report_fn *report, void *arg);
void weft_rma_session_stop(struct weft_rma_ctx *ctx);

/* Reports the effect that hints have on a fabric; NULL: without one. */
void weft_rma_hints_explain(const struct weft_plan *plan, unsigned hints,
	weft_rma_report_fn *report, void *arg);

/* --- the symmetric heap -------------------------------------------------- */

/* Not collective by themselves: every PE makes the same calls in the same
 * order and gets the same offsets; the caller synchronises where its standard
 * says so. align is a power of two, or 0. NULL when the heap is full or is
 * itself aligned to less (weft_share_align() of its length). free and realloc
 * take what these returned; free(NULL) does nothing, and a foreign pointer is
 * WEFT_ERR_ARG. */
void *weft_heap_alloc(size_t len, size_t align);
void *weft_heap_realloc(void *ptr, size_t len);
int weft_heap_free(void *ptr);

#endif
