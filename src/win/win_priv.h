/* SPDX-License-Identifier: BSD-3-Clause */
/* win_priv: what the files of this room share */
#ifndef WEFT_WIN_PRIV_H
#define WEFT_WIN_PRIV_H

#include "am/am.h"
#include "base/list.h"
#include "base/log.h"
#include "base/op.h"
#include "transport/vci.h"
#include "win/win.h"

#include <stdatomic.h>
#include <sys/types.h>

enum weft_win_access_epoch {
	WEFT_WIN_CLOSED,
	WEFT_WIN_FENCED, /* open if used */
	WEFT_WIN_USED,	 /* a fence's, and used */
	WEFT_WIN_STARTED,
	WEFT_WIN_LOCKED, /* n_locks targets */
	WEFT_WIN_LOCKED_ALL,
};

/* How a member's memory is reached. */
enum weft_win_way {
	WEFT_WIN_MAPPED, /* by loads and stores */
	WEFT_WIN_COPIED, /* long data by the kernel: of a process of this node
			  */
	WEFT_WIN_BY_AM,	 /* by active messages */
};

/* The word of a lock: the number of shared holders, or EXCLUSIVE. WANTED: a
 * process wants it exclusively, and new shared holders wait. */
enum {
	WEFT_WIN_EXCLUSIVE = 1 << 30,
	WEFT_WIN_WANTED = 1 << 29,
};

/* Members of a window that poll each other's state, at most. */
enum { WEFT_WIN_POLLED_MAX = 16 };

enum weft_win_notice { WEFT_WIN_POST, WEFT_WIN_COMPLETE, WEFT_WIN_NOTICES };

/* Of one window at one member; in memory that the node's processes share. */
struct weft_win_state {
	_Alignas(WEFT_CACHE_LINE) atomic_uint lock;
	_Atomic int32_t holder; /* rank + 1 that has it exclusively */
	atomic_uint n_fences;	/* that this member has begun */
	/* by member, which alone changes it: its notices to this member */
	_Alignas(WEFT_CACHE_LINE)
		atomic_uint n_notices[WEFT_WIN_NOTICES][WEFT_WIN_POLLED_MAX];
};

/* Locks by address, of which each update takes one; in shared memory. A taken
 * one holds the process id of its holder. */
enum { WEFT_WIN_STRIPES = 1024 };
typedef atomic_uint weft_win_stripes[WEFT_WIN_STRIPES];

/* The lock of a member, as this process uses it. */
struct weft_win_lock_use {
	bool is_open; /* MPI_Win_lock was called for the member */
	bool is_exclusive;
	bool is_taken; /* in memory; or by message, then perhaps is_due */
	bool is_due;   /* the next message requests it; VCI's lock */
	uint32_t id;   /* of the last request for it; VCI's lock */
};

/* A member, as this process accesses it. Created with the window for members of
 * this node, else on use; destroyed with it. */
struct weft_win_target {
	uint8_t way;	 /* enum weft_win_way */
	bool is_open;	 /* accesses are allowed now */
	bool is_opening; /* a thread takes the lock of lock_all */
	bool is_me;
	bool is_known;	/* size and disp_unit are */
	char *base;	/* MAPPED: here; COPIED: in the member */
	uint64_t there; /* base, as the member maps it */
	size_t size;
	int64_t disp_unit;
	struct weft_link opened; /* is_open: in the window's list */
	struct weft_win_lock_use lock;
	/* its notices that arrived by message; those that a start or a wait has
	 * used */
	atomic_uint n_notices[WEFT_WIN_NOTICES];
	uint32_t n_taken[WEFT_WIN_NOTICES];

	/* members of this node; else NULL */
	pid_t pid; /* COPIED */
	struct weft_win_state *state;
	weft_win_stripes *stripes;
	/* COPIED: bytes of the longest put or get that is an active message;
	 * the kernel copies longer ones */
	int64_t message_max;

