/* SPDX-License-Identifier: BSD-3-Clause */
/* message: creates, queues and frees unexpected messages */
#include "p2p/p2p_priv.h"

#include <stddef.h>
#include <string.h>

struct weft_table weft_messages =
	WEFT_TABLE_INIT(struct weft_message, WEFT_KIND_MESSAGE);

static struct weft_message *message_new(struct weft_comm *comm)
{
	struct weft_vci_p2p *p2p = comm->vci->p2p;
	struct weft_message *message = p2p->spare_messages;

	if (weft_likely(message)) {
		p2p->spare_messages = message->spare;
		memset(&message->obj + 1, 0,
			offsetof(struct weft_message, inl) -
				sizeof(message->obj));
		weft_obj_toggle(message);
	} else {
		message = weft_table_new(&weft_messages);
		if (!message)
			return NULL;
	}
	message->comm = comm;
	return message;
}

static uint8_t *take_data(struct weft_vci *vci, size_t len)
{
	uint8_t *data = weft_early_take(&vci->p2p->early, len);

	vci->counters.unexpected_memory = vci->p2p->early.n_held;
	return data;
}

struct weft_message *weft_message_queue(struct weft_comm *comm,
	struct weft_peer *peer, const struct weft_wire_head *head,
	const void *data, size_t len)
{
	struct weft_message *message = message_new(comm);

	if (!message)
		return NULL;
	message->peer = peer;
	message->ctx = head->ctx;
	message->src = (int32_t)head->src;
	message->tag = head->tag;
	message->number = head->number;
	message->len = len;
	message->data = message->inl;
	if (len > sizeof(message->inl))
		message->data = take_data(comm->vci, len);
	if (!message->data || weft_match_queue(&comm->match, message)) {
		weft_message_free(message);
		return NULL;
	}
	if (len)
		memcpy(message->data, data, len);
	comm->vci->counters.unexpected++;
	return message;
}

void weft_message_free(struct weft_message *message)
{
	struct weft_vci *vci = message->comm->vci;
	struct weft_vci_p2p *p2p = vci->p2p;

	if (message->data && message->data != message->inl) {
		weft_early_give(&p2p->early, message->data, message->len);
		vci->counters.unexpected_memory = p2p->early.n_held;
	}
	weft_obj_toggle(message);
	message->spare = p2p->spare_messages;
	p2p->spare_messages = message;
}

void weft_message_close(struct weft_vci *vci)
{
	struct weft_message *message;

	weft_early_drop(&vci->p2p->early);
	while ((message = vci->p2p->spare_messages) != NULL) {
		vci->p2p->spare_messages = message->spare;
		weft_obj_toggle(message);
		weft_table_free(&weft_messages, message);
	}
}
