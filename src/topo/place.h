/* SPDX-License-Identifier: BSD-3-Clause */
/* place: deal the processes of a launch to pieces of hardware */
#ifndef WEFT_PLACE_H
#define WEFT_PLACE_H

#include <sched.h>
#include <stdint.h>

/* What to deal; strings may be NULL. */
struct weft_place {
	const char *bind;    /* core, socket, numa, hwthread or none */
	const char *map;     /* core, socket, numa or hwthread */
	const char *machine; /* made-up, in hwloc's notation; for tests */
};

/*
 * Where each of n processes may run: process i goes to the next object of
 * type map, and there to the next of type bind; either defaults to the other.
 * More processes than objects start over.  Only processors that we may use
 * ourselves are dealt.  WEFT_ERR_ARG for a word that is not known,
 * WEFT_ERR_NOTFOUND for hardware this machine does not have.
 */
int weft_place_deal(
	const struct weft_place *place, uint32_t n, cpu_set_t *sets_out);

#endif
