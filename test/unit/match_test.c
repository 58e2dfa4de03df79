/* SPDX-License-Identifier: BSD-3-Clause */
/* match_test: matching against a model that searches plain arrays */
#include "p2p/match_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_ROUNDS = 200000, N_LIVE = 4096 };

struct model {
	struct weft_req *posted[N_LIVE];
	int n_posted;
	struct weft_message *kept[N_LIVE];
	int n_kept;
};

static uint64_t rng_state = 88172645463325252ull;

static uint32_t rng(uint32_t n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (uint32_t)(rng_state >> 33) % n;
}

static void init(struct weft_match *match)
{
	memset(match, 0, sizeof(*match));
	weft_list_init(&match->wild);
	weft_list_init(&match->arrived);
}

static int fits(int32_t want, int32_t wild, int32_t got)
{
	return want == wild || want == got;
}

static int accepts(uint64_t rctx, int32_t rsrc, int32_t rtag, uint64_t ctx,
	int32_t src, int32_t tag)
{
	return rctx == ctx && fits(rsrc, WEFT_ANY_SOURCE, src) &&
	       fits(rtag, WEFT_ANY_TAG, tag);
}

static void model_remove(void **array, int *n, int at)
{
	memmove(array + at, array + at + 1,
		(size_t)(*n - at - 1) * sizeof(*array));
	--*n;
}

/* Posts a receive. It matches the earliest queued message that fits, or is
 * queued. */
static void step_post(struct weft_match *match, struct model *model)
{
	uint64_t ctx = 64 + rng(3);
	int32_t src = rng(8) ? (int32_t)rng(6) : WEFT_ANY_SOURCE;
	int32_t tag = rng(8) ? (int32_t)rng(5) : WEFT_ANY_TAG;
	struct weft_message *found = weft_match_find(match, ctx, src, tag);
	struct weft_message *expected = NULL;
	struct weft_req *req;
	int at;

	for (at = 0; at < model->n_kept; at++) {
		struct weft_message *m = model->kept[at];

		if (accepts(ctx, src, tag, m->ctx, m->src, m->tag)) {
			expected = m;
			break;
		}
	}
	assert_ptr_equal(found, expected);
	if (found) {
		weft_match_take(match, found);
		model_remove((void **)model->kept, &model->n_kept, at);
		free(found);
		return;
	}
	if (model->n_posted == N_LIVE)
		return;
	req = calloc(1, sizeof(*req));
	req->ctx = ctx;
	req->src = src;
	req->tag = tag;
	assert_int_equal(weft_match_post(match, req), 0);
	model->posted[model->n_posted++] = req;
}

/* A message arrives and completes the matching receive that was posted first.
 */
static void step_arrive(struct weft_match *match, struct model *model)
{
	uint64_t ctx = 64 + rng(3);
	int32_t src = (int32_t)rng(6), tag = (int32_t)rng(5);
	struct weft_req *req = weft_match_arrive(match, ctx, src, tag);
	struct weft_req *expected = NULL;
	struct weft_message *message;
	int at;

	for (at = 0; at < model->n_posted; at++) {
		struct weft_req *r = model->posted[at];

		if (accepts(r->ctx, r->src, r->tag, ctx, src, tag)) {
			expected = r;
			break;
		}
	}
	assert_ptr_equal(req, expected);
	if (req) {
		assert_false(req->recv.is_posted);
		model_remove((void **)model->posted, &model->n_posted, at);
		free(req);
		return;
	}
	if (model->n_kept == N_LIVE)
		return;
	message = calloc(1, sizeof(*message));
	message->ctx = ctx;
	message->src = src;
	message->tag = tag;
	assert_int_equal(weft_match_queue(match, message), 0);
	model->kept[model->n_kept++] = message;
}

static void step_withdraw(struct weft_match *match, struct model *model)
{
	int at;

	if (!model->n_posted)
		return;
	at = (int)rng((uint32_t)model->n_posted);
	weft_match_withdraw(match, model->posted[at]);
	free(model->posted[at]);
	model_remove((void **)model->posted, &model->n_posted, at);
}

static void random_traffic_matches_like_the_model(void **state)
{
	static struct model model;
	struct weft_match match;

	(void)state;
	init(&match);
	for (int i = 0; i < N_ROUNDS; i++) {
		uint32_t what = rng(100);

		if (what < 48)
			step_post(&match, &model);
		else if (what < 97)
			step_arrive(&match, &model);
		else
			step_withdraw(&match, &model);
		assert_int_equal(match.n_posted, model.n_posted);
		assert_int_equal(match.n_unexpected, model.n_kept);
	}
	while (model.n_posted)
		step_withdraw(&match, &model);
	assert_int_equal(match.n_wild, 0);
	for (int i = 0; i < model.n_kept; i++)
		free(model.kept[i]);
	free(match.posted);
	free(match.unexpected);
}

static void contexts_do_not_mix(void **state)
{
	struct weft_req req = {
		.ctx = 64, .src = WEFT_ANY_SOURCE, .tag = WEFT_ANY_TAG
	};
	struct weft_match match;

	(void)state;
	init(&match);
	assert_int_equal(weft_match_post(&match, &req), 0);
	assert_null(weft_match_arrive(&match, 65, 0, 0));
	assert_ptr_equal(weft_match_arrive(&match, 64, 3, 9), &req);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_traffic_matches_like_the_model),
		cmocka_unit_test(contexts_do_not_mix),
	};

	return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
