/* SPDX-License-Identifier: BSD-3-Clause */
/* win_priv: types and functions that the files of this room share */
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
	WEFT_WIN_FENCED, /* after a fence, before the first access */
	WEFT_WIN_USED,	 /* after a fence and an access */
	WEFT_WIN_STARTED,
	WEFT_WIN_LOCKED, /* MPI_Win_lock has locked n_locks targets */
	WEFT_WIN_LOCKED_ALL,
};

/* The method of accesses to a member's memory. */
enum weft_win_method {
	WEFT_WIN_MAPPED, /* by loads and stores */
	WEFT_WIN_COPIED, /* on this node: the kernel copies long contiguous
			    data; active messages transfer all other data */
	WEFT_WIN_BY_AM,	 /* by active messages or RDMA; this process's own
			    memory, if it may be device memory: by win_dev.c */
};

/* Flags of weft_win_state.lock. Its other bits are the number of shared
 * holders. EXCLUSIVE: one process holds the lock exclusively. WANTED: a process
 * waits for an exclusive lock, so no further shared lock is granted. */
enum {
	WEFT_WIN_EXCLUSIVE = 1 << 30,
	WEFT_WIN_WANTED = 1 << 29,
};

/* The largest window whose members poll each other's state. */
enum { WEFT_WIN_POLLED_MAX = 16 };

enum weft_win_notice { WEFT_WIN_POST, WEFT_WIN_COMPLETE, WEFT_WIN_NOTICES };

/* The state of a window at one member, in memory that the processes of its node
 * share. */
struct weft_win_state {
	_Alignas(WEFT_CACHE_LINE) atomic_uint lock;
	_Atomic int32_t holder; /* rank + 1 of the exclusive holder of lock */
	atomic_uint n_fences;	/* fences that this member has started */
	/* [i][rank]: the number of MPI_Win_post (or MPI_Win_complete) calls by
	 * which member `rank` has notified this member; only member `rank`
	 * writes the counter */
	_Alignas(WEFT_CACHE_LINE)
		atomic_uint n_notices[WEFT_WIN_NOTICES][WEFT_WIN_POLLED_MAX];
};

/* Locks for updates, selected by address, in shared memory. A lock that is held
 * contains the process id of its holder. */
enum { WEFT_WIN_STRIPES = 1024 };
typedef atomic_uint weft_win_stripes[WEFT_WIN_STRIPES];

/* The lock of a member, as this process uses it. */
struct weft_win_lock_use {
	bool is_open; /* between MPI_Win_lock and MPI_Win_unlock */
	bool is_exclusive;
	bool is_taken; /* the lock is held or requested, or is_due is set */
	bool is_due;   /* the next message requests the lock; VCI's lock */
	uint32_t id;   /* id of the record that requested the lock; 0: none was
			  sent; VCI's lock */
};

/* A member of the window, as a target of this process. Created with the window
 * for members of this node, and on first use for others. Destroyed with the
 * window. */
struct weft_win_target {
	uint8_t method;	 /* enum weft_win_method */
	bool is_open;	 /* accesses are allowed now */
	bool is_opening; /* a thread acquires the lock for lock_all */
	bool is_me;
	bool is_known; /* size and disp_unit are valid; the memory is no device
			  memory of another member */
	char *base; /* address in this process; NULL: no memory, or of another
		       member and not MAPPED */
	uint64_t there; /* address of the memory in the member; SHARED: offset
			   in the window's memory */
	size_t size;
	int64_t disp_unit;
	struct weft_link opened; /* in the window's list `opened`, while is_open
				  */
	struct weft_win_lock_use lock;
	/* notices of the member, if states are not polled: by message, or
	 * from this process itself */
	atomic_uint n_notices[WEFT_WIN_NOTICES];
	/* notices of the member that MPI_Win_start or MPI_Win_wait of this
	 * process has consumed */
	uint32_t n_taken[WEFT_WIN_NOTICES];

	pid_t pid; /* COPIED: the member's process */
	/* mapped memory of a member of this node; otherwise NULL */
	struct weft_win_state *state;
	weft_win_stripes *stripes;
	/* COPIED: the longest put or get, in bytes, that is an active message
	 */
	int64_t message_max;

