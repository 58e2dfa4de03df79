/* SPDX-License-Identifier: BSD-3-Clause */
/* tagged: messages that the provider matches with receives by their tags
 *
 * Only where weft_tagged_can(). Tags are unlike those of weft_net_tsend() in
 * some bit that no receive ignores. While an op's done runs, net->tag is the
 * tag of the message that it is about. Posts answer as in net.h: 0, WEFT_AGAIN
 * or an error; after the latter two done is not called. VCI's lock held. */
#ifndef WEFT_TAGGED_H
#define WEFT_TAGGED_H

#include "net/net.h"

struct weft_tagged {
	uint64_t addr; /* sends */
	uint64_t tag;
	uint64_t ignore; /* receives: bits of the tag that do not matter */
	void *buf;
	size_t len; /* at most plan.max_msg_len */
};

/* The provider matches tags itself, and a message that is too long for its
 * receive harms nothing else. */
bool weft_tagged_can(struct weft_net *net);

/* Sends. is_sync: done when a receive has taken it. */
int weft_tagged_send(struct weft_net *net, const struct weft_tagged *msg,
	bool is_sync, struct weft_op *op);

/* Sends len <= plan.inject_len bytes; buf may be reused at once. op may stand
 * for many of them: its done is called for each once it has left. */
int weft_tagged_inject(struct weft_net *net, const struct weft_tagged *msg,
	struct weft_op *op);

/* Posts a receive. The end WEFT_ERR_TRUNCATE leaves len bytes in buf. It is
 * taken back by weft_net_cancel(). */
int weft_tagged_recv(struct weft_net *net, const struct weft_tagged *msg,
	struct weft_op *op);

/* Looks for a message that came before a receive for it: done has its length,
 * or WEFT_ERR_NOTFOUND. With is_claim the message is kept for
 * weft_tagged_claim() with the same op, whose scratch must stay as it is until
 * then. */
int weft_tagged_peek(struct weft_net *net, const struct weft_tagged *msg,
	bool is_claim, struct weft_op *op);
int weft_tagged_claim(struct weft_net *net, const struct weft_tagged *msg,
	struct weft_op *op);

#endif
