/* SPDX-License-Identifier: BSD-3-Clause */
/* hints: the effect of a session's hints on the chosen fabric
 *
 * Hints change the flags of a context's operations, and which operations are
 * queued as active messages. A hint has an effect only if the fabric's plan has
 * a flag or another method for it. The hints of several session starts of a
 * context are combined. Each start reports only its own hints. */
#include "rma/rma_priv.h"

#include "base/knob.h"

#include <stdio.h>
#include <string.h>

enum {
	/* active messages of a batch, at most; a full queue ends a batch
	 * earlier */
	AM_WINDOW = 1024,
	PUT = 1 << WEFT_CLASS_PUT,
	AMO = 1 << WEFT_CLASS_AMO,
	FAMO = 1 << WEFT_CLASS_FAMO,
	PWS = 1 << WEFT_CLASS_PWS,
};

static const char *const class_names[WEFT_CLASS_N] = {
	[WEFT_CLASS_PUT] = "puts",
	[WEFT_CLASS_AMO] = "atomics",
	[WEFT_CLASS_FAMO] = "fetching atomics",
	[WEFT_CLASS_PWS] = "puts with signal",
};

/* The effect of a hint may depend on flags that earlier entries have set. */
static const struct {
	unsigned bit;
	const char *name;
	unsigned selects; /* classes that an OP_ hint names */
} hints_known[] = {
	{ WEFT_RMA_OP_PUT, "OP_PUT", PUT },
	{ WEFT_RMA_OP_AMO, "OP_AMO", AMO },
	{ WEFT_RMA_OP_FAMO, "OP_FAMO", FAMO },
	{ WEFT_RMA_OP_PWS, "OP_PWS", PWS },
	{ WEFT_RMA_BUNDLE, "BUNDLE", 0 },
	{ WEFT_RMA_STAMO, "STAMO", 0 },
	{ WEFT_RMA_HRP, "HRP", 0 },
	{ WEFT_RMA_DC, "DC", 0 },
	{ WEFT_RMA_NO_CNCR_TACCESS, "NO_CNCR_TACCESS", 0 },
	{ WEFT_RMA_UNIFORM_AMO, "UNIFORM_AMO", 0 },
};

enum { N_HINTS = sizeof(hints_known) / sizeof(*hints_known) };

/* All hints of a session and their effect, before a context adopts it. */
struct hints {
	const struct weft_plan *plan; /* NULL: all PEs are local */
	unsigned hints;
	uint64_t flags[WEFT_CLASS_N];
	unsigned am_classes;
};

/* The effect of one hint. */
struct effect {
	unsigned classes; /* bits of the classes to which the hint applies */
	uint64_t flags;	  /* added to operations of these classes */
	bool is_am; /* operations of these classes are queued as active messages
		     */
	const char *how; /* text of the report, before "for" and the classes */
	const char *ignored; /* reason for no effect; or NULL */
};

static struct effect ignored(const char *why)
{
	return (struct effect){ .ignored = why };
}

static struct effect applied(unsigned classes, uint64_t flags, const char *how)
{
	return (struct effect){
		.classes = classes, .flags = flags, .how = how
	};
}

static struct effect high_rate(const struct hints *a)
{
	bool is_once = a->flags[WEFT_CLASS_AMO] & a->plan->once_flags;

	if (!a->plan->rate_flags)
		return ignored("the fabric has no high-rate puts, or not with "
			       "its keys and order");
	if (a->hints & WEFT_RMA_DC)
		return ignored("DC asks for more than a high-rate put reports");
	return applied(
		is_once ? PUT | AMO : PUT, a->plan->rate_flags, "FI_CXI_HRP");
}

static struct effect effect_of(const struct hints *a, unsigned hint)
{
	const struct weft_plan *plan = a->plan;
	struct effect e;