	/* VCI's lock */
	struct weft_am_channel am;
	uint32_t n_long_accs; /* incomplete long parts of accumulates */
	uint32_t n_short;     /* short accesses queued since the last flush */
	bool is_burst;	      /* at the last flush, n_short was at least 4 */
	struct weft_win_remote *remote; /* owned; NULL: the member's
					  registration was not requested yet */
	unsigned granted; /* lock of this process that the member has acquired
			     by message: 0 (none), 1 (shared) or EXCLUSIVE */
	struct weft_win_waiter *waiter; /* the member's request for this
					   process's lock, or NULL */
};

/* A record with at least this many bytes of data sends them as a message of
 * their own, except for an accumulate to COPIED memory. */
enum { WEFT_WIN_LONG = 8192 };

/* The operands and the former elements of an accumulate, as arrays. Consecutive
 * elements are `basic->extent` bytes apart. */
struct weft_win_elements {
	const struct weft_type *basic;
	int64_t n;
	const char *in; /* operands of the origin; NULL: NO_OP */
	void *owned;	/* equal to in, if in is an allocated copy; or NULL */
	char *old;	/* owned: former elements; NULL: not requested */
};

/* An access that is divided into parts: active messages or RDMA operations. The
 * access is complete when all its parts are complete. Created by win_op.c,
 * destroyed with the last part. VCI's lock. */
struct weft_win_whole {
	uint32_t n_parts;
	int err;
	struct weft_req *req; /* owns a reference; NULL: the program requested
				 none */
	struct weft_win_elements elements; /* of an accumulate */
	struct weft_win_buf result; /* destination of elements.old; owns a
				       reference to its type */
};

/* An incomplete operation: an access, a part of an access, or a record without
 * data that requests an answer. VCI's lock. */
struct weft_win_op {
	struct weft_am_op am;
	struct weft_win_whole *whole; /* the access that it is a part of,
					 or NULL */
	bool is_long;		      /* the data is a separate message */
	bool is_long_acc;
	uint8_t n_messages;	/* pending messages with the data */
	struct weft_op fabric;	/* for the fabric's completions, if am.is_fabric
				 */
	struct weft_win_buf to; /* destination of returned data; owns a
			       reference to its type */
	void *staging; /* owned: contiguous copy of the part's data, or NULL */
	size_t pos, len; /* position and length of the part's data in the
			    access */
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
	/* These loads pair with the release stores in members.c. Another thread
	 * may publish the page and the target, after it has filled them. */
	struct weft_win_target **page = __atomic_load_n(
		&win->targets[rank / WEFT_WIN_PAGE], __ATOMIC_ACQUIRE);

	return page ? __atomic_load_n(
			      &page[rank % WEFT_WIN_PAGE], __ATOMIC_ACQUIRE)
		    : NULL;
}

/* True if the target's lock was requested by message and has not been granted.
 * VCI's lock held. */
static inline bool weft_win_is_lock_requested(
	const struct weft_win *win, const struct weft_win_target *target)
{
	return target->lock.id &&
	       weft_am_op_of(&win->am, &target->am, target->lock.id);
}

/* win.c. These functions are the parts of weft_win_create() that do not
 * communicate. test/fuzz calls them, too. weft_win_fill() sets the fields of a
 * zeroed window. */
int weft_win_fill(struct weft_win *win, struct weft_comm *comm,
	const struct weft_win_config *config);
/* Makes the window a child of the session in place of its communicator. VCI's
 * lock held. */
void weft_win_adopt_locked(struct weft_win *win);

/* members.c. Returns the window of a message. NULL: this process has no such
 * window, or the sender of the message is not the member that the head names.
 */
struct weft_win *weft_win_of(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head);
/* Returns the member, and creates it on first use. NULL with an error
 * described. */
struct weft_win_target *weft_win_target_of(struct weft_win *win, uint32_t rank);
/* Frees all targets of the window. */
void weft_win_targets_free(struct weft_win *win);
/* Detaches all memory. */
void weft_win_detach_all(struct weft_win *win);
/* epoch.c. Opens the target for accesses. In an epoch of lock_all, also
 * acquires the target's lock, and may block. WEFT_ERR_RMA_SYNC: the epoch
 * allows no access to the target. */
