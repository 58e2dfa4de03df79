/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_item: queue of events and of answers to calls
 *
 * A call that has no answer yet has an item on the outstanding list. PMIx's
 * thread moves the item to the queue, from which weft_pmix_poll() takes it. */
#include "pmix/pmix_boot_priv.h"

#include <stdlib.h>

struct pmix_item *weft_pmix_item_create(
	struct pmix_boot *boot, enum pmix_item_kind kind)
{
	struct pmix_item *item = calloc(1, sizeof(*item));

	if (!item)
		return NULL;
	item->owner = boot;
	item->kind = kind;
	pthread_mutex_lock(&boot->lock);
	weft_list_push_back(&boot->outstanding, &item->link);
	pthread_mutex_unlock(&boot->lock);
	return item;
}

void weft_pmix_item_destroy(struct pmix_item *item)
{
	pthread_mutex_lock(&item->owner->lock);
	weft_list_remove(&item->link);
	pthread_mutex_unlock(&item->owner->lock);
	free(item->data);
	free(item);
}

void weft_pmix_item_post(struct pmix_item *item)
{
	struct pmix_boot *boot = item->owner;

	pthread_mutex_lock(&boot->lock);
	weft_list_remove(&item->link);
	weft_list_push_back(&boot->queue, &item->link);
	/* relaxed: the lock publishes the item's data; poll reads the item
	 * under the lock */
	atomic_fetch_add_explicit(&boot->boot.pending, 1, memory_order_relaxed);
	pthread_mutex_unlock(&boot->lock);
	weft_boot_wake(&boot->boot);
}
