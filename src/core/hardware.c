/* SPDX-License-Identifier: BSD-3-Clause */
/* hardware: the processes of this node on the same hardware object
 *
 * Every process publishes the processors it may run on in its business card. */
#include "core/hardware.h"

#include "base/err.h"
#include "transport/bc.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *weft_hardware_name(int i)
{
	static const char *const names[] = {
		"hwloc://Package",
		"hwloc://NUMANode",
		"hwloc://L3Cache",
		"hwloc://Core",
	};

	return i >= 0 && i < 4 ? names[i] : NULL;
}

/* Writes the id of the object that contains all processors of the set cpus
 * (NULL: the processors of this process). */
static int object_id_of(int i, const char *cpus, char id[WEFT_TOPO_ID_MAX])
{
	int err = 0;

	if (!weft_proc.topo)
		err = weft_topo_open(&weft_proc.topo);
	return err ? err
		   : weft_topo_obj_of(weft_proc.topo, cpus,
			     weft_hardware_name(i), id, WEFT_TOPO_ID_MAX);
}

int weft_hardware_object_id(int i, char *buf, size_t len)
{
	char id[WEFT_TOPO_ID_MAX];
	int err = object_id_of(i, NULL, id);

	if (!err)
		snprintf(buf, len, "%s", id);
	return err;
}

bool weft_hardware_is_known(int i)
{
	char id[WEFT_TOPO_ID_MAX];

	return object_id_of(i, NULL, id) == 0;
}

/* A process of the node and its processors. */
struct proc_cpus {
	size_t *n_waiting; /* the caller's number of outstanding answers */
	uint32_t rank;
	char cpus[WEFT_BC_CPUS_MAX]; /* its processors; "": unknown */
};

static void hardware_on_bc(void *arg, int err, const void *data, size_t len)
{
	struct proc_cpus *proc_cpus = arg;
	struct weft_bc bc;

	if (!err && !weft_bc_read(&bc, data, len))
		memcpy(proc_cpus->cpus, bc.cpus, sizeof(proc_cpus->cpus));
	--*proc_cpus->n_waiting;
}

/* Fetches the business cards of all these processes and waits for the answers.
 */
static void hardware_fetch_cards(struct proc_cpus *proc_cpus_of, size_t n)
{
	size_t n_waiting = n;

	for (size_t k = 0; k < n; k++) {
		proc_cpus_of[k].n_waiting = &n_waiting;
		if (weft_boot_get(weft_proc.boot, proc_cpus_of[k].rank,
			    WEFT_BC_KEY, hardware_on_bc, &proc_cpus_of[k]))
			n_waiting--;
	}
	while (n_waiting)
		weft_progress_wait(&weft_proc.vci);
}

/* Selects the processes whose object has the id `mine`. Returns their number.
 */
static size_t hardware_select(const struct proc_cpus *proc_cpus_of, size_t n,
	int i, const char *mine, uint64_t *procs)
{
	uint64_t job = weft_proc.proc & ~(uint64_t)UINT32_MAX;
	char id[WEFT_TOPO_ID_MAX];
	size_t n_procs = 0;

	for (size_t k = 0; k < n; k++)
		if ((job | proc_cpus_of[k].rank) == weft_proc.proc ||
			(proc_cpus_of[k].cpus[0] &&
				!object_id_of(i, proc_cpus_of[k].cpus, id) &&
				!strcmp(id, mine)))
			procs[n_procs++] = job | proc_cpus_of[k].rank;
	return n_procs;
}

int weft_hardware_group(int i, struct weft_group **group_out)
{
	char mine[WEFT_TOPO_ID_MAX];
	struct proc_cpus *proc_cpus_of = NULL;
	const uint32_t *ranks;
	uint64_t *procs = NULL;
	size_t n, n_world = 0;
	int err = object_id_of(i, NULL, mine);

	if (err)
		return weft_err_set(WEFT_ERR_NOTFOUND,
			"the processors of this process are not within one %s",
			weft_hardware_name(i));
	err = weft_boot_local(weft_proc.boot, &ranks, &n);
	if (err)
		return err;
	proc_cpus_of = calloc(n, sizeof(*proc_cpus_of));
	procs = calloc(n, sizeof(*procs));
	err = proc_cpus_of && procs ? 0 : WEFT_ERR_NOMEM;
	for (size_t k = 0; !err && k < n; k++)
		if (weft_proc_is_world(ranks[k]))
			proc_cpus_of[n_world++].rank = ranks[k];
	if (!err) {
		hardware_fetch_cards(proc_cpus_of, n_world);
		n = hardware_select(proc_cpus_of, n_world, i, mine, procs);
		err = weft_group_create(procs, (uint32_t)n, group_out);
	}
	free(proc_cpus_of);
	free(procs);
	return err;
}
