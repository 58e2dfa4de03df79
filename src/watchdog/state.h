/* SPDX-License-Identifier: BSD-3-Clause */
/* state: describes the calls in which this process waits */
#ifndef WEFT_STATE_H
#define WEFT_STATE_H

#include <stddef.h>

/* Writes one line for a debugger or the launcher: "in MPI_Recv from rank 3, tag
 * 5, of communicator "x", for 12 s". The line lists the calls of all threads
 * that wait, or states that no thread waits. Any thread may call this function,
 * with any lock held except the registry's. It waits for no other lock, and
 * never sleeps. */
void weft_state_describe(char *buf, size_t len);

#endif
