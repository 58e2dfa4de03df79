/* SPDX-License-Identifier: BSD-3-Clause */
/* liveness: memory that a process shares with its launcher
 *
 * The library stays connected to the process manager after its last session, so
 * that the next session opens fast. If the process then ends without running
 * exit handlers, it never disconnects. mpiexec must not report this end as a
 * crash. So mpiexec shares memory with every process, through a file descriptor
 * that the environment names. In this memory the process publishes whether it
 * has open sessions, and describes its state when mpiexec requests it. Under
 * other launchers this memory does not exist. */
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

/* One struct for each process. The launcher checks all values that it reads
 * from the struct. */
struct weft_liveness {
	atomic_uchar state;
	atomic_uint asked;    /* number of the launcher's last request */
	atomic_uint answered; /* number of the request that `text` answers */
	char text[WEFT_LIVENESS_TEXT]; /* the state of the process, with NUL */
};

/* Launcher: allocates memory for n processes and a descriptor that they
 * inherit. WEFT_ERR_NOMEM with a description. */
int weft_liveness_create(
	uint32_t n, int *fd_out, struct weft_liveness **lives_out);
void weft_liveness_destroy(uint32_t n, int fd, struct weft_liveness *lives);

/* Launcher: writes the variable that names the descriptor, the version of Weft
 * and the size of the struct. The processes inherit it. */
void weft_liveness_print(int fd, char *buf, size_t len);

/* Launcher: copies the description of the process's state. False if the process
 * has not answered the last request. */
bool weft_liveness_read(
	struct weft_liveness *liveness, char text_out[WEFT_LIVENESS_TEXT]);

/* Process: maps its own struct until the process ends. NULL if the launcher has
 * no such memory. A launcher of another version or with another struct causes a
 * warning, and its memory is not used. */
struct weft_liveness *weft_liveness_map(uint32_t rank);

/* Process: answers the launcher's request with the text that describe() writes.
 * One thread at a time. liveness may be NULL. */
void weft_liveness_answer(struct weft_liveness *liveness,
	void (*describe)(char *buf, size_t len));

/* Process: publishes whether it has open sessions. liveness may be NULL. */
static inline void weft_liveness_set(
	struct weft_liveness *liveness, enum weft_liveness_state state)
{
	if (liveness)
		atomic_store_explicit(&liveness->state, (unsigned char)state,
			memory_order_relaxed);
}

#endif
