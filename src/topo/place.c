/* SPDX-License-Identifier: BSD-3-Clause */
/* place: assigns the processes of a launch to hardware */
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
		"--%s %s: expected core, socket, numa or hwthread%s", option,
		word, strcmp(option, "bind-to") ? "" : ", or none");
}

/* Loads the part of this machine that this process may use, or a synthetic one.
 */
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
	return weft_err_set(WEFT_ERR_OTHER,
		"hwloc cannot read this machine%s%s", machine ? ": " : "",
		machine ? machine : "");
}

/* Returns object k of the objects of a type within a set. k is taken modulo the
 * number of these objects. */
static hwloc_obj_t object_at(hwloc_topology_t machine, hwloc_const_cpuset_t set,
	hwloc_obj_type_t type, uint32_t k)
{
	int n = hwloc_get_nbobjs_inside_cpuset_by_type(machine, set, type);

	if (n <= 0)
		return NULL;
	return hwloc_get_obj_inside_cpuset_by_type(
		machine, set, type, k % (uint32_t)n);
}

/* Returns the object of process i; NULL if the machine has no such objects. */
static hwloc_obj_t place_one(hwloc_topology_t machine, hwloc_obj_type_t bind,
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
	/* bind is the larger type: uses the object that contains `place` */
	while (true) {
		outer = hwloc_get_next_obj_by_type(machine, bind, outer);
		if (!outer ||
			hwloc_bitmap_isincluded(place->cpuset, outer->cpuset))
			return outer;
	}
}

/* Returns the object type that counts as a core: a virtual machine may have no
 * core objects. */
static hwloc_obj_type_t core_type(hwloc_topology_t machine)
{
	return hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_CORE) > 0
		       ? HWLOC_OBJ_CORE
		       : HWLOC_OBJ_PU;
}

static int place_cores(hwloc_topology_t machine, hwloc_obj_type_t map,
	uint32_t n_cores, uint32_t i, cpu_set_t *set_out)
{
	hwloc_const_cpuset_t inside =
		hwloc_topology_get_topology_cpuset(machine);
	cpu_set_t one;

	CPU_ZERO(set_out);
	if (map == HWLOC_OBJ_PACKAGE || map == HWLOC_OBJ_NUMANODE) {
		int n = hwloc_get_nbobjs_inside_cpuset_by_type(
			machine, inside, map);
		hwloc_obj_t object = object_at(machine, inside, map, i);

		inside = object ? object->cpuset : inside;
		i /= object ? (uint32_t)n : 1;
	}
	for (uint32_t k = i * n_cores; k < (i + 1) * n_cores; k++) {
		hwloc_obj_t core = hwloc_get_obj_inside_cpuset_by_type(
			machine, inside, core_type(machine), k);

		if (!core)
			return WEFT_ERR_NOTFOUND;
		hwloc_cpuset_to_glibc_sched_affinity(
			machine, core->cpuset, &one, sizeof(one));
		CPU_OR(set_out, set_out, &one);
	}
	return 0;
}

static int assign_cores(hwloc_topology_t machine,
	const struct weft_place *place, uint32_t n, cpu_set_t *sets_out)
{
	hwloc_obj_type_t map = HWLOC_OBJ_CORE;
	int err = place->map ? type_of("map-by", place->map, &map) : 0;

	if (!err && place->bind && strcmp(place->bind, "core"))
		err = weft_err_set(WEFT_ERR_ARG,
			"--bind-to %s: several cores for each process need "
			"--bind-to core",
			place->bind);
	for (uint32_t i = 0; i < n && !err; i++)
		if (place_cores(machine, map, place->n_cores, i, &sets_out[i]))
			err = weft_err_set(WEFT_ERR_NOTFOUND,
				"%u cores for each of %u processes: this "
				"machine has too few from process %u on; use "
				"fewer of either, or --bind-to none",
				place->n_cores, n, i);
	return err;
}

static int assign_objects(hwloc_topology_t machine,
	const struct weft_place *place, uint32_t n, cpu_set_t *sets_out)
{
	const char *map = place->map ? place->map : place->bind;
	const char *bind = place->bind ? place->bind : map;
	hwloc_obj_type_t bind_type = HWLOC_OBJ_PU, map_type = HWLOC_OBJ_PU;
	int err = type_of(place->map ? "map-by" : "bind-to", map, &map_type);

	if (!err)
		err = type_of(
			place->bind ? "bind-to" : "map-by", bind, &bind_type);
	for (uint32_t i = 0; i < n && !err; i++) {
		hwloc_obj_t obj = place_one(machine, bind_type, map_type, i);

		if (!obj)
			err = weft_err_set(WEFT_ERR_NOTFOUND,
				"this machine has no %s to map processes to",
				i ? bind : map);
		else
			hwloc_cpuset_to_glibc_sched_affinity(machine,
				obj->cpuset, &sets_out[i], sizeof(*sets_out));
	}
	return err;
}

int weft_place_assign(
	const struct weft_place *place, uint32_t n, cpu_set_t *sets_out)
{
	hwloc_topology_t machine;
	int err = machine_load(place->machine, &machine);

	if (err)
		return err;
	err = place->n_cores ? assign_cores(machine, place, n, sets_out)
			     : assign_objects(machine, place, n, sets_out);
	hwloc_topology_destroy(machine);
	return err;
}

/* ---- without placement options ---- */

