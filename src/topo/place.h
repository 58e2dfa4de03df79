/* SPDX-License-Identifier: BSD-3-Clause */
/* place: deal the processes of a launch to pieces of hardware */
#ifndef WEFT_PLACE_H
#define WEFT_PLACE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* What to deal; strings may be NULL. */
struct weft_place {
	const char *bind;    /* core, socket, numa, hwthread or none */
	const char *map;     /* core, socket, numa or hwthread */
	const char *machine; /* made-up, in hwloc's notation; for tests */
	uint32_t n_cores;    /* 0, or of each process: bind is core or NULL */
};

/*
 * Where each of n processes may run: process i goes to the next object of
 * type map, and there to the next of type bind; either defaults to the other.
 * More processes than objects start over.  With n_cores each is bound to so
 * many cores that follow each other in its object of type map, and as many as
 * can be dealt that way there must be.  Only processors that we may use
 * ourselves are dealt.  WEFT_ERR_ARG for a word that is not known,
 * WEFT_ERR_NOTFOUND for hardware this machine does not have.
 */
int weft_place_deal(
	const struct weft_place *place, uint32_t n, cpu_set_t *sets_out);

/* Is this core, named by its first processor, free for us?  It is ours then. */
typedef bool weft_place_claim_fn(void *arg, unsigned cpu);

/* What is done with a job that nobody said anything about. */
enum weft_place_choice {
	WEFT_PLACE_CORES,   /* bound, each process to a core */
	WEFT_PLACE_NUMA,    /* bound, each to a core's NUMA node */
	WEFT_PLACE_ALONE,   /* not bound: one process, nobody to keep from */
	WEFT_PLACE_ONE,	    /* not bound: there is but one NUMA node */
	WEFT_PLACE_CROWDED, /* not bound: fewer cores than processes */
	WEFT_PLACE_SHARED,  /* not bound: fewer free cores than processes */
};

/*
 * Choose for n processes, each of which claims a core: two are bound to
 * theirs unless is_threaded, more to its NUMA node, dealt to the nodes in
 * turn.  Fills sets_out if bound.  WEFT_ERR_OTHER for a machine that cannot be
 * read.
 */
int weft_place_choose(const char *machine, uint32_t n, bool is_threaded,
	weft_place_claim_fn *claim, void *arg, cpu_set_t *sets_out,
	enum weft_place_choice *choice_out);

/* Claim the cores of n sets that were dealt otherwise, if they are free. */
int weft_place_claim(const char *machine, const cpu_set_t *sets, uint32_t n,
	weft_place_claim_fn *claim, void *arg);

#endif
