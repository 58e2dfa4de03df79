/* SPDX-License-Identifier: BSD-3-Clause */
/* node_plan: how data is transferred between the processes of this node */
#include "transport/node_plan.h"

#include "base/bits.h"
#include "base/knob.h"
#include "shm/ring.h"
#include "topo/allowance.h"

#include <string.h>

enum {
	KIB = 1 << 10,
	MIB = 1 << 20,
	LEAST_RING = 128 * KIB,
	LEAST_BUDGET = 64 * KIB
};

static const char cpu_root[] = "/sys/devices/system/cpu";

/* If each process has a second-level cache, rings of twice its size suffice
 * (shm/ring.h), and a second copy is cheap only for short messages. If
 * processes share cores, long rings and long eager messages save context
 * switches, as long as the rings in use fit into the caches. A ring occupies
 * memory only where it has been written. */
static void node_plan_lens(struct weft_node_plan *plan, unsigned long n_here)
{
	size_t all = 0, most = LEAST_RING, eager = 16 * KIB, ring;

	if (plan->shares_cores) {
		all = 2 * MIB;
		most = 512 * KIB;
		eager = 128 * KIB;
	} else if (plan->has_own_cache) {
		all = 8 * MIB;
		most = 2 * MIB;
		eager = 32 * KIB;
	}
	ring = weft_min(all / weft_max(n_here, 1UL), most);
	plan->ring_len = weft_max(ring, (size_t)LEAST_RING);
	if (weft_knobs.shm_ring)
		plan->ring_len = (size_t)weft_knobs.shm_ring;
	plan->eager_len = weft_knobs.shm_eager
				  ? (size_t)weft_knobs.shm_eager
				  : weft_min(eager, plan->ring_len / 4);
}

/* Slots that were used occupy memory until the end. So half of the memory is
 * for the slots of n * n rings. The buffers that a process writes have its
 * share of the rest. */
static void node_plan_memory(struct weft_node_plan *plan, size_t n_here)
{
	size_t all = (size_t)weft_knobs.shm_memory, n = weft_max(n_here, 1);
	size_t rings;

	plan->n_slots = WEFT_RING_SLOTS_MAX;
	while (plan->n_slots > WEFT_RING_SLOTS_MIN &&
		n * n * plan->n_slots * sizeof(struct weft_ring_slot) > all / 2)
		plan->n_slots /= 2;
	rings = n * n * weft_ring_bytes(plan->n_slots);
	plan->buf_budget = rings < all ? (all - rings) / n : 0;
	plan->buf_budget = weft_max(plan->buf_budget, (size_t)LEAST_BUDGET);
}

void weft_node_plan_make(struct weft_node_plan *plan, unsigned long n_here)
{
	memset(plan, 0, sizeof(*plan));
	plan->shares_cores = n_here > weft_allowance_cpus();
	plan->has_own_cache = n_here <= weft_allowance_caches(cpu_root);
	plan->is_near_only =
		weft_allowance_near(cpu_root, plan->near, sizeof(plan->near));
	plan->is_one_cache =
		plan->is_near_only && weft_allowance_is_near(plan->near, NULL);
	node_plan_lens(plan, n_here);
	node_plan_memory(plan, n_here);
}

bool weft_node_plan_is_near(const struct weft_node_plan *plan, const char *cpus)
{
	return plan->is_near_only && weft_allowance_is_near(plan->near, cpus);
}

bool weft_node_plan_stores_past(const struct weft_node_plan *plan, bool is_near)
{
	return !is_near && !plan->shares_cores;
}
