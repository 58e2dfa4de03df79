/* SPDX-License-Identifier: BSD-3-Clause */
/* hints: what a session's hints become on the fabric there is
 *
 * Hints change the flag words of a context and how its operations are
 * gathered, nothing else, and only as far as the plan has something for them.
 * Started twice, hints add up; each start tells what became of each. */
#include "rma/rma_priv.h"

#include "base/knob.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
	AM_WINDOW =
		1024, /* active messages of a batch; its length ends it first */
};

static const char *const class_names[WEFT_CLASS_N] = {
	[WEFT_CLASS_PUT] = "puts",
	[WEFT_CLASS_AMO] = "atomics",
	[WEFT_CLASS_FAMO] = "fetching atomics",
	[WEFT_CLASS_PWS] = "puts with signal",
};

/* The effect of the hints, before a context takes it over. */
struct hints {
	const struct weft_plan *plan; /* NULL: all PEs are local */
	unsigned hints;
	bool is_class[WEFT_CLASS_N]; /* that the hints are for */
	uint64_t flags[WEFT_CLASS_N];
	bool is_sending_am[WEFT_CLASS_N];
	/* the hint being looked at, in words */
	bool is_applied;
	char how[256];
};

static const struct {
	unsigned hint;
	enum weft_rma_class class;
} selectors[] = {
	{ WEFT_RMA_OP_PUT, WEFT_CLASS_PUT },
	{ WEFT_RMA_OP_AMO, WEFT_CLASS_AMO },
	{ WEFT_RMA_OP_FAMO, WEFT_CLASS_FAMO },
	{ WEFT_RMA_OP_PWS, WEFT_CLASS_PWS },
};

/* None named: all are meant. */
static void select_classes(struct hints *a)
{
	bool is_any = false;

	for (int i = 0; i < WEFT_CLASS_N; i++)
		if (a->hints & selectors[i].hint)
			is_any = a->is_class[selectors[i].class] = true;
	for (int i = 0; i < WEFT_CLASS_N && !is_any; i++)
		a->is_class[i] = true;
}

static void ignore(struct hints *a, const char *why)
{
	a->is_applied = false;
	snprintf(a->how, sizeof(a->how), "%s", why);
}

/* Starts the sentence that apply_to() goes on with. */
static void apply(struct hints *a, const char *how)
{
	a->is_applied = false;
	snprintf(a->how, sizeof(a->how), "%s for", how);
}

/* One of the classes, if it is among those meant. */
static bool apply_to(struct hints *a, enum weft_rma_class class)
{
	size_t used = strlen(a->how);

	if (!a->is_class[class])
		return false;
	snprintf(a->how + used, sizeof(a->how) - used, "%s %s",
		a->is_applied ? "," : "", class_names[class]);
	a->is_applied = true;
	return true;
}

/* Some class must have been meant that the hint is for. */
static void conclude(struct hints *a)
{
	if (!a->is_applied)
		ignore(a, "it is not for the classes of operations named");
}

static void bundle(struct hints *a)
{
	static const enum weft_rma_class classes[] = { WEFT_CLASS_PUT,
		WEFT_CLASS_AMO, WEFT_CLASS_PWS, WEFT_CLASS_FAMO };
	bool has_flag = a->plan->batch_flags;

	if (!has_flag && !a->plan->has_costly_posts) {
		ignore(a, "the fabric has no flag for it and sends small "
			  "operations best one by one");
		return;
	}
	apply(a, has_flag ? "FI_MORE on all but the last of a batch"
			  : "gathered in messages, carried out by the target,");
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		/* a result must be asked for by its own operation at once */
		if (has_flag && classes[i] == WEFT_CLASS_FAMO)
			continue;
		if (!apply_to(a, classes[i]))
			continue;
		a->flags[classes[i]] |= a->plan->batch_flags;
		a->is_sending_am[classes[i]] = !has_flag;
	}
	conclude(a);
}