int weft_win_target_open(struct weft_win *win, struct weft_win_target *target);
/* From here to weft_win_place(): members.c. Sets *at_out to the byte offset of
 * an access from the target's base. WEFT_ERR_RMA_RANGE: the access is outside
 * of the target's memory. If this process does not know the size of that
 * memory, sets *at_out to 0 and returns 0. */
int weft_win_target_range(const struct weft_win_target *target,
	const struct weft_win_access *access, int64_t *at_out);
/* Adds the member and the window to the description of err. Returns err. */
int weft_win_of_target(const struct weft_win *win,
	const struct weft_win_target *target, int err);
/* Returns the address of len bytes in the window memory of this process. They
 * begin `at` bytes after displacement disp. NULL with an error described: the
 * bytes are outside of the window. VCI's lock held for dynamic windows. */
char *weft_win_place(
	const struct weft_win *win, int64_t disp, int64_t at, uint64_t len);

/* epoch.c. Completes all accesses of the access epoch, and closes its targets.
 * The caller then changes win->access. */
int weft_win_close_epoch(struct weft_win *win);
/* win_lock.c. Acquires the lock for the member `rank` and returns true, unless
 * another holder conflicts. A shared lock also fails while WEFT_WIN_WANTED is
 * set. */
bool weft_win_try_lock(
	struct weft_win_state *state, bool is_exclusive, int32_t rank);
/* Sets WEFT_WIN_WANTED. While it is set, no shared lock is granted, and a
 * process of this node waits for some rounds before it tries to acquire the
 * lock. */
void weft_win_want_lock(struct weft_win_state *state);
/* Releases the lock that weft_win_try_lock() acquired. */
void weft_win_drop_lock(struct weft_win_state *state, bool is_exclusive);
/* Acquires the lock of a member of this node; blocks. */
int weft_win_lock_here(struct weft_win *win, struct weft_win_target *target,
	bool is_exclusive);
/* weft_win_stripe_take() acquires the stripe of the address's page; the caller
 * releases it by weft_win_stripe_drop(). */
void weft_win_stripe_take(weft_win_stripes *stripes, uint64_t address);
void weft_win_stripe_drop(weft_win_stripes *stripes, uint64_t address);

/* node_memory.c */
struct weft_win_record;
/* The stripes of this process. They exist from its first window on. */
weft_win_stripes *weft_win_my_stripes(void);
pid_t weft_win_my_pid(void);
/* update.c: an update of n elements of a predefined type. Consecutive elements
 * are `basic->extent` bytes apart, at the origin and at the target. */
struct weft_win_update {
	const struct weft_redop *op;
	const struct weft_type *basic;
	const char *in; /* operands; NULL: NO_OP */
	char *old;	/* former elements; NULL: not requested */
	int64_t n;
	weft_redop_kernel_fn
		*kernel; /* weft_redop_kernel() of op and basic, or NULL */
};
/* Updates one element at `place`. `there` is the address of the element in the
 * process that owns the memory (SHARED: its offset); it selects the stripe. */
void weft_win_update(const struct weft_win_update *update, char *place,
	uint64_t there, weft_win_stripes *stripes);
/* The stripe that a sequence of updates keeps locked while the elements begin
 * in one page. */
struct weft_win_hold {
	weft_win_stripes *stripes;
	bool is_held;
	uint64_t there; /* an address in the page whose stripe is locked */
};
/* Updates n_runs runs of update->n elements each, `stride` bytes apart. On
 * return, the stripe of the last element is locked. */
void weft_win_update_series(const struct weft_win_update *update, char *place,
	uint64_t there, int64_t n_runs, int64_t stride,
	struct weft_win_hold *hold);
/* Releases the stripe after the last series. */
void weft_win_hold_drop(struct weft_win_hold *hold);
/* Stores one element in *old, and replaces it by value if it equals compare. */
void weft_win_swap(const struct weft_type *type, const void *compare,
	const void *value, void *old, char *place, uint64_t there,
	weft_win_stripes *stripes);

/* True if this process's memory in the window may be device memory. */
static inline bool weft_win_may_be_device(const struct weft_win *win)
{
	return win->is_dev ||
	       (win->flavor == WEFT_WIN_DYNAMIC && win->comm->may_dev);
}
/* members.c. True if the program exposed this memory as device memory. VCI's
 * lock held for dynamic windows. */
