/* SPDX-License-Identifier: BSD-3-Clause */
/* meet: the lanes of a new communicator's members find each other */
#include "session/meet.h"

#include "base/err.h"
#include "base/log.h"
#include "core/outer.h"
#include "core/proc.h"
#include "p2p/p2p.h"

#include <stdio.h>
#include <stdlib.h>

static void meet_free(struct weft_meet *m)
{
	weft_agree_fini(&m->agree);
	weft_comm_close(m->comm);
	weft_p2p_purge_held(m->comm);
	weft_comm_put(m->comm);
	free(m);
}

static void on_met(struct weft_agree *agree)
{
	struct weft_meet *m = agree->arg;

	m->is_done = true;
	if (m->is_given_up)
		meet_free(m);
}

int weft_meet_start(struct weft_session *session, struct weft_group *group,
	uint64_t ctx, const char *tag, struct weft_meet **meet_out)
{
	struct weft_meet *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return WEFT_ERR_NOMEM;
	m->lane = &weft_proc.lane;
	if (session && session->lane->number) {
		m->lane = session->lane;
		m->mine = *weft_lane_card(m->lane);
	}
	err = weft_comm_create(&weft_proc.lane, ctx, group, NULL, &m->comm);
	if (err) {
		free(m);
		return err;
	}
	snprintf(m->comm->tag, sizeof(m->comm->tag), "%s", tag);
	m->agree = (struct weft_agree){
		.comm = m->comm,
		.mine = &m->mine,
		.len = sizeof(m->mine),
		.done = on_met,
		.arg = m,
	};
	err = weft_agree_start(&m->agree);
	if (err) {
		weft_p2p_purge_held(m->comm);
		weft_comm_put(m->comm);
		free(m);
		return err;
	}
	*meet_out = m;
	return 0;
}

struct weft_comm *weft_meet_comm(struct weft_meet *meet)
{
	return meet->comm;
}

/* Can these meet? The same answer at all members. */
static bool is_match(const struct weft_lane_card *cards, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!cards[i].number || cards[i].number >= WEFT_LANES ||
			cards[i].fabric != cards[0].fabric)
			return false;
	return true;
}

/* Only processes of a job share lanes. The same answer at all members. */
static bool is_one_job(const struct weft_group *group)
{
	for (uint32_t i = 0; i < group->n_runs; i++)
		if (weft_outer_is(group->runs[i].first))
			return false;
	return true;
}

/* Makes the members peers of the lane. Its lock held. */
static int take_peers(struct weft_lane *lane, const struct weft_group *group,
	const struct weft_lane_card *cards, const bool *is_near)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < group->size; i++) {
		struct weft_peer *peer = weft_peer_of(
			lane, weft_lane_addr(weft_group_proc(group, i),
				      cards[i].number));

		err = peer ? weft_peer_meet(peer, &cards[i], is_near[i])
			   : WEFT_ERR_NOMEM;
	}
	return err;
}

static int take_lane(struct weft_meet *m, uint8_t **lanes_out)
{
	const struct weft_lane_card *cards = (const void *)m->agree.records;
	const struct weft_group *group = m->comm->group;
	bool *is_near = calloc(group->size, sizeof(*is_near));
	uint8_t *lanes = malloc(group->size);
	int err = is_near && lanes ? 0 : WEFT_ERR_NOMEM;

	for (uint32_t i = 0; !err && i < group->size; i++) {
		lanes[i] = cards[i].number;
		is_near[i] = weft_proc_is_near(weft_group_proc(group, i));
	}
	if (!err) {
		weft_lane_drop(&weft_proc.lane);
		weft_lane_take(m->lane);
		err = take_peers(m->lane, group, cards, is_near);
		weft_lane_drop(m->lane);
		weft_lane_take(&weft_proc.lane);
	}
	free(is_near);
	if (err) {
		free(lanes);
		return err;
	}
	*lanes_out = lanes;
	return 0;
}

int weft_meet_end(
	struct weft_meet *m, struct weft_lane **lane_out, uint8_t **lanes_out)
{
	int err = m->agree.err;
	uint32_t n = m->comm->group->size;

	*lane_out = &weft_proc.lane;
	*lanes_out = NULL;
	if (!err && is_one_job(m->comm->group) &&
		is_match((const void *)m->agree.records, n)) {
		*lane_out = m->lane;
		err = take_lane(m, lanes_out);
	} else if (!err && m->lane->number) {
		weft_log_info("SESSION-LANE",
			"communicator \"%s\" is on the shared lane: not all of "
			"its %u members have a lane of their own, on the same "
			"fabric",
			m->comm->tag, n);
	}
	meet_free(m);
	return err;
}

int weft_meet_across(const struct weft_comm *local,
	const struct weft_lane_card *mine, const struct weft_group *remote,
	const struct weft_lane_card *theirs, uint8_t **lanes_out)
{
	bool *is_near = calloc(remote->size, sizeof(*is_near));
	uint8_t *lanes = malloc(remote->size);
	int err = is_near && lanes ? 0 : WEFT_ERR_NOMEM;

	*lanes_out = NULL;
	if (err || !is_match(mine, (uint32_t)local->size) ||
		!is_match(theirs, remote->size) ||
		mine->fabric != theirs->fabric) {
		free(is_near);
		free(lanes);
		return err;
	}
	weft_lane_take(&weft_proc.lane);
	for (uint32_t i = 0; i < remote->size; i++) {
		lanes[i] = theirs[i].number;
		is_near[i] = weft_proc_is_near(weft_group_proc(remote, i));
	}
	weft_lane_drop(&weft_proc.lane);
	weft_lane_take(local->lane);
	err = take_peers(local->lane, remote, theirs, is_near);
	weft_lane_drop(local->lane);
	free(is_near);
	if (err)
		free(lanes);
	else
		*lanes_out = lanes;
	return err;
}

void weft_meet_give_up(struct weft_meet *meet)
{
	if (meet->is_done)
		meet_free(meet);
	else
		meet->is_given_up = true;
}
