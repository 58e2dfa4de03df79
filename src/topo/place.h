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
	uint32_t n_cores; /* cores for each process, then bind is core or NULL;
			     or 0 */
};

/* Computes where each of n processes may run. Process i gets the next object of
 * type map, and in it the next object of type bind; either defaults to the
 * other. If there are more processes than objects, assignment starts over. With
 * n_cores, each process is bound to that many consecutive cores in its object
 * of type map, and the machine must have enough. Only processors that the
 * caller may use are assigned. WEFT_ERR_ARG for an unknown word,
 * WEFT_ERR_NOTFOUND for hardware that this machine does not have. */
int weft_place_assign(
	const struct weft_place *place, uint32_t n, cpu_set_t *sets_out);

/* Claims this core, named by its first processor. True if it was free: then it
 * belongs to the job. */
typedef bool weft_place_claim_fn(void *arg, unsigned cpu);

/* How a job without placement options is bound. */
enum weft_place_choice {
	WEFT_PLACE_CORES,   /* bound, each process to a core */
	WEFT_PLACE_NUMA,    /* bound, each process to the NUMA node of a core */
	WEFT_PLACE_ALONE,   /* not bound: one process, with no other to separate
			       it from */
	WEFT_PLACE_ONE,	    /* not bound: the machine has one NUMA node */
	WEFT_PLACE_CROWDED, /* not bound: fewer cores than processes */
	WEFT_PLACE_SHARED,  /* not bound: fewer free cores than processes */
};

/* Chooses for n processes, each of which claims a core. Two processes are bound
 * to their cores unless is_threaded; more processes are bound to the NUMA nodes
 * of their cores, assigned to the nodes in turn. Fills sets_out if bound.
 * WEFT_ERR_OTHER if the machine cannot be read. */
int weft_place_choose(const char *machine, uint32_t n, bool is_threaded,
	weft_place_claim_fn *claim, void *arg, cpu_set_t *sets_out,
	enum weft_place_choice *choice_out);

/* Claims the cores of n sets that weft_place_assign() assigned, as far as they
 * are free. */
int weft_place_claim(const char *machine, const cpu_set_t *sets, uint32_t n,
	weft_place_claim_fn *claim, void *arg);

#endif
