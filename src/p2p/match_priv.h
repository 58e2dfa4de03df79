/* SPDX-License-Identifier: BSD-3-Clause */
/* match: posted receives and unexpected messages
 *
 * Matching does no I/O, so that it can be tested without a transport. A receive
 * matches the earliest arrived message that it accepts. A message matches the
 * earliest posted receive that accepts it. VCI's lock held everywhere. */
#ifndef WEFT_MATCH_PRIV_H
#define WEFT_MATCH_PRIV_H

#include "base/handle.h"
#include "core/comm.h"
#include "core/match.h"
#include "core/req.h"
#include "transport/wire.h"

enum { WEFT_MESSAGE_INLINE = 96 };
static_assert(sizeof(struct weft_wire_device) <= WEFT_MESSAGE_INLINE,
	"an RTS is stored inline");

/* An unexpected message: the message arrived before its receive was posted. The
 * struct is created when the message arrives. It is freed when the message is
 * received, cancelled, refused or dropped. */
struct weft_message {
	struct weft_obj obj;
	struct weft_link bin;	  /* in its bin of match->unexpected */
	struct weft_link arrived; /* in match->arrived, in order of arrival */
	struct weft_comm *comm;
	struct weft_peer *peer;
	uint64_t ctx;
	int32_t src;
	int32_t tag;
	bool is_rts;	       /* data is still at the sender */
	bool is_uncancellable; /* is_rts: the sender will not cancel it */
	bool is_failed;	 /* is_rts: an error in place of a message; sreq is the
			    error, and data is the text of the error */
	bool is_device;	 /* is_rts: the data is in device memory, and `data` is
			    a weft_wire_device */
	uint16_t number; /* eager: the number by which a CANCEL names it */
	size_t len;	 /* bytes of the whole message */
	uint64_t sreq;	 /* is_rts: handle of the sender's request */
	uint64_t addr;	 /* is_rts: address of the data at the sender; 0: this
			    process cannot read the data */
	struct weft_message *spare; /* next in the list of spare messages */
	uint8_t *data; /* eager: the data, in inl or allocated memory */
	uint8_t inl[WEFT_MESSAGE_INLINE];
};

/* Returns the bin of a message. The factor shifts the upper bits of the tag
 * out, so the bin does not depend on the kind of a collective. Messages of
 * different collectives with the same number are in the same bin. */
static inline uint32_t weft_match_bin(uint64_t ctx, int32_t src, int32_t tag)
{
	uint32_t hash =
		(uint32_t)src * 0x9e3779b1u +
		(uint32_t)tag * (0x85ebca6bu << (32 - WEFT_TAG_COLL_SHIFT)) +
		(uint32_t)(ctx & 3) * 0xc2b2ae35u;

	return hash >> 26;
}
_Static_assert(WEFT_MATCH_BINS == 64, "weft_match_bin yields 6 bits");

static inline bool weft_match_is_wild(int32_t src, int32_t tag)
{
	return src == WEFT_ANY_SOURCE || tag == WEFT_ANY_TAG;
}

/* Appends a receive to one of the lists of posted receives. */
static inline void weft_match_join(
	struct weft_match *match, struct weft_link *list, struct weft_req *req)
{
	req->recv.order = match->next_seq++;
	req->recv.is_posted = true;
	match->n_posted++;
	weft_list_push_back(list, &req->link);
}

/* The slow paths of the functions below. They handle wildcards, the allocation
 * of the bins, and a bin whose first entry does not match. */
int weft_match_post_slow(struct weft_match *match, struct weft_req *req);
struct weft_req *weft_match_arrive_slow(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag);
struct weft_message *weft_match_find_slow(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag);

/* Puts a receive into the queues. 0 or WEFT_ERR_NOMEM. */
static inline int weft_match_post(
	struct weft_match *match, struct weft_req *req)
{
	if (weft_unlikely(
		    weft_match_is_wild(req->src, req->tag) || !match->posted))
		return weft_match_post_slow(match, req);
	weft_match_join(match,
		&match->posted[weft_match_bin(req->ctx, req->src, req->tag)],
		req);
	return 0;
}

/* Removes a posted receive. */
static inline void weft_match_withdraw(
	struct weft_match *match, struct weft_req *req)
{
	if (weft_unlikely(weft_match_is_wild(req->src, req->tag)))
		match->n_wild--;
	match->n_posted--;
	req->recv.is_posted = false;
	weft_list_remove(&req->link);
}

/* Removes and returns the receive that matches a message that has just arrived,
 * or NULL. */
static inline struct weft_req *weft_match_arrive(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag)
{
	struct weft_link *list;
	struct weft_req *req;

	if (match->n_posted == 0)
		return NULL;
	if (weft_unlikely(match->n_wild || !match->posted))
		return weft_match_arrive_slow(match, ctx, src, tag);
	list = &match->posted[weft_match_bin(ctx, src, tag)];
	req = weft_container_of(list->next, struct weft_req, link);
	if (weft_unlikely(list->next == list || req->ctx != ctx ||
			  req->src != src || req->tag != tag))
		return weft_match_arrive_slow(match, ctx, src, tag);
	match->n_posted--;
	req->recv.is_posted = false;
	weft_list_remove(&req->link);
	return req;
}

/* Queues an unexpected message. 0 or WEFT_ERR_NOMEM. */
int weft_match_queue(struct weft_match *match, struct weft_message *message);

/* Returns the earliest unexpected message that a receive accepts, or NULL. The
 * message remains in the queue. */
static inline struct weft_message *weft_match_find(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag)
{
	struct weft_link *list;
	struct weft_message *message;

	if (weft_likely(match->n_unexpected == 0))
		return NULL;
	if (weft_unlikely(weft_match_is_wild(src, tag) || !match->unexpected))
		return weft_match_find_slow(match, ctx, src, tag);
	list = &match->unexpected[weft_match_bin(ctx, src, tag)];
	message = weft_container_of(list->next, struct weft_message, bin);
	if (weft_unlikely(list->next == list || message->ctx != ctx ||
			  message->src != src || message->tag != tag))
		return weft_match_find_slow(match, ctx, src, tag);
	return message;
}

/* weft_match_other_posted() searches the posted receives for one with the same
 * source and the same number of the collective, but of another kind of
 * collective. weft_match_other_unexpected() searches the unexpected messages in
 * the same way. Both return NULL if there is none, and do not remove the entry.
 */
struct weft_req *weft_match_other_posted(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag);
struct weft_message *weft_match_other_unexpected(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag);

/* Removes an unexpected message from the queue. */
static inline void weft_match_take(
	struct weft_match *match, struct weft_message *message)
{
	weft_list_remove(&message->bin);
	weft_list_remove(&message->arrived);
	match->n_unexpected--;
}

#endif
