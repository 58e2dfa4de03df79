/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn: have a job started, wait for it at a port of its own */
#include "session/spawn.h"

#include "base/err.h"
#include "base/knob.h"
#include "core/outer.h"
#include "session/port.h"
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOIN_S = 120 }; /* the parent is waiting already */

/* The variable is for all apps alike. */
static int start(const struct weft_boot_app *apps, size_t n, const char *port,
	char *job_out)
{
	char pair[sizeof("WEFT_PARENT=") + WEFT_PORT_NAME_MAX];
	char *env[] = { pair, NULL };
	struct weft_boot_app *list = calloc(n, sizeof(*list));
	int err;

	if (!list)
		return WEFT_ERR_NOMEM;
	snprintf(pair, sizeof(pair), "WEFT_PARENT=%s", port);
	for (size_t i = 0; i < n; i++) {
		list[i] = apps[i];
		list[i].env = env;
	}
	weft_lane_take(&weft_proc.lane);
	err = weft_boot_spawn(weft_proc.boot, list, n, job_out);
	weft_lane_drop(&weft_proc.lane);
	free(list);
	if (err == WEFT_ERR_UNSUPPORTED)
		err = weft_err_set(WEFT_ERR_SPAWN,
			"there is no process manager to start processes; start "
			"the program by mpiexec");
	return err;
}

int weft_spawn(struct weft_comm *comm, int32_t root, int err,
	const struct weft_boot_app *apps, size_t n, struct weft_comm **comm_out)
{
	char port[WEFT_PORT_NAME_MAX] = "", job[WEFT_BOOT_JOB_MAX] = "";

	if (comm->rank == root && !err) {
		err = weft_port_open(port);
		if (!err)
			err = start(apps, n, port, job);
	}
	err = weft_port_accept_job(comm, root, err, port, job, comm_out);
	if (*port)
		weft_port_close(port);
	return err;
}

int weft_spawn_join(void)
{
	const char *port = weft_knobs.parent;
	struct weft_comm *parent;
	int err;

	if (!*port)
		return 0;
	err = weft_port_connect(
		weft_world.comms[0], 0, 0, port, JOIN_S, &parent);
	if (err)
		return err;
	snprintf(parent->name, sizeof(parent->name), "MPI_COMM_PARENT");
	weft_world.parent = weft_obj_handle(parent);
	return 0;
}

struct weft_comm *weft_spawn_parent(void)
{
	return weft_world.parent
		       ? weft_table_get(&weft_comms, weft_world.parent)
		       : NULL;
}
