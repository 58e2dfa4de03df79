/* SPDX-License-Identifier: BSD-3-Clause */
/* lane: open and close one way out of the process */
#include "core/lane.h"

#include "base/knob.h"
#include "base/log.h"
#include "core/proc.h"
#include "net/net.h"
#include "shm/copy.h"
#include "shm/seg.h"

#include <stdlib.h>

void weft_lane_init(struct weft_lane *lane, uint8_t number)
{
	weft_list_init(&lane->flush);
	weft_list_init(&lane->chores);
	weft_list_init(&lane->closings);
	lane->number = number;
	lane->addr = weft_lane_addr(weft_proc.proc, number);
	lane->job_mask = UINT64_MAX << 32;
}

void weft_lane_open_shm(struct weft_lane *lane)
{
	if (!weft_knob_is_on(weft_knobs.shm))
		return;
	if (weft_shm_open(weft_proc.facts.local_size,
		    (size_t)weft_knobs.shm_ring, weft_dispatch_ring, lane,
		    &lane->shm))
		weft_warn("CORE-NOSHM", "%s; set WEFT_SHM=off to say so",
			weft_err_detail_peek(WEFT_ERR_OTHER));
	else
		weft_copy_permit();
}

void weft_lane_close(struct weft_lane *lane)
{
	size_t pos = 0;
	struct weft_map_entry *entry;

	weft_net_close(lane->net);
	lane->net = NULL;
	while ((entry = weft_map_next(&lane->peers, &pos)) != NULL) {
		struct weft_peer *peer = entry->value;

		weft_ring_detach(&peer->tx);
		free(peer);
	}
	weft_map_fini(&lane->peers);
	weft_map_fini(&lane->comms);
	weft_dispatch_forget(lane);
	weft_shm_close(lane->shm);
	lane->shm = NULL;
}