/* Jobs of at most this many processes are bound to cores, as in Open MPI. */
enum { BOUND_TO_CORES = 2 };

/* Returns core k, and in *around_out the object to which its process is bound.
 * With n_nodes 0, that object is the core. Otherwise cores are selected from
 * n_nodes NUMA nodes in turn, and the object is the NUMA node of the core. NULL
 * if that node has too few cores. */
static hwloc_obj_t nth_core(hwloc_topology_t machine, uint32_t n_nodes,
	uint32_t k, hwloc_obj_t *around_out)
{
	hwloc_obj_type_t type = core_type(machine);
	hwloc_obj_t node;

	if (!n_nodes)
		return *around_out = hwloc_get_obj_by_type(machine, type, k);
	node = *around_out =
		hwloc_get_obj_by_type(machine, HWLOC_OBJ_NUMANODE, k % n_nodes);
	if (!node || hwloc_bitmap_iszero(node->cpuset))
		return NULL;
	return hwloc_get_obj_inside_cpuset_by_type(
		machine, node->cpuset, type, k / n_nodes);
}

static bool claim_core(hwloc_obj_t core, weft_place_claim_fn *claim, void *arg)
{
	return claim(arg, (unsigned)hwloc_bitmap_first(core->cpuset));
}

static void cpuset_to_sched(
	hwloc_topology_t machine, hwloc_const_cpuset_t cpus, cpu_set_t *out)
{
	hwloc_cpuset_to_glibc_sched_affinity(machine, cpus, out, sizeof(*out));
}

/* Claims up to n cores. Returns the number of claimed cores. */
static uint32_t claim_cores(hwloc_topology_t machine, uint32_t n,
	uint32_t n_nodes, weft_place_claim_fn *claim, void *arg,
	cpu_set_t *sets_out)
{
	int cores = hwloc_get_nbobjs_by_type(machine, core_type(machine));
	uint32_t n_tries = (uint32_t)cores * (n_nodes ? n_nodes : 1),
		 n_claimed = 0;

	for (uint32_t k = 0; k < n_tries && n_claimed < n; k++) {
		hwloc_obj_t around = NULL;
		hwloc_obj_t core = nth_core(machine, n_nodes, k, &around);

		if (core && claim_core(core, claim, arg))
			cpuset_to_sched(machine, around->cpuset,
				&sets_out[n_claimed++]);
	}
	return n_claimed;
}

static enum weft_place_choice place_choose(hwloc_topology_t machine, uint32_t n,
	bool is_threaded, weft_place_claim_fn *claim, void *arg,
	cpu_set_t *sets_out)
{
	int cores = hwloc_get_nbobjs_by_type(machine, core_type(machine));
	int nodes = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_NUMANODE);
	bool binds_to_nodes = is_threaded || n > BOUND_TO_CORES;
	uint32_t n_nodes = binds_to_nodes && nodes > 0 ? (uint32_t)nodes : 0;
	uint32_t n_claimed =
		claim_cores(machine, n, n_nodes, claim, arg, sets_out);

	if (n == 1)
		return WEFT_PLACE_ONE_PROCESS;
	if (n > (uint32_t)cores)
		return WEFT_PLACE_TOO_FEW_CORES;
	if (n_claimed < n)
		return WEFT_PLACE_CORES_CLAIMED;
	if (!binds_to_nodes)
		return WEFT_PLACE_CORES;
	return n_nodes > 1 ? WEFT_PLACE_NUMA : WEFT_PLACE_ONE_NUMA;
}

int weft_place_choose(const char *machine, uint32_t n, bool is_threaded,
	weft_place_claim_fn *claim, void *arg, cpu_set_t *sets_out,
	enum weft_place_choice *choice_out)
{
	hwloc_topology_t hw;
	int err = machine_load(machine, &hw);

	if (err)
		return err;
	*choice_out = place_choose(hw, n, is_threaded, claim, arg, sets_out);
	hwloc_topology_destroy(hw);
	return 0;
}

int weft_place_add(const char *machine, bool is_numa,
	weft_place_claim_fn *claim, void *arg, cpu_set_t *set_out)
{
	hwloc_topology_t hw;
	int err = machine_load(machine, &hw), nodes;

	if (err)
		return err;
	CPU_ZERO(set_out);
	nodes = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_NUMANODE);
	claim_cores(hw, 1, is_numa && nodes > 0 ? (uint32_t)nodes : 0, claim,
		arg, set_out);
	hwloc_topology_destroy(hw);
	return 0;
}

int weft_place_claim(const char *machine, const cpu_set_t *sets, uint32_t n,
	weft_place_claim_fn *claim, void *arg)
{
	hwloc_topology_t hw;
	int err = machine_load(machine, &hw);
	hwloc_obj_t core = NULL;
	cpu_set_t all, mine;

	if (err)
		return err;
	CPU_ZERO(&all);
	for (uint32_t i = 0; i < n; i++)
		CPU_OR(&all, &all, &sets[i]);
	while ((core = hwloc_get_next_obj_by_type(hw, core_type(hw), core)) !=
		NULL) {
		cpuset_to_sched(hw, core->cpuset, &mine);
		CPU_AND(&mine, &mine, &all);
		if (CPU_COUNT(&mine))
			(void)claim_core(core, claim, arg);
	}
	hwloc_topology_destroy(hw);
	return 0;
}
