/* SPDX-License-Identifier: BSD-3-Clause */
/* split: communicators of those who share something
 *
 * The colour of a process is the lowest rank among those it shares the thing
 * with: all of them compute the same. */
#include "session/split.h"

#include "core/info.h"
#include "transport/proc.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "core/hardware.h"
#include "session/pset.h"

#include <string.h>

/* The same for both sides: the lowest process of the group's members in either,
 * or -1. */
static int64_t inter_color(
	const struct weft_comm *comm, const struct weft_group *group)
{
	int64_t color = -1;

	for (uint32_t i = 0; i < group->size; i++) {
		uint64_t proc = weft_group_proc(group, i);
		int64_t own = (int64_t)(proc & INT64_MAX);

		if (weft_group_rank_of(comm->group, proc) < 0 &&
			weft_group_rank_of(comm->remote, proc) < 0)
			continue;
		if (color < 0 || own < color)
			color = own;
	}
	return color;
}

/* Lowest rank in comm of the group's members, or -1. */
static int64_t color_of(
	const struct weft_comm *comm, const struct weft_group *group)
{
	int64_t color = -1;

	if (comm->is_inter)
		return inter_color(comm, group);
	for (uint32_t i = 0; i < group->size; i++) {
		int32_t rank = weft_group_rank_of(
			comm->group, weft_group_proc(group, i));

		if (rank >= 0 && (color < 0 || rank < color))
			color = rank;
	}
	return color;
}

int weft_split_none(struct weft_comm *comm, struct weft_comm **comm_out)
{
	return weft_create_split(comm, -1, 0, comm_out);
}

static int64_t host_color(struct weft_comm *comm)
{
	struct weft_group *group = NULL;
	int64_t color = comm->is_inter ? -1 : comm->rank;
	int err;

	weft_vci_lock(&weft_proc.vci);
	err = weft_pset_node_group(&group);
	weft_vci_unlock(&weft_proc.vci);
	if (!err)
		color = color_of(comm, group);
	weft_group_put(group);
	return color;
}

int weft_split_host(
	struct weft_comm *comm, int32_t key, struct weft_comm **comm_out)
{
	return weft_create_split(comm, host_color(comm), key, comm_out);
}

/* -1 where this process does not run within one piece of that level. */
static int64_t place_color(struct weft_comm *comm, int level)
{
	struct weft_group *group = NULL;
	int64_t color = -1;

	weft_vci_lock(&weft_proc.vci);
	if (weft_hardware_is_known(level) &&
		!weft_hardware_group(level, &group))
		color = color_of(comm, group);
	weft_vci_unlock(&weft_proc.vci);
	weft_group_put(group);
	return color;
}

int weft_split_guided(struct weft_comm *comm, int32_t key,
	const struct weft_info *info, struct weft_comm **comm_out)
{
	char type[WEFT_INFO_VALUE_MAX + 1];

	if (weft_info_value(info, "mpi_hw_resource_type", type, sizeof(type)) <
		0)
		return weft_split_none(comm, comm_out);
	if (!strcmp(type, "mpi_shared_memory"))
		return weft_split_host(comm, key, comm_out);
	for (int i = 0; weft_hardware_name(i); i++)
		if (!strcmp(type, weft_hardware_name(i)))
			return weft_create_split(
				comm, place_color(comm, i), key, comm_out);
	return weft_split_none(comm, comm_out);
}

/* Splits by one level; NULL when that does not make comm any smaller. */
static int try_level(struct weft_comm *comm, int level, int32_t key,
	struct weft_comm **comm_out)
{
	int64_t color = level < 0 ? host_color(comm) : place_color(comm, level);
	struct weft_comm *made = NULL;
	int err = weft_create_split(comm, color, key, &made);

	if (!err && made && made->size == comm->size) {
		weft_disconnect_free(made);
		made = NULL;
	}
	if (!err)
		*comm_out = made;
	return err;
}

/* Whether a level divides comm is known to all once any of them has a part: so
 * all ask after each level whether somebody has. */
static int does_any(struct weft_comm *comm, bool mine, bool *any_out)
{
	struct weft_comm *made = NULL;
	int err = weft_create_split(comm, mine ? 0 : 1, 0, &made);

	if (err)
		return err;
	*any_out = mine || made->size < comm->size;
	weft_disconnect_free(made);
	return 0;
}

int weft_split_finer(
	struct weft_comm *comm, int32_t key, struct weft_comm **comm_out)
{
	struct weft_comm *made = NULL;
	bool any = false;
	int err = 0;

	if (comm->is_inter)
		return weft_split_none(comm, comm_out);
	for (int level = -1; !err && !any; level++) {
		if (level >= 0 && !weft_hardware_name(level))
			break;
		err = try_level(comm, level, key, &made);
		if (!err)
			err = does_any(comm, made != NULL, &any);
	}
	if (!err)
		*comm_out = made;
	return err;
}

int weft_split_resource(struct weft_comm *comm, int32_t key,
	const struct weft_info *info, struct weft_comm **comm_out)
{
	char name[WEFT_INFO_VALUE_MAX + 1];
	struct weft_group *group;
	int64_t color = -1;

	if (weft_info_value(info, "mpi_pset_name", name, sizeof(name)) < 0)
		return weft_split_guided(comm, key, info, comm_out);
	if (!weft_pset_group(comm->child.session, name, &group)) {
		if (group->my_rank >= 0)
			color = color_of(comm, group);
		weft_group_put(group);
	}
	return weft_create_split(comm, color, key, comm_out);
}
