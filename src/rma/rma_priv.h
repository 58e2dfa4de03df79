/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_priv: what the files of this room share */
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

/* Classes of operations, which have flags of their own. */
enum weft_rma_class {
	WEFT_CLASS_PUT,
	WEFT_CLASS_AMO,	 /* without a result */
	WEFT_CLASS_FAMO, /* fetching, not blocking */
	WEFT_CLASS_PWS,	 /* put with signal */
	WEFT_CLASS_GET,	 /* no hint is for it */
	WEFT_CLASS_N,
};

/* Operations that a context has under way at a PE. */
enum weft_rma_state {
	WEFT_STATE_WRITTEN = 1, /* through its endpoint, not flushed */
	WEFT_STATE_AM = 2,	/* by messages, not known to be done */
	/* and a fence came after that */
	WEFT_STATE_WRITTEN_FENCED = 4,
	WEFT_STATE_AM_FENCED = 8,
	WEFT_STATE_LISTED = 16, /* in touched, until all is quiet */
};

enum { WEFT_WINDOW = 32 }; /* operations in a batch */

/* Operations that the fabric completes, and one wait for all of them. Created
 * by the first, destroyed with the context. Guarded by the context's lock. */
struct weft_rma_due {
	struct weft_op op;	   /* of each, unless it has its own */
	uint32_t n;		   /* not complete */
	int err;		   /* the first */
	struct weft_rma_due *next; /* in given_up */
};

/* Created by weft_rma_ctx_create, destroyed by weft_rma_ctx_destroy. Near PEs
 * need nothing of it. lock guards all of it, but for what says otherwise. */
struct weft_rma_ctx {
	unsigned options;
	pthread_t owner;       /* PRIVATE: the only thread that uses it */
	struct weft_link link; /* in own.ctxs; guarded by own.ctxs_lock */
	struct weft_spin lock;
	struct weft_rma_ep *ep; /* NULL while all PEs are local */
	int err;		/* of something that ended after its call */
	uint8_t *states;	/* enum weft_rma_state, by PE */
	uint32_t *touched;	/* PEs that are LISTED */
	uint32_t n_touched;
	uint32_t n_fences;
	uint32_t n_idle;	       /* rounds in which nothing came */
	uint64_t last_ns;	       /* when something small was sent */
	struct weft_rma_due *waited;   /* by a call; or NULL */
	struct weft_rma_due *later;    /* by the next quiet; or NULL */
	struct weft_rma_due *given_up; /* since a PE had failed */

	/* the session */
	unsigned hints; /* 0: none */
	uint64_t flags[WEFT_CLASS_N];
	unsigned am_classes; /* 1 << class: are queued active messages */
	uint32_t window;     /* operations in one batch; without a
			      * session, non-blocking puts */
	uint32_t n_more;     /* posted with the flag that more follow, */
	uint32_t more_pe;    /* and the PE of the last one */
	/* active messages; own.am's operations are guarded by the VCI's lock */
	struct weft_rma_channel **channels; /* by PE, made on use */
	bool has_queue;			    /* some channel may have one */
};

/* How the fabric reaches a PE. */
struct weft_rma_remote {
	uint64_t addr;
	struct weft_rma_ep_key spans[2]; /* heap, data */
	_Atomic bool has_data_key;	 /* spans[1].key is known */
};

