/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_priv: types and functions that the files of this room share */
#ifndef WEFT_RMA_PRIV_H
#define WEFT_RMA_PRIV_H

#include "am/am.h"
#include "base/lock.h"
#include "base/op.h"
#include "transport/progress_thread.h"
#include "transport/vci.h"
#include "net/rma_ep.h"
#include "rma/heap.h"
#include "rma/rma.h"
#include "shm/share.h"

#include <pthread.h>
#include <stdatomic.h>

/* Classes of operations. Each has its own flags in a session. */
enum weft_rma_class {
	WEFT_CLASS_PUT,
	WEFT_CLASS_AMO,	 /* atomics without a result */
	WEFT_CLASS_FAMO, /* fetching atomics */
	WEFT_CLASS_PWS,	 /* puts with signal */
	WEFT_CLASS_GET,	 /* gets; no hint applies to them */
	WEFT_CLASS_N,
};

/* The kinds of a context's operations at a PE that may be incomplete, as bits.
 */
enum weft_rma_state {
	WEFT_STATE_WRITTEN = 1,	       /* writes through the endpoint */
	WEFT_STATE_AM = 2,	       /* active messages */
	WEFT_STATE_WRITTEN_FENCED = 4, /* writes before the last fence */
	WEFT_STATE_AM_FENCED = 8, /* active messages before the last fence */
	WEFT_STATE_LISTED = 16, /* the PE is in `touched`, until the next quiet
				 */
};

enum { WEFT_WINDOW = 32 }; /* operations of a batch, at most */

/* Counts incomplete operations of the fabric that one wait completes. Created
 * with the first operation, destroyed with the context. Guarded by the
 * context's lock. */
struct weft_rma_due {
	struct weft_op op; /* for all operations without a separate weft_op */
	uint32_t n;	   /* operations that are not complete */
	int err;	   /* the first error */
	struct weft_rma_due *next; /* next in the list `given_up` */
};

/* Created by weft_rma_ctx_create, destroyed by weft_rma_ctx_destroy. Puts and
 * gets to local PEs do not use the context. `lock` guards all fields without
 * another rule. */
struct weft_rma_ctx {
	unsigned options;
	pthread_t owner; /* creating thread; with PRIVATE no other thread uses
			    the context */
	struct weft_link link; /* in own.ctxs; guarded by own.ctxs_lock */
	struct weft_spin lock;
	struct weft_rma_ep *ep; /* NULL while all PEs are local */
	int err; /* error of an operation that failed after its call; or 0 */
	uint8_t *states;   /* enum weft_rma_state, by PE */
	uint32_t *touched; /* PEs that are LISTED */
	uint32_t n_touched;
	uint32_t n_fences;
	uint32_t n_idle;	     /* consecutive rounds without progress */
	uint64_t last_ns;	     /* time of the last small operation */
	struct weft_rma_due *waited; /* operations that a call waits for; or
					NULL */
	struct weft_rma_due *later; /* operations that the next quiet waits for;
				       or NULL */
	struct weft_rma_due *given_up; /* operations that a failed wait has
					  abandoned */

	/* the session */
	unsigned hints;		      /* enum weft_rma_hint; 0: no session */
	uint64_t flags[WEFT_CLASS_N]; /* fabric's flags of operations, by class
				       */
	unsigned am_classes; /* bit 1 << class: operations of the class are
				queued as active messages */
	uint32_t window;     /* records or operations of one batch, at most */
	uint32_t n_more;     /* operations posted with FI_MORE in this batch */
	uint32_t more_pe;    /* PE of the last post */
	/* by PE, created on use; the VCI's lock guards operations of a channel
	 */
	struct weft_rma_channel **channels;
	bool has_queue; /* some channel may have queued records */
};

/* How the fabric reaches a PE. */
struct weft_rma_remote {
	uint64_t addr;
	struct weft_rma_ep_key spans[2]; /* regions: heap, data */
	_Atomic bool has_data_key;	 /* spans[1].key is known */
};

