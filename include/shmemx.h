/* SPDX-License-Identifier: BSD-3-Clause */
/* shmemx: extensions of OpenSHMEM 1.6: sessions with hints
 *
 * A session gives the library hints about the use of a context, from its start
 * to its stop. Hints never change results. See shmemx_session_start(3). */
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

#ifdef __cplusplus
}
#endif

#endif
