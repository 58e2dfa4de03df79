/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_error: errors in place of messages of a collective
 *
 * A member whose collective failed cannot send the data that other members
 * expect. Instead, the member sends the error with the same communicator,
 * source and tag, so that the error matches the same receive. That receive
 * completes with the error, and its collective forwards the error in the same
 * way. The member with the error receives and drops the messages that it still
 * expects. */
#include "p2p/p2p_priv.h"

#include <stdio.h>
#include <string.h>

/* Writes the text of the error and returns its length. The process in which the
 * error occurred writes its number before the text ("process 3: "). The text
 * for a failed member is the same at all processes. */
static uint32_t coll_error_describe(
	int err, const struct weft_comm *comm, char *text)
{
	const char *detail = weft_err_detail_peek(err);
	int n;

	if (err == WEFT_ERR_PEER && comm->failed) {
		weft_comm_failed(comm);
		n = snprintf(text, WEFT_WIRE_FAILED_TEXT, "%s",
			weft_err_detail_peek(err));
		return (uint32_t)weft_min64(n, WEFT_WIRE_FAILED_TEXT - 1);
	}
	if (!*detail)
		detail = weft_err_str(err);
	if (!strncmp(detail, "process ", 8))
		n = snprintf(text, WEFT_WIRE_FAILED_TEXT, "%s", detail);
	else
		n = snprintf(text, WEFT_WIRE_FAILED_TEXT, "process %u: %s",
			(uint32_t)weft_group_proc(
				comm->group, (uint32_t)comm->rank),
			detail);
	return (uint32_t)weft_min64(n, WEFT_WIRE_FAILED_TEXT - 1);
}

void weft_send_coll_error_locked(const struct weft_msg *msg, int err)
{
	struct weft_wire_head head = {
		.op = WEFT_WIRE_COLL_ERROR,
		.src = (uint32_t)msg->comm->rank,
		.ctx = msg->comm->ctx + msg->ctx_offset,
		.tag = msg->tag,
	};
	struct {
		struct weft_wire_failed failed;
		char text[WEFT_WIRE_FAILED_TEXT];
	} word = { .failed = { .err = err, .failed = msg->comm->failed } };
	struct weft_peer *peer;

	if (msg->rank < 0)
		return;
	word.failed.len = coll_error_describe(err, msg->comm, word.text);
	peer = weft_comm_peer(msg->comm, (uint32_t)msg->rank);
	if (peer)
		weft_revoke_repeat(msg->comm, peer);
	/* peer is NULL if out of memory: the receiver then gets no error */
	if (peer)
		(void)weft_peer_control(peer, &head, &word,
			sizeof(word.failed) + word.failed.len);
	/* weft_peer_control() may have described the failure of the peer */
	weft_err_set(err, "%s", word.text);
}

void weft_coll_error_end(
	struct weft_req *req, int err, const char *text, size_t len)
{
	/* another tag in the status would name another kind of collective */
	req->status.tag = req->tag;
	weft_p2p_finish(req, weft_err_set(err, "%.*s", (int)len, text));
}

void weft_coll_error_deliver_take(
	struct weft_req *req, struct weft_message *message)
{
	int err = (int)(int64_t)message->sreq;

	weft_coll_error_end(
		req, err, (const char *)message->data, message->len);
	weft_message_free(message);
}

bool weft_coll_error_read(const struct weft_vci *vci,
	const struct weft_wire_head *head, const void *payload, size_t len,
	struct weft_wire_failed *word)
{
	uint64_t ctx_offset = head->ctx % WEFT_CTX_OFFSET_END;
	const char *text = (const char *)payload + sizeof(*word);

	if (!weft_wire_get_failed(word, payload, len) ||
		word->len != len - sizeof(*word) ||
		word->len >= WEFT_WIRE_FAILED_TEXT ||
		!weft_err_is_fault(word->err) ||
		!weft_failure_is_known(vci, word->failed) ||
		(ctx_offset != WEFT_CTX_OFFSET_COLL &&
			ctx_offset != WEFT_CTX_OFFSET_CTL))
		return false;
	for (uint32_t i = 0; i < word->len; i++)
		if ((unsigned char)text[i] < ' ')
			return false;
	return true;
}