	if (!plan)
		return ignored("all processes are on this node, where access "
			       "is by load and store");
	switch (hint) {
	case WEFT_RMA_BUNDLE:
		/* the flag is not for fetches, which wait for their results */
		if (plan->batch_flags)
			return applied(PUT | AMO | PWS, plan->batch_flags,
				"FI_MORE on all but the last of a batch");
		if (!plan->has_costly_posts)
			return ignored("the fabric has no flag for it and "
				       "sends small operations best "
				       "individually");
		e = applied(PUT | AMO | FAMO | PWS, 0,
			"gathered in messages, carried out by the target,");
		e.is_am = true;
		return e;
	case WEFT_RMA_STAMO:
		if (!plan->once_flags)
			return ignored("the fabric has no atomics that are "
				       "sent only once");
		if (!weft_knob_is_on(weft_knobs.unreliable))
			return ignored("a lost one ends with an error; "
				       "WEFT_UNRELIABLE=on permits it");
		return applied(AMO, plan->once_flags, "FI_CXI_UNRELIABLE");
	case WEFT_RMA_HRP:
		return high_rate(a);
	case WEFT_RMA_DC:
		return applied(
			plan->has_fabric_amo ? PUT | AMO | PWS : PUT | PWS,
			plan->deliver_flags, "FI_DELIVERY_COMPLETE");
	case WEFT_RMA_NO_CNCR_TACCESS:
	case WEFT_RMA_UNIFORM_AMO:
		return ignored(plan->has_fabric_amo
				       ? "no fabric has a flag for it, and "
					 "atomics of the fabric are not mixed "
					 "with the CPU's"
				       : "atomics are the CPU's already");
	default:
		return applied(0, 0,
			"the other hints are for this class of operations");
	}
}

static void report_effect(const struct effect *e, const char *name,
	weft_rma_report_fn *report, void *arg)
{
	char how[256];
	const char *between = " for ";
	int used = snprintf(
		how, sizeof(how), "%s", e->ignored ? e->ignored : e->how);

	for (int i = 0; i < WEFT_CLASS_N; i++) {
		if (!(e->classes & 1u << i))
			continue;
		used += snprintf(how + used, sizeof(how) - (size_t)used, "%s%s",
			between, class_names[i]);
		between = ", ";
	}
	report(arg, name, !e->ignored, how);
}

/* Computes the effect of all hints, and reports the effect of the hints in
 * `fresh`. */
static void weigh(
	struct hints *a, unsigned fresh, weft_rma_report_fn *report, void *arg)
{
	unsigned selected = 0;

	for (int i = 0; i < N_HINTS; i++)
		if (a->hints & hints_known[i].bit)
			selected |= hints_known[i].selects;
	for (int i = 0; i < N_HINTS; i++) {
		unsigned bit = a->hints & hints_known[i].bit;
		struct effect e = effect_of(a, bit);

		if (!bit)
			continue;
		if (e.classes && selected && !(e.classes & selected))
			e.ignored = "it is not for the classes of operations "
				    "named";
		if (selected)
			e.classes &= selected;
		for (int k = 0; k < WEFT_CLASS_N; k++)
			if (e.classes & 1u << k)
				a->flags[k] |= e.flags;
		a->am_classes |= e.is_am ? e.classes : 0;
		if (report && (fresh & bit))
			report_effect(&e, hints_known[i].name, report, arg);
	}
}

void weft_rma_hints_explain(const struct weft_plan *plan, unsigned hints,
	weft_rma_report_fn *report, void *arg)
{
	struct hints a = { .plan = plan, .hints = hints & WEFT_RMA_HINTS };

	weigh(&a, a.hints, report, arg);
}

/* Stores the effect of hints in a context that has no deferred operations. */
static void adopt(struct weft_rma_ctx *ctx, const struct hints *a)
{
	memcpy(ctx->flags, a->flags, sizeof(ctx->flags));
	ctx->am_classes = a->am_classes;
}

static void rma_hints_release(struct weft_rma_ctx *ctx)
{
	int err = ctx->ep ? weft_remote_release(ctx) : 0;

	if (err && !ctx->err)
		ctx->err = err;
}

void weft_rma_session_start(struct weft_rma_ctx *ctx, unsigned hints,
	size_t total_ops, weft_rma_report_fn *report, void *arg)
{
	struct hints a = { .plan = ctx->ep ? &ctx->ep->domain->plan : NULL };
	size_t window = WEFT_WINDOW;

	weft_ctx_take(ctx);
	rma_hints_release(ctx);
	ctx->hints |= hints & WEFT_RMA_HINTS;
	a.hints = ctx->hints;
	weigh(&a, hints, report, arg);
	adopt(ctx, &a);
	if (a.plan && a.plan->has_costly_posts)
		window = AM_WINDOW;
	else if (a.plan)
		window = weft_min(window, a.plan->tx_len / 2);
	ctx->window = (uint32_t)weft_max(weft_min(window, total_ops), 1);
	weft_ctx_drop(ctx);
}

void weft_rma_session_stop(struct weft_rma_ctx *ctx)
{
	const struct hints none = { .hints = 0 };

	weft_ctx_take(ctx);
	rma_hints_release(ctx);
	ctx->hints = 0;
	ctx->window = WEFT_WINDOW;
	adopt(ctx, &none);
	weft_ctx_drop(ctx);
}
