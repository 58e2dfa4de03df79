/* SPDX-License-Identifier: BSD-3-Clause */
/* arrival: messages that arrive through a ring or over the fabric
 *
 * weft_arrival_ring() receives the messages of shared memory (shm/seg.h),
 * weft_arrival_net() those of the fabric (net/net.h). Both determine the
 * sender, drop messages of processes that are not permitted, and dispatch all
 * other messages (dispatch.h). VCI's lock held; arg is the VCI. */
#ifndef WEFT_ARRIVAL_H
#define WEFT_ARRIVAL_H

#include <stddef.h>

struct weft_ring_rx;

void weft_arrival_ring(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len);
void weft_arrival_net(void *arg, const void *data, size_t len);

#endif
