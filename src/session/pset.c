/* SPDX-License-Identifier: BSD-3-Clause */
/* pset: resolves names of process sets to groups */
#include "session/pset.h"

#include "base/err.h"
#include "core/hardware.h"
#include "core/hint.h"
#include "core/info.h"
#include "transport/foreign.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "core/failed.h"
#include "session/parent.h"
#include "session/pset_watch.h"
#include "session/resize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A set that the application defined in a session. */
struct app_set {
	struct weft_link link;
	struct weft_group *group; /* the members; this group belongs to no
				     session */
	char name[];
};

/* The sets of a session. Names are in the order in which the session first
 * listed them; the name of a deleted set remains. */
struct weft_psets {
	uint32_t n;
	char **names;
	uint64_t listed; /* weft_proc.pset_version when the manager's sets were
			    last listed */
	struct weft_link app_sets;
	uint64_t n_app_changes;	 /* definitions and deletions by the application
				  */
	uint64_t n_first_events; /* pset_n_events() when this struct was
				    created */
};

static void app_set_free(struct app_set *app_set)
{
	weft_list_remove(&app_set->link);
	weft_group_put(app_set->group);
	free(app_set);
}

void weft_psets_destroy(struct weft_psets *psets)
{
	if (!psets)
		return;
	for (uint32_t i = 0; i < psets->n; i++)
		free(psets->names[i]);
	weft_list_for_each(link, next, &psets->app_sets)
		app_set_free(weft_container_of(link, struct app_set, link));
	free(psets->names);
	free(psets);
}

/* Returns the number of changes by the process manager, plus the number of
 * failed processes. */
static uint64_t pset_n_events(void)
{
	return weft_proc.n_pset_events + weft_failed_count();
}

/* Returns the sets of the session, which are created on first use; NULL when
 * out of memory. */
static struct weft_psets *psets_of(struct weft_session *session)
{
	if (!session->psets) {
		session->psets = calloc(1, sizeof(*session->psets));
		if (session->psets) {
			weft_list_init(&session->psets->app_sets);
			session->psets->n_first_events = pset_n_events();
			session->psets->listed = UINT64_MAX;
		}
	}
	return session->psets;
}

static struct app_set *app_set_find(
	const struct weft_session *session, const char *name)
{
	if (!session->psets)
		return NULL;
	weft_list_for_each(link, next, &session->psets->app_sets)
	{
		struct app_set *app_set =
			weft_container_of(link, struct app_set, link);

		if (!strcmp(app_set->name, name))
			return app_set;
	}
	return NULL;
}

static bool pset_is_listed(const struct weft_session *session, const char *name)
{
	for (uint32_t i = 0; session->psets && i < session->psets->n; i++)
		if (!strcmp(session->psets->names[i], name))
			return true;
	return false;
}

/* Appends a name unless it is in the list. */
static int record_name(struct weft_psets *psets, const char *name)
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

/* Creates a group of the members of a process manager's set. */
static int manager_group(const char *name, struct weft_group **group_out)
{
	uint64_t *procs = NULL;
	size_t n = 0;
	int err = weft_boot_pset_members(weft_proc.boot, name, &procs, &n);

	if (!err)
		err = weft_group_create(procs, (uint32_t)n, group_out);
	free(procs);
	return err;
}

static bool is_own_set(const char *manager_name)
{
	struct weft_group *group;
	bool is_in;

	if (manager_group(manager_name, &group))
		return false;
	is_in = group->my_rank >= 0;
	weft_group_put(group);
	return is_in;
}

static void poll_manager(void)
{
	weft_boot_poll(weft_proc.boot, weft_proc_on_event, &weft_proc.vci);
}

/* Appends the manager's sets that this process is in. Queries the manager at
 * the first call, and later only after a change of its sets. */
