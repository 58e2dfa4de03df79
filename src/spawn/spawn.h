/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn: a job starts another one and connects to it
 *
 * The process manager starts the new job. An environment variable holds the
 * name of a port of the root; the new job connects there when its World is
 * initialized. */
#ifndef WEFT_SPAWN_H
#define WEFT_SPAWN_H

#include "boot/boot.h"
#include "core/comm.h"

#include <stddef.h>

/* Collective over comm. apps, n and err matter at root only; err is a fault of
 * the root's arguments, which all members return. Blocks until the new job's
 * World has connected. WEFT_ERR_SPAWN when the job could not be started, or
 * ended before that. With soft (spawn_soft.h) fewer processes of the first app
 * are tried when the manager refuses; its n is the number started. */
int weft_spawn(struct weft_comm *comm, int32_t root, int err,
	struct weft_boot_app *apps, size_t n, const char *soft,
	struct weft_comm **comm_out);

/* Connects the World of a job to the job that spawned it; does nothing in other
 * jobs. */
int weft_spawn_join(void);

/* The communicator to the job that spawned this one, or NULL. */
struct weft_comm *weft_spawn_parent(void);

#endif
