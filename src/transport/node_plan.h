/* SPDX-License-Identifier: BSD-3-Clause */
/* node_plan: how messages are transferred between the processes of this node
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
	size_t ring_len;    /* payload bytes of one ring (knob WEFT_SHM_RING) */
	size_t n_slots;	    /* slots of one ring */
	size_t buf_budget;  /* bytes that the buffers of all rings that one VCI
			       writes may occupy (knob WEFT_SHM_MEMORY) */
	size_t eager_len;   /* longest message that is copied through the ring
			       (knob WEFT_SHM_EAGER); the ring has space for two
			     */
	char near[WEFT_NODE_PLAN_CPUS]; /* processors that share a cache with
					   this process */
};

/* Makes the plan of a node with this many processes of the job. The knobs have
 * been read. */
void weft_node_plan_make(struct weft_node_plan *plan, unsigned long n_here);

/* True if a process shares a cache with this process. cpus lists the processors
 * that the other process may run on, as on a business card. */
bool weft_node_plan_is_near(
	const struct weft_node_plan *plan, const char *cpus);

/* True if data for a process is copied with non-temporal stores, which bypass
 * the caches. is_near is the result of weft_node_plan_is_near() for that
 * process. */
bool weft_node_plan_stores_past(
	const struct weft_node_plan *plan, bool is_near);

#endif