static int record_manager_sets(struct weft_psets *psets)
{
	char **names = NULL;
	size_t n = 0;
	uint64_t version;
	int err;

	poll_manager();
	version = weft_proc.pset_version;
	if (psets->listed == version)
		return 0;
	err = weft_boot_pset_list(weft_proc.boot, &names, &n);
	for (size_t i = 0; !err && i < n; i++) {
		if (!strncasecmp(names[i], "mpi://", 6) ||
			!is_own_set(names[i]))
			continue;
		err = record_name(psets, names[i]);
	}
	free(names);
	if (!err)
		psets->listed = version;
	return err;
}

static int psets_refresh(struct weft_session *session)
{
	struct weft_psets *psets = psets_of(session);
	int err;

	if (!psets)
		return WEFT_ERR_NOMEM;
	err = record_name(psets, "mpi://WORLD");
	if (!err)
		err = record_name(psets, "mpi://SELF");
	if (!err)
		err = record_name(psets, "weft://host");
	if (!err)
		err = record_name(psets, WEFT_PSET_ALIVE);
	if (!err && weft_parent_group())
		err = record_name(psets, WEFT_PSET_PARENT);
	for (int i = 0; !err && weft_hardware_name(i); i++)
		if (weft_hardware_is_known(i))
			err = record_name(psets, weft_hardware_name(i));
	return err ? err : record_manager_sets(psets);
}

int weft_pset_count(struct weft_session *session, uint32_t *n_out)
{
	int err;

	weft_vci_lock(&weft_proc.vci);
	err = psets_refresh(session);
	if (!err)
		*n_out = session->psets->n;
	weft_vci_unlock(&weft_proc.vci);
	return err;
}

int weft_pset_name(
	struct weft_session *session, uint32_t i, const char **name_out)
{
	int err = 0;

	weft_vci_lock(&weft_proc.vci);
	if (!session->psets || i >= session->psets->n)
		err = psets_refresh(session);
	if (!err && i >= session->psets->n)
		err = weft_err_set(WEFT_ERR_ARG,
			"process set number %u is out of range: the session "
			"has %u sets",
			i, session->psets->n);
	if (!err)
		*name_out = session->psets->names[i];
	weft_vci_unlock(&weft_proc.vci);
	return err;
}

/* Creates a group of the processes of this node, this process included. Default
 * VCI's lock held. */
static int node_group(struct weft_group **group_out)
{
	uint64_t job = weft_proc.proc & ~(uint64_t)UINT32_MAX;
	const uint32_t *ranks;
	uint32_t n_procs = 0;
	uint64_t *procs;
	size_t n;
	int err = weft_boot_local(weft_proc.boot, &ranks, &n);

	if (err)
		return err;
	procs = malloc(n * sizeof(*procs) + 1);
	if (!procs)
		return WEFT_ERR_NOMEM;
	for (size_t i = 0; i < n; i++)
		if (weft_proc_is_world(ranks[i]))
			procs[n_procs++] = job | ranks[i];
	err = weft_group_create(procs, n_procs, group_out);
	free(procs);
	return err;
}

/* The kinds of process sets. */
enum kind {
	KIND_WORLD,
	KIND_SELF,
	KIND_HOST,
	KIND_ALIVE,
	KIND_PARENT,
	KIND_HARDWARE, /* *level_out is the hardware level */
	KIND_APPLICATION,
	KIND_MANAGER, /* a set of the process manager, or an unknown name */
};

static enum kind pset_kind_of(
	const struct weft_session *session, const char *name, int *level_out)
{
	if (!strcasecmp(name, "mpi://WORLD"))
		return KIND_WORLD;
	if (!strcasecmp(name, "mpi://SELF"))
		return KIND_SELF;
	if (!strcmp(name, "weft://host"))
		return KIND_HOST;
	if (!strcmp(name, WEFT_PSET_ALIVE))
		return KIND_ALIVE;
	if (!strcasecmp(name, WEFT_PSET_PARENT) && weft_parent_group())
		return KIND_PARENT;
	for (int i = 0; weft_hardware_name(i); i++)
		if (!strcmp(name, weft_hardware_name(i)) &&
			weft_hardware_is_known(i)) {
			*level_out = i;
			return KIND_HARDWARE;
		}
	return app_set_find(session, name) ? KIND_APPLICATION : KIND_MANAGER;
}

