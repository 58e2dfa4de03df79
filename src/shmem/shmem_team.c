/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_team: teams, which are communicators with their own handle */
#include "shmem_priv.h"

#include "base/err.h"
#include "base/log.h"
#include "transport/proc.h"
#include "comm/create.h"
#include "comm/disconnect.h"

#include <stdlib.h>

/* The value of SHMEMX_TEAM_NODE. */
#define TEAM_NODE ((shmem_team_t)3)

static struct weft_table teams =
	WEFT_TABLE_INIT(struct weft_shmem_team, WEFT_KIND_SHMEM_TEAM);

/* ---- handles ---- */

struct weft_shmem_team *weft_shmem_team_find(const char *fn, shmem_team_t team)
{
	struct weft_shmem_team *t;

	if (weft_unlikely(!weft_rma.n_pes))
		weft_shmem_check_open(fn);
	if (team == SHMEM_TEAM_WORLD)
		return &weft_shmem.world;
	if (team == SHMEM_TEAM_SHARED)
		return &weft_shmem.shared;
	if (team == SHMEM_TEAM_INVALID)
		return NULL;
	t = weft_table_get(&teams, (uintptr_t)team);
	if (!t && team == TEAM_NODE)
		return &weft_shmem.node;
	if (!t)
		weft_shmem_fatal(fn,
			"team is %p, which is no team; was it destroyed?",
			(void *)team);
	return t;
}

/* Creates the communicator of SHMEM_TEAM_SHARED or SHMEMX_TEAM_NODE at the
 * first collective of this team. All other teams have a communicator when they
 * are created. */
static int make_comm(struct weft_shmem_team *team)
{
	return weft_create_in_session(weft_shmem.session, team->group,
		team == &weft_shmem.node ? "weft.shmem.node"
					 : "weft.shmem.shared",
		NULL, NULL, &team->comm);
}

struct weft_shmem_team *weft_shmem_team_ready(const char *fn, shmem_team_t team)
{
	struct weft_shmem_team *t = weft_shmem_team_find(fn, team);

	if (!t)
		weft_shmem_fatal(fn, "team is SHMEM_TEAM_INVALID");
	if (weft_unlikely(!t->comm))
		weft_shmem_ok(fn, make_comm(t));
	return t;
}

/* Returns the PE of the world at a PE of the team. The lower half of a process
 * number is its PE. */
static uint32_t shmem_team_pe_at(
	const struct weft_shmem_team *team, uint32_t pe)
{
	return (uint32_t)weft_group_proc(team->group, pe);
}

uint32_t weft_shmem_team_pe(
	const char *fn, const struct weft_shmem_team *team, int pe)
{
	if (weft_unlikely((uint32_t)pe >= team->n_pes))
		weft_shmem_fatal_pe(fn, pe, team->n_pes);
	return shmem_team_pe_at(team, (uint32_t)pe);
}

/* ---- predefined ---- */

static void shmem_team_fill(struct weft_shmem_team *team,
	struct weft_group *group, struct weft_comm *comm)
{
	team->group = group;
	team->comm = comm;
	team->n_pes = group->size;
	team->my_pe = (uint32_t)group->my_rank;
}

/* True if this PE can load and store the memory of the PE. */
static bool shares_memory(uint32_t pe)
{
	return weft_rma.pes[pe].heap || pe == weft_rma.my_pe;
}

static bool is_node_pe(uint32_t pe)
{
	return weft_proc_is_local(weft_group_proc(weft_shmem.world.group, pe));
}

static int group_of(bool (*is_in)(uint32_t pe), struct weft_group **group_out)
{
	int *pes = malloc(weft_rma.n_pes * sizeof(*pes));
	uint32_t n = 0;
	int err;

	if (!pes)
		return WEFT_ERR_NOMEM;
	for (uint32_t pe = 0; pe < weft_rma.n_pes; pe++)
		if (is_in(pe))
			pes[n++] = (int)pe;
	err = weft_group_incl(weft_shmem.world.group, pes, n, group_out);
	free(pes);
	return err;
}

