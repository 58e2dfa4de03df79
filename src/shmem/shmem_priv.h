/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_priv: shared declarations of this room
 *
 * A handle is a number. SHMEM_CTX_DEFAULT and SHMEM_TEAM_WORLD are small
 * numbers. The others are handles of objects in tables, so a stale or invalid
 * handle is detected. A fault of the caller ends the job with a message,
 * because most procedures of OpenSHMEM cannot return an error. */
#ifndef WEFT_SHMEM_PRIV_H
#define WEFT_SHMEM_PRIV_H

#define WEFT_SHMEM_NO_GENERIC
#include <pshmem.h>
#include <shmemx.h>

#include "base/bits.h"
#include "base/handle.h"
#include "core/comm.h"
#include "core/group.h"
#include "dt/type.h"
#include "rma/rma.h"
#include "session/session.h"
#include "watchdog/request.h"

/* A group of PEs. SHMEM_TEAM_SHARED and SHMEMX_TEAM_NODE create their
 * communicators at their first collective. Any other team has a communicator
 * from the start. No lock guards a team, because calls that change a team are
 * collective. */
struct weft_shmem_team {
	struct weft_obj obj;
	struct weft_group *group; /* its ranks are the PE numbers of the team */
	struct weft_comm *comm;	  /* NULL: not created yet */
	uint32_t n_pes;
	uint32_t my_pe;
	bool is_world;	  /* ranks are the PE numbers of the world */
	bool is_mine;	  /* false for the predefined teams, which cannot be
			     destroyed */
	int num_contexts; /* number of contexts in the team's configuration */
	/* fields of the team of an active set; see shmem_coll.c */
	uint64_t triplet;
	struct weft_shmem_team *next;
};

/* A context. One thread uses it, or rma serialises its accesses. */
struct weft_shmem_ctx {
	struct weft_obj obj;
	struct weft_rma_ctx *rma;
	struct weft_shmem_team *team;
	shmem_team_t team_handle;
	long options; /* options of its creation */
	long session; /* hints of the session (SHMEM_SESSION_...); 0: none */
	bool has_session;
	size_t total_ops;
};

enum { WEFT_SHMEM_INLINE = 256 }; /* bytes of the longest inline copy */

/* The external heap: device memory of the program that is symmetric
 * (shmem_ext.c). Written by shmemx_heap_..., init and finalize. */
struct weft_shmem_ext {
	char *base;
	size_t asked;	      /* length from shmemx_heap_create; 0: no call */
	size_t len;	      /* 0: there is no external heap */
	struct weft_win *win; /* NULL if len is 0 */
	bool is_pending;      /* between heap_preinit and heap_postinit */
};

/* The state of OpenSHMEM in this process. Only init and finalize write it,
 * except the counters, the hints of ctx, the communicators of shared and node,
 * and ext.
 *
 * inline_max and tested_max depend on whether private buffers may be in device
 * memory. Procedures compare lengths with them in place of constants, so host
 * memory costs no instruction more (shmem_stage.c). */
struct weft_shmem {
	int n_inits; /* number of inits without a finalize */
	int level;   /* SHMEM_THREAD_... */
	bool is_debug;
	struct weft_session *session;
	size_t inline_max; /* bytes of the longest copy that a procedure makes
			      itself: WEFT_SHMEM_INLINE, or 0 if buffers may
			      be in device memory or the library is closed */
	size_t tested_max; /* the buffer of a transfer of at most so many bytes
			      is tested: SIZE_MAX, or 0 if buffers are in
			      host memory */
	struct weft_shmem_team world;
	struct weft_shmem_team shared;
	struct weft_shmem_ctx ctx;   /* the default context */
	struct weft_shmem_team node; /* SHMEMX_TEAM_NODE */
	struct weft_shmem_ext ext;
	struct weft_counters counters; /* of shmem_rma.c */
};

extern struct weft_shmem weft_shmem __attribute__((visibility("hidden")));
extern struct weft_table weft_shmem_ctxs;

/* --- faults: all print "<procedure>: <what, value, remedy>" and end the job */

void weft_shmem_fatal(const char *fn, const char *fmt, ...)
	__attribute__((noreturn, cold, format(printf, 2, 3)));

/* Reports an error of a lower room. */
void weft_shmem_fatal_err(const char *fn, int err)
	__attribute__((noreturn, cold));

/* Reports that pe is not from 0 to n_pes - 1, or that the library is not open.
 */
void weft_shmem_fatal_pe(const char *fn, int pe, uint32_t n_pes)
	__attribute__((noreturn, cold));