/* Returns the rank of a member that has failed, or whose job, another one, has
 * ended; or WEFT_UNDEFINED. */
static int32_t find_lost(const struct weft_group *group)
{
	int32_t rank = weft_failed_first(group);

	for (uint32_t i = 0; rank == WEFT_UNDEFINED && i < group->size; i++)
		if (weft_foreign_is_ended(weft_group_proc(group, i)))
			rank = (int32_t)i;
	return rank;
}

/* Returns an error, and releases the group, if a member of the set has failed.
 */
static int check_no_failed(const char *name, struct weft_group **group)
{
	int32_t rank = find_lost(*group);
	uint64_t proc;

	if (rank == WEFT_UNDEFINED)
		return 0;
	proc = weft_group_proc(*group, (uint32_t)rank);
	weft_group_put(*group);
	return weft_err_set(WEFT_ERR_PEER,
		"process set \"%s\" lost a member: process %u ended while the "
		"job ran",
		name, (unsigned)proc);
}

static int manager_find(struct weft_session *session, const char *name,
	struct weft_group **group_out)
{
	if (manager_group(name, group_out))
		return weft_err_set(WEFT_ERR_NOTFOUND,
			pset_is_listed(session, name)
				? "process set \"%s\" was deleted"
				: "process set \"%s\" does not exist "
				  "(weft-info --psets lists all)",
			name);
	return check_no_failed(name, group_out);
}

static int app_set_group(
	const struct app_set *app_set, struct weft_group **group_out)
{
	int err = 0;

	if (!app_set->group->size)
		*group_out = weft_group_get(&weft_group_empty);
	else
		err = weft_group_dup(app_set->group, group_out);
	return err ? err : check_no_failed(app_set->name, group_out);
}

static int find_group(struct weft_session *session, const char *name,
	struct weft_group **group_out)
{
	int level = 0;

	switch (pset_kind_of(session, name, &level)) {
	case KIND_WORLD:
		return weft_group_create_range(weft_proc_world_first(),
			weft_proc.facts.world_size, group_out);
	case KIND_SELF:
		return weft_group_create_range(weft_proc.proc, 1, group_out);
	case KIND_HOST:
		return node_group(group_out);
	case KIND_ALIVE:
		poll_manager();
		return weft_failed_others(group_out);
	case KIND_PARENT:
		return weft_group_dup(weft_parent_group(), group_out);
	case KIND_HARDWARE:
		return weft_hardware_group(level, group_out);
	case KIND_APPLICATION:
		return app_set_group(app_set_find(session, name), group_out);
	case KIND_MANAGER:
		break;
	}
	return manager_find(session, name, group_out);
}

int weft_pset_group(struct weft_session *session, const char *name,
	struct weft_group **group_out)
{
	struct weft_group *group;
	int err;

	weft_vci_lock(&weft_proc.vci);
	err = find_group(session, name, &group);
	weft_vci_unlock(&weft_proc.vci);
	if (err)
		return err;
	if (!session->is_world && group->size) {
		group->session = session;
		group->session_handle = weft_obj_handle(session);
	}
	*group_out = group;
	return 0;
}

/* ---- the info of a set ---- */

enum { HOSTS_MAX = 64 }; /* largest set whose nodes are listed */

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += len)
		if ((at == list || at[-1] == ',') &&
			(!at[len] || at[len] == ','))
			return true;
	return false;
}

/* Lists the nodes of the members, each once, separated by commas. "" if the set
 * is too large, or if a node is unknown. */
static void list_hosts(const struct weft_group *group, char *list, size_t len)
{
	char host[WEFT_BOOT_HOST_MAX];
	size_t n = 0;

	list[0] = 0;
	for (uint32_t i = 0; i < group->size; i++) {
		uint64_t proc = weft_group_proc(group, i);

		if (weft_proc_is_local(proc))
			snprintf(
				host, sizeof(host), "%s", weft_proc.facts.host);
		else if (group->size > HOSTS_MAX ||
			 !weft_proc_is_member(proc) ||
			 weft_boot_host_of(weft_proc.boot, (uint32_t)proc, host,
				 sizeof(host)))
			host[0] = 0;
		if (!host[0] || n + strlen(host) + 2 > len) {
			list[0] = 0;
			return;
		}
		if (!has_word(list, host))
			n += (size_t)snprintf(
				list + n, len - n, "%s%s", n ? "," : "", host);
	}
}