static void high_rate(struct hints *a)
{
	uint64_t flags = a->plan->rate_flags;

	if (!flags) {
		ignore(a, "the fabric has no high-rate puts, or not with its "
			  "keys and order");
		return;
	}
	if (a->hints & WEFT_RMA_DC) {
		ignore(a, "DC asks for more than a high-rate put tells");
		return;
	}
	apply(a, "FI_CXI_HRP");
	if (apply_to(a, WEFT_CLASS_PUT))
		a->flags[WEFT_CLASS_PUT] |= flags;
	if ((a->flags[WEFT_CLASS_AMO] & a->plan->once_flags) &&
		apply_to(a, WEFT_CLASS_AMO))
		a->flags[WEFT_CLASS_AMO] |= flags;
	conclude(a);
}

static void single_transmit(struct hints *a)
{
	if (!a->plan->once_flags) {
		ignore(a, "the fabric has no atomics that are sent only once");
		return;
	}
	if (!weft_knob_is_on(weft_knobs.unreliable)) {
		ignore(a, "one that is lost ends with an error; "
			  "WEFT_UNRELIABLE=on permits it");
		return;
	}
	apply(a, "FI_CXI_UNRELIABLE");
	if (apply_to(a, WEFT_CLASS_AMO))
		a->flags[WEFT_CLASS_AMO] |= a->plan->once_flags;
	conclude(a);
}

static void rma_hints_deliver(struct hints *a)
{
	static const enum weft_rma_class classes[] = { WEFT_CLASS_PUT,
		WEFT_CLASS_AMO, WEFT_CLASS_PWS };

	apply(a, "FI_DELIVERY_COMPLETE");
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		if (classes[i] == WEFT_CLASS_AMO && !a->plan->has_fabric_amo)
			continue;
		if (apply_to(a, classes[i]))
			a->flags[classes[i]] |= a->plan->deliver_flags;
	}
	conclude(a);
}

static void promise(struct hints *a)
{
	ignore(a, a->plan->has_fabric_amo
			  ? "no fabric has a flag for it, and atomics of the "
			    "fabric are not mixed with the CPU's"
			  : "atomics are the CPU's already");
}

static void select_only(struct hints *a)
{
	a->is_applied = true;
	snprintf(a->how, sizeof(a->how),
		"the other hints are for this class of operations");
}

/* In the order in which they depend on each other. */
static const struct {
	unsigned bit;
	const char *name;
	void (*weigh)(struct hints *a);
} table[] = {
	{ WEFT_RMA_OP_PUT, "OP_PUT", select_only },
	{ WEFT_RMA_OP_AMO, "OP_AMO", select_only },
	{ WEFT_RMA_OP_FAMO, "OP_FAMO", select_only },
	{ WEFT_RMA_OP_PWS, "OP_PWS", select_only },
	{ WEFT_RMA_BUNDLE, "BUNDLE", bundle },
	{ WEFT_RMA_STAMO, "STAMO", single_transmit },
	{ WEFT_RMA_HRP, "HRP", high_rate },
	{ WEFT_RMA_DC, "DC", rma_hints_deliver },
	{ WEFT_RMA_NO_CNCR_TACCESS, "NO_CNCR_TACCESS", promise },
	{ WEFT_RMA_UNIFORM_AMO, "UNIFORM_AMO", promise },
};

/* Weighs all hints; reports those of `fresh`. */
static void weigh(
	struct hints *a, unsigned fresh, weft_rma_report_fn *report, void *arg)
{
	select_classes(a);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (!(a->hints & table[i].bit))
			continue;
		if (a->plan)
			table[i].weigh(a);
		else
			ignore(a, "all processes are on this node, where "
				  "access is by load and store");
		if (report && (fresh & table[i].bit))
			report(arg, table[i].name, a->is_applied, a->how);
	}
}

void weft_rma_hints_explain(const struct weft_plan *plan, unsigned hints,
	weft_rma_report_fn *report, void *arg)
{
	struct hints a = { .plan = plan, .hints = hints & WEFT_RMA_HINTS };

	weigh(&a, a.hints, report, arg);
}

/* The context as the hints want it; what it delayed was released. */
static void adopt(struct weft_rma_ctx *ctx, const struct hints *a)
{
	memcpy(ctx->flags, a->flags, sizeof(ctx->flags));
	memcpy(ctx->is_sending_am, a->is_sending_am,
		sizeof(ctx->is_sending_am));
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