	/* VCI's lock */
	struct weft_am_channel am;
	uint32_t n_long_accs; /* accumulates with long data, not complete */
	uint32_t n_in_row;    /* short accesses queued since a flush */
	bool is_in_row;	      /* before that flush there were several */
	struct weft_win_remote *remote; /* owned; NULL: was never requested */
	unsigned granted; /* my lock, that it has by message: 1, or EXCLUSIVE */
	struct weft_win_waiter *waiter; /* for my lock; or NULL */
};

enum { WEFT_WIN_LONG = 8192 };

/* Elements of an update as arrays, `basic->extent` apart. */
struct weft_win_elements {
	const struct weft_type *basic;
	int64_t n;
	const char *in; /* the origin's; NULL: NO_OP */
	void *owned;	/* in, where it is a copy; or NULL */
	char *old;	/* owned: former ones; NULL: not wanted */
};

/* An access as active messages: complete when all its parts are. Created by
 * win_op.c, destroyed with its last part. VCI's lock. */
struct weft_win_whole {
	uint32_t n_parts;
	int err;
	struct weft_req *req; /* referenced; NULL: it has no request */
	struct weft_win_elements elements; /* of an accumulate */
	struct weft_win_buf result;	   /* of these; its type referenced */
};

/* An operation that is not complete: a part of an access, or a request for an
 * answer. VCI's lock. */
struct weft_win_op {
	struct weft_am_op am;
	struct weft_win_whole *whole; /* NULL: of no access */
	bool is_long;		      /* its data is a message of its own */
	bool is_long_acc;
	struct weft_op fabric; /* am.is_fabric */
	struct weft_win_buf
		to;	 /* of data that needs unpacking; its type referenced */
	void *staging;	 /* owned */
	size_t pos, len; /* its data in the whole access */
};

static inline struct weft_win *weft_win_of_channel(
	const struct weft_am_channel *channel)
{
	return weft_container_of(channel->am, struct weft_win, am);
}

static inline struct weft_win_target *weft_win_target_of_channel(
	struct weft_am_channel *channel)
{
	return weft_container_of(channel, struct weft_win_target, am);
}

static inline struct weft_win_target *weft_win_target_at(
	const struct weft_win *win, uint32_t rank)
{
	/* pair with the releases in members.c: another thread may make them */
	struct weft_win_target **page = __atomic_load_n(
		&win->targets[rank / WEFT_WIN_PAGE], __ATOMIC_ACQUIRE);

	return page ? __atomic_load_n(
			      &page[rank % WEFT_WIN_PAGE], __ATOMIC_ACQUIRE)
		    : NULL;
}

/* Its lock was requested by message and has not been granted. VCI's lock held.
 */
static inline bool weft_win_is_lock_requested(
	const struct weft_win *win, const struct weft_win_target *target)
{
	return target->lock.id &&
	       weft_am_op_of(&win->am, &target->am, target->lock.id);
}

/* win.c: what needs no other member. Also for test/fuzz. */
int weft_win_fill(struct weft_win *win, struct weft_comm *comm,
	const struct weft_win_config *config);
void weft_win_adopt_locked(struct weft_win *win);

/* members.c. The window of a message, or NULL if its sender is not the member
 * that the head names. */
struct weft_win *weft_win_of(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head);
/* The member, made when new; NULL with an error described. */
struct weft_win_target *weft_win_target_of(struct weft_win *win, uint32_t rank);
void weft_win_targets_free(struct weft_win *win);
/* No memory is attached any more. */
void weft_win_detach_all(struct weft_win *win);
/* Opens the target if the epoch allows accesses to it. 0 or WEFT_ERR_RMA_SYNC.
 */
int weft_win_target_open(struct weft_win *win, struct weft_win_target *target);
/* Byte offset of an access from the target's base; WEFT_ERR_RMA_RANGE outside
 * its memory. */
int weft_win_target_range(const struct weft_win_target *target,
	const struct weft_win_access *access, int64_t *at_out);
/* Adds the member and the window to an error. */
int weft_win_of_target(const struct weft_win *win,
	const struct weft_win_target *target, int err);
