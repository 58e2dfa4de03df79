/* SPDX-License-Identifier: BSD-3-Clause */
/* topo: queries the machine by hwloc */
#include "topo/topo.h"
#include "base/bits.h"
#include "base/err.h"
#include "base/log.h"

#include <hwloc.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_MAX = 32768 };

static const char uri_prefix[] = "hwloc://";

struct weft_topo_type {
	hwloc_obj_type_t type;
	int depth;
	char name[32];
};

/* Opened on first use; closed with the process-wide object
 * (transport/proc.h). */
struct weft_topo {
	hwloc_topology_t hw;
	hwloc_bitmap_t mine;
	char *cpuset; /* processors of this process, as text */
	bool is_loaded;
	bool has_failed; /* the machine could not be read, which was reported */
	size_t n_types;
	struct weft_topo_type types[WEFT_TOPO_TYPES_MAX];
};

static struct weft_topo *topo_create(void)
{
	struct weft_topo *topo = calloc(1, sizeof(*topo));

	if (!topo)
		return NULL;
	topo->mine = hwloc_bitmap_alloc();
	if (!topo->mine || hwloc_topology_init(&topo->hw)) {
		topo->hw = NULL;
		weft_topo_close(topo);
		return NULL;
	}
	return topo;
}

static int no_memory(void)
{
	return weft_err_set(WEFT_ERR_NOMEM, "no memory for the topology");
}

/* Reads the binding from the kernel, because hwloc would have to read the
 * machine first. */
static void read_binding(hwloc_bitmap_t mine)
{
	size_t len = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);

	if (set && sched_getaffinity(0, len, set) == 0)
		for (unsigned i = 0; i < CPUS_MAX; i++)
			if (CPU_ISSET_S(i, len, set))
				hwloc_bitmap_set(mine, i);
	if (set)
		CPU_FREE(set);
	if (hwloc_bitmap_iszero(mine))
		hwloc_bitmap_only(mine, 0);
}

int weft_topo_open(struct weft_topo **topo_out)
{
	struct weft_topo *topo = topo_create();

	if (!topo)
		return no_memory();
	read_binding(topo->mine);
	hwloc_bitmap_list_asprintf(&topo->cpuset, topo->mine);
	if (!topo->cpuset) {
		weft_topo_close(topo);
		return no_memory();
	}
	*topo_out = topo;
	return 0;
}

int weft_topo_open_synthetic(
	const char *machine, const char *cpuset, struct weft_topo **topo_out)
{
	struct weft_topo *topo = topo_create();

	if (!topo)
		return no_memory();
	if (hwloc_topology_set_synthetic(topo->hw, machine) ||
		hwloc_bitmap_list_sscanf(topo->mine, cpuset)) {
		weft_topo_close(topo);
		return weft_err_set(WEFT_ERR_ARG,
			"the machine \"%s\" or the cpuset \"%s\" is malformed",
			machine, cpuset);
	}
	hwloc_bitmap_list_asprintf(&topo->cpuset, topo->mine);
	if (!topo->cpuset) {
		weft_topo_close(topo);
		return no_memory();
	}
	*topo_out = topo;
	return 0;
}

void weft_topo_close(struct weft_topo *topo)
{
	if (!topo)
		return;
	if (topo->hw)
		hwloc_topology_destroy(topo->hw);
	hwloc_bitmap_free(topo->mine);
	free(topo->cpuset);
	free(topo);
}

const char *weft_topo_cpuset(const struct weft_topo *topo)
{
	return topo->cpuset;
}

unsigned weft_topo_n_cpus(const struct weft_topo *topo)
{
	int n = hwloc_bitmap_weight(topo->mine);

	return n > 0 ? (unsigned)n : 1;
}

/* Adds a level with hwloc's long name, which contains the level of a cache. */
static void add_type(struct weft_topo *topo, int depth)
{
	hwloc_obj_t obj = hwloc_get_obj_by_depth(topo->hw, depth, 0);
	struct weft_topo_type *t = &topo->types[topo->n_types];

	if (!obj || topo->n_types == WEFT_TOPO_TYPES_MAX)
		return;
	if (obj->type == HWLOC_OBJ_GROUP)
		return; /* hwloc groups have no meaningful name */
	t->type = obj->type;
	t->depth = depth;
	hwloc_obj_type_snprintf(t->name, sizeof(t->name), obj, 1);
	topo->n_types++;
}

/* NUMA nodes are attached beside the tree. They are listed above the first
 * level whose objects are not larger than a node. */
static void add_types(struct weft_topo *topo)
{
	hwloc_obj_t node =
		hwloc_get_obj_by_type(topo->hw, HWLOC_OBJ_NUMANODE, 0);
	int n_levels = hwloc_topology_get_depth(topo->hw);

	for (int depth = 0; depth < n_levels; depth++) {
		hwloc_obj_t obj = hwloc_get_obj_by_depth(topo->hw, depth, 0);

		if (node && depth > 0 &&
			hwloc_bitmap_isincluded(obj->cpuset, node->cpuset)) {
			add_type(topo, HWLOC_TYPE_DEPTH_NUMANODE);
			node = NULL;
		}
		add_type(topo, depth);
	}
}