bool weft_win_is_device(const struct weft_win *win, const char *place);
/* win_dev.c: device memory of this process in a window. The driver copies it.
 * Updates hold the VCI's lock in place of a stripe, because only the owner of
 * the memory carries them out.
 *
 * WEFT_ERR_NOMEM, or WEFT_ERR_BUFFER: the program has freed the memory, or the
 * driver cannot copy. */
/* Carries out n_runs runs, `stride` bytes apart. With update->op, each run has
 * update->n elements, and the VCI's lock is held. Without it, each run has
 * update->n bytes: stores update->in, or reads to update->old. */
int weft_win_dev_runs(const struct weft_win_update *update, char *place,
	int64_t n_runs, int64_t stride);
/* As weft_win_swap(). VCI's lock held. */
int weft_win_dev_swap(const struct weft_type *type, const void *compare,
	const void *value, void *old, char *place);
/* An access of this process to its own device memory. The first item at the
 * target is at `place`. */
int weft_win_dev_move(
	const struct weft_win_access *access, char *place, bool is_put);

/* win_target.c. weft_win_waiters_open() initializes the list of members that
 * wait for this process's lock. weft_win_waiters_free() drops their requests.
 */
void weft_win_waiters_open(struct weft_win *win);
void weft_win_waiters_free(struct weft_win *win);
/* Ends the accesses of members that use messages of their own: waits until no
 * message accesses the window's memory. VCI's lock held. */
void weft_win_arrivals_end(struct weft_win *win);
/* Detaches the window from long data whose receive is not complete. The data is
 * dropped. */
void weft_win_arrivals_forget(struct weft_win *win);

/* win_origin.c. These functions send an access as active messages.
 * weft_win_am_move() sends a put or a get, or posts it as RDMA. Unless req_out
 * is NULL, they set *req_out as weft_win_put() does. */
int weft_win_am_move(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, bool is_put,
	struct weft_req **req_out);
int weft_win_am_accumulate(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_req **req_out);
int weft_win_am_compare_and_swap(struct weft_win *win,
	struct weft_win_target *target, const struct weft_win_access *access);

/* win_send.c. Sends the notice of MPI_Win_post to the target. */
int weft_win_am_post(struct weft_win *win, struct weft_win_target *target);
/* Waits until all earlier accesses are complete at the origin and, unless
 * is_local is set, at the target. */
int weft_win_am_flush(
	struct weft_win *win, struct weft_win_target *target, bool is_local);
/* Opens a lock epoch for a member that is accessed by messages. The first
 * access requests the lock. */
void weft_win_am_lock(struct weft_win *win, struct weft_win_target *target,
	bool is_exclusive);
/* Completes all accesses to the member, and releases its lock. */
int weft_win_am_unlock(struct weft_win *win, struct weft_win_target *target);
/* Ends an epoch of MPI_Win_start: completes its accesses at the origin, and
 * notifies the target. */
int weft_win_am_complete(struct weft_win *win, struct weft_win_target *target);

/* Called after the last record of an access that was sent in parts. Appends a
 * FLUSH if weft_win_needs_answer() is true, and posts the queue. VCI's lock
 * held, from here to weft_win_am_acquire(); a call that waits releases it
 * meanwhile. */
int weft_win_am_end(struct weft_win *win, struct weft_win_target *target);
/* Sends a record without data that requests an answer. The data of the answer
 * is stored in `to`; NULL: the answer has no data. Sets rec->id before it
 * releases the VCI's lock. */
int weft_win_am_request(struct weft_win *win, struct weft_win_target *target,
	struct weft_wire_am *rec, const struct weft_win_buf *to);
/* True if the next access must request an answer even if it returns no data: no
 * operation is pending, except for a request of a lock, and the end of the
 * epoch requires an answer. */
bool weft_win_needs_answer(
	const struct weft_win *win, const struct weft_win_target *target);
/* True if records may stay in the queue until the next message. */
bool weft_win_may_keep(struct weft_win *win, struct weft_win_target *target);
/* Waits until the lock of the epoch is granted. Requests the lock first, if no
 * record has requested it. Called before an RDMA access. */
