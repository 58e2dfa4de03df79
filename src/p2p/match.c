/* SPDX-License-Identifier: BSD-3-Clause */
/* match: bins by (context, source, tag), one list for wildcards */
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

static bool is_wild(int32_t src, int32_t tag)
{
	return src == WEFT_ANY_SOURCE || tag == WEFT_ANY_TAG;
}

static bool accepts(
	int32_t want_src, int32_t want_tag, int32_t src, int32_t tag)
{
	return (want_src == src || want_src == WEFT_ANY_SOURCE) &&
	       (want_tag == tag || want_tag == WEFT_ANY_TAG);
}

int weft_match_post(struct weft_match *match, struct weft_req *req)
{
	struct weft_link *list = &match->wild;

	if (!is_wild(req->src, req->tag)) {
		if (weft_unlikely(!match->posted)) {
			match->posted = make_bins();
			if (!match->posted)
				return WEFT_ERR_NOMEM;
		}
		list = &match->posted[weft_match_bin(
			req->ctx, req->src, req->tag)];
	} else {
		match->n_wild++;
	}
	req->seq = match->next_seq++;
	req->is_posted = true;
	match->n_posted++;
	weft_list_push_back(list, &req->link);
	return 0;
}

/* Earliest receive in a list that accepts the message, or NULL. */
static struct weft_req *first_posted(
	struct weft_link *list, uint64_t ctx, int32_t src, int32_t tag)
{
	for (struct weft_link *link = list->next; link != list;
		link = link->next) {
		struct weft_req *req =
			weft_container_of(link, struct weft_req, link);

		if (req->ctx == ctx && accepts(req->src, req->tag, src, tag))
			return req;
	}
	return NULL;
}

void weft_match_withdraw(struct weft_match *match, struct weft_req *req)
{
	if (is_wild(req->src, req->tag))
		match->n_wild--;
	match->n_posted--;
	req->is_posted = false;
	weft_list_remove(&req->link);
}

struct weft_req *weft_match_arrive(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag)
{
	struct weft_req *req = NULL;

	if (match->n_posted == 0)
		return NULL;
	if (match->posted)
		req = first_posted(
			&match->posted[weft_match_bin(ctx, src, tag)], ctx, src,
			tag);
	if (weft_unlikely(match->n_wild)) {
		struct weft_req *wild =
			first_posted(&match->wild, ctx, src, tag);

		if (!req || (wild && wild->seq < req->seq))
			req = wild;
	}
	if (req)
		weft_match_withdraw(match, req);
	return req;
}

int weft_match_keep(struct weft_match *match, struct weft_message *message)
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
	return 0;
}

struct weft_message *weft_match_find(
	struct weft_match *match, uint64_t ctx, int32_t src, int32_t tag)
{
	bool any = is_wild(src, tag);
	struct weft_link *list;

	if (match->n_unexpected == 0)
		return NULL;
	list = any ? &match->arrived
		   : &match->unexpected[weft_match_bin(ctx, src, tag)];
	for (struct weft_link *link = list->next; link != list;
		link = link->next) {
		struct weft_message *message =
			any ? weft_container_of(
				      link, struct weft_message, arrived)
			    : weft_container_of(link, struct weft_message, bin);

		if (message->ctx == ctx &&
			accepts(src, tag, message->src, message->tag))
			return message;
	}
	return NULL;
}

void weft_match_take(struct weft_match *match, struct weft_message *message)
{
	weft_list_remove(&message->bin);
	weft_list_remove(&message->arrived);
	match->n_unexpected--;
}