/* Ends the job unless [sym, sym + len) is symmetric, or checks are off. */
void weft_shmem_check_sym(
	const char *fn, const char *arg, const void *sym, size_t len);

/* Ends the job unless the library is open. */
void weft_shmem_check_open(const char *fn);

static inline void weft_shmem_ok(const char *fn, int err)
{
	if (weft_unlikely(err))
		weft_shmem_fatal_err(fn, err);
}

/* --- handles ------------------------------------------------------------- */

/* Returns the context of a handle; ends the job if there is none. */
struct weft_shmem_ctx *weft_shmem_ctx_find(const char *fn, shmem_ctx_t ctx);

static inline struct weft_shmem_ctx *weft_shmem_ctx_of(
	const char *fn, shmem_ctx_t ctx)
{
	struct weft_shmem_ctx *c;

	if (ctx == SHMEM_CTX_DEFAULT)
		return &weft_shmem.ctx;
	c = weft_table_get(&weft_shmem_ctxs, (uintptr_t)ctx);
	return weft_likely(c) ? c : weft_shmem_ctx_find(fn, ctx);
}

static inline struct weft_rma_ctx *weft_shmem_rma(
	const char *fn, shmem_ctx_t ctx)
{
	return weft_shmem_ctx_of(fn, ctx)->rma;
}

/* Returns the team of a handle, NULL for SHMEM_TEAM_INVALID; ends the job if
 * there is none. */
struct weft_shmem_team *weft_shmem_team_find(const char *fn, shmem_team_t team);

/* Returns the team of a handle for a collective: the team has a communicator
 * afterwards. Ends the job if there is no such team, also for
 * SHMEM_TEAM_INVALID. */
struct weft_shmem_team *weft_shmem_team_ready(
	const char *fn, shmem_team_t team);

/* Translates a PE of the team to a PE of the world. Ends the job if the team
 * has no such PE. */
uint32_t weft_shmem_team_pe(
	const char *fn, const struct weft_shmem_team *team, int pe);

static inline __attribute__((always_inline)) uint32_t weft_shmem_pe(
	const char *fn, shmem_ctx_t ctx, int pe)
{
	const struct weft_shmem_team *team;

	if (ctx != SHMEM_CTX_DEFAULT) {
		team = weft_shmem_ctx_of(fn, ctx)->team;
		if (!team->is_world)
			return weft_shmem_team_pe(fn, team, pe);
	}
	if (weft_unlikely((uint32_t)pe >= weft_rma.n_pes))
		weft_shmem_fatal_pe(fn, pe, weft_rma.n_pes);
	return (uint32_t)pe;
}

/* Returns the address of a PE's [sym, sym + len) in this process. NULL if the
 * PE is on another node, or the range is not symmetric. pe is a PE of the
 * world. */
static inline void *weft_shmem_local(const void *sym, size_t len, uint32_t pe)
{
	void *at = weft_rma_local(sym, pe);
	size_t in_heap = (size_t)((const char *)sym - weft_rma.heap.base);
	size_t in_data;

	if (weft_likely(in_heap < weft_rma.heap.len))
		return len <= weft_rma.heap.len - in_heap ? at : NULL;
	in_data = (size_t)((const char *)sym - weft_rma.data.base);
	return in_data < weft_rma.data.len && len <= weft_rma.data.len - in_data
		       ? at
		       : NULL;
}

/* --- between files ------------------------------------------------------- */

/* weft_shmem_env_heap() reads the size of the symmetric heap from the
 * environment; 0, or an error that weft_err_set() describes.
 * weft_shmem_env_has() returns whether a variable is set.
 * weft_shmem_env_print() prints the text of SHMEM_INFO. */
int weft_shmem_env_heap(size_t *len_out);
bool weft_shmem_env_has(const char *name);
void weft_shmem_env_print(void);

/* weft_shmem_teams_open() opens the predefined teams, after weft_rma_open().
 * weft_shmem_sets_close() empties the list of teams of active sets.
 * weft_shmem_teams_close() closes the predefined teams, and frees the teams
 * that the program has not destroyed. Both closing functions are called after
 * weft_rma_close(). */
int weft_shmem_teams_open(struct weft_comm *comm);
void weft_shmem_teams_close(void);
void weft_shmem_sets_close(void);

/* Destroys the contexts of a team; NULL: all contexts. */
void weft_shmem_ctxs_close(const struct weft_shmem_team *team);

/* Completes the accesses of the default context, then runs a barrier of all
 * PEs. */