int weft_shmem_teams_open(struct weft_comm *comm)
{
	struct weft_group *local = NULL, *node = NULL;
	int err;

	weft_shmem.world = (struct weft_shmem_team){ .is_world = true };
	shmem_team_fill(&weft_shmem.world, weft_group_get(comm->group), comm);
	err = group_of(shares_memory, &local);
	if (!err)
		err = group_of(is_node_pe, &node);
	if (err) {
		weft_group_put(local);
		weft_group_put(weft_shmem.world.group);
		return err;
	}
	weft_shmem.shared = (struct weft_shmem_team){ .is_mine = false };
	shmem_team_fill(&weft_shmem.shared, local, NULL);
	weft_shmem.node = (struct weft_shmem_team){ .is_mine = false };
	shmem_team_fill(&weft_shmem.node, node, NULL);
	weft_shmem.ctx = (struct weft_shmem_ctx){
		.rma = weft_rma.ctx,
		.team = &weft_shmem.world,
		.team_handle = SHMEM_TEAM_WORLD,
		.total_ops = SIZE_MAX,
	};
	return 0;
}

/* Frees all teams. Their communicators are children of the session, which
 * closes them. */
void weft_shmem_teams_close(void)
{
	struct weft_shmem_team *team;
	uint32_t at = 0;

	while ((team = weft_table_next(&teams, &at)) != NULL) {
		weft_group_put(team->group);
		weft_table_free(&teams, team);
	}
	weft_group_put(weft_shmem.world.group);
	weft_group_put(weft_shmem.shared.group);
	weft_group_put(weft_shmem.node.group);
	weft_shmem.world.group = NULL;
	weft_shmem.shared.group = NULL;
	weft_shmem.node.group = NULL;
}

/* ---- creation and destruction ---- */

struct weft_shmem_team *weft_shmem_team_make(struct weft_comm *comm)
{
	struct weft_shmem_team *team = weft_table_new(&teams);

	if (team) {
		shmem_team_fill(team, weft_group_get(comm->group), comm);
		team->is_mine = true;
	}
	return team;
}

static shmem_team_t handle_of(const struct weft_shmem_team *team)
{
	return (shmem_team_t)(uintptr_t)weft_obj_handle(team);
}

static void configure(const char *fn, struct weft_shmem_team *team,
	const shmem_team_config_t *config, long mask)
{
	if (!(mask & SHMEM_TEAM_NUM_CONTEXTS))
		return;
	if (!config)
		weft_shmem_fatal(fn,
			"config is NULL although config_mask names "
			"SHMEM_TEAM_NUM_CONTEXTS");
	team->num_contexts = config->num_contexts;
}

/* Creates the team of a new communicator. comm NULL: this PE is not in the
 * team. */
static int name_comm(struct weft_comm *comm, const char *fn,
	const shmem_team_config_t *config, long mask, shmem_team_t *team_out)
{
	struct weft_shmem_team *team;

	*team_out = SHMEM_TEAM_INVALID;
	if (!comm)
		return 0;
	team = weft_shmem_team_make(comm);
	if (!team)
		return WEFT_ERR_NOMEM;
	configure(fn, team, config, mask);
	*team_out = handle_of(team);
	return 0;
}

/* Logs an error, and returns the value that the procedure returns. */
static int shmem_team_fault(const char *fn, int err)
{
	const char *detail = weft_err_detail_peek(err);

	weft_log_error("SHMEM-TEAM", "%s: %s", fn,
		*detail ? detail : weft_err_str(err));
	return 1;
}

static bool is_triplet(
	const struct weft_shmem_team *parent, int start, int stride, int size)
{
	int64_t n = parent->n_pes;
	int64_t last = start + (int64_t)stride * (size - 1);

	return size > 0 && start >= 0 && start < n && last >= 0 && last < n &&
	       (stride || size == 1);
}

static int split_group(struct weft_shmem_team *parent, int start, int stride,
	int size, struct weft_comm **comm_out)
{
	int *ranks = malloc((size_t)size * sizeof(*ranks));
	struct weft_group *group = NULL;
	int err;

	if (!ranks)
		return WEFT_ERR_NOMEM;
	for (int i = 0; i < size; i++)
		ranks[i] = start + i * stride;
	err = weft_group_incl(
		parent->comm->group, ranks, (uint32_t)size, &group);
	free(ranks);
	if (!err)
		err = weft_create_subset(parent->comm, group, comm_out);
	weft_group_put(group);
	return err;
}

int pshmem_team_split_strided(shmem_team_t parent_team, int start, int stride,
	int size, const shmem_team_config_t *config, long config_mask,
	shmem_team_t *new_team)
{
	static const char fn[] = "shmem_team_split_strided";
	struct weft_shmem_team *parent;
	struct weft_comm *comm = NULL;
	int err;

	*new_team = SHMEM_TEAM_INVALID;
	if (parent_team == SHMEM_TEAM_INVALID)
		return 1;
	parent = weft_shmem_team_ready(fn, parent_team);
	if (!is_triplet(parent, start, stride, size)) {
		weft_log_warn("SHMEM-TEAM",
			"%s: start %d, stride %d, size %d: the parent has %u "
			"PEs only; no team is created",
			fn, start, stride, size, parent->n_pes);
		return 1;
	}
	err = split_group(parent, start, stride, size, &comm);
	if (!err)
		err = name_comm(comm, fn, config, config_mask, new_team);
	return err ? shmem_team_fault(fn, err) : 0;
}

