/* SPDX-License-Identifier: BSD-3-Clause */
/* rma: one-sided access to symmetric memory, as upper rooms call it
 *
 * Symmetric memory is two regions per process (PE): the heap, and the writable
 * data of the executable. An address is symmetric if it lies in a region of the
 * calling PE. At another PE it denotes the same offset in the same region.
 *
 * A PE is local if this process maps its regions, and far otherwise. Puts and
 * gets to a local PE are loads and stores without a lock. Puts and gets to a
 * far PE use the context's endpoint, or active messages. If the fabric has
 * atomics and some PE is far, the fabric executes all atomics. Otherwise the
 * CPU of the caller executes atomics at local PEs, and the CPU of the target at
 * far PEs.
 *
 * Threads: a context serialises the calls on it by a lock, unless it was
 * created with WEFT_RMA_PRIVATE. No lock held.
 *
 * Errors: 0, or a negative enum weft_err described by weft_err_set(). If an
 * operation fails after its call has returned, the next fence or quiet of the
 * context returns the error. The caller has checked PE numbers. */
#ifndef WEFT_RMA_H
#define WEFT_RMA_H

#include "base/bits.h"
#include "base/counter.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_comm;
struct weft_plan;
struct weft_rma_ctx;

struct weft_rma_mr;

/* Memory of this process that peers access: the heap, the executable's data, or
 * a window's memory. */
struct weft_rma_region {
	char *base;
	size_t len;
	struct weft_rma_mr *mr; /* NULL: not exposed to the fabric */
	uint64_t remote, key;	/* base address and key that peers use; valid if
				   mr is set */
};

/* Addresses of a PE's regions in this process; NULL if the PE is far. */
struct weft_rma_pe {
	char *heap;
	char *data;
};

/* One object per process. It is constant between open and close, except the
 * counters and the registration of `data`. While one-sided access is closed,
 * n_pes is 0, so that the check of a PE number fails. */
struct weft_rma {
	uint32_t n_pes;
	uint32_t my_pe;
	bool is_all_local; /* each PE is local for each other PE */
	struct weft_rma_pe *pes;
	struct weft_rma_region heap;
	struct weft_rma_region data;   /* len 0: variables are not symmetric */
	struct weft_rma_ctx *ctx;      /* the default context */
	struct weft_counters counters; /* no lock: weft_counter_note() */
};

extern struct weft_rma weft_rma;

/* Counts an access to memory of a local PE. */
static inline void weft_rma_note_mapped(size_t len)
{
	weft_counter_note(&weft_rma.counters.rma_mapped,
		&weft_rma.counters.rma_mapped_bytes, len);
}

/* weft_rma_open() opens one-sided access among the members of comm, whose ranks
 * become PE numbers. heap_len is rounded up to pages. comm must exist until
 * weft_rma_close(). On return, the memory of all PEs may be accessed. After an
 * error, access stays closed.
 *
 * weft_rma_close() completes all operations, and closes access. Both calls are
 * collective and block. */
int weft_rma_open(struct weft_comm *comm, size_t heap_len);
int weft_rma_close(void);

/* The address at which this process maps the byte at symmetric address sym of a
 * local PE. NULL if the PE is far or sym is not symmetric. */
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

/* True if [sym, sym + len) lies in one region of this PE. */
bool weft_rma_is_symmetric(const void *sym, size_t len);

/* --- contexts --------------------------------------------------------- */

enum weft_rma_ctx_option {
	WEFT_RMA_PRIVATE = 1, /* only the creating thread uses the context */
};

/* weft_rma_ctx_create() creates a context, the scope of fence and quiet.
 * WEFT_ERR_OTHER: the fabric has no endpoint left.
 *
 * weft_rma_ctx_destroy() completes the context's operations, and frees the
 * context even if an operation fails. */
int weft_rma_ctx_create(unsigned options, struct weft_rma_ctx **ctx_out);
int weft_rma_ctx_destroy(struct weft_rma_ctx *ctx);

/* --- moving bytes ------------------------------------------------------ */

/* A blocking put returns when src may be reused, and a blocking get when dest
 * has the data. The next quiet completes non-blocking (nbi) puts and gets. dest
 * of a put and src of a get are symmetric addresses. */
int weft_rma_put(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe);
int weft_rma_get(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe);
int weft_rma_put_nbi(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe);
int weft_rma_get_nbi(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint32_t pe);

/* A strided transfer of n blocks of len bytes. dest and src are strides in
 * bytes.
 */
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
 * extended. Set, fetch and swap also serve float and double. */
enum weft_amo_op {
	WEFT_AMO_SET,
	WEFT_AMO_ADD,
	WEFT_AMO_AND,
	WEFT_AMO_OR,
	WEFT_AMO_XOR,
	/* fetching only */
	WEFT_AMO_FETCH,
	WEFT_AMO_SWAP,
	WEFT_AMO_CSWAP, /* sets to value if the word equals cond */
};

struct weft_amo {
	enum weft_amo_op op;
	uint32_t width;
	uint64_t value;
	uint64_t cond;
};

/* An atomic without a result. The next quiet completes it. */
int weft_rma_amo(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, uint32_t pe);

/* An atomic that stores the word's former value in *fetched: 8 bytes before the
 * call returns, or (nbi) amo->width bytes by the next quiet. */
