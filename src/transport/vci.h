/* SPDX-License-Identifier: BSD-3-Clause */
/* vci: virtual communication interface
 *
 * A VCI is an endpoint with its completion queue and address table (net), the
 * rings within the node (shm), its peers, the parts that other rooms attach,
 * and one lock that guards all of these. Sessions share the default VCI, which
 * transport/proc_open.c opens with the first session; a session may acquire a
 * dedicated one. VCIs stay open until the process exits.
 *
 * The default VCI's lock also guards the process manager (weft_proc.boot) and
 * the creation of communicators from groups. It may be taken while a dedicated
 * VCI's lock is held (for buffers that sends of several VCIs use), never the
 * other way round. No dedicated VCI's lock is taken under another's, except a
 * session's own under one that its communicators are spread over
 * (session/spread.h). */
#ifndef WEFT_VCI_H
#define WEFT_VCI_H

#include "base/counter.h"
#include "base/lock.h"
#include "base/map.h"
#include "transport/node_bc.h"
#include "transport/peer.h"
#include "transport/rail.h"
#include "shm/wakeup.h"
#include "shm/seg.h"

struct weft_boot;
struct weft_net;
struct weft_shm;
struct weft_req;
struct weft_vci_comm;
struct weft_tmp;
struct weft_vci_core;
struct weft_vci_p2p;
struct weft_vci_era;

/* Handles messages of one op; see dispatch.h. */
typedef void weft_wire_fn(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len);

enum {
	WEFT_VCIS = 16, /* in a process, the default one included */
	WEFT_VCI_SHIFT = 60,
};

/* Wishes for a fabric; "": none. */
struct weft_vci_hints {
	char provider[64];
	char iface[64];
	char tclass[24];
};

/* The address of a VCI, which processes exchange when they create a
 * communicator on it. */
struct weft_vci_card {
	uint8_t number; /* 0: this process has no VCI for it */
	uint8_t name_len;
	uint8_t reserved[6];
	uint64_t fabric;	/* hash of the provider's name; without a fabric
				   weft_pid_access_id(). Equal where the two reach each
				   other */
	struct weft_shm_bc shm; /* pid 0: no shared memory */
	uint8_t key[16];	/* messages to this process prove it */
	uint8_t name[64];
};
static_assert(sizeof(struct weft_vci_card) == 128, "wire layout");
static_assert((int)WEFT_VCIS == (int)WEFT_COUNTER_PROCESS, "one owner a VCI");

/* A function that each round of progress calls until its owner removes it from
 * the VCI's list, perhaps inside run(); if deferred, it is called once. */
struct weft_progress_hook {
	struct weft_link link;
	void (*run)(struct weft_progress_hook *hook); /* VCI's lock held */
};

struct weft_vci {
	struct weft_lock lock;	    /* guards everything below */
	struct weft_net *net;	    /* NULL while no peer needs a fabric */
	struct weft_rails rails;    /* of the default VCI only */
	struct weft_shm *shm;	    /* NULL: switched off or impossible */
	struct weft_vci_core *core; /* parts of other rooms, which this room
				      does not access */
	struct weft_vci_p2p *p2p;
	struct weft_vci_era *era;
	struct weft_vci_comm *comm;
	struct weft_tmp *scratch; /* coll: kept for the next collective */
	struct weft_map peers;	  /* process number + 1 to weft_peer */
	struct weft_peer *self;
	struct weft_bc *own_bc; /* of the default VCI, once published; owned */
	struct weft_link pending_peers; /* peers with pending work */
	const void *asked; /* whose requested card is due, on this node: a
			      peer, or the VCI for the first process */
	struct weft_node_bc node_bc; /* of the default VCI only */
	bool has_requested_first;    /* requested the first process's card */
	uint64_t asked_ns;	     /* time of the request */
	struct weft_link hooks; /* struct weft_progress_hook; mostly none */
	struct weft_boot *boot; /* reports deaths: the process manager, or
				   the inbox of a dedicated VCI */
	struct weft_map early;	/* context id to messages of a communicator
				   not created yet; see dispatch.h */
	uint32_t idle_polls;	/* since the last event */
	uint32_t net_skip;	/* rounds until the fabric is polled */
	uint32_t n_net_rounds;	/* of progress, while there is a fabric */
	uint32_t vain_wakes;	/* of a wait that sleeps: without an event */
	union {
		struct {
			bool is_polling; /* inside weft_progress */
			bool has_deferred;
		};
		uint16_t round_flags; /* both; mostly 0 when a round begins */
	};
	bool is_signalled;	   /* the wakeup, since the leader slept */
	bool has_leader;	   /* one of those asleep reads the wakeup */
	uint32_t n_asleep;	   /* threads that sleep in weft_sleep */
	atomic_uint n_wakes;	   /* the others sleep until this moves */
	struct weft_wakeup wakeup; /* wakes the leader */
	uint8_t number;		   /* 0: the default one */
	uint64_t addr;		   /* weft_vci_addr() of itself */
	uint64_t job_mask;	   /* bits of an address that name the job */
	atomic_uint n_idle;	   /* rounds without an event; counted while
				      there are several VCIs */
	uint32_t seen_idle[WEFT_VCIS]; /* n_idle of the others, last read */
	struct weft_link deferred;     /* struct weft_progress_hook; see
					  weft_vci_defer() */
	uint32_t n_failed;	       /* peers that died, and members that
					  departed from a communicator */
	uint64_t n_lost_seen; /* net_undelivered at the last probe of all peers;
				 see peer.h */
	size_t peer_size;     /* of p2p's struct around struct weft_peer; set
				 before the first peer is created */
	weft_wire_fn *handlers[WEFT_WIRE_OP_END];
	void (*on_failed)(struct weft_peer *peer);     /* p2p: a peer died */
	void (*on_win_failed)(struct weft_peer *peer); /* win: likewise */
	void (*on_era_failed)(struct weft_peer *peer); /* era: likewise */
	/* p2p: ends a request that is waited for if only a departed process
	 * could complete it; called while n_failed is not 0. True: the wait
	 * must end, because a member has failed, but the request remains active
	 */
	bool (*on_wait)(struct weft_req *req);
	/* after the VCI was closed: frees the parts of other rooms */
	void (*on_close)(struct weft_vci *vci);
	struct weft_counters counters;
	bool is_served; /* the progress thread makes the present round */
};

