/* SPDX-License-Identifier: BSD-3-Clause */
/* place: assigns the processes of a launch to hardware */
#ifndef WEFT_PLACE_H
#define WEFT_PLACE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* The requested binding and mapping; strings may be NULL. */
struct weft_place {
	const char *bind;    /* core, socket, numa, hwthread or none */
	const char *map;     /* core, socket, numa or hwthread */
	const char *machine; /* a synthetic machine in hwloc's notation; for
				tests */
	uint32_t n_cores; /* number of cores for each process; bind is then core
			     or NULL. 0: not set */
};

/* Assigns each of n processes the processors that it may run on. Process i is
 * assigned the next object of type map, and in it the next object of type bind.
 * If one of the two types is NULL, the other one is used for both. If there are
 * more processes than objects, assignment continues with the first object. If
 * n_cores is not 0, each process is bound to n_cores consecutive cores in its
 * object of type map, and the machine must have enough cores. Only processors
 * that the caller may use are assigned. WEFT_ERR_ARG: an unknown word.
 * WEFT_ERR_NOTFOUND: this machine has no such hardware. */
int weft_place_assign(
	const struct weft_place *place, uint32_t n, cpu_set_t *sets_out);

/* Claims a core, which its first processor identifies. Returns true if the core
 * was free; it then belongs to the job. */
typedef bool weft_place_claim_fn(void *arg, unsigned cpu);

/* The binding of a job without placement options. */
enum weft_place_choice {
	WEFT_PLACE_CORES, /* each process is bound to a core */
	WEFT_PLACE_NUMA,  /* each process is bound to the NUMA node of a core */
	WEFT_PLACE_ONE_PROCESS,	  /* not bound: the job has one process */
	WEFT_PLACE_ONE_NUMA,	  /* not bound: the machine has one NUMA node */
	WEFT_PLACE_TOO_FEW_CORES, /* not bound: fewer cores than processes */
	WEFT_PLACE_CORES_CLAIMED, /* not bound: fewer free cores than processes
				   */
};

/* Chooses the binding of n processes and claims a core for each. Two processes
 * are bound to their cores, unless is_threaded. Other jobs of several processes
 * are bound to the NUMA nodes of their cores, and are distributed over the
 * nodes in turn. sets_out is valid only if they are bound. WEFT_ERR_OTHER: the
 * machine cannot be read. */
int weft_place_choose(const char *machine, uint32_t n, bool is_threaded,
	weft_place_claim_fn *claim, void *arg, cpu_set_t *sets_out,
	enum weft_place_choice *choice_out);

/* Claims a free core for one more process of a job that weft_place_choose() has
 * bound, and sets *set_out to that core, or with is_numa to its NUMA node. If
 * no core is free, *set_out is empty. WEFT_ERR_OTHER: the machine cannot be
 * read.
 */
int weft_place_add(const char *machine, bool is_numa,
	weft_place_claim_fn *claim, void *arg, cpu_set_t *set_out);

/* Claims the free cores of n sets that weft_place_assign() assigned. */
int weft_place_claim(const char *machine, const cpu_set_t *sets, uint32_t n,
	weft_place_claim_fn *claim, void *arg);

#endif
