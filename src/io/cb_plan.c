/* SPDX-License-Identifier: BSD-3-Clause */
/* cb_plan: computes aggregators, file domains and windows
 *
 * All members compute the same values, because they have the same numbers. */
#include "io/cb_priv.h"

#include "base/bits.h"

#include <stdlib.h>

enum {
	/* Unless a hint enables collective buffering, members move their own
	 * runs in three cases. First, if a member has fewer than FEW_RUNS runs
	 * on average. Second, if the average run is as long as a block of the
	 * file system, and in a write also LONG_RUN bytes. Third, if the gaps
	 * between the runs are too large. */
	FEW_RUNS = 16,
	LONG_RUN = 32 << 10,
	DOMAIN_MIN = 256 << 10, /* bytes */
};

void weft_cb_plan_aggregators(
	struct weft_cb *cb, int32_t size, const struct weft_file_hints *hints)
{
	int64_t n_wanted = hints->cb_nodes, per = hints->cb_per_node;
	uint32_t *n_of = calloc((uint32_t)size, sizeof(*n_of));
	int64_t turn = 0;
	int n_nodes = 0;

	for (int32_t r = 0; r < size; r++)
		n_nodes += cb->node[r] == r;
	cb->mine = -1;
	if (!n_wanted)
		n_wanted = per ? size : n_nodes;
	n_wanted = weft_min64(n_wanted, size);
	for (; n_of && cb->n_aggs < n_wanted && (!per || turn < per); turn++) {
		for (int32_t r = 0; r < size; r++)
			n_of[r] = 0;
		for (int32_t r = 0; r < size && cb->n_aggs < n_wanted; r++)
			if (n_of[cb->node[r]]++ == turn)
				cb->aggs[cb->n_aggs++] = r;
	}
	free(n_of);
}

struct weft_cb_sums weft_cb_plan_sum(
	const struct weft_cb_member *members, int32_t size)
{
	struct weft_cb_sums all = { .first = INT64_MAX, .is_monotone = true };

	for (int32_t r = 0; r < size; r++) {
		const struct weft_cb_member *m = &members[r];

		if (!m->len)
			continue;
		all.first = weft_min64(all.first, m->first);
		all.end = weft_max64(all.end, m->end);
		all.len += m->len;
		if (m->run_len)
			all.n_runs += (m->len - 1) / m->run_len + 1;
		else
			all.is_monotone = false;
	}
	return all;
}

bool weft_cb_plan_is_used(const struct weft_cb_sums *all,
	enum weft_file_choice choice, bool is_write, int64_t block,
	int32_t size)
{
	int64_t span = all->end - all->first, gaps = span - all->len;
	int64_t long_run = is_write ? weft_max64(block, LONG_RUN) : block;

	if (!all->len || !all->is_monotone)
		return false;
	if (choice == WEFT_FILE_ENABLE)
		return true;
	if (all->n_runs < (int64_t)FEW_RUNS * size ||
		all->len / all->n_runs >= long_run)
		return false;
	/* a write permits few gaps; a read also reads them */
	return is_write ? gaps <= span / 8
			: gaps / all->n_runs <= WEFT_MOVE_GAP_MAX;
}

void weft_cb_plan_domains(
	struct weft_cb_plan *plan, const struct weft_cb_sums *all)
{
	const struct weft_cb *cb = plan->cb;
	int64_t span;

	plan->first = all->first;
	plan->end = all->end;
	plan->base = all->first - all->first % cb->unit;
	span = all->end - plan->base;
	plan->domain = weft_max64((span - 1) / cb->n_aggs + 1, DOMAIN_MIN);
	plan->domain += cb->unit - 1;
	plan->domain -= plan->domain % cb->unit;
	plan->n_rounds = (weft_min64(plan->domain, span) - 1) / cb->len + 1;
	plan->has_holes = all->len < all->end - all->first;
}

bool weft_cb_plan_window(const struct weft_cb_plan *plan, int agg,
	int64_t round, struct weft_cb_window *w)
{
	int64_t from = plan->base + agg * plan->domain, len = plan->cb->len;
	char *mapped = plan->cb->mapped[agg];

	if (round < 0 || round >= plan->n_rounds)
		return false;
	w->base = from + round * len;
	w->first = weft_max64(w->base, plan->first);
	w->end = weft_min64(w->base + len, from + plan->domain);
	w->end = weft_min64(w->end, plan->end);
	w->i = (int)(round % WEFT_CB_SLOTS);
	w->slot = mapped ? mapped + w->i * len : NULL;
	return w->first < w->end;
}