static bool topo_load(struct weft_topo *topo)
{
	if (topo->is_loaded || topo->has_failed)
		return topo->is_loaded;
	hwloc_topology_set_all_types_filter(
		topo->hw, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
	hwloc_topology_set_cache_types_filter(
		topo->hw, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_type_filter(
		topo->hw, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_type_filter(
		topo->hw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_io_types_filter(
		topo->hw, HWLOC_TYPE_FILTER_KEEP_NONE);
	if (hwloc_topology_load(topo->hw)) {
		topo->has_failed = true;
		weft_log_warn("TOPO-LOAD",
			"hwloc cannot read this machine; hardware process sets "
			"and splits are not available (hwloc-ls shows the "
			"reason)");
		return false;
	}
	topo->is_loaded = true;
	add_types(topo);
	return true;
}

size_t weft_topo_types(
	struct weft_topo *topo, const char **names_out, size_t max)
{
	if (!topo_load(topo))
		return 0;
	for (size_t i = 0; i < topo->n_types && i < max; i++)
		names_out[i] = topo->types[i].name;
	return topo->n_types;
}

static const struct weft_topo_type *find_type(
	struct weft_topo *topo, const char *name)
{
	union hwloc_obj_attr_u attr;
	hwloc_obj_type_t type;
	int depth;

	if (strncmp(name, uri_prefix, sizeof(uri_prefix) - 1) == 0)
		name += sizeof(uri_prefix) - 1;
	if (!topo_load(topo) ||
		hwloc_type_sscanf(name, &type, &attr, sizeof(attr)) < 0)
		return NULL;
	if (type == HWLOC_OBJ_GROUP ||
		hwloc_type_sscanf_as_depth(name, &type, topo->hw, &depth) < 0)
		return NULL;
	for (size_t i = 0; i < topo->n_types; i++)
		if (topo->types[i].depth == depth)
			return &topo->types[i];
	return NULL;
}

unsigned weft_topo_n_objs(struct weft_topo *topo, const char *type)
{
	const struct weft_topo_type *t = find_type(topo, type);

	return t ? (unsigned)hwloc_get_nbobjs_by_depth(topo->hw, t->depth) : 0;
}

/* Returns the smallest object of the type that contains cpus; of several with
 * equal size, the first. NULL if there is none. */
static hwloc_obj_t find_obj(struct weft_topo *topo,
	const struct weft_topo_type *t, hwloc_const_bitmap_t cpus)
{
	hwloc_obj_t best = NULL;
	hwloc_obj_t obj = NULL;

	while ((obj = hwloc_get_next_obj_by_depth(topo->hw, t->depth, obj)))
		if (hwloc_bitmap_isincluded(cpus, obj->cpuset) &&
			(!best || hwloc_bitmap_weight(obj->cpuset) <
					  hwloc_bitmap_weight(best->cpuset)))
			best = obj;
	return best;
}

/* Parses a cpuset (NULL: the cpuset of this process), and removes processors
 * that this machine does not have. NULL if no processor remains. */
static hwloc_bitmap_t parse(struct weft_topo *topo, const char *cpuset)
{
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

	if (!cpus)
		return NULL;
	if (!cpuset)
		hwloc_bitmap_copy(cpus, topo->mine);
	else if (hwloc_bitmap_list_sscanf(cpus, cpuset))
		hwloc_bitmap_zero(cpus);
	hwloc_bitmap_and(
		cpus, cpus, hwloc_topology_get_complete_cpuset(topo->hw));
	if (hwloc_bitmap_iszero(cpus)) {
		hwloc_bitmap_free(cpus);
		return NULL;
	}
	return cpus;
}

int weft_topo_obj_of(struct weft_topo *topo, const char *cpuset,
	const char *type, char *id_out, size_t id_len)
{
	const struct weft_topo_type *t = find_type(topo, type);
	hwloc_bitmap_t cpus;
	hwloc_obj_t obj;

	if (!topo->is_loaded)
		return weft_err_set(
			WEFT_ERR_OTHER, "hwloc cannot read this machine");
	if (!t)
		return weft_err_set(WEFT_ERR_NAME,
			"this machine has no hardware of type \"%.64s\"", type);
	cpus = parse(topo, cpuset);
	if (!cpus)
		return weft_err_set(WEFT_ERR_ARG,
			"cpuset \"%.64s\" has no processor of this machine",
			cpuset ? cpuset : topo->cpuset);
	obj = find_obj(topo, t, cpus);
	hwloc_bitmap_free(cpus);
	if (!obj)
		return weft_err_set(WEFT_ERR_NOTFOUND,
			"processors %.64s are spread over several %s",
			cpuset ? cpuset : topo->cpuset, t->name);
	if ((size_t)snprintf(id_out, id_len, "%s:%u", t->name,
		    obj->logical_index) >= id_len)
		return weft_err_set(WEFT_ERR_ARG,
			"%zu bytes are too few for the object id %s:%u", id_len,
			t->name, obj->logical_index);
	return 0;
}