/* One per process, beside weft_rma. Set by open, cleared by close. */
struct weft_rma_own {
	struct weft_comm *comm; /* lent by who opened */
	struct weft_share heap_share;
	struct weft_share data_share;
	pthread_mutex_t heap_lock;
	struct weft_heap heap; /* guarded by heap_lock */
	bool has_fabric_amo;   /* all atomics are the fabric's */
	bool has_put_order;
	struct weft_rma_domain *domain;	 /* NULL: all PEs are local */
	struct weft_rma_remote *remotes; /* one per PE; NULL likewise */
	struct weft_spin ctxs_lock;
	struct weft_link ctxs;	       /* all contexts */
	struct weft_rma_due *given_up; /* of contexts that were destroyed */
	struct weft_am am;	       /* VCI's lock */
	struct weft_progress_user user;
	bool has_helper; /* user is added */
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

/* Notes that something went to a PE. */
static inline void weft_ctx_touch(
	struct weft_rma_ctx *ctx, uint32_t pe, enum weft_rma_state how)
{
	if (!ctx->states[pe])
		ctx->touched[ctx->n_touched++] = pe;
	ctx->states[pe] |= (uint8_t)(how | WEFT_STATE_LISTED);
}

/* amo.c: one atomic operation by this CPU. WEFT_ERR_ARG with a description
 * when it is none that we know; *old_out is untouched then. */
int weft_amo_apply(void *at, const struct weft_amo *amo, uint64_t *old_out);
/* WEFT_ERR_ARG, described, for an operation, width or address that is none. */
int weft_amo_check(const struct weft_amo *amo, const void *at);

/* An access to symmetric memory. */
struct weft_rma_access {
	enum weft_rma_class class;
	uint32_t pe;
	bool is_nbi;	 /* GET, FAMO: complete at the next quiet */
	const void *sym; /* its address, as the caller has it */
	void *here;	 /* source, destination, or place of the result */
	size_t len;	 /* of the data; of AMO, FAMO the width */
	const struct weft_amo *amo; /* AMO, FAMO, PWS; else NULL */
	uint64_t *sig;		    /* PWS */
};

/* remote.c: through a fabric: to PEs that nothing else reaches, and atomics
 * where they are the fabric's. only: a PE, or WEFT_RMA_ALL. */
int weft_remote_access(
	struct weft_rma_ctx *ctx, const struct weft_rma_access *access);
int weft_remote_fence(struct weft_rma_ctx *ctx);
int weft_remote_quiet(struct weft_rma_ctx *ctx, uint32_t only);

/* remote.c: one round of whatever may help an operation of this context on; its
 * lock held. Releases nothing. */
void weft_remote_progress(struct weft_rma_ctx *ctx);

/* remote.c: all that was written to the PE is visible there on return; lock
 * held. 0 or the error of the post. */
int weft_remote_flush_pe(struct weft_rma_ctx *ctx, uint32_t pe);

/* remote.c: releases what the context holds back; the only place that does.
 * Lock held. */
int weft_remote_release(struct weft_rma_ctx *ctx);

/* rma_am.c: accesses that the target's CPU carries out, in the order sent. All
 * with the context's lock held, and not the VCI's.
 * Posts the PE's queue with the access (an atomic, else a put), or (is_queued)
 * leaves it there until the queue is full. An access without sym requests the
 * key of the PE's variables, to be stored at here; without here an answer
 * alone. A fetch is answered. */
struct weft_rma_channel;
int weft_rma_am_send(struct weft_rma_ctx *ctx, const struct weft_rma_access *a,
	bool is_answered, bool is_queued);
/* Posts it and waits for all answers of the PE. */
int weft_rma_am_call(struct weft_rma_ctx *ctx, const struct weft_rma_access *a,
	const char *what);
/* Posts all queues. */
int weft_rma_am_release(struct weft_rma_ctx *ctx);
/* Requests an answer for all that was sent to the PE, unless the last record
 * has done so. */
int weft_rma_am_start_flush(struct weft_rma_ctx *ctx, uint32_t pe);
/* Waits for the answers of all PEs. */
int weft_rma_am_wait(struct weft_rma_ctx *ctx);
/* Requests it and waits. */
int weft_rma_am_flush_pe(struct weft_rma_ctx *ctx, uint32_t pe);
void weft_rma_am_open(struct weft_comm *comm);
void weft_rma_am_close(void);
void weft_rma_am_forget(struct weft_rma_ctx *ctx);

/* rma_wait.c: after a round of progress of a wait for an operation; fn: "a put
 * to", from: its PE plus 1, 0 for several. position: any number that changes
 * when the wait makes progress. Returns 0, or the error that ends the wait,
 * described: the PE is gone. Warns once, after WEFT_STALL_WARN seconds without
 * progress. No VCI's lock held, here and below. */
#define WEFT_RMA_ALL UINT32_MAX /* several PEs; plus 1 it is 0 */
int weft_rma_op_wait_check(struct weft_rma_wait *wait, uint32_t position);
/* For every wait: true every so many rounds; the first time begins it. Then:
 * WEFT_ERR_PEER, described, if the wait cannot end; 1 if it is time to warn.
 * failed: the PEs that are gone, in words. */
enum { WEFT_RMA_ROUNDS = 64, WEFT_RMA_GONE_TEXT = 80 };
bool weft_rma_wait_is_time(struct weft_rma_wait *wait, uint64_t *now_out);
int weft_rma_wait_check(struct weft_rma_wait *wait, uint64_t now,
	bool has_moved, char failed[WEFT_RMA_GONE_TEXT]);
/* Describes an error of the fabric anew, with what failed at which PE, or, for
 * WEFT_RMA_ALL, with who is gone. */
int weft_rma_fault_at(int err, const char *what, uint32_t pe);
/* The error of what cannot end because its PE is gone. */
int weft_rma_wait_failed(const char *what, uint32_t pe);

/* rma_fabric.c: makes the next round poll the first endpoint. VCI's lock held.
 */
void weft_rma_fabric_poll_next(void);

/* rma_progress.c: progress for others by the progress thread, while this
 * process is busy with something else. */
void weft_rma_progress_open(void);
void weft_rma_progress_close(void);

/* span.c: the span (0 heap, 1 data) and offset of a symmetric address, or a
 * negative error. */
int weft_rma_span_of(const void *sym, size_t len, size_t *at_out);

#endif
