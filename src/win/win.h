/* SPDX-License-Identifier: BSD-3-Clause */
/* win: windows and one-sided access to them, as upper rooms call it
 *
 * A window is memory that each member of a communicator exposes to the others.
 * A window owns a private duplicate of that communicator, through which the
 * window is a child of the session. The memory of other processes on the node
 * is mapped. If it cannot be mapped (MPI_Win_create), the kernel copies long
 * contiguous data. Accesses to another node use RDMA if the fabric supports it.
 * All other accesses are active messages, which the target's CPU carries out;
 * so are all accesses of other members to device memory.
 *
 * The caller has checked the arguments: types are committed, counts are not
 * negative, and an operation is predefined and fits its type. The rank is in
 * range; it may be WEFT_PROC_NULL only where a comment names that value.
 * Displacements and epochs are checked here. No lock held. Any thread may call,
 * but one thread at a time opens and closes the epochs of a window.
 *
 * Errors: 0, or a negative enum weft_err described by weft_err_set(). If a
 * target refuses an operation, the call that completes the operation there
 * returns the error. A call outside its epoch has no effect, and neither has an
 * access that the origin finds out of range. MPI 4.1, chapter 12. */
#ifndef WEFT_WIN_H
#define WEFT_WIN_H

#include "am/am.h"
#include "base/counter.h"
#include "base/err.h"
#include "base/handle.h"
#include "base/interval.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "core/comm.h"
#include "dt/redop.h"
#include "dt/type.h"
#include "rma/rma.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_attrs;
struct weft_errh;
struct weft_info;
struct weft_progress_user;
struct weft_req;
struct weft_win_target;
struct weft_win_state;
struct weft_win_memory;

/* src/mpi converts the standard's constants to these. */
enum weft_win_flavor {
	WEFT_WIN_CREATE,
	WEFT_WIN_ALLOCATE,
	WEFT_WIN_DYNAMIC,
	WEFT_WIN_SHARED,
};

enum weft_win_assert {
	WEFT_WIN_NOCHECK = 1 << 0,
	WEFT_WIN_NOSUCCEED = 1 << 1,
};

enum { WEFT_WIN_NAME_MAX = 128, WEFT_WIN_PAGE = 256 };

/* The arguments of a new window, its info keys included. */
struct weft_win_config {
	enum weft_win_flavor flavor;
	void *base; /* CREATE: memory of the program, which must exist until
		       the window is freed */
	size_t size;
	int64_t disp_unit; /* > 0 */
	bool is_noncontig; /* SHARED: the memory of each member begins at a page
			    * boundary
			    */
	bool has_no_locks; /* info key no_locks: the program promised not to
				lock the window */
	size_t align; /* alignment of allocated memory: a power of two, or 0 */
};

/* Created by weft_win_create, destroyed by weft_win_free or with its session.
 * The fields from comm to is_unified are constant, except has_no_locks: the
 * first lock of the window clears it. */
