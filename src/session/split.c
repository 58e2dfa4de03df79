/* SPDX-License-Identifier: BSD-3-Clause */
/* split: communicators of processes that share a resource
 *
 * The processes that share a resource compute the same colour. For memory, it
 * is a hash of the node's identity. For a hardware object or a process set, it
 * is the lowest rank of the processes that share it. */
#include "session/split.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/pid.h"
#include "coll/coll.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "core/hardware.h"
#include "core/hint.h"
#include "core/info.h"
#include "session/pset.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

/* Returns a colour that both sides of an intercommunicator compute alike: the
 * lowest process number of the group's members on either side, or -1. */
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

/* Returns the lowest rank in comm of the group's members, or -1. */
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

/* Returns the colour of the processes of this node, of any job, that may open
 * each other's memory. */
static int64_t shared_color(void)
{
	static const uint8_t no_key[16];
	uint64_t id[2] = { weft_proc_node_id(), weft_pid_access_id() };

	return (int64_t)(weft_hash(no_key, id, sizeof(id)) & INT64_MAX);
}

int weft_split_host(
	struct weft_comm *comm, int32_t key, struct weft_comm **comm_out)
{
	return weft_create_split(comm, shared_color(), key, comm_out);
}

/* Returns the colour of the processes on the same object of a level; -1 if this
 * process is not bound to one object. */
static int64_t object_color(struct weft_comm *comm, int level)
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

	if (weft_hint_value(info, WEFT_HINT_HW_RESOURCE, type, sizeof(type)) <
		0)
		return weft_split_none(comm, comm_out);
	if (!strcmp(type, "mpi_shared_memory"))
		return weft_split_host(comm, key, comm_out);
	for (int i = 0; weft_hardware_name(i); i++)
		if (!strcmp(type, weft_hardware_name(i)))
			return weft_create_split(
				comm, object_color(comm, i), key, comm_out);
	return weft_split_none(comm, comm_out);
}

/* ---- unguided ---- */

enum { LEVELS_MAX = 8 }; /* the node, and the levels of core/hardware.h */

/* The value of mpi_hw_resource_type for a level; NULL after the last level. */
static const char *level_name(int level)
{
	return level ? weft_hardware_name(level - 1) : "mpi_shared_memory";
}

/* The colours of the members at a level: the largest colour, and the complement
 * of the smallest one. Both are reduced by MPI_MAX. */
struct color_range {
	int64_t largest, smallest_not;
};

static int reduce_ranges(struct weft_comm *comm, const struct color_range *mine,
	struct color_range *all)
{
	struct weft_type *type = weft_type_builtin(WEFT_TYPE_INT64);
	int n = LEVELS_MAX * sizeof(*mine) / sizeof(mine->largest);
	const struct weft_coll args = { .comm = comm,
		.ctx_offset = WEFT_CTX_OFFSET_COLL,
		.send = { .buf = (void *)(uintptr_t)mine,
			.count = n,
			.type = type },
		.recv = { .buf = all, .count = n, .type = type },
		.op = weft_redop_builtin(WEFT_OP_MAX) };

	return weft_coll_run(WEFT_COLL_ALLREDUCE, &args);
}

/* Splits by the first level at which the members have different colours. All
 * members choose the same level. */
static int split_by_first(struct weft_comm *comm, int32_t key,
	struct weft_info *info, struct weft_comm **comm_out)
{
	struct color_range mine[LEVELS_MAX] = { 0 }, all[LEVELS_MAX];
	int level, n, err;

	for (n = 0; level_name(n) && n < LEVELS_MAX; n++) {
		int64_t color = n ? object_color(comm, n - 1) : shared_color();

		mine[n] = (struct color_range){ color, ~color };
	}
	err = reduce_ranges(comm, mine, all);
	if (err)
		return err;
	for (level = 0; level < n; level++)
		if (all[level].largest != ~all[level].smallest_not)
			break;
	if (level == n)
		return 0;
	err = weft_create_split(comm, mine[level].largest, key, comm_out);
	if (!err && *comm_out && info)
		err = weft_hint_set(
			info, WEFT_HINT_HW_RESOURCE, level_name(level));
	return err;
}

/* The first split excludes the members that call weft_split_none(). They do not
 * participate in the second split. */
int weft_split_finer(struct weft_comm *comm, int32_t key,
	struct weft_info *info, struct weft_comm **comm_out)
{
	struct weft_comm *callers = NULL;
	int err;

	if (comm->is_inter)
		return weft_split_none(comm, comm_out);
	*comm_out = NULL;
	err = weft_create_split(comm, 0, 0, &callers);
	if (err)
		return err;
	err = split_by_first(callers, key, info, comm_out);
	weft_disconnect_free(callers);
	return err;
}

/* ---- any resource ---- */

int weft_split_resource(struct weft_comm *comm, int32_t key,
	const struct weft_info *info, struct weft_comm **comm_out)
{
	char name[WEFT_INFO_VALUE_MAX + 1];
	struct weft_group *group;
	int64_t color = -1;
	int err;

	if (weft_hint_value(info, WEFT_HINT_PSET_NAME, name, sizeof(name)) < 0)
		return weft_split_guided(comm, key, info, comm_out);
	if (weft_hint_value(info, WEFT_HINT_HW_RESOURCE, NULL, 0) >= 0) {
		err = weft_split_none(comm, comm_out); /* the other members wait
							  in their split */
		return err ? err
			   : weft_err_set(WEFT_ERR_INFO,
				     "info has both mpi_pset_name and "
				     "mpi_hw_resource_type; set one of them");
	}
	if (!weft_pset_group(comm->child.session, name, &group)) {
		if (group->my_rank >= 0)
			color = color_of(comm, group);
		weft_group_put(group);
	}
	return weft_create_split(comm, color, key, comm_out);
}