int pshmem_team_split_2d(shmem_team_t parent_team, int xrange,
	const shmem_team_config_t *xaxis_config, long xaxis_mask,
	shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
	long yaxis_mask, shmem_team_t *yaxis_team)
{
	static const char fn[] = "shmem_team_split_2d";
	struct weft_shmem_team *parent;
	struct weft_comm *row = NULL, *column = NULL;
	int x, y, err;

	*xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
	if (parent_team == SHMEM_TEAM_INVALID)
		return 1;
	parent = weft_shmem_team_ready(fn, parent_team);
	if (xrange <= 0)
		weft_shmem_fatal(
			fn, "xrange is %d; it must be positive", xrange);
	x = (int)parent->my_pe % xrange;
	y = (int)parent->my_pe / xrange;
	err = weft_create_split(parent->comm, y, x, &row);
	if (!err)
		err = weft_create_split(parent->comm, x, y, &column);
	if (!err)
		err = name_comm(row, fn, xaxis_config, xaxis_mask, xaxis_team);
	if (!err)
		err = name_comm(
			column, fn, yaxis_config, yaxis_mask, yaxis_team);
	return err ? shmem_team_fault(fn, err) : 0;
}

void pshmem_team_destroy(shmem_team_t team)
{
	static const char fn[] = "shmem_team_destroy";
	struct weft_shmem_team *t = weft_shmem_team_find(fn, team);
	struct weft_comm *comm;

	if (!t)
		return;
	if (!t->is_mine)
		weft_shmem_fatal(fn, "team is predefined, and cannot be "
				     "destroyed");
	weft_shmem_ctxs_close(t);
	comm = t->comm;
	weft_group_put(t->group);
	weft_table_free(&teams, t);
	weft_shmem_ok(fn, weft_disconnect_wait(comm));
}

/* ---- queries ---- */

int pshmem_team_my_pe(shmem_team_t team)
{
	struct weft_shmem_team *t =
		weft_shmem_team_find("shmem_team_my_pe", team);

	return t ? (int)t->my_pe : -1;
}

int pshmem_team_n_pes(shmem_team_t team)
{
	struct weft_shmem_team *t =
		weft_shmem_team_find("shmem_team_n_pes", team);

	return t ? (int)t->n_pes : -1;
}

int pshmem_team_get_config(
	shmem_team_t team, long config_mask, shmem_team_config_t *config)
{
	struct weft_shmem_team *t =
		weft_shmem_team_find("shmem_team_get_config", team);

	if (!t)
		return 1;
	if (config_mask & SHMEM_TEAM_NUM_CONTEXTS)
		config->num_contexts = t->num_contexts;
	return 0;
}

int pshmem_team_translate_pe(
	shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
{
	static const char fn[] = "shmem_team_translate_pe";
	struct weft_shmem_team *from = weft_shmem_team_find(fn, src_team);
	struct weft_shmem_team *to = weft_shmem_team_find(fn, dest_team);
	int32_t rank;

	if (!from || !to || (uint32_t)src_pe >= from->n_pes)
		return -1;
	rank = weft_group_rank_of(
		to->group, weft_group_proc(from->group, (uint32_t)src_pe));
	return rank < 0 ? -1 : rank;
}

void *pshmem_team_ptr(shmem_team_t team, const void *dest, int pe)
{
	struct weft_shmem_team *t =
		weft_shmem_team_find("shmem_team_ptr", team);

	if (!t || (uint32_t)pe >= t->n_pes)
		return NULL;
	return weft_rma_local(dest, shmem_team_pe_at(t, (uint32_t)pe));
}

#include "api_shmem_team.h"

/* Intel SHMEM reads these variables by dlsym(). Programs use the macros of
 * shmem.h in place of the first two. */
#undef SHMEM_TEAM_WORLD
#undef SHMEM_TEAM_SHARED
WEFT_SHMEM_API extern const shmem_team_t SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED;
const shmem_team_t SHMEM_TEAM_WORLD = (shmem_team_t)1;
const shmem_team_t SHMEM_TEAM_SHARED = (shmem_team_t)2;
const shmem_team_t SHMEMX_TEAM_NODE = TEAM_NODE;
