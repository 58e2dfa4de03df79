/* SPDX-License-Identifier: BSD-3-Clause */
/* peer: one remote process we talk to, or ourselves
 *
 * Created on first use by weft_peer_of() (a message to or from it), destroyed
 * when the lane closes. Guarded by the lane's lock. An address is fetched with
 * the first message that leaves; until it is there, and whenever a transport
 * pushes back, what is to be sent waits on `pending` in order. */
#ifndef WEFT_PEER_H
#define WEFT_PEER_H

#include "base/list.h"
#include "core/wire.h"
#include "shm/ring.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct weft_lane;

enum weft_peer_state {
	WEFT_PEER_NEW,	     /* never sent to */
	WEFT_PEER_RESOLVING, /* card asked for */
	WEFT_PEER_READY,
	WEFT_PEER_DEAD, /* err says why */
};

struct weft_peer {
	uint64_t proc;
	enum weft_peer_state state;
	bool is_self;
	bool is_shm;	/* READY: through the ring, else the fabric */
	bool can_read;	/* cross-memory attach works */
	bool is_queued; /* on the lane's list of peers with pending work */
	int err;
	int64_t credit; /* eager bytes we may still send */
	int64_t owed;	/* eager bytes to give back to it */
	struct weft_ring_tx tx;
	uint64_t net_addr;
	uint64_t cookie_out; /* proves to it that we belong to the job */
	uint64_t cookie_in;  /* what its messages to us must carry; 0 unset */
	pid_t pid;
	uint64_t n_net_sent;	  /* messages over the fabric so far */
	uint64_t n_net_known;	  /* of these, known to have arrived (PONG) */
	struct weft_link pending; /* struct weft_out, oldest first */
	struct weft_link link;	  /* in lane->flush when is_queued */
	struct weft_lane *lane;
};

#endif
