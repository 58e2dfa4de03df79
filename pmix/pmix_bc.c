/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_bc: publishes and fetches business cards */
#include "pmix/pmix_boot_priv.h"
#include "pmix/pmix_codec.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A get waits until the value is published. Servers may answer "not found", or
 * "timeout" after two seconds, so the get is repeated. After GET_LIMIT_NS, the
 * get fails with "not found", which is not reported as a failure of the peer.
 */
#define GET_LIMIT_NS (30 * WEFT_NS_PER_S)

int weft_pmix_put(
	struct weft_boot *base, const char *key, const void *data, size_t len)
{
	pmix_value_t value = { .type = PMIX_BYTE_OBJECT };
	pmix_status_t status;

	(void)base;
	/* PMIx copies the data; its type requires the cast */
	value.data.bo.bytes = (char *)data;
	value.data.bo.size = len;
	/* with PMIX_REMOTE, the ranks of this node could not fetch the value */
	status = PMIx_Put(PMIX_GLOBAL, key, &value);
	if (status == PMIX_SUCCESS)
		return 0;
	return weft_err_set(weft_pmix_err(status), "PMIx_Put of \"%s\": %s",
		key, PMIx_Error_string(status));
}

int weft_pmix_commit(struct weft_boot *base)
{
	pmix_status_t status = PMIx_Commit();

	if (status != PMIX_SUCCESS)
		return weft_err_set(weft_pmix_err(status), "PMIx_Commit: %s",
			PMIx_Error_string(status));
	weft_pmix_fence_start(pmix_boot_of(base));
	return 0;
}

static int copy_bytes(struct pmix_item *item, const pmix_value_t *value)
{
	const void *data = NULL;
	int err = weft_value_peek_bytes(value, &data, &item->len);

	if (err)
		return err;
	item->data = malloc(item->len ? item->len : 1);
	if (!item->data)
		return WEFT_ERR_NOMEM;
	if (item->len)
		memcpy(item->data, data, item->len);
	return 0;
}

/* Runs on PMIx's thread. */
static void on_value(pmix_status_t status, pmix_value_t *value, void *arg)
{
	struct pmix_item *item = arg;

	item->err = weft_pmix_err(status);
	if (!item->err)
		item->err = value ? copy_bytes(item, value) : WEFT_ERR_NOTFOUND;
	if (item->err)
		item->len = 0;
	weft_pmix_item_post(item);
}

static int pmix_bc_get(struct pmix_boot *boot, const struct pmix_item *wanted)
{
	struct pmix_item *item = weft_pmix_item_create(boot, PMIX_ITEM_GET);
	pmix_status_t status;
	pmix_proc_t proc;

	if (!item)
		return WEFT_ERR_NOMEM;
	item->rank = wanted->rank;
	item->get_fn = wanted->get_fn;
	item->arg = wanted->arg;
	item->until_ns = wanted->until_ns;
	memcpy(item->key, wanted->key, sizeof(item->key));
	PMIX_LOAD_PROCID(&proc, boot->me.nspace, wanted->rank);
	status = PMIx_Get_nb(&proc, item->key, NULL, 0, on_value, item);
	if (status == PMIX_SUCCESS)
		return 0;
	weft_pmix_item_destroy(item);
	return weft_err_set(weft_pmix_err(status),
		"PMIx_Get of \"%s\" from rank %u: %s", wanted->key,
		wanted->rank, PMIx_Error_string(status));
}

int weft_pmix_get(struct weft_boot *base, uint32_t rank, const char *key,
	weft_boot_get_fn *fn, void *arg)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	struct pmix_item wanted = { .get_fn = fn,
		.arg = arg,
		.rank = rank,
		.until_ns = weft_now_ns() + GET_LIMIT_NS };

	if (rank >= boot->size)
		return weft_err_set(WEFT_ERR_RANK,
			"rank %u is not in this job of %u processes", rank,
			boot->size);
	if (weft_pmix_is_failed(boot, rank))
		return weft_err_set(WEFT_ERR_PEER, "rank %u has ended", rank);
	snprintf(wanted.key, sizeof(wanted.key), "%s", key);
	return pmix_bc_get(boot, &wanted);
}

bool weft_pmix_get_again(struct pmix_item *item)
{
	if (item->err == WEFT_ERR_TIMEOUT)
		item->err = WEFT_ERR_NOTFOUND;
	if (item->err != WEFT_ERR_NOTFOUND)
		return false;
	if (weft_now_ns() >= item->until_ns ||
		weft_pmix_is_failed(item->owner, item->rank))
		return false;
	return pmix_bc_get(item->owner, item) == 0;
}
