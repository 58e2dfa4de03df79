/* SPDX-License-Identifier: BSD-3-Clause */
/* liveness: memory that a process shares with its launcher
 *
 * The library stays connected to the process manager after its last session, so
 * that the next one costs nothing. A process that then ends without exit
 * handlers never disconnects, and mpiexec must not report that as a crash. So
 * mpiexec shares memory with every process, through a file descriptor that is
 * named in the environment. There the process publishes whether it has open
 * sessions, and answers where it is. Under other launchers none of this is
 * active. */
#ifndef WEFT_LIVENESS_H
#define WEFT_LIVENESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_LIVENESS_ENV "MPIEXEC_LIFE"

enum { WEFT_LIVENESS_TEXT = 500 };

enum weft_liveness_state {
	WEFT_LIVENESS_UNKNOWN,
	WEFT_LIVENESS_BUSY, /* a session is open */
	WEFT_LIVENESS_IDLE, /* all sessions are closed */
};

/* One per process. The launcher trusts nothing in it. */
struct weft_liveness {
	atomic_uchar state;
	atomic_uint asked;    /* number of the launcher's last question */
	atomic_uint answered; /* number of the question that text answers */
	char text[WEFT_LIVENESS_TEXT]; /* where the process is; ends with NUL */
};

/* Launcher: allocates memory for n processes and a descriptor that they
 * inherit. The launcher names the descriptor in their environment.
 * WEFT_ERR_NOMEM with a description. */
int weft_liveness_create(
	uint32_t n, int *fd_out, struct weft_liveness **lives_out);
void weft_liveness_destroy(uint32_t n, int fd, struct weft_liveness *lives);

/* Launcher: copies where the process is, if it has answered the last question.
 */
bool weft_liveness_read(
	struct weft_liveness *liveness, char text_out[WEFT_LIVENESS_TEXT]);

/* Process: maps its own part, or returns NULL. Stays mapped until the process
 * ends. */
struct weft_liveness *weft_liveness_map(uint32_t rank);

/* Process: answers the launcher's question with the text that describe writes.
 * One thread at a time. liveness may be NULL. */
void weft_liveness_answer(struct weft_liveness *liveness,
	void (*describe)(char *buf, size_t len));

/* liveness may be NULL. */
static inline void weft_liveness_set(
	struct weft_liveness *liveness, enum weft_liveness_state state)
{
	if (liveness)
		atomic_store_explicit(&liveness->state, (unsigned char)state,
			memory_order_relaxed);
}

#endif