/* State of the room in addition to weft_rma. Set by weft_rma_open(). */
struct weft_rma_own {
	struct weft_comm *comm; /* owned by the caller of open */
	struct weft_share heap_share;
	struct weft_share data_share;
	pthread_mutex_t heap_lock;
	struct weft_heap heap; /* guarded by heap_lock */
	bool has_fabric_amo;   /* the fabric executes all atomics */
	bool has_put_order;    /* the fabric keeps puts to a PE in order */
	/* NULL while all PEs are local */
	struct weft_rma_domain *domain;
	struct weft_rma_remote *remotes; /* one per PE */
	struct weft_spin ctxs_lock;
	struct weft_link ctxs; /* all contexts */
	struct weft_am am;     /* guarded by the VCI's lock */
	struct weft_progress_user user;
	bool has_helper; /* the progress thread runs for `user` */
};

extern struct weft_rma_own weft_rma_own;

static inline void weft_ctx_take(struct weft_rma_ctx *ctx)
{
	if (!(ctx->options & WEFT_RMA_PRIVATE))
		weft_spin_acquire(&ctx->lock);
}

static inline void weft_ctx_drop(struct weft_rma_ctx *ctx)
{
	if (!(ctx->options & WEFT_RMA_PRIVATE))
		weft_spin_release(&ctx->lock);
}

/* Records an operation at a PE for the next fence and quiet. */
static inline void weft_ctx_touch(
	struct weft_rma_ctx *ctx, uint32_t pe, enum weft_rma_state how)
{
	if (!ctx->states[pe])
		ctx->touched[ctx->n_touched++] = pe;
	ctx->states[pe] |= (uint8_t)(how | WEFT_STATE_LISTED);
}

/* amo.c: executes an atomic on the CPU. Returns 0, or the error of
 * weft_amo_check() with *old_out unchanged. */
int weft_amo_apply(void *at, const struct weft_amo *amo, uint64_t *old_out);
/* WEFT_ERR_ARG, described, if the operation or the width is unknown, or the
 * address is not aligned. */
int weft_amo_check(const struct weft_amo *amo, const void *at);

/* An access to symmetric memory. */
struct weft_rma_access {
	enum weft_rma_class class;
	uint32_t pe;
	bool is_nbi;	 /* non-blocking: completed by the next quiet */
	const void *sym; /* symmetric address of the data or the word */
	void *here;	 /* local source, destination, or address of the
			    result */
	size_t len;	 /* of the data, or width of the word */
	const struct weft_amo *amo; /* AMO, FAMO, PWS; else NULL */
	uint64_t *sig;		    /* PWS: symmetric address of the signal */
};

/* remote.c. weft_remote_access() carries out an access to a far PE, or any
 * atomic if the fabric executes atomics. weft_remote_fence() and
 * weft_remote_quiet() order and complete these operations; `only` is a PE or
 * WEFT_RMA_ALL. All three acquire the context's lock. */
int weft_remote_access(
	struct weft_rma_ctx *ctx, const struct weft_rma_access *access);
int weft_remote_fence(struct weft_rma_ctx *ctx);
int weft_remote_quiet(struct weft_rma_ctx *ctx, uint32_t only);

/* remote.c: one round of progress of the context's endpoint and the VCI. Sleeps
 * after many empty rounds. Does not post deferred operations. Context's lock
 * held, VCI's lock not. */
void weft_remote_progress(struct weft_rma_ctx *ctx);

/* remote.c: waits until all writes through the endpoint are visible at the PE.
 * Context's lock held. */
int weft_remote_flush_pe(struct weft_rma_ctx *ctx, uint32_t pe);

/* remote.c: posts all deferred operations of the context, to all PEs, and ends
 * its batch. Context's lock held. */
int weft_remote_release(struct weft_rma_ctx *ctx);

