/* SPDX-License-Identifier: BSD-3-Clause */
/* outer: a card for other jobs, and what becomes of theirs */
#include "core/outer.h"

#include "base/err.h"
#include "base/hash.h"
#include "net/net.h"

#include <string.h>

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
