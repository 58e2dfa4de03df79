/* SPDX-License-Identifier: BSD-3-Clause */
/* win: windows and one-sided access to them, as upper rooms call it
 *
 * A window is memory that each member of a communicator exposes to the others.
 * It owns a private duplicate of that communicator, through which it is a child
 * of the session. Memory of another process of the node is mapped here. Where
 * it cannot be mapped (MPI_Win_create), the kernel copies long data. All other
 * accesses are active messages, which the target's CPU carries out.
 *
 * The caller has checked the arguments: the rank is in range (not
 * WEFT_PROC_NULL), types are committed, counts are not negative, an operation
 * is predefined and fits its type. Displacements and epochs are checked here.
 * No call needs the VCI's lock. Any thread may call, but one thread at a time
 * opens and closes the epochs of a window.
 *
 * Errors: 0, or a negative enum weft_err described by weft_err_set(). If a
 * target refuses an operation, the call that completes the operation there
 * returns the error. A call outside its epoch, or an access out of range, is
 * refused before anything is done. MPI 4.1, chapter 12. */
#ifndef WEFT_WIN_H
#define WEFT_WIN_H

#include "am/am.h"
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

/* The values of the standard's constants are the API room's business. */
enum weft_win_flavor {
	WEFT_WIN_CREATE,
	WEFT_WIN_ALLOCATE,
	WEFT_WIN_DYNAMIC,
	WEFT_WIN_SHARED,
};

enum weft_win_assert {
	WEFT_WIN_NOCHECK = 1 << 0,
	WEFT_WIN_NOSTORE = 1 << 1,
	WEFT_WIN_NOPUT = 1 << 2,
	WEFT_WIN_NOPRECEDE = 1 << 3,
	WEFT_WIN_NOSUCCEED = 1 << 4,
};

enum { WEFT_WIN_NAME_MAX = 128, WEFT_WIN_PAGE = 256 };

/* A window to create; info keys that the caller has read. */
struct weft_win_config {
	enum weft_win_flavor flavor;
	void *base; /* CREATE: lent until the window is freed */
	size_t size;
	int64_t disp_unit; /* > 0 */
	bool is_noncontig; /* SHARED: each member's memory on pages of its own
			    */
	bool has_no_locks; /* no passive target was promised */
	size_t align;	   /* of allocated memory; a power of two or 0 */
};

/* Created by weft_win_create, destroyed by weft_win_free or with its session.
 * Constant but for what says otherwise. */
struct weft_win {
	struct weft_obj obj;
	struct weft_comm *comm; /* its own */
	int32_t comm_size;
	enum weft_win_flavor flavor;
	void *base; /* mine */
	size_t size;
	int64_t disp_unit;
	bool has_no_locks;
	bool is_unified; /* accesses of others become visible without a call */
	char name[WEFT_WIN_NAME_MAX];
	/* only core/attr.c, core/info.c, core/errh.c */
	struct weft_attrs *attrs;
	struct weft_info *info;
	struct weft_errh *errh;
	/* ---- below: only this room; spin guards the epochs ---- */
	struct weft_win_target ***targets; /* [rank / PAGE][rank % PAGE], made
					      on use */
	struct weft_link opened;	   /* targets with is_open */
	uint8_t access;			   /* enum weft_win_access_epoch */
	bool is_exposed;		   /* between post and wait */
	bool is_nocheck;		   /* LOCK_ALL without locks */
	bool has_remote;   /* some member is reached by messages */
	bool is_uniform;   /* all have my size and displacement unit */
	bool polls_states; /* fences are seen in memory */
	bool uses_rma;	   /* the fabric puts and gets by itself where it can */
	uint32_t n_locks;  /* LOCK: targets locked */
	uint32_t n_unlocks;
	_Atomic uint32_t n_flushes;
	struct weft_spin spin;
	struct weft_group *started, *posted; /* NULL outside their epochs */
	struct weft_win_memory *memory;
	struct weft_rma_region region; /* my memory, for the fabric */
	struct weft_win_state *state;  /* mine, that others of the node see */
	struct weft_progress_user *progress; /* the VCI's; NULL: without */
	struct weft_link waiters; /* for my lock, by message; VCI's lock */
	struct weft_progress_hook waiters_hook; /* while there are any */
	struct weft_link arrivals; /* long data on its way here; VCI's lock */
	struct weft_am am;	   /* VCI's lock */
	struct weft_win_op *spare; /* to be used again; VCI's lock */
	struct weft_intervals attached; /* dynamic; VCI's lock */
};

extern struct weft_table weft_wins;