struct weft_win {
	struct weft_obj obj;
	struct weft_comm *comm; /* the window's private duplicate */
	int32_t comm_size;
	enum weft_win_flavor flavor;
	void *base; /* address of this process's memory in the window */
	size_t size;
	int64_t disp_unit;
	bool has_no_locks;
	bool is_unified; /* MPI_WIN_UNIFIED: loads of this process see the
			    accesses of other members without a call */
	char name[WEFT_WIN_NAME_MAX];
	/* used by core/attr.c, core/info.c and core/errh.c, and set by src/mpi
	 */
	struct weft_attrs *attrs;
	struct weft_info *info;
	struct weft_errh *errh;
	/* ---- private to this room; `spin` guards the list of open targets,
	 * the counts of locks and the creation of targets ---- */
	struct weft_win_target ***targets; /* [rank / PAGE][rank % PAGE],
					      for other nodes, created on
					      first use */
	struct weft_link opened;	   /* targets with is_open */
	uint8_t access;			   /* enum weft_win_access_epoch */
	bool is_exposed;   /* between MPI_Win_post and MPI_Win_wait */
	bool is_nocheck;   /* lock_all with NOCHECK: no lock is acquired */
	bool has_remote;   /* messages may access the memory of some member */
	bool is_uniform;   /* host memory; all sizes and disp_units are equal */
	bool polls_states; /* members read each other's weft_win_state */
	bool uses_rma;	   /* puts and gets to other nodes may be RDMA */
	bool is_dev;	   /* base is device memory */
	uint32_t n_locks;  /* targets that MPI_Win_lock has locked */
	uint32_t n_unlocks; /* calls of MPI_Win_unlock so far */
	_Atomic uint32_t n_flushes;
	struct weft_spin spin;
	struct weft_group *started, *posted; /* NULL outside their epochs */
	struct weft_win_memory *memory;
	struct weft_rma_region region; /* base and size, registered for RDMA */
	struct weft_win_state
		*state; /* this process's state, shared within the node */
	struct weft_progress_user
		*progress;	  /* the VCI's entry in the progress thread,
				     which all its windows share; NULL: this
				     window does not need the thread */
	struct weft_link waiters; /* lock requests that arrived by message and
				     are not granted; VCI's lock */
	struct weft_progress_hook
		waiters_hook;	   /* registered while waiters is not empty */
	struct weft_link arrivals; /* long accesses of members whose data is in
				      transfer; VCI's lock */
	struct weft_am am;	   /* VCI's lock */
	struct weft_win_op *spare; /* one freed operation for reuse, or NULL;
				      VCI's lock */
	struct weft_intervals
		attached; /* memory of a dynamic window; VCI's lock */
	struct weft_counters counters; /* no lock: weft_counter_note() */
};

extern struct weft_table weft_wins;

/* Installs the handlers of windows. Called when a VCI opens. */
void weft_win_open(struct weft_vci *vci);

/* Closes the RMA domain, which windows and OpenSHMEM share. Called when the
 * process exits. */
void weft_win_rma_close(void);

/* Collective over comm, an intracommunicator. If the call fails at one member,
 * it fails at all. WEFT_ERR_RMA_SHARED: the flavor is SHARED, and the members
 * share no memory. */
int weft_win_create(struct weft_comm *comm,
	const struct weft_win_config *config, struct weft_win **win_out);

/* Collective. Waits until no member accesses the window any more. Frees the
 * window even if it returns an error. The caller has called weft_win_may_free()
 * before. */
int weft_win_free(struct weft_win *win);

/* Revokes the window at all live members; any thread. Accesses end, and
 * synchronizations fail with WEFT_ERR_REVOKED. Calls that end an epoch end it,
 * so that the window can be freed. Freeing it waits for no member. */
void weft_win_revoke(struct weft_win *win);

/* WEFT_ERR_RMA_SYNC if MPI_Win_post, MPI_Win_start or a lock has opened an
 * epoch that is still open. An epoch of a fence does not matter. */
int weft_win_may_free(const struct weft_win *win);

/* Sets the name of the window, which errors and log lines print. */
void weft_win_name(struct weft_win *win, const char *name);

/* The longest put or get, in bytes, that is sent as an active message to a
 * member of this node whose memory is not mapped (CREATE). The kernel copies
 * longer puts and gets of contiguous data. The limit is 0 if processes share
 * cores, because the target may not be running. */
int64_t weft_win_message_max(bool shares_cores);

/* Sets *base_out to the address at which this process maps the memory of rank.
 * WEFT_PROC_NULL selects the lowest rank whose memory is mapped and not empty.
 * If the memory is not mapped, *base_out is NULL and *size_out is 0.
 * WEFT_ERR_RMA_FLAVOR for a dynamic window. */
int weft_win_query(struct weft_win *win, int32_t rank, size_t *size_out,
	int64_t *disp_unit_out, void **base_out);

/* Allocates memory for MPI_Alloc_mem. Other processes of the node can map it,
 * so a CREATE window on this memory is as fast as an ALLOCATE window. Falls
 * back to private memory, for example if WEFT_SHM is off. align is a power of
 * two. Returns NULL with an error described. weft_win_mem_free() also accepts
 * NULL and memory of malloc(). Any thread. */
void *weft_win_mem_alloc(size_t len, size_t align);
void weft_win_mem_free(void *base);

