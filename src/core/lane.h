/* SPDX-License-Identifier: BSD-3-Clause */
/* lane: one way out of the process and all that is progressed through it
 *
 * A lane is an endpoint with its completion queue and address table (net),
 * the on-node rings (shm), the peers reached through it, the communicators
 * that match on it, and the one lock that guards them all. Sessions share the
 * default lane, made by core/proc.c with the first session; one that asks for
 * a lane of its own rents it. What was opened is kept until the process ends.
 *
 * The default lane's lock also guards the process manager (weft_proc.boot) and
 * the making of communicators from groups. It may be taken under a rented
 * lane's (for buffers that sends of several lanes use), never the other way
 * round, and no rented lane's under another's. */
#ifndef WEFT_LANE_H
#define WEFT_LANE_H

#include "base/lock.h"
#include "base/map.h"
#include "core/dispatch.h"
#include "core/peer.h"
#include "core/rail.h"
#include "shm/bell.h"
#include "shm/seg.h"

struct weft_boot;
struct weft_net;
struct weft_shm;
struct weft_req;

enum {
	WEFT_LANES = 16, /* in a process, the default one included */
	WEFT_LANE_SHIFT = 60,
	WEFT_NIC_SLOTS = 4096,
};

/* What is asked of a fabric; "" where nothing. */
struct weft_lane_wish {
	char provider[64];
	char iface[64];
	char tclass[24];
};

/* How a lane is reached by those of other processes; swapped when a
 * communicator is made on it. */
struct weft_lane_card {
	uint8_t number; /* 0: this process has no lane for it */
	uint8_t name_len;
	uint8_t reserved[6];
	uint64_t fabric;	  /* hash of the provider's name; 0: none */
	struct weft_shm_card shm; /* pid 0: no shared memory */
	uint8_t key[16];	  /* messages to this process prove it */
	uint8_t name[64];
};
static_assert(sizeof(struct weft_lane_card) == 120, "wire layout");

/* Work that is tried again each round of progress until its owner takes it off
 * the lane's list, perhaps from within run(). */
struct weft_chore {
	struct weft_link link;
	void (*run)(struct weft_chore *chore); /* lane's lock held */
};

struct weft_lane {
	struct weft_lock lock;	     /* guards everything below */
	struct weft_net *net;	     /* NULL while no peer needs a fabric */
	struct weft_rails rails;     /* of the default lane only */
	struct weft_shm *shm;	     /* NULL when switched off or impossible */
	struct weft_map comms;	     /* context id without plane to weft_comm */
	struct weft_comm *last_comm; /* of the last look-up */
	struct weft_map peers;	     /* process number + 1 to weft_peer */
	struct weft_peer *self;
	struct weft_link flush;	     /* peers with pending work */
	struct weft_link chores;     /* struct weft_chore; mostly none */
	struct weft_boot *boot;	     /* tells of deaths: the process manager
					here, what it told to other lanes */
	struct weft_map early;	     /* context id to messages that came before
					their communicator; see p2p */
	struct weft_req *spare_reqs; /* recycled */
	uint32_t idle_polls;	     /* since something last happened */
	uint32_t net_skip;	     /* rounds until the fabric is looked at */
	uint32_t vain_wakes;	     /* of a wait that sleeps: by nothing */
	bool is_polling;	     /* inside weft_progress */
	bool is_rung;		     /* the bell, since its reader slept */
	bool has_leader;	     /* one of those asleep reads the bell */
	uint32_t n_asleep;	     /* threads in weft_sleep */
	atomic_uint n_wakes;	     /* the others sleep until this moves */
	struct weft_bell bell; /* wakes the leader; none unless blocking */
	uint8_t number;	       /* 0: the default one */
	uint64_t addr;	       /* weft_lane_addr() of itself */
	uint64_t job_mask;     /* bits of an address that name the job */
	atomic_uint n_idle;    /* rounds that found nothing; counted
				  while there are several lanes */
	uint32_t seen_idle[WEFT_LANES]; /* of the others, at the last look */
	struct weft_link pieces;	/* of long messages, in the fabric; see
					   p2p/pieces.c */
	struct weft_link closings;	/* freed communicators that still close;
					   see session/disconnect.c */
	uint32_t n_lost;		/* peers that died, members that left a
					   communicator others are still in */
	uint64_t n_lost_seen;		/* of the fabric's n_lost; see peer.h */
	uint64_t n_dropped;		/* malformed or foreign messages */
	uint64_t
		nic_slots[WEFT_NIC_SLOTS / 64]; /* in use; see p2p/nic_send.c */
	uint32_t nic_next;			/* slot to be tried */
	weft_wire_fn *handlers[WEFT_WIRE_OP_END];
	void (*on_lost)(struct weft_peer *peer); /* p2p: a peer died */
	/* p2p: ends a request that is waited for and that only a process could
	 * complete which has left; called while n_lost is not 0 */
	void (*on_wait)(struct weft_req *req);
};

/* Where a lane of a process is reached; the process number where the lane is
 * the default one. */
static inline uint64_t weft_lane_addr(uint64_t proc, uint8_t number)
{
	return proc ^ (uint64_t)number << WEFT_LANE_SHIFT;
}

/* The peer at an address, created when new; NULL when out of memory. Lane's
 * lock held. */
struct weft_peer *weft_peer_of(struct weft_lane *lane, uint64_t addr);

/* Fills in a zeroed lane of this number; opens nothing. */
void weft_lane_init(struct weft_lane *lane, uint8_t number);

/* Where processes are to sleep (WEFT_WAIT=block): the bell that wakes this one,
 * known to who tells it of deaths. Before weft_lane_open_shm(). */
void weft_lane_open_bell(struct weft_lane *lane, struct weft_boot *boot);

/* Opens shared memory for the processes of my node where that is wanted. */
void weft_lane_open_shm(struct weft_lane *lane);

/* Opens the fabric as wished. Lane's lock held, or nobody knows the lane. */
int weft_lane_open_net(
	struct weft_lane *lane, const struct weft_lane_wish *wish);

/* What the fabric runs on; "none" while it is not open. Lane's lock held. */
void weft_lane_names(
	const struct weft_lane *lane, struct weft_lane_wish *names);

/* A lane for one session alone, as wished: one that was given back, or a new
 * one, for which on_open is called. Where the wish names anything, all traffic
 * goes through that fabric; else as on the default lane. WEFT_ERR_OTHER when
 * all WEFT_LANES are in use. Any thread, no lane's lock held. */
int weft_lane_rent(const struct weft_lane_wish *wish,
	void (*on_open)(struct weft_lane *lane), struct weft_lane **lane_out);
void weft_lane_return(struct weft_lane *lane);

/* How others reach a rented lane; constant. */
const struct weft_lane_card *weft_lane_card(const struct weft_lane *lane);

/* The default lane heard that a process ended: the others will. */
void weft_lane_tell_death(uint32_t rank, int code);

/* Closes and frees the rented ones, at the end of the process. */
void weft_lane_close_rented(void);

/* Closes all but the bell and forgets all peers; the lane can be opened
 * again. */
void weft_lane_close(struct weft_lane *lane);

/* Wakes the threads of this process that sleep for the lane. Lane's lock
 * held. */
void weft_lane_wake(struct weft_lane *lane);

static inline void weft_lane_take(struct weft_lane *lane)
{
	weft_lock_take(&lane->lock);
}

static inline void weft_lane_drop(struct weft_lane *lane)
{
	weft_lock_drop(&lane->lock);
}

#endif