/* The same for bytes [at, at + len) beyond disp units, of my own memory; NULL
 * with an error described. VCI's lock held for dynamic windows. */
char *weft_win_place(
	const struct weft_win *win, int64_t disp, int64_t at, uint64_t len);

/* epoch.c. Completes whatever the access epoch left open. */
int weft_win_close_epoch(struct weft_win *win);
/* win_lock.c */
bool weft_win_try_lock(
	struct weft_win_state *state, bool is_exclusive, int32_t rank);
/* Marks the lock as wanted: new shared holders, and processes that have just
 * released it, wait. */
void weft_win_want_lock(struct weft_win_state *state);
void weft_win_drop_lock(struct weft_win_state *state, bool is_exclusive);
/* Waits for the lock of a member of this node. */
int weft_win_lock_here(struct weft_win *win, struct weft_win_target *target,
	bool is_exclusive);
void weft_win_stripe_take(weft_win_stripes *stripes, uint64_t address);
void weft_win_stripe_drop(weft_win_stripes *stripes, uint64_t address);

/* node_memory.c */
struct weft_win_record;
/* My own stripes, which exist while there is a window. */
weft_win_stripes *weft_win_my_stripes(void);
pid_t weft_win_my_pid(void);
/* update.c: elements of a predefined type, `basic->extent` bytes apart here and
 * there. */
struct weft_win_update {
	const struct weft_redop *op;
	const struct weft_type *basic;
	const char *in; /* NULL: NO_OP */
	char *old;	/* former elements; NULL: not wanted */
	int64_t n;
	weft_redop_kernel_fn *kernel; /* weft_redop_kernel() of them; or NULL */
};
/* Carries it out, of one element, at an address that is mapped here and has
 * this address at its owner. */
void weft_win_update(const struct weft_win_update *update, char *place,
	uint64_t there, weft_win_stripes *stripes);
/* The same for runs of n elements each, equally far apart. Elements in the page
 * of those before use the stripe that is held. */
struct weft_win_hold {
	weft_win_stripes *stripes;
	bool is_held;
	uint64_t there; /* in the page that is locked */
};
void weft_win_update_series(const struct weft_win_update *update, char *place,
	uint64_t there, int64_t n_runs, int64_t stride,
	struct weft_win_hold *hold);
/* After the last one. */
void weft_win_hold_drop(struct weft_win_hold *hold);
/* One element, replaced where it equals compare. */
void weft_win_swap(const struct weft_type *type, const void *compare,
	const void *value, void *old, char *place, uint64_t there,
	weft_win_stripes *stripes);

/* win_target.c: the target's side */
void weft_win_waiters_open(struct weft_win *win);
void weft_win_waiters_free(struct weft_win *win);
/* Data that still arrives is discarded. */
void weft_win_arrivals_forget(struct weft_win *win);

/* win_origin.c: the origin's side */
int weft_win_am_move(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, bool is_put,
	struct weft_req **req_out);
int weft_win_am_accumulate(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_req **req_out);
int weft_win_am_compare_and_swap(struct weft_win *win,
	struct weft_win_target *target, const struct weft_win_access *access);

/* win_send.c: records leave, locks by message, and the ends of epochs */
int weft_win_am_post(struct weft_win *win, struct weft_win_target *target);
/* Waits until all that was begun so far is answered, and, unless is_local,
 * done. */
int weft_win_am_flush(
	struct weft_win *win, struct weft_win_target *target, bool is_local);
/* The lock of a member that messages reach is requested with the first access
 * to it. */
void weft_win_am_lock(struct weft_win *win, struct weft_win_target *target,
	bool is_exclusive);
/* Completes all accesses there and releases it. */
int weft_win_am_unlock(struct weft_win *win, struct weft_win_target *target);
/* Ends a started epoch: notifies the target, and waits for data to return. */
int weft_win_am_complete(struct weft_win *win, struct weft_win_target *target);

/* After the last record of an access without an answer of its own: posts the
 * queue, and requests an answer first if no operation under way has one. VCI's
 * lock held, given up meanwhile, here and below. */
