/* SPDX-License-Identifier: BSD-3-Clause */
/* outer: a card for other jobs, and what becomes of theirs */
#include "core/outer.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

enum { GRACE_S = 2 }; /* for messages on their way */

/* Jobs that are over, oldest first. Guarded by the default lane's lock. */
static struct {
	struct weft_chore chore;
	struct {
		uint32_t job;
		uint64_t due_ns; /* 0: its processes are gone */
	} * jobs;
	uint32_t n;
} ended;

uint32_t weft_outer_job(const char *name)
{
	static const uint8_t no_key[16];

	return (uint32_t)weft_hash(no_key, name, strlen(name));
}

bool weft_outer_has_ended(const char *name)
{
	uint32_t job = weft_outer_job(name);

	for (uint32_t i = 0; i < ended.n; i++)
		if (ended.jobs[i].job == job)
			return true;
	return false;
}

/* One that is not known to be gone, or NULL. */
static struct weft_peer *member_of(struct weft_lane *lane, uint32_t job)
{
	size_t pos = 0;
	struct weft_map_entry *entry;

	while ((entry = weft_map_next(&lane->peers, &pos)) != NULL) {
		struct weft_peer *peer = entry->value;

		if (peer->proc >> 32 == job && peer->state != WEFT_PEER_DEAD)
			return peer;
	}
	return NULL;
}

static void end_jobs(struct weft_chore *chore)
{
	struct weft_peer *peer;
	uint64_t now = weft_now_ns();
	bool is_waiting = false;

	for (uint32_t i = 0; i < ended.n; i++) {
		if (ended.jobs[i].due_ns > now)
			is_waiting = true;
		else if (ended.jobs[i].due_ns) {
			ended.jobs[i].due_ns = 0;
			while ((peer = member_of(&weft_proc.lane,
					ended.jobs[i].job)) != NULL)
				weft_peer_die(
					peer, weft_err_set(WEFT_ERR_PEER,
						      "the job of process %u "
						      "has ended",
						      (uint32_t)peer->proc));
		}
	}
	if (!is_waiting)
		weft_list_remove(&chore->link);
}

void weft_outer_job_ended(const char *name)
{
	void *jobs;

	if (weft_outer_has_ended(name))
		return;
	jobs = realloc(ended.jobs, (ended.n + 1) * sizeof(*ended.jobs));
	if (!jobs)
		return;
	ended.jobs = jobs;
	ended.jobs[ended.n].job = weft_outer_job(name);
	ended.jobs[ended.n++].due_ns = weft_now_ns() + GRACE_S * WEFT_NS_PER_S;
	if (!ended.chore.run) {
		ended.chore.run = end_jobs;
		weft_list_init(&ended.chore.link);
	}
	weft_list_remove(&ended.chore.link);
	weft_list_push_back(&weft_proc.lane.chores, &ended.chore.link);
}

void weft_outer_key(uint8_t key_out[16])
{
	static const char *const names[2] = { "weft far key 1",
		"weft far key 2" };

	for (int i = 0; i < 2; i++) {
		uint64_t half = weft_hash(
			weft_proc.facts.own_key, names[i], strlen(names[i]));

		memcpy(key_out + 8 * i, &half, sizeof(half));
	}
}

int weft_outer_card(struct weft_lane_card *card_out)
{
	struct weft_lane_card card = { 0 };
	struct weft_lane *lane = &weft_proc.lane;
	size_t len = sizeof(card.name);
	int err = weft_proc_open_net();

	if (!err)
		err = weft_net_name(lane->net, card.name, &len);
	if (err)
		return err;
	card.name_len = (uint8_t)len;
	weft_outer_key(card.key);
	weft_outer_expect();
	*card_out = card;
	return 0;
}

int weft_outer_meet(uint64_t proc, const struct weft_lane_card *card)
{
	struct weft_peer *peer;

	if (!weft_outer_is(proc))
		return 0;
	if (!card->name_len || card->name_len > sizeof(card->name))
		return weft_err_set(WEFT_ERR_PEER,
			"process %u of another job has no fabric open",
			(uint32_t)proc);
	peer = weft_peer_of(&weft_proc.lane, proc);
	return peer ? weft_peer_meet(peer, card, false) : WEFT_ERR_NOMEM;
}