/* rma_am.c: accesses that the target's CPU executes, in the order in which they
 * were sent. For all calls of this file, the context's lock is held, and the
 * VCI's lock is not.
 *
 * Appends the access, an atomic or a put, to the PE's queue. Posts the queue,
 * unless is_queued is set and neither the queue nor the batch is full. If `sym`
 * is NULL, the access requests the key of the PE's variables, which is stored
 * at `here`. If `here` is NULL as well, it requests only an answer.
 * is_answered: the target answers; it must be set for a fetch. */
struct weft_rma_channel;
int weft_rma_am_send(struct weft_rma_ctx *ctx, const struct weft_rma_access *a,
	bool is_answered, bool is_queued);
/* Sends the access with an answer, and waits for all answers of the PE. */
int weft_rma_am_call(struct weft_rma_ctx *ctx, const struct weft_rma_access *a,
	const char *what);
/* Posts the queues of all PEs. */
int weft_rma_am_release(struct weft_rma_ctx *ctx);
/* Requests an answer from the PE, unless its last record requested one. That
 * answer completes all records before it. */
int weft_rma_am_start_flush(struct weft_rma_ctx *ctx, uint32_t pe);
/* Waits for all answers of all PEs. */
int weft_rma_am_wait(struct weft_rma_ctx *ctx);
/* weft_rma_am_start_flush() and a wait for all answers of the PE. */
int weft_rma_am_flush_pe(struct weft_rma_ctx *ctx, uint32_t pe);
/* Installs the handlers of active messages. No lock held. */
void weft_rma_am_open(struct weft_comm *comm);
void weft_rma_am_close(void);
/* Frees the channels of a context that is destroyed. Its operations end with an
 * error. */
void weft_rma_am_forget(struct weft_rma_ctx *ctx);

/* rma_wait.c: a wait for an operation calls this after each round of progress.
 * wait->fn names the operation ("a put to"). wait->from is its PE plus 1, or 0
 * for several PEs. position is any number that changes when the wait makes
 * progress. Returns 0, or a described error that ends the wait, because the PE
 * has failed. Warns once, after WEFT_STALL_WARN seconds without progress. No
 * VCI's lock held, here and below. */
#define WEFT_RMA_ALL UINT32_MAX /* several PEs; plus 1 it is 0 */
int weft_rma_op_wait_check(struct weft_rma_wait *wait, uint32_t position);
/* True in every WEFT_RMA_ROUNDS-th round of a wait, in which the caller calls
 * weft_rma_wait_check(). The first such round starts the clock of the wait. */
enum { WEFT_RMA_ROUNDS = 64, WEFT_RMA_GONE_TEXT = 80 };
bool weft_rma_wait_is_time(struct weft_rma_wait *wait, uint64_t *now_out);
/* Returns what weft_rma_wait_round() returns. Writes the PEs that have failed
 * to `failed`, as text. */
int weft_rma_wait_check(struct weft_rma_wait *wait, uint64_t now,
	bool has_moved, char failed[WEFT_RMA_GONE_TEXT]);
/* Adds the operation, its PE and the failed PEs to the description of an error
 * of the fabric. With WEFT_RMA_ALL, adds the failed PEs only. Waits up to a
 * second until a failure is known. Returns err. */
int weft_rma_fault_at(int err, const char *what, uint32_t pe);
/* Describes and returns the error of an operation whose PE has failed. */
int weft_rma_wait_failed(const char *what, uint32_t pe);

/* rma_fabric.c: makes the next round of progress poll the first endpoint. VCI's
 * lock held. */
void weft_rma_fabric_poll_next(void);

/* rma_progress.c: lets the progress thread serve accesses of peers while the
 * program makes no call. */
void weft_rma_progress_open(void);
void weft_rma_progress_close(void);

/* span.c: returns the region that contains len bytes at a symmetric address (0:
 * heap, 1: data). Sets *at_out to their offset in the region. WEFT_ERR_ARG,
 * described, if no region contains them. */
int weft_rma_span_of(const void *sym, size_t len, size_t *at_out);

#endif