int weft_win_am_end(struct weft_win *win, struct weft_win_target *target);
/* Sends a record without data that is answered; the answer has data for `to`,
 * or (NULL) none. The id of the record is set before the lock is given up. */
int weft_win_am_request(struct weft_win *win, struct weft_win_target *target,
	struct weft_wire_am *rec, const struct weft_win_buf *to);
/* True if an access that ends nothing by itself has to request an answer. */
bool weft_win_needs_answer(
	const struct weft_win *win, const struct weft_win_target *target);
/* True if records may stay in the queue until the next message. */
bool weft_win_may_keep(struct weft_win *win, struct weft_win_target *target);
/* Waits for the lock of the epoch, which is requested first where it was not:
 * the fabric's own accesses do not. */
int weft_win_am_acquire(struct weft_win *win, struct weft_win_target *target);

/* win_runs.c. Called for runs of the target's memory that are alike: at, n,
 * pos, n_runs and stride of a record, which it may change. Several are short,
 * and WEFT_WIRE_AM_RUNS_MAX bytes at most. */
typedef int weft_win_run_fn(void *arg, struct weft_wire_am *rec);
/* Takes up to max units off the front of rest, one run of several at least.
 * False: nothing is left. */
bool weft_win_runs_cut(struct weft_wire_am *rest, uint64_t unit, uint64_t max,
	struct weft_wire_am *part);
/* All runs of bytes of an access, cut where the origin's have holes and are
 * long. */
int weft_win_each_run(
	const struct weft_win_access *access, weft_win_run_fn *fn, void *arg);
/* All runs of the first n elements of an access. */
int weft_win_each_element(const struct weft_win_access *access,
	const struct weft_type *basic, int64_t n, weft_win_run_fn *fn,
	void *arg);

/* win_op.c: operations under way. VCI's lock held. */
/* A request whose errors are the window's; one reference. */
struct weft_req *weft_win_req_new(struct weft_win *win);
struct weft_win_whole *weft_win_whole_new(struct weft_req **req_out);
/* Gives the request out, if one is wanted, and ends the call's own part. */
int weft_win_whole_begun(struct weft_win *win, struct weft_win_whole *whole,
	struct weft_req **req_out, int err);
/* n_left: answers to come. Held until weft_am_op_begun(). */
struct weft_win_op *weft_win_op_new(struct weft_win *win,
	struct weft_win_target *target, struct weft_win_whole *whole,
	uint32_t n_left);
/* Sets the place of its answers' data. */
void weft_win_op_into(struct weft_win_op *op, const struct weft_win_buf *to);
/* Returns the address of len contiguous bytes of an origin buffer from pos on:
 * in the buffer itself, or in a copy that the operation owns. At most one
 * buffer of an operation may need a copy. A copy for a get is unpacked when the
 * operation ends. Returns NULL with an error described. */
char *weft_win_op_stage(struct weft_win_op *op, const struct weft_win_buf *buf,
	size_t pos, size_t len, bool is_put);
/* Waits for all operations that are under way now, and returns the error of the
 * target; `what` is the call that waits. */
int weft_win_op_wait(
	struct weft_win *win, struct weft_win_target *target, const char *what);
extern const struct weft_am_ops weft_win_am_ops;
struct weft_type *weft_win_byte_type(void);
int weft_win_no_memory(void);

/* win_rma.c: RDMA of the fabric. It is no error if there is none: active
 * messages are used. No VCI's lock held. */
void weft_win_rma_open(struct weft_win *win);
/* No member accesses the window any more. VCI's lock held, here and below. */
void weft_win_rma_leave(struct weft_win *win);
void weft_win_rma_describe(
	const struct weft_win *win, struct weft_wire_win_region *out);
/* *is_reached: the fabric accesses this member's memory. Requests its
 * registration once. */
int weft_win_rma_reach(
	struct weft_win *win, struct weft_win_target *target, bool *is_reached);
/* Then: true for an access that RDMA suits, */
bool weft_win_rma_suits(const struct weft_win_access *access);
/* and that access, as one part of whole. */
int weft_win_rma_move(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_win_whole *whole,
	bool is_put);