int weft_win_am_acquire(struct weft_win *win, struct weft_win_target *target);

/* win_runs.c. Called with a series of runs of the target's memory: runs of
 * equal length at equal distances. The record has disp, at, n, pos, n_runs and
 * stride. The function may change the record. A series of several runs has
 * WEFT_WIRE_AM_RUNS_MAX bytes at most. */
typedef int weft_win_run_fn(void *arg, struct weft_wire_am *rec);
/* Moves up to max units from the front of rest to part. A unit has `unit`
 * bytes. A single run is divided. Several runs are not: at least one run is
 * moved, even if it is longer than max. False: rest is empty. */
bool weft_win_runs_cut(struct weft_wire_am *rest, uint64_t unit, uint64_t max,
	struct weft_wire_am *part);
/* Calls fn for all runs of bytes of an access. If the type of the origin has
 * holes, a run has WEFT_WIRE_AM_RUNS_MAX bytes at most. */
int weft_win_each_run(
	const struct weft_win_access *access, weft_win_run_fn *fn, void *arg);
/* Calls fn for all runs of the first n elements of an access. */
int weft_win_each_element(const struct weft_win_access *access,
	const struct weft_type *basic, int64_t n, weft_win_run_fn *fn,
	void *arg);

/* win_op.c: pending operations. VCI's lock held. */
/* Creates a request with one reference. Its errors are raised on the window. */
struct weft_req *weft_win_req_new(struct weft_win *win);
/* Creates an access with one part, the calling function. Sets *req_out to NULL,
 * unless req_out is NULL. NULL: no memory; no error is described. */
struct weft_win_whole *weft_win_whole_new(struct weft_req **req_out);
/* Called when all parts have begun. Without an error, creates the request and
 * sets *req_out, unless req_out is NULL. Completes the part that
 * weft_win_whole_new() counts for the calling function. Returns err, or
 * WEFT_ERR_NOMEM if the request cannot be created. */
int weft_win_whole_begun(struct weft_win *win, struct weft_win_whole *whole,
	struct weft_req **req_out, int err);
/* Begins an operation that waits for n_left answers. The operation cannot
 * complete before the caller calls weft_am_op_begun(). NULL with an error
 * described. */
struct weft_win_op *weft_win_op_new(struct weft_win *win,
	struct weft_win_target *target, struct weft_win_whole *whole,
	uint32_t n_left);
/* Sets the destination of the answers' data. */
void weft_win_op_into(struct weft_win_op *op, const struct weft_win_buf *to);
/* Returns the address of len contiguous bytes of an origin buffer from pos on:
 * in the buffer itself, or in a copy that the operation owns. At most one
 * buffer of an operation may need a copy. A copy for a get is unpacked when the
 * operation ends. Returns NULL with an error described. */
char *weft_win_op_stage(struct weft_win_op *op, const struct weft_win_buf *buf,
	size_t pos, size_t len, bool is_put);
/* win_send.c. Waits for all operations of the target that are pending now.
 * Returns the error of the wait, or the first error of the target since the
 * last call. `what` names the call that waits. */
int weft_win_op_wait(
	struct weft_win *win, struct weft_win_target *target, const char *what);
extern const struct weft_am_ops weft_win_am_ops;
/* Returns the predefined type of bytes. */
struct weft_type *weft_win_byte_type(void);
/* Returns WEFT_ERR_NOMEM and describes it. */
int weft_win_no_memory(void);

/* win_rma.c. If RDMA can be used, opens the endpoint for windows and registers
 * the memory of this window. Otherwise accesses are active messages. No VCI's
 * lock held. */
void weft_win_rma_open(struct weft_win *win);
/* Called when no member accesses the window any more. VCI's lock held, from
 * here to weft_win_rma_flush(). */
void weft_win_rma_leave(struct weft_win *win);
/* Fills *out with the registration of this process's memory in the window. */
void weft_win_rma_describe(
	const struct weft_win *win, struct weft_wire_win_region *out);
/* Sets *is_reached to true if RDMA can access this member's memory. The first
 * call requests the registration of that memory, and waits for the answer. */
int weft_win_rma_reach(
	struct weft_win *win, struct weft_win_target *target, bool *is_reached);
