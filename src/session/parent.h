/* SPDX-License-Identifier: BSD-3-Clause */
/* parent: connects a spawned job to its parent job
 *
 * The first MPI_Init or MPI_Session_init of a spawned process connects,
 * together with the other processes of its job. If that call is
 * MPI_Session_init, the communicator to the parents belongs to a session of the
 * library. A later MPI_Init moves it to the World. Otherwise the library closes
 * this session when the process exits. */
#ifndef WEFT_PARENT_H
#define WEFT_PARENT_H

#include "core/group.h"

#define WEFT_PSET_PARENT "mpi://PARENT"

/* Connects to the parent job if this process was spawned and is not connected
 * yet. is_world: MPI_Init calls; then the communicator to the parents belongs
 * to the World, which is open. Collective over the job and the parents; blocks.
 * Any thread, without a lock. */
int weft_parent_join(bool is_world);

/* Returns the processes that spawned this job, or NULL. The group is valid
 * until the process exits. */
const struct weft_group *weft_parent_group(void);

#endif
