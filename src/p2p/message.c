/* SPDX-License-Identifier: BSD-3-Clause */
/* message: one that came before its receive: made, kept in the queue, freed */
#include "p2p/p2p_priv.h"

#include <stdlib.h>
#include <string.h>

struct weft_table weft_messages =
	WEFT_TABLE_INIT(struct weft_message, WEFT_KIND_MESSAGE);

static struct weft_message *message_new(struct weft_comm *comm,
	struct weft_peer *peer, const struct weft_wire_head *head)
{
	struct weft_message *message = weft_table_new(&weft_messages);

	if (!message)
		return NULL;
	message->comm = comm;
	message->peer = peer;
	message->ctx = head->ctx;
	message->src = (int32_t)head->src;
	message->tag = head->tag;
	message->number = head->number;
	message->data = message->inl;
	return message;
}

struct weft_message *weft_message_keep(struct weft_comm *comm,
	struct weft_peer *peer, const struct weft_wire_head *head,
	const void *data, size_t len)
{
	struct weft_message *message = message_new(comm, peer, head);

	if (!message)
		return NULL;
	message->len = len;
	if (len > sizeof(message->inl))
		message->data = weft_early_take(&comm->vci->p2p->early, len);
	if (!message->data || weft_match_keep(&comm->match, message)) {
		weft_message_free(message);
		return NULL;
	}
	if (len)
		memcpy(message->data, data, len);
	return message;
}

void weft_message_free(struct weft_message *message)
{
	if (message->data && message->data != message->inl)
		weft_early_give(&message->comm->vci->p2p->early, message->data,
			message->len);
	weft_table_free(&weft_messages, message);
}
