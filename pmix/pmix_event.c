/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_event: converts events of PMIx's thread, and delivers events and answers
 *
 * A handler may run on PMIx's thread at any time. It copies the data that it
 * needs, appends an item and returns. */
#include "pmix/pmix_boot_priv.h"
#include "pmix/pmix_codec.h"

#include "base/err.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CODES = 12, N_OWN_CODES = 3 };

/* A handler that is being registered. */
struct registration {
	struct pmix_boot *boot;
	struct weft_infovec vec;
	pmix_status_t codes[N_CODES];
	size_t n;
};

/* ---- on PMIx's thread ---- */

static struct pmix_boot *pmix_event_owner_of(const pmix_info_t *info, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_RETURN_OBJECT) &&
			info[i].value.type == PMIX_POINTER)
			return info[i].value.data.ptr;
	return NULL;
}

static enum weft_boot_end end_of(pmix_status_t status)
{
	switch (status) {
	case PMIX_ERR_PROC_ABORTED_BY_SIG:
		return WEFT_BOOT_END_CRASHED;
	case PMIX_ERR_EXIT_NONZERO_TERM:
	case PMIX_ERR_PROC_TERM_WO_SYNC:
		return WEFT_BOOT_END_EXITED;
	case PMIX_ERR_PROC_KILLED_BY_CMD:
	case PMIX_ERR_PROC_REQUESTED_ABORT:
		return WEFT_BOOT_END_ABORTED;
	case WEFT_PMIX_CANCELLED:
		return WEFT_BOOT_END_CANCELLED;
	default:
		return WEFT_BOOT_END_UNKNOWN;
	}
}

static void post_death(struct pmix_boot *boot, pmix_status_t status,
	const pmix_proc_t *source, const pmix_info_t *info, size_t n)
{
	const pmix_proc_t *proc = source;
	struct pmix_item *item;
	bool is_other;
	int code = -1;

	for (size_t i = 0; i < n; i++) {
		if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) &&
			info[i].value.type == PMIX_PROC)
			proc = info[i].value.data.proc;
		if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
			weft_value_get_int(&info[i].value, &code);
	}
	if (!proc || proc->rank > PMIX_RANK_VALID)
		return;
	is_other = !PMIX_CHECK_NSPACE(proc->nspace, boot->me.nspace);
	if (!is_other && proc->rank >= boot->size)
		return;
	item = weft_pmix_item_create(boot, PMIX_ITEM_EVENT);
	if (!item)
		return;
	item->event.kind =
		is_other ? WEFT_BOOT_OTHER_DIED : WEFT_BOOT_PEER_DIED;
	if (is_other)
		snprintf(item->event.name, sizeof(item->event.name), "%s",
			proc->nspace);
	item->event.rank = proc->rank;
	item->event.code = code;
	item->event.end = end_of(status);
	weft_pmix_item_post(item);
}

static void post_job_end(
	struct pmix_boot *boot, const pmix_info_t *info, size_t n)
{
	const pmix_proc_t *proc = NULL;
	struct pmix_item *item;

	for (size_t i = 0; i < n; i++)
		if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) &&
			info[i].value.type == PMIX_PROC)
			proc = info[i].value.data.proc;
	if (!proc || PMIX_CHECK_NSPACE(proc->nspace, boot->me.nspace))
		return;
	item = weft_pmix_item_create(boot, PMIX_ITEM_EVENT);
	if (!item)
		return;
	item->event.kind = WEFT_BOOT_JOB_ENDED;
	item->event.code = -1;
	snprintf(
		item->event.name, sizeof(item->event.name), "%s", proc->nspace);
	weft_pmix_item_post(item);
}

static void post_pset(struct pmix_boot *boot, enum weft_boot_event_kind kind,
	const pmix_info_t *info, size_t n)
{
	const char *name = NULL;
	struct pmix_item *item;
	uint64_t *procs = NULL;

	for (size_t i = 0; i < n; i++)
		if (PMIX_CHECK_KEY(&info[i], PMIX_PSET_NAME))
			weft_value_peek_str(&info[i].value, &name);
	if (!name)
		return;
	item = weft_pmix_item_create(boot, PMIX_ITEM_EVENT);
	if (!item)
		return;
	for (size_t i = 0; i < n && !procs; i++)
		if (PMIX_CHECK_KEY(&info[i], PMIX_PSET_MEMBERS))
			(void)weft_pmix_pset_read(
				boot, &info[i].value, &procs, &item->len);
	item->data = procs;
	item->event.kind = kind;
	item->event.code = -1;
	snprintf(item->event.name, sizeof(item->event.name), "%s", name);
	weft_pmix_item_post(item);
}

