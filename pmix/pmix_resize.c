/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_resize: changes of the number of processes of the job
 *
 * A request is a PMIx allocation request. Only the server of Weft's launcher
 * accepts those of pmix_codec.h, and only PRRTE the one that returns hosts. */
#include "pmix/pmix_boot_priv.h"
#include "pmix/pmix_codec.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* A request without an answer. PMIx refers to the entries until it answers. */
struct resize {
	struct pmix_item *item;
	struct weft_infovec vec;
};

static void resize_free(struct resize *resize)
{
	weft_infovec_fini(&resize->vec);
	free(resize);
}

/* Converts a refusal. WEFT_ERR_SPAWN: the server refuses the number, or the
 * processes could not be started. */
static int refusal_err(pmix_status_t status)
{
	switch (status) {
	case PMIX_ERR_NOT_SUPPORTED:
		return WEFT_ERR_UNSUPPORTED;
	case PMIX_ERR_BAD_PARAM:
		return WEFT_ERR_ARG;
	case PMIX_ERR_NOT_FOUND:
		return WEFT_ERR_NAME;
	case PMIX_ERR_RESOURCE_BUSY:
		return WEFT_ERR_SERVICE;
	case PMIX_ERR_NOMEM:
		return WEFT_ERR_NOMEM;
	default:
		return WEFT_ERR_SPAWN;
	}
}

static const char *entry_str(const pmix_info_t *info, size_t n, const char *key)
{
	const char *text = NULL;

	for (size_t i = 0; i < n; i++)
		if (PMIX_CHECK_KEY(&info[i], key))
			(void)weft_value_peek_str(&info[i].value, &text);
	return text;
}

/* ---- on PMIx's thread ---- */

static void resize_on_answer(pmix_status_t status, pmix_info_t *info, size_t n,
	void *arg, pmix_release_cbfunc_t release, void *release_arg)
{
	struct resize *resize = arg;
	struct pmix_item *item = resize->item;
	struct pmix_boot *boot = item->owner;
	const char *text;

	if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
		status = weft_info_get_int(
			info, n, WEFT_PMIX_RESIZE_STATUS, PMIX_SUCCESS);
	text = entry_str(info, n,
		status == PMIX_SUCCESS ? WEFT_PMIX_RESIZE_PSET
				       : WEFT_PMIX_RESIZE_WHY);
	item->err = status == PMIX_SUCCESS ? 0 : refusal_err(status);
	if (!text)
		text = item->err ? PMIx_Error_string(status) : "";
	item->data = strdup(text);
	if (item->data)
		item->len = strlen(text) + 1;
	else
		item->err = WEFT_ERR_NOMEM;
	if (release)
		release(release_arg);
	resize_free(resize);
	weft_pmix_item_post(item);
	atomic_fetch_sub(&boot->n_unanswered, 1);
}

/* ---- on the caller's thread ---- */

int weft_pmix_resize(struct weft_boot *base, const struct weft_boot_resize *how,
	weft_boot_get_fn *fn, void *arg)
{
	static const char *const keys[] = {
		[WEFT_BOOT_RESIZE_ASK] = WEFT_PMIX_RESIZE_PSET,
		[WEFT_BOOT_RESIZE_DONE] = WEFT_PMIX_RESIZE_DONE,
		[WEFT_BOOT_RESIZE_CANCEL] = WEFT_PMIX_RESIZE_CANCEL,
		[WEFT_BOOT_RESIZE_HOSTS] = PMIX_ALLOC_NODE_LIST,
	};
	struct pmix_boot *boot = pmix_boot_of(base);
	struct resize *resize = calloc(1, sizeof(*resize));
	bool is_grow = how->kind == WEFT_BOOT_RESIZE_ASK && how->delta > 0;
	pmix_status_t status = PMIX_ERR_NOMEM;

	if (resize)
		resize->item = weft_pmix_item_create(boot, PMIX_ITEM_RESIZE);
	if (!resize || !resize->item) {
		free(resize);
		return WEFT_ERR_NOMEM;
	}
	resize->item->get_fn = fn;
	resize->item->arg = arg;
	if (how->kind == WEFT_BOOT_RESIZE_ASK)
		weft_infovec_set_int(
			&resize->vec, WEFT_PMIX_RESIZE_DELTA, how->delta);
	weft_infovec_set_str(&resize->vec, keys[how->kind], how->name);
	atomic_fetch_add(&boot->n_unanswered, 1);
	if (!resize->vec.err)
		status = PMIx_Allocation_request_nb(
			is_grow ? PMIX_ALLOC_EXTEND : PMIX_ALLOC_RELEASE,
			resize->vec.info, resize->vec.n, resize_on_answer,
			resize);
	if (status == PMIX_SUCCESS)
		return 0;
	atomic_fetch_sub(&boot->n_unanswered, 1);
	weft_pmix_item_destroy(resize->item);
	resize_free(resize);
	return weft_err_set(refusal_err(status),
		"the process manager refused to change the number of "
		"processes: %s",
		PMIx_Error_string(status));
}

int weft_pmix_offer(
	struct weft_boot *base, int *delta_out, uint32_t *seconds_out)
{
	pmix_info_t *info = NULL;
	pmix_query_t *query;
	pmix_status_t status;
	size_t n = 0;

	(void)base;
	PMIX_QUERY_CREATE(query, 1);
	if (!query)
		return WEFT_ERR_NOMEM;
	PMIX_ARGV_APPEND(status, query->keys, WEFT_PMIX_RESIZE_OFFER);
	if (status == PMIX_SUCCESS)
		status = PMIx_Query_info(query, 1, &info, &n);
	PMIX_QUERY_FREE(query, 1);
	if (status != PMIX_SUCCESS)
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"the process manager makes no offers: %s",
			PMIx_Error_string(status));
	*delta_out = weft_info_get_int(info, n, WEFT_PMIX_RESIZE_OFFER, 0);
	*seconds_out = (uint32_t)weft_info_get_int(
		info, n, WEFT_PMIX_RESIZE_DEADLINE, 0);
	if (info)
		PMIX_INFO_FREE(info, n);
	return 0;
}
