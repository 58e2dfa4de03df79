/* SPDX-License-Identifier: BSD-3-Clause */
/* state: what this process is in, for whoever looks from outside */
#ifndef WEFT_STATE_H
#define WEFT_STATE_H

#include <stddef.h>

/* Writes one line: "in MPI_Recv from rank 3, tag 5, of communicator "x", for 12
 * s", or that it is in no call that waits; several such calls of several
 * threads one after the other. Any thread, whatever locks it holds but the
 * registry's; never blocks. */
void weft_state_describe(char *buf, size_t len);

#endif
