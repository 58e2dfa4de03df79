/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn: start a job, and accept its connection at a new port */
#include "spawn/spawn.h"

#include "base/err.h"
#include "base/knob.h"
#include "transport/foreign.h"
#include "spawn/port.h"
#include "core/session_data.h"
#include "spawn/spawn_soft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	JOIN_S = 120, /* seconds for the connect of the started processes to
		       * their parent */
	TRIES = 16,   /* starts of one spawn, each with fewer processes than the
		       * last */
};

/* Starts the apps. The variable with the port's name precedes each app's own
 * variables. No VCI's lock is held, because the manager may be slow. */
static int spawn_start(const struct weft_boot_app *apps, size_t n,
	const char *port, char *job_out)
{
	char pair[sizeof("WEFT_PARENT=") + WEFT_PORT_NAME_MAX];
	struct weft_boot_app *list = calloc(n, sizeof(*list));
	char *(*envs)[2 + WEFT_BOOT_APP_ENV + 1] = calloc(n, sizeof(*envs));
	static const char scope[] = "WEFT_SCOPE=network";
	int err = list && envs ? 0 : WEFT_ERR_NOMEM;

	snprintf(pair, sizeof(pair), "WEFT_PARENT=%s", port);
	for (size_t i = 0; !err && i < n; i++) {
		int k = 0;

		envs[i][k++] = pair;
		if (!weft_proc_is_one_host()) /* processes on all hosts must
						 reach the port */
			envs[i][k++] = (char *)(uintptr_t)scope;
		for (char *const *e = apps[i].env; e && *e; e++)
			envs[i][k++] = *e;
		list[i] = apps[i];
		list[i].env = envs[i];
	}
	if (!err)
		err = weft_boot_spawn(weft_proc.boot, list, n, job_out);
	free(list);
	free(envs);
	if (err == WEFT_ERR_UNSUPPORTED)
		err = weft_err_set(WEFT_ERR_SPAWN,
			"this process manager starts no further processes; "
			"start the program by mpiexec");
	return err;
}

/* Starts the largest number of processes of the first app that is in the set
 * `soft` and that the manager accepts. */
static int start_some(struct weft_boot_app *apps, size_t n, const char *soft,
	const char *port, char *job_out)
{
	uint32_t most = apps[0].n;
	int err = WEFT_ERR_SPAWN;

	if (!soft)
		return spawn_start(apps, n, port, job_out);
	for (int i = 0; err == WEFT_ERR_SPAWN && i < TRIES; i++) {
		uint32_t few = 0;
		int soft_err = most ? weft_spawn_soft_max(soft, most, &few) : 0;

		if (soft_err || (!few && i))
			return soft_err ? soft_err : err;
		if (!few)
			return weft_err_set(WEFT_ERR_SPAWN,
				"soft is \"%s\", with no number from 1 to %u",
				soft, most);
		apps[0].n = few;
		err = spawn_start(apps, n, port, job_out);
		most = few - 1;
	}
	return err;
}

/* True if the new processes run on this host: mpiexec starts them there. */
static bool spawns_here(void)
{
	return (!strcmp(weft_proc.facts.manager, "mpiexec") ||
		       !strcmp(weft_proc.facts.manager, "singleton")) &&
	       weft_foreign_is_near(weft_proc.proc);
}

int weft_spawn(struct weft_comm *comm, int32_t root, int err,
	struct weft_boot_app *apps, size_t n, const char *soft,
	struct weft_comm **comm_out)
{
	char port[WEFT_PORT_NAME_MAX] = "", job[WEFT_BOOT_JOB_MAX] = "";

	if (comm->rank == root && !err) {
		err = weft_port_open(port, spawns_here());
		if (!err)
			err = start_some(apps, n, soft, port, job);
	}
	err = weft_port_accept_job(comm, root, err, port, job, comm_out);
	if (*port)
		weft_port_close(port);
	return err;
}

int weft_spawn_join(struct weft_comm *all, struct weft_comm **parent_out)
{
	int err = weft_port_connect(
		all, 0, 0, weft_knobs.parent, JOIN_S, parent_out);

	if (!err)
		snprintf((*parent_out)->name, sizeof((*parent_out)->name),
			"MPI_COMM_PARENT");
	return err;
}

struct weft_comm *weft_spawn_parent(void)
{
	return weft_world.parent
		       ? weft_table_get(&weft_comms, weft_world.parent)
		       : NULL;
}
