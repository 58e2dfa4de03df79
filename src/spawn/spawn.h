/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn: a job starts another one and meets it
 *
 * The process manager starts it; its first process is told the name of a port
 * by a variable and connects there when the World is initialized. */
#ifndef WEFT_SPAWN_H
#define WEFT_SPAWN_H

#include "boot/boot.h"
#include "core/comm.h"

#include <stddef.h>

/* Collective over comm; apps and n matter at root, and err, which is what is
 * wrong with them: everybody gets it. Blocks until the new job's World has met.
 * WEFT_ERR_SPAWN when it could not be started, or ended before
 * that. Of the apps' env the first pair counts. With soft (spawn_soft.h) fewer
 * of the first app are tried when the manager refuses; its n says how many were
 * started. */
int weft_spawn(struct weft_comm *comm, int32_t root, int err,
	struct weft_boot_app *apps, size_t n, const char *soft,
	struct weft_comm **comm_out);

/* What the World of a job does that another one started; nothing in others. */
int weft_spawn_join(void);

/* The communicator to those who started this job, or NULL. */
struct weft_comm *weft_spawn_parent(void);

#endif