void weft_shmem_barrier(const char *fn);

/* Sets the procedure whose name appears in reports of this thread's long waits.
 * NULL: the thread waits in no procedure of OpenSHMEM. */
static inline void weft_shmem_set_caller(const char *fn)
{
	weft_request_set_caller(fn);
}

/* Returns the bytes from the start of the first block to the end of the last
 * block. If the step is negative, returns the bytes of the first block. */
static inline size_t weft_shmem_spread(
	const struct weft_rma_stride *how, ptrdiff_t step)
{
	return how->len + (how->n - 1) * (size_t)(step < 0 ? 0 : step);
}

/* --- the external heap ------------------------------------------------------
 */

/* True if sym is in the external heap. */
static inline bool weft_shmem_in_ext(const void *sym)
{
	return (size_t)((const char *)sym - weft_shmem.ext.base) <
	       weft_shmem.ext.len;
}

/* Ends the job if [sym, sym + len) is not in the external heap as a whole. sym
 * is in it. */
void weft_shmem_ext_check(
	const char *fn, const char *arg, const void *sym, size_t len);

/* As weft_rma_iput() and weft_rma_iget(). The symmetric address is in the
 * external heap, and the private buffer is in host memory. Complete at both PEs
 * on return. Operations of the context at the PE are complete before a put.
 * Reports of long waits name fn. */
int weft_shmem_ext_iput(const char *fn, struct weft_rma_ctx *ctx, void *dest,
	const void *src, const struct weft_rma_stride *how, uint32_t pe);
int weft_shmem_ext_iget(const char *fn, struct weft_rma_ctx *ctx, void *dest,
	const void *src, const struct weft_rma_stride *how, uint32_t pe);

/* Each returns false if the symmetric address is not in the external heap.
 * Otherwise it carries out the access, which is complete at both PEs, and
 * returns true. The other buffer is in host memory. An error ends the job. */
bool weft_shmem_ext_put(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, const struct weft_rma_stride *how, uint32_t pe);
bool weft_shmem_ext_get(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, const struct weft_rma_stride *how, uint32_t pe);
bool weft_shmem_ext_amo(const char *fn, shmem_ctx_t ctx, const char *arg,
	const void *dest, const struct weft_amo *amo, uint64_t *was_out,
	uint32_t pe);

/* Closes the external heap. Collective. */
int weft_shmem_ext_close(void);

/* --- device memory ----------------------------------------------------------
 */

/* The buffers of a collective. The caller fills the first group of fields.
 * weft_shmem_stage_open() replaces a buffer in the external heap by host
 * memory. */
struct weft_shmem_pair {
	void *dest;
	const void *source;
	size_t dest_len, source_len;
	/* blocks of dest that the collective writes */
	size_t n, len;
	ptrdiff_t step;
	/* below: only shmem_stage.c */
	void *dest_dev, *dest_host, *source_host;
};

/* weft_shmem_stage_open() also copies the source to host memory.
 * weft_shmem_stage_close() copies the blocks of dest back if is_written is set,
 * and frees the host memory. An error ends the job. */
void weft_shmem_stage_open(const char *fn, struct weft_shmem_pair *pair);
void weft_shmem_stage_close(
	const char *fn, struct weft_shmem_pair *pair, bool is_written);

/* Called if private buffers may be in device memory. Each returns false if the
 * private buffer of the transfer is in host memory, and the symmetric address
 * is not in the external heap. Otherwise it carries out the transfer, which is
 * complete at this PE, and returns true. A failed copy ends the job. So does an
 * address that is not symmetric.
 *
 * how->n and how->len are not 0. */
bool weft_shmem_stage_put(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, const struct weft_rma_stride *how, uint32_t pe);
bool weft_shmem_stage_get(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, const struct weft_rma_stride *how, uint32_t pe);
bool weft_shmem_stage_fetch(const char *fn, shmem_ctx_t ctx, const void *dest,
	const struct weft_amo *amo, void *fetched, uint32_t pe);

/* Ends the job if ptr, which may be NULL, is in device memory. */
void weft_shmem_refuse_dev(const char *fn, const char *arg, const void *ptr);

/* Creates a type of len bytes, and an extent of step bytes. The caller owns it.
 */
int weft_shmem_spaced(size_t len, ptrdiff_t step, struct weft_type **type_out);

/* Creates a team for a new communicator, which the team owns; NULL when out of
 * memory. */
struct weft_shmem_team *weft_shmem_team_make(struct weft_comm *comm);

#endif