/* Completes puts without a completion of their own. */
int weft_win_rma_flush(struct weft_win *win, struct weft_win_target *target);

/* win_fence.c: the barrier of all members. True if this one may poll the state
 * of all others. */
bool weft_win_may_poll_states(const struct weft_win *win);
int weft_win_barrier(struct weft_win *win);
/* Waits for a call of target that counts a word up to number: in its state, or
 * by a message. */
int weft_win_wait_count(struct weft_win *win,
	const struct weft_win_target *target, const char *what,
	const atomic_uint *word, unsigned number);
/* Then: makes accesses visible that other threads have carried out here. */
void weft_win_sync_threads(struct weft_win *win);

/* win_notice.c: posts and completes. Notifies a target in memory. */
void weft_win_notice_count(struct weft_win *win, struct weft_win_target *target,
	enum weft_win_notice notice);
/* Waits for one of this member, and takes it. */
int weft_win_notice_take(struct weft_win *win, struct weft_win_target *target,
	enum weft_win_notice notice);
/* True if one has arrived. VCI's lock held. */
bool weft_win_notice_has(const struct weft_win *win,
	const struct weft_win_target *target, enum weft_win_notice notice);

/* win_wait.c: a wait is a loop of rounds. VCI's lock held. A round returns the
 * error that ends the wait, or 0. _end follows the last round and returns err,
 * or the error of a verdict. */
struct weft_win_waiting;
struct weft_win_wait {
	struct weft_win *win;
	const struct weft_win_target *target;
	const char *what; /* "MPI_Win_lock" */
	/* a call of the target counts this up to number; NULL: its progress
	 * alone may end the wait */
	const atomic_uint *word;
	unsigned number;
	bool is_memory; /* for a word of memory: nothing wakes it */
	bool is_lock;	/* that any member may have */
	/* ---- below: only win_wait.c ---- */
	uint32_t n_rounds;
	uint64_t start_ns, failed_ns;
	struct weft_win_waiting *waiting; /* NULL until it takes long */
};
int weft_win_wait_round(struct weft_win_wait *wait);
/* For src/watchdog: see WEFT_WIRE_NEED_LOCK. */
enum weft_wire_met weft_win_met_lock(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t asker,
	uint32_t *owner_out);
int weft_win_wait_end(struct weft_win_wait *wait, int err);
static inline bool weft_win_has_counted(
	const atomic_uint *word, unsigned number)
{
	/* pairs with the stores of those that count; differences, as it may
	 * wrap */
	unsigned its = atomic_load_explicit(word, memory_order_acquire);

	return (int)(its - number) >= 0;
}

/* update.c: fills a zeroed weft_win_elements. The caller calls
 * weft_win_elements_free(), also after an error. */
int weft_win_elements_make(struct weft_win_elements *elements,
	const struct weft_win_access *access);
void weft_win_elements_free(struct weft_win_elements *elements);
/* Stores the former elements in the access's result. */
int weft_win_elements_return(const struct weft_win_elements *elements,
	const struct weft_win_buf *result);

/* A derived type whose items are nothing but elements in a row. */
static inline bool weft_win_is_array(
	const struct weft_type *type, const struct weft_type *basic)
{
	return type->is_contig && basic->size == basic->extent;
}

/* Arrays of one predefined type on all sides, as many here as there. */
static inline bool weft_win_is_plain(const struct weft_win_access *access)
{
	const struct weft_type *type = access->type;
	int64_t n = access->count;

	return type->class_ != WEFT_CLASS_NONE &&
	       (access->op->builtin == WEFT_OP_NO_OP ||
		       (access->origin.type == type &&
			       access->origin.count == n)) &&
	       (!access->result.type || (access->result.type == type &&
						access->result.count == n));
}

/* Long data: of an access it has the tag of its id, of an answer this too, as
 * both sides count from 1. */
enum { WEFT_WIN_REPLY_TAG = 1 << 30 };

#endif