/* The address of a VCI of a process; for the default VCI, the process number.
 */
static inline uint64_t weft_vci_addr(uint64_t proc, uint8_t number)
{
	return proc ^ (uint64_t)number << WEFT_VCI_SHIFT;
}

/* The peer at an address, created if new; NULL if out of memory. VCI's lock
 * held. */
struct weft_peer *weft_peer_of(struct weft_vci *vci, uint64_t addr);

/* Initialises a zeroed VCI with this number; opens no transport. */
void weft_vci_init(struct weft_vci *vci, uint8_t number);

/* Opens the wakeup that ends sleeps of this process. The process manager's
 * client signals it with each event. Called before weft_vci_open_shm(). */
void weft_vci_open_wakeup(struct weft_vci *vci, struct weft_boot *boot);

/* Opens shared memory for the processes of this node, unless WEFT_SHM is off.
 */
void weft_vci_open_shm(struct weft_vci *vci);

/* Opens the default VCI's fabric if it is not open yet. Its lock held. */
int weft_vci_open_default_net(void);

/* Writes the name of the default VCI's fabric to its own business card, for
 * processes that get the card from this one. Its lock held. */
int weft_vci_name_net(struct weft_vci *vci);

/* The name of its provider's entry ("verbs"), "" while no fabric is open. Lent.
 */
const char *weft_vci_fabric(const struct weft_vci *vci);

/* The domain of the fabric; "none" while it is not open. VCI's lock held. */
void weft_vci_names(const struct weft_vci *vci, struct weft_vci_hints *names);

/* Prepares a VCI before a transport of it opens: installs handlers, attaches
 * the parts of other rooms, sets on_close. 0 or an error. */
typedef int weft_vci_open_fn(struct weft_vci *vci);

/* Acquires a VCI for one session, by its hints: a released one, or a new one,
 * for which on_open is called. If a hint is not "", all messages use that
 * fabric; else as on the default VCI. WEFT_ERR_OTHER if all WEFT_VCIS are in
 * use. Any thread, no VCI's lock held. */
int weft_vci_acquire(const struct weft_vci_hints *vci_hints,
	weft_vci_open_fn *on_open, struct weft_vci **vci_out);
void weft_vci_release(struct weft_vci *vci);

/* The hints of a dedicated VCI. */
const struct weft_vci_hints *weft_vci_hints_of(const struct weft_vci *vci);

/* The card of a dedicated VCI; constant. */
const struct weft_vci_card *weft_vci_card(const struct weft_vci *vci);

/* Passes the end of a process from the default VCI to the others. */
void weft_vci_record_failure(const struct weft_boot_event *event);

/* Closes and frees the dedicated VCIs, when the process exits. */
void weft_vci_close_dedicated(void);

/* Closes all but the wakeup and frees all peers; the VCI can be opened again.
 */
void weft_vci_close(struct weft_vci *vci);

/* Wakes the threads of this process that sleep for the VCI. VCI's lock
 * held. */
void weft_vci_wake(struct weft_vci *vci);

/* Wakes n threads in addition to the leader. They sleep on a futex: a wakeup
 * signalled for all of them would stay readable until the last one had read it.
 */
void weft_vci_wake_followers(struct weft_vci *vci, int n);

/* Defers a call of hook->run to the next round of progress, of any thread.
 * run() is called with the lock held and may release it, because no handler is
 * running. For functions of the program and for copies that may block. VCI's
 * lock held. */
void weft_vci_defer(struct weft_vci *vci, struct weft_progress_hook *hook);

/* Cancels the call before it is made. */
void weft_vci_undefer(struct weft_vci *vci, struct weft_progress_hook *hook);

static inline void weft_vci_lock(struct weft_vci *vci)
{
	weft_lock_acquire(&vci->lock);
}

static inline void weft_vci_unlock(struct weft_vci *vci)
{
	weft_lock_release(&vci->lock);
}

#endif
