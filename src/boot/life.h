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
#ifndef WEFT_LIFE_H
#define WEFT_LIFE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_LIFE_ENV "MPIEXEC_LIFE"

enum { WEFT_LIFE_TEXT = 500 };

enum weft_life_state {
	WEFT_LIFE_UNKNOWN,
	WEFT_LIFE_BUSY, /* a session is open */
	WEFT_LIFE_IDLE, /* all that were opened are closed */
};

/* One a process.  The launcher trusts nothing in it. */
struct weft_life {
	atomic_uchar state;
	atomic_uint asked;	   /* number of the launcher's last question */
	atomic_uint answered;	   /* which one text is about */
	char text[WEFT_LIFE_TEXT]; /* where the process is; ends with 0 */
};

/*
 * Launcher: memory for n processes and a descriptor that they inherit, to be
 * named in their environment. WEFT_ERR_NOMEM.
 */
int weft_life_make(uint32_t n, int *fd_out, struct weft_life **lives_out);
void weft_life_unmake(uint32_t n, int fd, struct weft_life *lives);

/* Launcher: where the process says it is, if it has answered the last
 * question. */
bool weft_life_read(struct weft_life *life, char text_out[WEFT_LIFE_TEXT]);

/* Process: my piece, or NULL. Stays mapped until the process ends. */
struct weft_life *weft_life_join(uint32_t rank);

/* Process: answer the launcher's question with what describe writes.  One
 * thread at a time.  life may be NULL. */
void weft_life_answer(
	struct weft_life *life, void (*describe)(char *buf, size_t len));

/* life may be NULL. */
static inline void weft_life_set(
	struct weft_life *life, enum weft_life_state state)
{
	if (life)
		atomic_store_explicit(&life->state, (unsigned char)state,
			memory_order_relaxed);
}

#endif
