/* SPDX-License-Identifier: BSD-3-Clause */
/* place: deal the processes of a launch to pieces of hardware */
#include "topo/place.h"

#include "base/err.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <stdbool.h>
#include <string.h>

static int type_of(const char *option, const char *word, hwloc_obj_type_t *out)
{
	static const struct {
		const char *word;
		hwloc_obj_type_t type;
	} words[] = {
		{ "core", HWLOC_OBJ_CORE },
		{ "socket", HWLOC_OBJ_PACKAGE },
		{ "package", HWLOC_OBJ_PACKAGE },
		{ "numa", HWLOC_OBJ_NUMANODE },
		{ "hwthread", HWLOC_OBJ_PU },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i].word, word)) {
			*out = words[i].type;
			return 0;
		}
	return weft_err_set(WEFT_ERR_ARG,
		"--%s %s: expected core, socket, numa, hwthread or none",
		option, word);
}

/* This machine as far as we may use it ourselves, or a made-up one. */
static int machine_load(const char *machine, hwloc_topology_t *out)
{
	hwloc_bitmap_t mine = hwloc_bitmap_alloc();
	int rc = mine ? hwloc_topology_init(out) : -1;

	if (rc) {
		hwloc_bitmap_free(mine);
		return WEFT_ERR_NOMEM;
	}
	if (machine)
		rc = hwloc_topology_set_synthetic(*out, machine);
	if (!rc)
		rc = hwloc_topology_load(*out);
	if (!rc && !machine &&
		!hwloc_get_cpubind(*out, mine, HWLOC_CPUBIND_PROCESS) &&
		!hwloc_bitmap_iszero(mine))
		rc = hwloc_topology_restrict(*out, mine, 0);
	hwloc_bitmap_free(mine);
	if (!rc)
		return 0;
	hwloc_topology_destroy(*out);
	return weft_err_set(WEFT_ERR_OTHER, "cannot read the machine");
}

/* The k-th object of type with processors inside set, counted round. */
static hwloc_obj_t object_at(hwloc_topology_t machine, hwloc_const_cpuset_t set,
	hwloc_obj_type_t type, uint32_t k)
{
	int n = hwloc_get_nbobjs_inside_cpuset_by_type(machine, set, type);

	if (n <= 0)
		return NULL;
	return hwloc_get_obj_inside_cpuset_by_type(
		machine, set, type, k % (uint32_t)n);
}

/* Process i of the deal; NULL when the machine has no such objects. */
static hwloc_obj_t deal_one(hwloc_topology_t machine, hwloc_obj_type_t bind,
	hwloc_obj_type_t map, uint32_t i)
{
	hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(machine);
	int n = hwloc_get_nbobjs_inside_cpuset_by_type(machine, all, map);
	hwloc_obj_t place, inner, outer = NULL;

	place = object_at(machine, all, map, i);
	if (!place)
		return NULL;
	inner = object_at(machine, place->cpuset, bind, i / (uint32_t)n);
	if (inner)
		return inner;
	/* the larger thing is to be bound to: the one around place */
	while (true) {
		outer = hwloc_get_next_obj_by_type(machine, bind, outer);
		if (!outer ||
			hwloc_bitmap_isincluded(place->cpuset, outer->cpuset))
			return outer;
	}
}

static int deal(hwloc_topology_t machine, const struct weft_place *place,
	uint32_t n, cpu_set_t *sets_out)
{
	const char *bind = place->bind ? place->bind : place->map;
	const char *map = place->map ? place->map : place->bind;
	hwloc_obj_type_t bind_type = HWLOC_OBJ_PU, map_type = HWLOC_OBJ_PU;
	int err = type_of("bind-to", bind, &bind_type);

	if (!err)
		err = type_of("map-by", map, &map_type);
	for (uint32_t i = 0; i < n && !err; i++) {
		hwloc_obj_t obj = deal_one(machine, bind_type, map_type, i);

		if (!obj)
			err = weft_err_set(WEFT_ERR_NOTFOUND,
				"this machine has no %s to deal processes to",
				i ? bind : map);
		else
			hwloc_cpuset_to_glibc_sched_affinity(machine,
				obj->cpuset, &sets_out[i], sizeof(*sets_out));
	}
	return err;
}

int weft_place_deal(
	const struct weft_place *place, uint32_t n, cpu_set_t *sets_out)
{
	hwloc_topology_t machine;
	int err = machine_load(place->machine, &machine);

	if (err)
		return err;
	err = deal(machine, place, n, sets_out);
	hwloc_topology_destroy(machine);
	return err;
}
