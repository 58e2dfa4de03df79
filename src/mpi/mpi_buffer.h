/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_buffer: what the ends of the two models do about attached buffers */
#ifndef WEFT_MPI_BUFFER_H
#define WEFT_MPI_BUFFER_H

/* The last session has been closed: detaches the process's buffer, as the
 * standard wants. Nothing happens while sessions are open. */
void weft_mpi_buffer_drop(void);

#endif