/* True if RDMA is better than active messages for the access: its target data
 * has few runs, or long ones. */
bool weft_win_rma_suits(const struct weft_win_access *access);
/* Posts an access by RDMA. The operations with a completion are one part of
 * whole. Blocks while the fabric accepts no post. */
int weft_win_rma_move(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_win_whole *whole,
	bool is_put);
/* Completes the puts to the target that were posted without a completion.
 * Blocks. */
int weft_win_rma_flush(struct weft_win *win, struct weft_win_target *target);

/* win_fence.c. True if this member may poll the state of all other members. */
bool weft_win_may_poll_states(const struct weft_win *win);
/* The barrier of all members of the window. */
int weft_win_barrier(struct weft_win *win);
/* Waits until a call of the target has increased *word to number. The target
 * stores to the word in shared memory, or its message updates the word. */
int weft_win_wait_count(struct weft_win *win,
	const struct weft_win_target *target, const char *what,
	const atomic_uint *word, unsigned number);
/* Called after weft_win_wait_count(). Makes accesses visible that other threads
 * of this process have executed for other members. */
void weft_win_sync_threads(struct weft_win *win);

/* win_notice.c: notices of MPI_Win_post and MPI_Win_complete. Increments the
 * target's counter of notices from this process. Called if the members poll
 * each other's state, or if the target is this process. */
void weft_win_notice_count(struct weft_win *win, struct weft_win_target *target,
	enum weft_win_notice notice);
/* Waits for a notice from the target, and consumes it. */
int weft_win_notice_take(struct weft_win *win, struct weft_win_target *target,
	enum weft_win_notice notice);
/* True if a notice from the target has arrived. VCI's lock held. */
bool weft_win_notice_has(const struct weft_win *win,
	const struct weft_win_target *target, enum weft_win_notice notice);

/* win_wait.c: a wait for another member. The caller calls
 * weft_win_wait_round() until its condition is true, or until the round returns
 * an error. It then calls weft_win_wait_end(), which returns err, or the error
 * of a verdict of src/watchdog. VCI's lock held. */
struct weft_win_waiting;
struct weft_win_wait {
	struct weft_win *win;
	const struct weft_win_target *target;
	const char *what; /* name of the call that waits: "MPI_Win_lock" */
	/* the wait ends when a call of the target has increased *word to
	 * number; NULL: progress of the target suffices to end the wait */
	const atomic_uint *word;
	unsigned number;
	bool is_memory; /* a store to memory ends the wait; it wakes no process
			 */
	bool is_lock;	/* waits for a lock, which any member may hold */
	/* ---- private to win_wait.c ---- */
	uint32_t n_rounds;
	uint64_t start_ns, failed_ns;
	struct weft_win_waiting *waiting; /* NULL until the wait is long */
};
int weft_win_wait_round(struct weft_win_wait *wait);
/* Answers the query WEFT_WIRE_NEED_LOCK of src/watchdog. For a query about this
 * process's lock, sets *owner_out to rank + 1 of the exclusive holder, or 0. */
enum weft_wire_met weft_win_met_lock(struct weft_vci *vci,
	const struct weft_wire_query *query, uint64_t asker,
	uint32_t *owner_out);
int weft_win_wait_end(struct weft_win_wait *wait, int err);
static inline bool weft_win_has_counted(
	const atomic_uint *word, unsigned number)
{
	/* pairs with the release stores of poll_all_states() and
	 * weft_win_notice_count(), after which earlier accesses are visible;
	 * the difference is signed, because the counter may wrap */
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

/* True if consecutive items of the type are an array of `basic` elements. */
static inline bool weft_win_is_array(
	const struct weft_type *type, const struct weft_type *basic)
{
	return type->is_contig && basic->size == basic->extent;
}

/* True if origin, result and target are arrays of one predefined type with the
 * same count. NO_OP ignores the origin. */
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

/* Long data is a message whose tag is the id of its record, modulo 2^30. The
 * tag of data that returns to the origin also has this bit. Without it, long
 * data of two members for each other could have equal tags, because each member
 * counts ids from 1. */
enum { WEFT_WIN_REPLY_TAG = 1 << 30 };

#endif
