/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * life: a process tells its launcher whether it has sessions open
 *
 * The library stays connected to the process manager after its last session,
 * so that the next one costs nothing. A process that then ends without running
 * exit handlers never says goodbye; mpiexec must not take that for a crash.
 * So mpiexec hands every process one byte of shared memory, through a file
 * descriptor named in the environment. Other launchers do not; then all of
 * this does nothing.
 */
#ifndef WEFT_LIFE_H
#define WEFT_LIFE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WEFT_LIFE_ENV "MPIEXEC_LIFE"

enum weft_life {
	WEFT_LIFE_UNKNOWN,
	WEFT_LIFE_BUSY, /* a session is open */
	WEFT_LIFE_IDLE, /* all that were opened are closed */
};

/*
 * Launcher: memory for n processes and a descriptor that they inherit, to be
 * named in their environment. WEFT_ERR_NOMEM.
 */
int weft_life_make(uint32_t n, int *fd_out, atomic_uchar **bytes_out);
void weft_life_unmake(uint32_t n, int fd, atomic_uchar *bytes);

/* Process: my byte, or NULL. Stays mapped until the process ends. */
atomic_uchar *weft_life_join(uint32_t rank);

/* byte may be NULL. */
static inline void weft_life_set(atomic_uchar *byte, enum weft_life life)
{
	if (byte)
		atomic_store_explicit(
			byte, (unsigned char)life, memory_order_relaxed);
}

#endif
