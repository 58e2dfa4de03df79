/* SPDX-License-Identifier: BSD-3-Clause */
/* node_plan: how messages travel between the processes of this node
 *
 * The plan is made once, when the process opens. It depends on the number of
 * processes, the processors and caches that they may use, and the knobs.
 * Whether two processes share a cache is determined when they attach. */
#ifndef WEFT_NODE_PLAN_H
#define WEFT_NODE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_NODE_PLAN_CPUS = 256 };

struct weft_node_plan {
	bool shares_cores;  /* the job has more processes here than cores */
	bool has_own_cache; /* each process may have a second-level cache */
	bool is_near_only;  /* all processors of this process share a cache */
	bool is_one_cache;  /* all processors of the job on this node share a
			       cache */
	size_t ring_len;    /* payload bytes of one ring; WEFT_SHM_RING */
	size_t eager_len;   /* longest message that is copied through the ring;
			       the ring has space for two; WEFT_SHM_EAGER */
	char near[WEFT_NODE_PLAN_CPUS]; /* processors that share my cache */
};

/* Makes the plan of a node with this many processes of the job. The knobs have
 * been read. */
void weft_node_plan_make(struct weft_node_plan *plan, unsigned long n_here);

/* True if a process that may run on these processors, a list as on a business
 * card, shares a cache with this one. */
bool weft_node_plan_is_near(
	const struct weft_node_plan *plan, const char *cpus);

/* True if data for a process is stored past the caches. is_near is the result
 * of weft_node_plan_is_near() for that process. */
bool weft_node_plan_stores_past(
	const struct weft_node_plan *plan, bool is_near);

#endif
