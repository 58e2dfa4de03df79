/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn: a job starts another one and connects to it
 *
 * The process manager starts the new job. An environment variable contains the
 * name of a port of the root. The new job connects to this port
 * (session/parent.c). */
#ifndef WEFT_SPAWN_H
#define WEFT_SPAWN_H

#include "boot/boot.h"
#include "core/comm.h"

#include <stddef.h>

/* Starts n apps as a new job, and creates the intercommunicator to it.
 * Collective over comm. Only the root uses apps, n and err. err is a fault of
 * the root's arguments, which all members return. Blocks until the new job has
 * connected. WEFT_ERR_SPAWN: the job could not be started, or ended
 * before it connected. soft (spawn_soft.h) permits fewer processes of the first
 * app if the manager refuses more; apps[0].n is then the number that was
 * started. */
int weft_spawn(struct weft_comm *comm, int32_t root, int err,
	struct weft_boot_app *apps, size_t n, const char *soft,
	struct weft_comm **comm_out);

/* Connects a spawned job to the job that spawned it. Collective over all, which
 * contains all processes of the job. */
int weft_spawn_join(struct weft_comm *all, struct weft_comm **parent_out);

/* Returns the communicator to the job that spawned this job, or NULL. */
struct weft_comm *weft_spawn_parent(void);

#endif
