/* SPDX-License-Identifier: BSD-3-Clause */
/* pset: process-set names to groups */
#include "session/pset.h"

#include "base/err.h"
#include "core/info.h"
#include "core/proc.h"
#include "core/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Names in the order in which the session first saw them. */
struct weft_psets {
	uint32_t n;
	char **names;
};

void weft_psets_destroy(struct weft_psets *psets)
{
	if (!psets)
		return;
	for (uint32_t i = 0; i < psets->n; i++)
		free(psets->names[i]);
	free(psets->names);
	free(psets);
}

/* Appends a name unless it is known. */
static int note(struct weft_psets *psets, const char *name)
{
	char **names;

	for (uint32_t i = 0; i < psets->n; i++)
		if (!strcmp(psets->names[i], name))
			return 0;
	names = realloc(psets->names, (psets->n + 1) * sizeof(*names));
	if (!names)
		return WEFT_ERR_NOMEM;
	psets->names = names;
	names[psets->n] = strdup(name);
	if (!names[psets->n])
		return WEFT_ERR_NOMEM;
	psets->n++;
	return 0;
}

/* The ranks of a set the process manager knows, as a group. */
static int manager_group(const char *name, struct weft_group **group_out)
{
	uint64_t job = weft_proc.proc & ~(uint64_t)UINT32_MAX;
	uint32_t *ranks = NULL;
	uint64_t *procs;
	size_t n = 0;
	int err;

	err = weft_boot_pset_members(weft_proc.boot, name, &ranks, &n);
	if (err)
		return err;
	procs = malloc(n * sizeof(*procs) + 1);
	err = procs ? 0 : WEFT_ERR_NOMEM;
	for (size_t i = 0; !err && i < n; i++)
		procs[i] = job | ranks[i];
	if (!err)
		err = weft_group_create(procs, (uint32_t)n, group_out);
	free(procs);
	free(ranks);
	return err;
}

static bool am_in(const char *manager_name)
{
	struct weft_group *group;
	bool is_in;

	if (manager_group(manager_name, &group))
		return false;
	is_in = group->my_rank >= 0;
	weft_group_put(group);
	return is_in;
}

/* Adds the manager's sets that I am in. */
static int note_manager_sets(struct weft_psets *psets)
{
	char **names = NULL;
	size_t n = 0;
	int err = weft_boot_pset_list(weft_proc.boot, &names, &n);

	for (size_t i = 0; !err && i < n; i++) {
		if (!strncasecmp(names[i], "mpi://", 6) || !am_in(names[i]))
			continue;
		err = note(psets, names[i]);
	}
	free(names);
	return err;
}

static int refresh(struct weft_session *session)
{
	struct weft_psets *psets = session->psets;
	int err;

	if (!psets) {
		psets = calloc(1, sizeof(*psets));
		if (!psets)
			return WEFT_ERR_NOMEM;
		session->psets = psets;
	}
	err = note(psets, "mpi://WORLD");
	if (!err)
		err = note(psets, "mpi://SELF");
	if (!err)
		err = note(psets, "weft://host");
	for (int i = 0; !err && weft_hardware_name(i); i++)
		if (weft_hardware_is_known(i))
			err = note(psets, weft_hardware_name(i));
	return err ? err : note_manager_sets(psets);
}

int weft_pset_count(struct weft_session *session, uint32_t *n_out)
{
	int err;

	weft_lane_take(session->lane);
	err = refresh(session);
	if (!err)
		*n_out = session->psets->n;
	weft_lane_drop(session->lane);
	return err;
}

int weft_pset_name(
	struct weft_session *session, uint32_t i, const char **name_out)
{
	int err = 0;

	weft_lane_take(session->lane);
	if (!session->psets || i >= session->psets->n)
		err = refresh(session);
	if (!err && i >= session->psets->n)
		err = weft_err_set(WEFT_ERR_ARG,
			"process set %u of %u was asked for", i,
			session->psets->n);
	if (!err)
		*name_out = session->psets->names[i];
	weft_lane_drop(session->lane);
	return err;
}

int weft_pset_node_group(struct weft_group **group_out)
{
	uint64_t job = weft_proc.proc & ~(uint64_t)UINT32_MAX;
	const uint32_t *ranks;
	uint64_t *procs;
	size_t n;
	int err = weft_boot_near(weft_proc.boot, &ranks, &n);

	if (err)
		return err;
	procs = malloc(n * sizeof(*procs) + 1);
	if (!procs)
		return WEFT_ERR_NOMEM;
	for (size_t i = 0; i < n; i++)
		procs[i] = job | ranks[i];
	err = weft_group_create(procs, (uint32_t)n, group_out);
	free(procs);
	return err;
}

static int find_group(const char *name, struct weft_group **group_out)
{
	uint64_t first = weft_proc.proc & ~(uint64_t)UINT32_MAX;

	if (!strcasecmp(name, "mpi://WORLD"))
		return weft_group_create_range(
			first, weft_proc.facts.size, group_out);
	if (!strcasecmp(name, "mpi://SELF"))
		return weft_group_create_range(weft_proc.proc, 1, group_out);
	if (!strcmp(name, "weft://host"))
		return weft_pset_node_group(group_out);
	for (int i = 0; weft_hardware_name(i); i++)
		if (!strcmp(name, weft_hardware_name(i)) &&
			weft_hardware_is_known(i))
			return weft_hardware_group(i, group_out);
	if (manager_group(name, group_out))
		return weft_err_set(WEFT_ERR_NOTFOUND,
			"there is no process set \"%s\" (weft-info --psets)",
			name);
	return 0;
}

int weft_pset_group(struct weft_session *session, const char *name,
	struct weft_group **group_out)
{
	struct weft_group *group;
	int err;

	weft_lane_take(session->lane);
	err = find_group(name, &group);
	weft_lane_drop(session->lane);
	if (err)
		return err;
	if (!session->is_world && group->size) {
		group->session = session;
		group->session_handle = weft_obj_handle(session);
	}
	*group_out = group;
	return 0;
}

int weft_pset_info(struct weft_session *session, const char *name,
	struct weft_info **info_out)
{
	struct weft_info *info = NULL;
	struct weft_group *group;
	char size[16];
	int err;

	err = weft_pset_group(session, name, &group);
	if (err)
		return err;
	snprintf(size, sizeof(size), "%u", group->size);
	weft_group_put(group);
	info = weft_info_create();
	err = info ? weft_info_set(info, "mpi_size", size) : WEFT_ERR_NOMEM;
	if (err) {
		weft_info_destroy(info);
		return err;
	}
	*info_out = info;
	return 0;
}
