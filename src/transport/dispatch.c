/* SPDX-License-Identifier: BSD-3-Clause */
/* dispatch: installs handlers; queues messages of communicators not created
 * yet */
#include "transport/dispatch.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/* A message of a communicator that this process has not created yet. */
struct early {
	struct weft_link link;
	struct weft_peer *peer;
	struct weft_wire_head head;
	size_t len;
	uint8_t payload[];
};

void weft_dispatch_set(
	struct weft_vci *vci, enum weft_wire_op op, weft_wire_fn *fn)
{
	vci->handlers[op] = fn;
}

void weft_dispatch_drop(struct weft_vci *vci, const char *why)
{
	if (vci->counters.dropped++ == 0)
		weft_log_warn("CORE-DROPPED",
			"dropped a message: %s; further ones are only counted",
			why);
}

void weft_dispatch_queue(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	uint64_t ctx = head->ctx & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1);
	struct weft_link *list = weft_map_get(&vci->early, ctx + 1);
	struct early *early = malloc(sizeof(*early) + len);

	if (!early)
		goto drop;
	if (!list) {
		list = malloc(sizeof(*list));
		if (!list)
			goto drop;
		weft_list_init(list);
		if (weft_map_put(&vci->early, ctx + 1, list)) {
			free(list);
			goto drop;
		}
	}
	early->peer = peer;
	early->head = *head;
	early->head.credit = 0; /* already added to the peer's credit */
	early->len = len;
	if (len)
		memcpy(early->payload, payload, len);
	weft_list_push_back(list, &early->link);
	vci->counters.early++;
	return;
drop:
	free(early);
	weft_dispatch_drop(vci, "out of memory");
}

void weft_dispatch_replay(struct weft_vci *vci, uint64_t ctx)
{
	struct weft_link *list = weft_map_remove(&vci->early, ctx + 1);
	struct weft_link *link;

	if (!list)
		return;
	while ((link = weft_list_pop_front(list)) != NULL) {
		struct early *early =
			weft_container_of(link, struct early, link);

		weft_dispatch(vci, early->peer, &early->head, early->payload,
			early->len);
		free(early);
	}
	free(list);
}

bool weft_dispatch_unqueue(struct weft_vci *vci, uint64_t ctx,
	weft_dispatch_is_fn *is, const void *arg)
{
	struct weft_link *list = weft_map_get(&vci->early, ctx + 1);

	if (!list)
		return false;
	weft_list_for_each(link, next, list)
	{
		struct early *early =
			weft_container_of(link, struct early, link);

		if (!is(early->peer, &early->head, early->payload, early->len,
			    arg))
			continue;
		weft_list_remove(link);
		free(early);
		return true;
	}
	return false;
}

void weft_dispatch_forget(struct weft_vci *vci)
{
	size_t pos = 0;
	struct weft_map_entry *entry;

	while ((entry = weft_map_next(&vci->early, &pos)) != NULL) {
		struct weft_link *list = entry->value;
		struct weft_link *link;

		while ((link = weft_list_pop_front(list)) != NULL)
			free(weft_container_of(link, struct early, link));
		free(list);
	}
	weft_map_fini(&vci->early);
}