int weft_rma_amo_fetch(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, uint64_t *fetched, uint32_t pe);
int weft_rma_amo_fetch_nbi(struct weft_rma_ctx *ctx, void *dest,
	const struct weft_amo *amo, void *fetched, uint32_t pe);

/* --- order ---------------------------------------------------------------- */

/* Puts, then updates the 8-byte signal at the same PE by SET or ADD. A thread
 * that reads the new signal also reads the new data. */
int weft_rma_put_signal(struct weft_rma_ctx *ctx, void *dest, const void *src,
	size_t len, uint64_t *sig, enum weft_amo_op op, uint64_t value,
	uint32_t pe, bool is_nbi);

/* Orders puts, stores and atomics. At each PE, operations before the fence
 * become visible before operations after the fence. */
int weft_rma_fence(struct weft_rma_ctx *ctx);

/* Completes all operations of the context and makes them visible at their
 * targets. Blocks. weft_rma_quiet_pe() flushes the writes to one PE only, but
 * waits for non-blocking gets, fetching atomics and answers of all PEs. */
int weft_rma_quiet(struct weft_rma_ctx *ctx);
int weft_rma_quiet_pe(struct weft_rma_ctx *ctx, uint32_t pe);

/* Posts the operations that contexts have deferred. Skips a private context of
 * another thread, and a context that is in use. To be called before a wait
 * outside of this room, for example in a collective. */
void weft_rma_release(void);

/* One round of a loop that waits for a change of local memory. The caller
 * counts rounds from 0. Posts deferred operations in every 64th round. Makes
 * progress in every round; while all PEs are local, only in every 64th of the
 * first weft_proc.max_spin rounds. Sleeps in a later round if progress returned
 * no event. True if progress returned events. */
bool weft_rma_relax(uint32_t round);

/* A wait for local memory, or for an operation, that ends if the expected PE
 * has failed. The caller zeroes the struct and sets fn, from, watched and len.
 */
struct weft_rma_wait {
	const char *fn; /* the procedure that waits, for error and log texts */
	uint32_t from;	/* PE that ends the wait, plus 1; 0: any PE */
	uint32_t n_rounds;
	/* has_moved: progress returned events since the last check; is_op: the
	 * wait is for an operation, not for memory */
	bool has_warned, has_moved, is_op;
	const void *watched; /* memory that changes with progress; or NULL */
	size_t len;	     /* length of the watched memory in bytes */
	uint64_t sum;	     /* at the last check: hash of the watched bytes, or
				position of an operation */
	uint64_t start_ns, moved_ns; /* times of the first check, and of the
					last check that found a change */
	uint64_t failed_ns;	     /* when a failed PE was found; 0: none */
	uint64_t tried_ns; /* when a long wait last tried to find PEs that have
			      ended; 0: never */
	uint32_t turn;	   /* the PE with which the next such try begins */
};

/* Runs a round like weft_rma_relax(). Returns 0 if the wait continues.
 *
 * Returns 1 once, when the caller should warn: after WEFT_STALL_WARN seconds
 * without progress and without a change of `watched`, or after a wait of six
 * times WEFT_STALL_WARN in any case.
 *
 * Returns WEFT_ERR_PEER, described, if the wait cannot end, because PE `from`
 * or all other PEs have failed. If `from` is 0, the error is also returned a
 * second after the failure of some PE was found. */
int weft_rma_wait_round(struct weft_rma_wait *wait);

/* Returns the number of PEs that are known to have failed. Writes the numbers
 * of the first of these PEs to text. */
uint32_t weft_rma_pe_failed(char *text, size_t len);

/* --- session hints -------------------------------------------------------- */

/* The start of a session converts hints to flags of operations. If OP_ hints
 * are set, the other hints apply only to the classes of operations that the OP_
 * hints name. */
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

/* Starts a session on the context, or adds hints to its session. total_ops is
 * the expected number of operations, or SIZE_MAX. Hints never change results.
 * report() is called once for each bit of hints, with a text about its effect.
 * report may be NULL. */
typedef void weft_rma_report_fn(
	void *arg, const char *hint, bool is_applied, const char *how);
void weft_rma_session_start(struct weft_rma_ctx *ctx, unsigned hints,
	size_t total_ops, weft_rma_report_fn *report, void *arg);
void weft_rma_session_stop(struct weft_rma_ctx *ctx);

/* Reports the effect of hints on a fabric. plan NULL: no fabric is used. */
void weft_rma_hints_explain(const struct weft_plan *plan, unsigned hints,
	weft_rma_report_fn *report, void *arg);

/* --- the symmetric heap -------------------------------------------------- */

/* If all PEs make the same calls in the same order, they get the same offsets.
 * The calls do not synchronise the PEs. align is a power of two, or 0.
 * weft_heap_alloc() returns NULL if the heap is full, or if align is above the
 * alignment of the heap (weft_share_align() of its length). weft_heap_free()
 * and weft_heap_realloc() accept NULL and the addresses of allocated blocks.
 * For any other address weft_heap_free() returns WEFT_ERR_ARG, and
 * weft_heap_realloc() returns NULL. */
void *weft_heap_alloc(size_t len, size_t align);
void *weft_heap_realloc(void *ptr, size_t len);
int weft_heap_free(void *ptr);

#endif