static int pset_describe(struct weft_session *session, const char *name,
	const struct weft_group *group, struct weft_info *info)
{
	static const char *const kinds[] = {
		[KIND_WORLD] = "world",
		[KIND_SELF] = "self",
		[KIND_HOST] = "host",
		[KIND_ALIVE] = "alive",
		[KIND_PARENT] = "parent",
		[KIND_HARDWARE] = "hardware",
		[KIND_APPLICATION] = "application",
		[KIND_MANAGER] = "manager",
	};
	char text[WEFT_INFO_VALUE_MAX + 1];
	int level = 0;
	enum kind kind = pset_kind_of(session, name, &level);
	uint32_t generation;
	int err;

	snprintf(text, sizeof(text), "%u", group->size);
	err = weft_hint_set(info, WEFT_HINT_PSET_SIZE, text);
	if (!err)
		err = weft_hint_set(info, WEFT_HINT_PSET_KIND, kinds[kind]);
	list_hosts(group, text, sizeof(text));
	if (!err && text[0])
		err = weft_hint_set(info, WEFT_HINT_PSET_HOSTS, text);
	if (!err && kind == KIND_MANAGER &&
		weft_resize_parse(name, &generation)) {
		snprintf(text, sizeof(text), "%u", generation);
		err = weft_hint_set(info, WEFT_HINT_PSET_GENERATION, text);
		if (!err)
			err = weft_hint_set(info, WEFT_HINT_PSET_JOINED,
				generation && generation == weft_proc.facts
								    .generation
					? "yes"
					: "no");
	}
	if (!err && kind == KIND_HARDWARE &&
		!weft_hardware_object_id(level, text, sizeof(text)))
		err = weft_hint_set(info, WEFT_HINT_PSET_HWLOC, text);
	return err;
}

int weft_pset_info(struct weft_session *session, const char *name,
	struct weft_info **info_out)
{
	struct weft_info *info = weft_info_create();
	struct weft_group *group = NULL;
	int err = info ? 0 : WEFT_ERR_NOMEM;

	weft_vci_lock(&weft_proc.vci);
	if (!err)
		err = find_group(session, name, &group);
	if (!err) {
		err = pset_describe(session, name, group, info);
		weft_group_put(group);
	}
	weft_vci_unlock(&weft_proc.vci);
	if (err) {
		weft_info_destroy(info);
		return err;
	}
	*info_out = info;
	return 0;
}

/* ---- sets of the application ---- */

/* Checks a name for a new set: its length, no reserved scheme, and not in use.
 */
static int check_name(struct weft_session *session, const char *name)
{
	static const char *const schemes[] = { "mpi://", "weft://",
		"hwloc://" };
	struct weft_group *group;
	size_t len = strnlen(name, WEFT_PSET_NAME_MAX + 1);

	if (!len || len > WEFT_PSET_NAME_MAX)
		return weft_err_set(WEFT_ERR_ARG,
			"the name of a process set has %s%zu characters; it "
			"needs 1 to %d",
			len > WEFT_PSET_NAME_MAX ? "at least " : "", len,
			WEFT_PSET_NAME_MAX);
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (!strncasecmp(name, schemes[i], strlen(schemes[i])))
			return weft_err_set(WEFT_ERR_ARG,
				"process set \"%s\": names that begin with %s "
				"are reserved for the library",
				name, schemes[i]);
	if (!app_set_find(session, name)) {
		if (manager_group(name, &group))
			return 0;
		weft_group_put(group);
	}
	return weft_err_set(
		WEFT_ERR_NAME, "process set \"%s\" exists already", name);
}

/* Inserts a set. Consumes the caller's reference on group, also after an error.
 */
