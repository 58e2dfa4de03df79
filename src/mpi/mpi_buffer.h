/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_buffer: attached buffers at the end of the World Model and of the last
 * session */
#ifndef WEFT_MPI_BUFFER_H
#define WEFT_MPI_BUFFER_H

/* Detaches the process's buffer if no session is open, as the standard
 * requires. Called after a session has closed. */
void weft_mpi_buffer_drop(void);

#endif