static void post_call(struct pmix_boot *boot, const pmix_proc_t *source,
	const pmix_info_t *info, size_t n)
{
	const void *data = NULL;
	struct pmix_item *item;
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		if (PMIX_CHECK_KEY(&info[i], WEFT_PMIX_CALL_DATA))
			(void)weft_value_peek_bytes(
				&info[i].value, &data, &len);
	/* libpmix delivers an event to its sender, too */
	if (!len || !source || source->rank >= boot->size ||
		!PMIX_CHECK_NSPACE(source->nspace, boot->me.nspace) ||
		source->rank == boot->me.rank)
		return;
	item = weft_pmix_item_create(boot, PMIX_ITEM_EVENT);
	if (!item)
		return;
	item->event.kind = WEFT_BOOT_CALLED;
	item->event.rank = source->rank;
	item->event.code = -1;
	item->data = malloc(len);
	if (!item->data) {
		weft_pmix_item_destroy(item);
		return;
	}
	memcpy(item->data, data, len);
	item->event.data = item->data;
	item->event.len = len;
	weft_pmix_item_post(item);
}

static void answer_where(struct pmix_boot *boot)
{
	/* acquire: pairs with the store in session.c, which publishes the
	 * function after the data that it uses */
	void (*fn)(void) = atomic_load_explicit(
		&boot->boot.on_where, memory_order_acquire);

	if (fn)
		fn();
}

static void post_offer(
	struct pmix_boot *boot, const pmix_info_t *info, size_t n)
{
	struct pmix_item *item = weft_pmix_item_create(boot, PMIX_ITEM_EVENT);

	if (!item)
		return;
	item->event.kind = WEFT_BOOT_OFFER;
	item->event.code =
		weft_info_get_int(info, n, WEFT_PMIX_RESIZE_DELTA, 0);
	item->event.rank = (uint32_t)weft_info_get_int(
		info, n, WEFT_PMIX_RESIZE_DEADLINE, 0);
	weft_pmix_item_post(item);
}

static void pmix_event_on_event(size_t id, pmix_status_t status,
	const pmix_proc_t *source, pmix_info_t info[], size_t n,
	pmix_info_t results[], size_t n_results,
	pmix_event_notification_cbfunc_fn_t done, void *arg)
{
	struct pmix_boot *boot = pmix_event_owner_of(info, n);

	(void)id, (void)results, (void)n_results;
	if (boot && status == PMIX_PROCESS_SET_DEFINE)
		post_pset(boot, WEFT_BOOT_PSET_DEFINED, info, n);
	else if (boot && status == PMIX_PROCESS_SET_DELETE)
		post_pset(boot, WEFT_BOOT_PSET_DELETED, info, n);
	else if (boot && status == PMIX_EVENT_JOB_END)
		post_job_end(boot, info, n);
	else if (boot && status == WEFT_PMIX_WHERE)
		answer_where(boot);
	else if (boot && status == WEFT_PMIX_OFFER)
		post_offer(boot, info, n);
	else if (boot && status == WEFT_PMIX_CALL)
		post_call(boot, source, info, n);
	else if (boot)
		post_death(boot, status, source, info, n);
	if (done)
		done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

static void pmix_event_register(
	struct pmix_boot *boot, const pmix_status_t *codes, size_t n);

/* A manager that does not support an event refuses the whole list. Each event
 * is then registered individually. A refused event is never delivered. */
static void on_registered(pmix_status_t status, size_t id, void *arg)
{
	struct registration *r = arg;

	(void)id;
	for (size_t i = 0; status != PMIX_SUCCESS && r->n > 1 && i < r->n; i++)
		pmix_event_register(r->boot, &r->codes[i], 1);
	atomic_fetch_sub(&r->boot->n_unanswered, 1);
	weft_infovec_fini(&r->vec);
	free(r);
}

/* Registers all codes with one call. The answers to several consecutive calls
 * would wait for the kernel's delayed acknowledgements. */
static void pmix_event_register(
	struct pmix_boot *boot, const pmix_status_t *codes, size_t n)
{
	struct registration *r = calloc(1, sizeof(*r));

	if (!r)
		return;
	atomic_fetch_add(&boot->n_unanswered, 1);
	r->boot = boot;
	r->n = n;
	memcpy(r->codes, codes, n * sizeof(*codes));
	weft_infovec_set_ptr(&r->vec, PMIX_EVENT_RETURN_OBJECT, boot);
	if (r->vec.err) {
		r->n = 0;
		on_registered(PMIX_ERR_NOMEM, 0, r);
		return;
	}
	if (PMIx_Register_event_handler(r->codes, n, r->vec.info, r->vec.n,
		    pmix_event_on_event, on_registered, r) != PMIX_SUCCESS)
		on_registered(PMIX_ERR_INIT, 0, r);
}

static bool has_rank(
	const pmix_info_t *info, const pmix_nspace_t nspace, uint32_t rank)
{
	const pmix_data_array_t *array = info->value.data.darray;
	const pmix_proc_t *procs;

	if (info->value.type != PMIX_DATA_ARRAY || !array ||
		array->type != PMIX_PROC)
		return false;
	procs = array->array;
	for (size_t i = 0; i < array->size; i++)
		if (PMIX_CHECK_NSPACE(procs[i].nspace, nspace) &&
			procs[i].rank == rank)
			return true;
	return false;
}

/* Handles the answer to weft_pmix_query_exit(): queues the event if the rank
 * has ended. */
static void on_ended(pmix_status_t status, pmix_info_t *info, size_t n,
	void *arg, pmix_release_cbfunc_t release, void *release_arg)
{
	struct pmix_item *item = arg;
	struct pmix_boot *boot = item->owner;
	bool is_ended = false;

	for (size_t i = 0; status == PMIX_SUCCESS && i < n; i++)
		if (PMIX_CHECK_KEY(&info[i], WEFT_PMIX_ENDED))
			is_ended = has_rank(
				&info[i], boot->me.nspace, item->event.rank);
	if (is_ended)
		weft_pmix_item_post(item);
	else
		weft_pmix_item_destroy(item);
	if (release)
		release(release_arg);
	atomic_fetch_sub(&boot->n_unanswered, 1);
}

/* ---- on the caller's thread ---- */

/* Sends the query. Managers that do not support it refuse it. */
void weft_pmix_query_exit(struct weft_boot *base, uint32_t rank)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	struct pmix_item *item = weft_pmix_item_create(boot, PMIX_ITEM_EVENT);

	if (!item)
		return;
	item->event.kind = WEFT_BOOT_PEER_DIED;
	item->event.rank = rank;
	item->event.code = 0;
	item->event.end = WEFT_BOOT_END_NORMAL;
	atomic_fetch_add(&boot->n_unanswered, 1);
	if (PMIx_Query_info_nb(&boot->ended, 1, on_ended, item) !=
		PMIX_SUCCESS) {
		atomic_fetch_sub(&boot->n_unanswered, 1);
		weft_pmix_item_destroy(item);
	}
}

