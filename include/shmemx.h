/* SPDX-License-Identifier: BSD-3-Clause */
/* shmemx: extensions of OpenSHMEM 1.6: sessions with hints, the external heap
 *
 * A session gives the library hints about the use of a context, from its start
 * to its stop. Hints never change results. See shmemx_session_start(3).
 *
 * The external heap is device memory of the program that is symmetric. It has
 * the interface of Sandia OpenSHMEM. See shmemx_heap_create(3). */
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Options of a session, combined with bitwise or; 0: none. */
#define SHMEM_SESSION_BUNDLE (1L << 0)
#define SHMEM_SESSION_HRP (1L << 1)
#define SHMEM_SESSION_STAMO (1L << 2)
#define SHMEM_SESSION_NO_CNCR_TACCESS (1L << 3)
#define SHMEM_SESSION_OP_PUT (1L << 4)
#define SHMEM_SESSION_OP_AMO (1L << 5)
#define SHMEM_SESSION_OP_FAMO (1L << 6)
#define SHMEM_SESSION_OP_PWS (1L << 7)
#define SHMEM_SESSION_DC (1L << 8)
#define SHMEM_SESSION_UNIFORM_AMO (1L << 9)

/* Starts a session on ctx. If ctx has an active session, adds the options to
 * it. */
WEFT_SHMEM_API void shmemx_session_start(shmem_ctx_t ctx, long options);

/* Ends the session of ctx; does nothing if there is none. */
WEFT_SHMEM_API void shmemx_session_stop(shmem_ctx_t ctx);

/* Other names of the two functions above. */
WEFT_SHMEM_API void shmemx_ctx_session_start(shmem_ctx_t ctx, long options);
WEFT_SHMEM_API void shmemx_ctx_session_stop(shmem_ctx_t ctx);

/* Types of device memory. The first is Level Zero; the last is an addition of
 * this library. */
#define SHMEMX_EXTERNAL_HEAP_ZE 0
#define SHMEMX_EXTERNAL_HEAP_CUDA 1
#define SHMEMX_EXTERNAL_HEAP_ROCM 2

/* The PEs on the node of the calling PE. */
WEFT_SHMEM_API extern const shmem_team_t SHMEMX_TEAM_NODE;

/* Initialize the library, in place of shmem_init() and shmem_init_thread().
 * shmemx_heap_postinit() must follow. Between both calls, the program may use
 * the library, and may call shmemx_heap_create(). shmemx_heap_preinit_thread()
 * returns 0, or a nonzero value after an error. Collective. */
WEFT_SHMEM_API void shmemx_heap_preinit(void);
WEFT_SHMEM_API int shmemx_heap_preinit_thread(int requested, int *provided);

/* Makes size bytes of device memory at base the external heap of this PE. At
 * most one call; if one PE calls it, all PEs must, with the same size. The
 * memory must exist until the last shmem_finalize(). device_index is not used.
 * The call is local. */
WEFT_SHMEM_API void shmemx_heap_create(
	void *base, size_t size, int device_type, int device_index);

/* Opens the external heap: addresses in it are symmetric afterwards.
 * Collective. */
WEFT_SHMEM_API void shmemx_heap_postinit(void);

#ifdef __cplusplus
}
#endif

#endif