static int app_set_add(struct weft_session *session, const char *name,
	struct weft_group *group)
{
	struct weft_psets *psets = psets_of(session);
	size_t len = strlen(name) + 1;
	struct app_set *app_set = malloc(sizeof(*app_set) + len);
	int err = app_set && psets ? 0 : WEFT_ERR_NOMEM;

	if (!err && group->my_rank >= 0)
		err = psets_refresh(session);
	if (!err && group->my_rank >= 0)
		err = record_name(psets, name);
	if (err) {
		weft_group_put(group);
		free(app_set);
		return err;
	}
	memcpy(app_set->name, name, len);
	app_set->group = group;
	weft_list_push_back(&psets->app_sets, &app_set->link);
	psets->n_app_changes++;
	weft_pset_watch_defined(session, name, true);
	return 0;
}

int weft_pset_define(struct weft_session *session, const char *name,
	const struct weft_group *members)
{
	struct weft_group *group = &weft_group_empty;
	int err;

	weft_vci_lock(&weft_proc.vci);
	err = check_name(session, name);
	if (!err && members->size)
		err = weft_group_dup(members, &group);
	if (!err && group->size) {
		group->session = NULL;
		group->session_handle = 0;
	}
	if (!err)
		err = app_set_add(session, name, weft_group_get(group));
	if (group->size)
		weft_group_put(group);
	weft_vci_unlock(&weft_proc.vci);
	return err;
}

int weft_pset_delete(struct weft_session *session, const char *name)
{
	struct app_set *app_set;
	int err = 0;

	weft_vci_lock(&weft_proc.vci);
	app_set = app_set_find(session, name);
	if (app_set) {
		app_set_free(app_set);
		session->psets->n_app_changes++;
		weft_pset_watch_defined(session, name, false);
	} else {
		err = weft_err_set(WEFT_ERR_NAME,
			"MPIX_Session_create_pset has defined no process set "
			"\"%s\" in this session; for a published set, call "
			"MPIX_Session_unpublish_pset",
			name);
	}
	weft_vci_unlock(&weft_proc.vci);
	return err;
}

int weft_pset_publish(struct weft_session *session, const char *name,
	const struct weft_group *members)
{
	uint64_t *procs = malloc(members->size * sizeof(*procs) + 1);
	int err;

	if (!procs)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; i < members->size; i++)
		procs[i] = weft_group_proc(members, i);
	weft_vci_lock(&weft_proc.vci);
	err = check_name(session, name);
	if (!err)
		err = weft_boot_pset_define(
			weft_proc.boot, name, procs, members->size);
	weft_proc.pset_version += !err;
	weft_vci_unlock(&weft_proc.vci);
	free(procs);
	return err;
}

int weft_pset_unpublish(struct weft_session *session, const char *name)
{
	int err;

	(void)session;
	weft_vci_lock(&weft_proc.vci);
	err = weft_boot_pset_delete(weft_proc.boot, name);
	weft_proc.pset_version += !err;
	weft_vci_unlock(&weft_proc.vci);
	return err;
}

int weft_pset_combine(struct weft_session *session, weft_pset_op_fn *op,
	const char *a, const char *b, const char *name)
{
	struct weft_group *left = NULL, *right = NULL, *result = NULL;
	int err = weft_pset_group(session, a, &left);

	if (!err)
		err = weft_pset_group(session, b, &right);
	if (!err)
		err = op(left, right, &result);
	if (!err)
		err = weft_pset_define(session, name, result);
	weft_group_put(left);
	weft_group_put(right);
	weft_group_put(result);
	return err;
}

uint64_t weft_pset_changes(struct weft_session *session)
{
	struct weft_psets *psets;
	uint64_t n = 0;

	weft_vci_lock(&weft_proc.vci);
	psets = psets_of(session);
	weft_progress(&weft_proc.vci); /* receives the manager's events */
	if (psets)
		n = psets->n_app_changes + pset_n_events() -
		    psets->n_first_events;
	weft_vci_unlock(&weft_proc.vci);
	return n;
}
