/* SPDX-License-Identifier: BSD-3-Clause */
/* errh: error handlers */
#include "core/errh.h"

struct weft_table weft_errhs =
	WEFT_TABLE_INIT(struct weft_errh, WEFT_KIND_ERRH);

struct weft_errh weft_errh_builtin[3] = {
	[WEFT_ERRH_FATAL] = { .action = WEFT_ERRH_FATAL },
	[WEFT_ERRH_ABORT] = { .action = WEFT_ERRH_ABORT },
	[WEFT_ERRH_RETURN] = { .action = WEFT_ERRH_RETURN },
};

struct weft_errh *weft_errh_create(int kind, weft_errh_fn *fn)
{
	struct weft_errh *errh = weft_table_new(&weft_errhs);

	if (!errh)
		return NULL;
	errh->action = WEFT_ERRH_CALL;
	errh->kind = kind;
	errh->fn = fn;
	atomic_store_explicit(&errh->refs, 1, memory_order_relaxed);
	return errh;
}

struct weft_errh *weft_errh_get(struct weft_errh *errh)
{
	if (errh && errh->action == WEFT_ERRH_CALL)
		atomic_fetch_add_explicit(&errh->refs, 1, memory_order_relaxed);
	return errh;
}

void weft_errh_put(struct weft_errh *errh)
{
	if (!errh || errh->action != WEFT_ERRH_CALL)
		return;
	/* release: the accesses of this holder happen before the free. acquire:
	 * the last holder frees after the accesses of all others. */
	if (atomic_fetch_sub_explicit(&errh->refs, 1, memory_order_acq_rel) ==
		1)
		weft_table_free(&weft_errhs, errh);
}

void weft_errh_set(struct weft_errh **slot, struct weft_errh *errh)
{
	struct weft_errh *old;

	weft_errh_get(errh);
	old = __atomic_exchange_n(slot, errh, __ATOMIC_ACQ_REL);
	weft_errh_put(old);
}