/* Installs the handlers; called when a VCI opens. */
void weft_win_open(struct weft_vci *vci);

/* The process ends: closes the RMA domain, OpenSHMEM's too. */
void weft_win_rma_close(void);

/* Collective over comm, an intracommunicator; all fail or none.
 * WEFT_ERR_RMA_SHARED where SHARED is asked for and the members share no
 * memory. */
int weft_win_create(struct weft_comm *comm,
	const struct weft_win_config *config, struct weft_win **win_out);

/* Collective; waits until no member accesses the window any more, unless it has
 * no locks. The window is freed, with an error too. Not inside an epoch that
 * weft_win_may_free() refuses. */
int weft_win_free(struct weft_win *win);

/* WEFT_ERR_RMA_SYNC inside an epoch. */
int weft_win_may_free(const struct weft_win *win);

/* Its name, also in reports. */
void weft_win_name(struct weft_win *win, const char *name);

/* Bytes of the longest put or get to memory of a process of this node that is
 * not mapped (CREATE) that is an active message; the kernel copies longer ones.
 * A message is carried out sooner if its target has a core of its own. */
int64_t weft_win_message_max(bool shares_cores);

/* Where rank's memory is mapped here. rank WEFT_PROC_NULL: the lowest one that
 * exposes any. *base_out is NULL and *size_out 0 when it is not mapped.
 * WEFT_ERR_RMA_FLAVOR for a dynamic window. */
int weft_win_query(struct weft_win *win, int32_t rank, size_t *size_out,
	int64_t *disp_unit_out, void **base_out);

/* Memory that the node's other processes can map, so that a window made of it
 * (CREATE) is as fast as one that is allocated; or any, where nobody maps
 * memory. align: a power of two. NULL with an error described. Any time, any
 * thread; free takes NULL and what malloc() gave as well. */
void *weft_win_mem_alloc(size_t len, size_t align);
void weft_win_mem_free(void *base);

/* Dynamic windows, else WEFT_ERR_RMA_FLAVOR. WEFT_ERR_RMA_ATTACH when the
 * memory overlaps what is attached, or none begins at base. */
int weft_win_attach(struct weft_win *win, void *base, size_t size);
int weft_win_detach(struct weft_win *win, const void *base);

/* --- access ------------------------------------------------------------ */

/* count items of type at buf. */
struct weft_win_buf {
	void *buf; /* const for what is read */
	int64_t count;
	const struct weft_type *type;
};

/* One access to rank's memory: count items of type, disp units from its base
 * (dynamic: the address). */
struct weft_win_access {
	struct weft_win_buf origin; /* of get: where it goes */
	struct weft_win_buf result; /* fetching ones */
	int32_t rank;
	int64_t disp;
	int64_t count; /* at the target */
	const struct weft_type *type;
	const struct weft_redop *op; /* accumulates; predefined */
	const void *compare;	     /* compare_and_swap */
};

/* Each may still be under way on return. WEFT_ERR_RMA_SYNC outside an epoch for
 * rank, WEFT_ERR_RMA_RANGE outside its memory where that is known here. With
 * req_out: *req_out has one reference, the caller's, and is done when origin
 * may be reused and result is there; only in a passive epoch. NULL: no request.
 */
int weft_win_put(struct weft_win *win, const struct weft_win_access *access,
	struct weft_req **req_out);
int weft_win_get(struct weft_win *win, const struct weft_win_access *access,
	struct weft_req **req_out);
/* result.type NULL: nothing is fetched. origin is ignored with NO_OP. */
int weft_win_accumulate(struct weft_win *win,
	const struct weft_win_access *access, struct weft_req **req_out);
/* One item of a predefined type: origin, result and target have count 1. */
int weft_win_fetch_and_op(
	struct weft_win *win, const struct weft_win_access *access);
int weft_win_compare_and_swap(
	struct weft_win *win, const struct weft_win_access *access);

/* --- epochs: WEFT_ERR_RMA_SYNC for whatever is out of turn ---------------- */

int weft_win_fence(struct weft_win *win, unsigned asserts);

/* The group may be empty; its members are members of the window, else
 * WEFT_ERR_GROUP. start waits for the posts unless NOCHECK. */
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

/* rank WEFT_PROC_NULL: all. local: origin buffers may be reused, results are
 * there; else all is done at the target as well. */
int weft_win_flush(struct weft_win *win, int32_t rank);
int weft_win_flush_local(struct weft_win *win, int32_t rank);

/* Orders plain loads and stores with others' accesses; makes progress. */
int weft_win_sync(struct weft_win *win);

#endif