/* weft_win_attach() adds size bytes at base to a dynamic window.
 * WEFT_ERR_RMA_ATTACH: these bytes overlap attached memory.
 *
 * weft_win_detach() removes the attached memory that begins at base.
 * WEFT_ERR_RMA_ATTACH: no attached memory begins there.
 *
 * Both return WEFT_ERR_RMA_FLAVOR if the window is not dynamic. */
int weft_win_attach(struct weft_win *win, void *base, size_t size);
int weft_win_detach(struct weft_win *win, const void *base);

/* --- access ------------------------------------------------------------ */

/* A buffer of the program: count items of type. */
struct weft_win_buf {
	void *buf; /* not written if the access only reads it */
	int64_t count;
	const struct weft_type *type;
};

/* One access to the window memory of rank. The target data is count items of
 * type. They begin disp displacement units after the base; in a dynamic window,
 * disp is their address. */
struct weft_win_access {
	struct weft_win_buf origin; /* source of the data; the destination of a
				       get */
	struct weft_win_buf result; /* destination of the former data; type
				       NULL: the access returns none */
	int32_t rank;
	int64_t disp;
	int64_t count; /* number of items at the target */
	const struct weft_type *type;
	const struct weft_redop *op; /* operation of an accumulate; predefined
				      */
	const void *compare; /* value that compare_and_swap compares with */
};

/* An access may be incomplete on return. WEFT_ERR_RMA_SYNC: no epoch allows
 * accesses to rank. WEFT_ERR_RMA_RANGE: the access is outside of the memory of
 * rank. If this process does not know the size of that memory, the target
 * checks the range.
 *
 * req_out is NULL for a call without a request. Otherwise the epoch must be
 * passive, and the caller owns one reference of *req_out. The request is
 * complete when origin may be reused and result is stored. */
int weft_win_put(struct weft_win *win, const struct weft_win_access *access,
	struct weft_req **req_out);
int weft_win_get(struct weft_win *win, const struct weft_win_access *access,
	struct weft_req **req_out);
/* If result.type is NULL, the former data is not returned. NO_OP ignores
 * origin. */
int weft_win_accumulate(struct weft_win *win,
	const struct weft_win_access *access, struct weft_req **req_out);
/* These calls access one item of a predefined type. The counts of origin,
 * result and target are 1. */
int weft_win_fetch_and_op(
	struct weft_win *win, const struct weft_win_access *access);
int weft_win_compare_and_swap(
	struct weft_win *win, const struct weft_win_access *access);

/* Waits until the accesses to rank are complete at the origin, in any epoch
 * that allows accesses to rank. */
int weft_win_finish_local(struct weft_win *win, int32_t rank);

/* --- epochs; WEFT_ERR_RMA_SYNC: the call is not allowed in this epoch ------
 */

int weft_win_fence(struct weft_win *win, unsigned asserts);

/* The group may be empty. WEFT_ERR_GROUP: a process of the group is no member
 * of the window. weft_win_start() waits until each process of the group has
 * called MPI_Win_post, unless NOCHECK is set. If weft_win_test() sets *done_out
 * to true, it has ended the exposure epoch like weft_win_wait(). */
int weft_win_post(
	struct weft_win *win, const struct weft_group *group, unsigned asserts);
int weft_win_start(
	struct weft_win *win, const struct weft_group *group, unsigned asserts);
int weft_win_complete(struct weft_win *win);
int weft_win_wait(struct weft_win *win);
int weft_win_test(struct weft_win *win, bool *done_out);

int weft_win_lock(struct weft_win *win, bool is_exclusive, int32_t rank,
	unsigned asserts);
int weft_win_unlock(struct weft_win *win, int32_t rank);
int weft_win_lock_all(struct weft_win *win, unsigned asserts);
int weft_win_unlock_all(struct weft_win *win);

/* weft_win_flush() waits until the accesses to rank are complete at the origin
 * and at the target. weft_win_flush_local() waits until they are complete at
 * the origin: buffers may be reused, and results are stored. WEFT_PROC_NULL
 * selects all members. */
int weft_win_flush(struct weft_win *win, int32_t rank);
int weft_win_flush_local(struct weft_win *win, int32_t rank);

/* Orders loads and stores of this process with accesses of other members. May
 * make progress. */
int weft_win_sync(struct weft_win *win);

#endif