/* Called when PMIx has sent the call and no longer refers to the entries. */
static void on_called(pmix_status_t status, void *arg)
{
	struct weft_infovec *vec = arg;

	(void)status;
	weft_infovec_fini(vec);
	free(vec);
}

int weft_pmix_call(
	struct weft_boot *base, uint32_t rank, const void *data, size_t len)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	struct weft_infovec *vec = calloc(1, sizeof(*vec));
	pmix_status_t status;
	pmix_proc_t to;

	if (!vec)
		return WEFT_ERR_NOMEM;
	PMIX_LOAD_PROCID(&to, boot->me.nspace, rank);
	weft_infovec_set_procs(vec, PMIX_EVENT_CUSTOM_RANGE, &to, 1);
	weft_infovec_set_bytes(vec, WEFT_PMIX_CALL_DATA, data, len);
	status = vec->err ? PMIX_ERR_NOMEM
			  : PMIx_Notify_event(WEFT_PMIX_CALL, &boot->me,
				    PMIX_RANGE_CUSTOM, vec->info, vec->n,
				    on_called, vec);
	if (status == PMIX_SUCCESS)
		return 0;
	on_called(status, vec);
	if (status == PMIX_OPERATION_SUCCEEDED)
		return 0;
	return weft_err_set(weft_pmix_err(status),
		"the process manager did not deliver a call to rank %u: %s",
		rank, PMIx_Error_string(status));
}

void weft_pmix_event_open(struct pmix_boot *boot, bool is_ours)
{
	/* a handler for all events is not called for deaths, so codes are
	 * listed */
	static const pmix_status_t codes[N_CODES] = {
		PMIX_ERR_PROC_ABORTED_BY_SIG,
		PMIX_ERR_EXIT_NONZERO_TERM,
		PMIX_ERR_PROC_TERM_WO_SYNC,
		PMIX_ERR_PROC_KILLED_BY_CMD,
		PMIX_ERR_PROC_REQUESTED_ABORT,
		PMIX_PROCESS_SET_DEFINE,
		PMIX_PROCESS_SET_DELETE,
		PMIX_EVENT_JOB_END,
		WEFT_PMIX_CALL,
		WEFT_PMIX_WHERE, /* the last N_OWN_CODES: see is_ours */
		WEFT_PMIX_OFFER,
		WEFT_PMIX_CANCELLED,
	};

	boot->ended_keys[0] = (char *)(uintptr_t)WEFT_PMIX_ENDED;
	boot->ended.keys = boot->ended_keys;
	pmix_event_register(
		boot, codes, is_ours ? N_CODES : N_CODES - N_OWN_CODES);
}

