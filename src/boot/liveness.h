/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * life: memory that a process shares with its launcher
 *
 * The library stays connected to the process manager after its last session,
 * so that the next one costs nothing. A process that then ends without running
 * exit handlers never says goodbye; mpiexec must not take that for a crash.
 * So mpiexec shares a piece of memory with every process, through a file
 * descriptor named in the environment: there the process says whether it has
 * sessions open, and answers where it is. Other launchers do not; then all of
 * this does nothing.
 */
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
	WEFT_LIVENESS_IDLE, /* all that were opened are closed */
};

/* One a process.  The launcher trusts nothing in it. */
struct weft_liveness {
	atomic_uchar state;
	atomic_uint asked;    /* number of the launcher's last question */
	atomic_uint answered; /* which one text is about */
	char text[WEFT_LIVENESS_TEXT]; /* where the process is; ends with 0 */
};

/*
 * Launcher: memory for n processes and a descriptor that they inherit, to be
 * named in their environment. WEFT_ERR_NOMEM with a description.
 */
int weft_liveness_make(
	uint32_t n, int *fd_out, struct weft_liveness **lives_out);
void weft_liveness_unmake(uint32_t n, int fd, struct weft_liveness *lives);

/* Launcher: where the process says it is, if it has answered the last
 * question. */
bool weft_liveness_read(
	struct weft_liveness *liveness, char text_out[WEFT_LIVENESS_TEXT]);

/* Process: my piece, or NULL. Stays mapped until the process ends. */
struct weft_liveness *weft_liveness_join(uint32_t rank);

/* Process: answer the launcher's question with what describe writes.  One
 * thread at a time.  life may be NULL. */
void weft_liveness_answer(struct weft_liveness *liveness,
	void (*describe)(char *buf, size_t len));

/* life may be NULL. */
static inline void weft_liveness_set(
	struct weft_liveness *liveness, enum weft_liveness_state state)
{
	if (liveness)
		atomic_store_explicit(&liveness->state, (unsigned char)state,
			memory_order_relaxed);
}

#endif
