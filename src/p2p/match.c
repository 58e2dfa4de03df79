/* SPDX-License-Identifier: BSD-3-Clause */
/* match: matching of posted receives and unexpected messages
 *
 * Receives are in bins by context, source and tag; receives with a wildcard are
 * in one list. Unexpected messages are in bins and in one list (core/match.h).
 */
#include "p2p/match_priv.h"

#include "base/err.h"

#include <stdlib.h>

static struct weft_link *make_bins(void)
{
	struct weft_link *bins = malloc(WEFT_MATCH_BINS * sizeof(*bins));

	for (int i = 0; bins && i < WEFT_MATCH_BINS; i++)
		weft_list_init(&bins[i]);
	return bins;
}

static bool accepts(
	int32_t want_src, int32_t want_tag, int32_t src, int32_t tag)
{
	return (want_src == src || want_src == WEFT_ANY_SOURCE) &&
	       (want_tag == tag || want_tag == WEFT_ANY_TAG);
}

int weft_match_post_slow(struct weft_match *match, struct weft_req *req)
{
	if (weft_match_is_wild(req->src, req->tag)) {
		match->n_wild++;
		weft_match_join(match, &match->wild, req);
		return 0;
	}
	match->posted = make_bins();
	if (!match->posted)
		return WEFT_ERR_NOMEM;
	return weft_match_post(match, req);
}

/* Returns the earliest receive in a list that accepts the message, or NULL. */
static struct weft_req *first_posted(struct weft_match *match,
	struct weft_link *list, uint64_t ctx, int32_t src, int32_t tag)
{
	for (struct weft_link *link = list->next; link != list;
		link = link->next) {
		struct weft_req *req =
			weft_container_of(link, struct weft_req, link);

		match->n_compared++;
		if (req->ctx == ctx && accepts(req->src, req->tag, src, tag))
			return req;
	}
	return NULL;
}

struct weft_req *weft_match_arrive_slow(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag)
{
	struct weft_req *req = NULL;

	if (match->posted)
		req = first_posted(match,
			&match->posted[weft_match_bin(ctx, src, tag)], ctx, src,
			tag);
	if (weft_unlikely(match->n_wild)) {
		struct weft_req *wild =
			first_posted(match, &match->wild, ctx, src, tag);

		if (!req || (wild && wild->recv.order < req->recv.order))
			req = wild;
	}
	if (req)
		weft_match_withdraw(match, req);
	return req;
}

int weft_match_queue(struct weft_match *match, struct weft_message *message)
{
	if (weft_unlikely(!match->unexpected)) {
		match->unexpected = make_bins();
		if (!match->unexpected)
			return WEFT_ERR_NOMEM;
	}
	weft_list_push_back(&match->unexpected[weft_match_bin(
				    message->ctx, message->src, message->tag)],
		&message->bin);
	weft_list_push_back(&match->arrived, &message->arrived);
	match->n_unexpected++;
	/* the tool interface may write most_unexpected concurrently */
	if (match->n_unexpected >
		__atomic_load_n(&match->most_unexpected, __ATOMIC_RELAXED))
		__atomic_store_n(&match->most_unexpected, match->n_unexpected,
			__ATOMIC_RELAXED);
	return 0;
}

struct weft_message *weft_match_find_slow(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag)
{
	bool any = weft_match_is_wild(src, tag);
	struct weft_link *list;

	list = any || !match->unexpected
		       ? &match->arrived
		       : &match->unexpected[weft_match_bin(ctx, src, tag)];
	any |= !match->unexpected; /* no bins: `arrived` is empty, too */
	for (struct weft_link *link = list->next; link != list;
		link = link->next) {
		struct weft_message *message =
			any ? weft_container_of(
				      link, struct weft_message, arrived)
			    : weft_container_of(link, struct weft_message, bin);

		match->n_compared++;
		if (message->ctx == ctx &&
			accepts(src, tag, message->src, message->tag))
			return message;
	}
	return NULL;
}

static bool match_is_other(uint64_t ctx, int32_t tag, int32_t other)
{
	return ctx % WEFT_CTX_OFFSET_END == WEFT_CTX_OFFSET_COLL &&
	       tag != other &&
	       !((uint32_t)(tag ^ other) << (32 - WEFT_TAG_COLL_SHIFT));
}

struct weft_req *weft_match_other_posted(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag)
{
	struct weft_link *list;

	if (!match->n_posted || !match->posted ||
		ctx % WEFT_CTX_OFFSET_END != WEFT_CTX_OFFSET_COLL)
		return NULL;
	list = &match->posted[weft_match_bin(ctx, src, tag)];
	weft_list_for_each(link, next, list)
	{
		struct weft_req *req =
			weft_container_of(link, struct weft_req, link);

		if (req->ctx == ctx && req->src == src &&
			match_is_other(ctx, tag, req->tag))
			return req;
	}
	return NULL;
}

struct weft_message *weft_match_other_unexpected(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag)
{
	struct weft_link *list;

	if (!match->n_unexpected || !match->unexpected)
		return NULL;
	list = &match->unexpected[weft_match_bin(ctx, src, tag)];
	weft_list_for_each(link, next, list)
	{
		struct weft_message *message =
			weft_container_of(link, struct weft_message, bin);

		if (message->ctx == ctx && message->src == src &&
			match_is_other(ctx, tag, message->tag))
			return message;
	}
	return NULL;
}