bool weft_pmix_is_failed(const struct pmix_boot *boot, uint32_t rank)
{
	for (size_t i = 0; i < boot->n_failed; i++)
		if (boot->failed[i] == rank)
			return true;
	return false;
}

/* Fails the pending gets from a rank that has died, because PMIx may never
 * answer them. */
static void fail_gets(struct pmix_boot *boot, uint32_t rank)
{
	struct weft_link failed;

	weft_list_init(&failed);
	pthread_mutex_lock(&boot->lock);
	weft_list_for_each(it, next, &boot->outstanding)
	{
		struct pmix_item *item =
			weft_container_of(it, struct pmix_item, link);

		if (item->kind != PMIX_ITEM_GET || item->rank != rank ||
			!item->get_fn)
			continue;
		/* PMIx still refers to item, so a copy is delivered */
		struct pmix_item *copy = malloc(sizeof(*copy));

		if (!copy)
			continue;
		*copy = *item;
		item->get_fn = NULL;
		weft_list_push_back(&failed, &copy->link);
	}
	pthread_mutex_unlock(&boot->lock);
	weft_list_for_each(it, next, &failed)
	{
		struct pmix_item *item =
			weft_container_of(it, struct pmix_item, link);

		item->get_fn(item->arg,
			weft_err_set(WEFT_ERR_PEER, "rank %u has ended", rank),
			NULL, 0);
		free(item);
	}
}

/* Records a death. False if the death was already recorded. */
static bool note_death(struct pmix_boot *boot, uint32_t rank)
{
	uint32_t *failed;

	if (weft_pmix_is_failed(boot, rank))
		return false;
	failed = realloc(boot->failed, (boot->n_failed + 1) * sizeof(*failed));
	if (!failed)
		return true;
	boot->failed = failed;
	failed[boot->n_failed++] = rank;
	return true;
}

static void pmix_event_deliver_event(
	const struct pmix_item *item, weft_boot_event_fn *fn, void *arg)
{
	const struct weft_boot_event *event = &item->event;
	struct pmix_boot *boot = item->owner;

	if (event->kind == WEFT_BOOT_PSET_DEFINED && item->data)
		weft_pmix_pset_record(boot, event->name, item->data, item->len);
	if (event->kind == WEFT_BOOT_PSET_DELETED)
		weft_pmix_pset_remove(boot, event->name);
	if (event->kind == WEFT_BOOT_PEER_DIED) {
		if (!note_death(boot, event->rank))
			return;
		fail_gets(boot, event->rank);
	}
	if (fn)
		fn(arg, event);
}

static void pmix_event_deliver(
	struct pmix_item *item, weft_boot_event_fn *fn, void *arg)
{
	switch (item->kind) {
	case PMIX_ITEM_GET:
		if (item->get_fn && !weft_pmix_get_again(item))
			item->get_fn(
				item->arg, item->err, item->data, item->len);
		break;
	case PMIX_ITEM_RESIZE:
		if (item->err && item->data)
			weft_err_set(item->err, "%s", (const char *)item->data);
		item->get_fn(item->arg, item->err,
			item->err ? NULL : item->data,
			item->err ? 0 : item->len);
		break;
	case PMIX_ITEM_FENCE:
		item->done_fn(item->arg, item->err);
		break;
	case PMIX_ITEM_EVENT:
		pmix_event_deliver_event(item, fn, arg);
		break;
	}
	weft_pmix_item_destroy(item);
}

int weft_pmix_poll(struct weft_boot *base, weft_boot_event_fn *fn, void *arg)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	unsigned n = atomic_load_explicit(&base->pending, memory_order_relaxed);

	/* items that arrive during delivery are left for the next poll */
	for (unsigned i = 0; i < n; i++) {
		struct weft_link *link;

		pthread_mutex_lock(&boot->lock);
		link = weft_list_pop_front(&boot->queue);
		atomic_fetch_sub_explicit(
			&base->pending, 1, memory_order_relaxed);
		pthread_mutex_unlock(&boot->lock);
		pmix_event_deliver(
			weft_container_of(link, struct pmix_item, link), fn,
			arg);
	}
	return (int)n;
}
