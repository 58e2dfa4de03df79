/* SPDX-License-Identifier: BSD-3-Clause */
/* vci: one way out of the process and all that is progressed through it
 *
 * A VCI is an endpoint with its completion queue and address table (net),
 * the on-node rings (shm), the peers reached through it, what other rooms have
 * in it, and the one lock that guards them all. Sessions share the
 * default VCI, made by transport/proc_open.c with the first session; one that
 * asks for a VCI of its own acquires it. What was opened is kept until the
 * process ends.
 *
 * The default VCI's lock also guards the process manager (weft_proc.boot) and
 * the making of communicators from groups. It may be taken under a dedicated
 * VCI's (for buffers that sends of several VCIs use), never the other way
 * round, and no dedicated VCI's under another's, but a session's own under one
 * that its communicators are spread over (session/spread.h). */
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

/* Handles messages of one op; see dispatch.h. */
typedef void weft_wire_fn(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len);

enum {
	WEFT_VCIS = 16, /* in a process, the default one included */
	WEFT_VCI_SHIFT = 60,
};

/* What is asked of a fabric; "" where nothing. */
struct weft_vci_hints {
	char provider[64];
	char iface[64];
	char tclass[24];
};

/* How a VCI is reached by those of other processes; swapped when a
 * communicator is made on it. */
struct weft_vci_card {
	uint8_t number; /* 0: this process has no VCI for it */
	uint8_t name_len;
	uint8_t reserved[6];
	uint64_t fabric;	/* hash of the provider's name; 0: none */
	struct weft_shm_bc shm; /* pid 0: no shared memory */
	uint8_t key[16];	/* messages to this process prove it */
	uint8_t name[64];
};
static_assert(sizeof(struct weft_vci_card) == 128, "wire layout");
static_assert((int)WEFT_VCIS == (int)WEFT_COUNTER_PROCESS, "one owner a VCI");

/* Work that is tried again each round of progress until its owner takes it off
 * the VCI's list, perhaps from within run(); or, deferred, once. */
struct weft_progress_hook {
	struct weft_link link;
	void (*run)(struct weft_progress_hook *hook); /* VCI's lock held */
};

struct weft_vci {
	struct weft_lock lock;	    /* guards everything below */
	struct weft_net *net;	    /* NULL while no peer needs a fabric */
	struct weft_rails rails;    /* of the default VCI only */
	struct weft_shm *shm;	    /* NULL when switched off or impossible */
	struct weft_vci_core *core; /* what other rooms have in it: defined
				      there, never followed here */
	struct weft_vci_p2p *p2p;
	struct weft_vci_comm *comm;
	struct weft_tmp *scratch; /* coll: kept for the next collective */
	struct weft_map peers;	  /* process number + 1 to weft_peer */
	struct weft_peer *self;
	struct weft_bc *own_bc; /* of the default VCI, once published; owned */
	struct weft_link pending_peers; /* peers with pending work */
	const void *asked; /* whose business card is due; of this node:
			      a peer, or the VCI for the first one's */
	struct weft_node_bc node_bc; /* of the default VCI only */
	bool has_asked_first;	     /* for its first card */
	uint64_t asked_ns;	     /* since when */
	struct weft_link hooks; /* struct weft_progress_hook; mostly none */
	struct weft_boot *boot; /* tells of deaths: the process manager
				   here, what it told to other VCIs */
	struct weft_map early;	/* context id to messages that came before
				   their communicator; see dispatch.h */
	uint32_t idle_polls;	/* since something last happened */
	uint32_t net_skip;	/* rounds until the fabric is looked at */
	uint32_t n_net_rounds;	/* of progress, while there is a fabric */
	uint32_t vain_wakes;	/* of a wait that sleeps: by nothing */
	union {
		struct {
			bool is_polling; /* inside weft_progress */
			bool has_deferred;
		};
		uint16_t rare; /* either; at the beginning of a round none */
	};
	bool is_signalled;	   /* the wakeup, since its reader slept */
	bool has_leader;	   /* one of those asleep reads the wakeup */
	uint32_t n_asleep;	   /* threads that sleep in weft_sleep */
	atomic_uint n_wakes;	   /* the others sleep until this moves */
	struct weft_wakeup wakeup; /* wakes the leader */
	uint8_t number;		   /* 0: the default one */
	uint64_t addr;		   /* weft_vci_addr() of itself */
	uint64_t job_mask;	   /* bits of an address that name the job */
	atomic_uint n_idle;	   /* rounds that found nothing; counted
				      while there are several VCIs */
	uint32_t seen_idle[WEFT_VCIS]; /* of the others, at the last look */
	struct weft_link deferred;     /* struct weft_progress_hook; see
					  weft_vci_defer() */
	uint32_t n_failed;	       /* peers that died, members that left a
					  communicator others are still in */
	uint64_t n_lost_seen; /* net_undelivered at the last probe of all peers;
				 see peer.h */
	size_t peer_size; /* of what begins with a struct weft_peer: set with
			     the handlers, before there is one */
	weft_wire_fn *handlers[WEFT_WIRE_OP_END];
	void (*on_failed)(struct weft_peer *peer);     /* p2p: a peer died */
	void (*on_win_failed)(struct weft_peer *peer); /* win: likewise */
	/* p2p: ends a request that is waited for and that only a process could
	 * complete which has left; called while n_failed is not 0 */
	void (*on_wait)(struct weft_req *req);
	/* the VCI was closed: frees what other rooms have in it */
	void (*on_close)(struct weft_vci *vci);
	struct weft_counters counters;
};

/* Where a VCI of a process is reached; the process number where the VCI is
 * the default one. */
static inline uint64_t weft_vci_addr(uint64_t proc, uint8_t number)
{
	return proc ^ (uint64_t)number << WEFT_VCI_SHIFT;
}

/* The peer at an address, created when new; NULL when out of memory. VCI's
 * lock held. */
struct weft_peer *weft_peer_of(struct weft_vci *vci, uint64_t addr);

/* Fills in a zeroed VCI of this number; opens nothing. */
void weft_vci_init(struct weft_vci *vci, uint8_t number);

/* The wakeup that ends sleeps of this process, known to the process manager's
 * client, which signals it with news. Before weft_vci_open_shm(). */
void weft_vci_open_wakeup(struct weft_vci *vci, struct weft_boot *boot);

/* Opens shared memory for the processes of my node where that is wanted. */
void weft_vci_open_shm(struct weft_vci *vci);

/* Opens the default VCI's fabric if it is not open yet. Its lock held. */
int weft_vci_open_default_net(void);

/* The name of the default VCI's fabric into its own business card, for those
 * who get that from this process. Its lock held. */
int weft_vci_name_net(struct weft_vci *vci);

/* Our name of the provider it uses ("verbs"), "" while it uses none. Lent. */
const char *weft_vci_fabric(const struct weft_vci *vci);

/* What the fabric runs on; "none" while it is not open. VCI's lock held. */
void weft_vci_names(const struct weft_vci *vci, struct weft_vci_hints *names);

/* Readies a VCI for what comes, before anything of it is opened: installs
 * handlers, attaches what other rooms have in it, sets on_close. 0 or an error.
 */
typedef int weft_vci_open_fn(struct weft_vci *vci);

/* A VCI for one session alone, as wished: one that was given back, or a new
 * one, for which on_open is called. Where the wish names anything, all traffic
 * goes through that fabric; else as on the default VCI. WEFT_ERR_OTHER when
 * all WEFT_VCIS are in use. Any thread, no VCI's lock held. */
int weft_vci_acquire(const struct weft_vci_hints *vci_hints,
	weft_vci_open_fn *on_open, struct weft_vci **vci_out);
void weft_vci_release(struct weft_vci *vci);

/* What a dedicated VCI was wished for with. */
const struct weft_vci_hints *weft_vci_hints_of(const struct weft_vci *vci);

/* How others reach a dedicated VCI; constant. */
const struct weft_vci_card *weft_vci_card(const struct weft_vci *vci);

/* The default VCI heard that a process ended: the others will. */
void weft_vci_note_failure(uint32_t rank, int code);

/* Closes and frees the dedicated ones, at the end of the process. */
void weft_vci_close_dedicated(void);

/* Closes all but the wakeup and forgets all peers; the VCI can be opened
 * again. */
void weft_vci_close(struct weft_vci *vci);

/* Wakes the threads of this process that sleep for the VCI. VCI's lock
 * held. */
void weft_vci_wake(struct weft_vci *vci);

/* Wakes n of those beside the one that reads the wakeup: theirs is a futex,
 * since a wakeup that was signalled for all would not be quiet before the last
 * had heard it. */
void weft_vci_wake_followers(struct weft_vci *vci, int n);

/* Calls hook->run once, soon, from whoever makes progress then: the lock is
 * held, and may be given up, as nobody is in the middle of anything. For
 * functions of the program's. VCI's lock held. */
void weft_vci_defer(struct weft_vci *vci, struct weft_progress_hook *hook);

/* Takes it back, before it was called. */
void weft_vci_undefer(struct weft_vci *vci, struct weft_progress_hook *hook);

static inline void weft_vci_lock(struct weft_vci *vci)
{
	weft_lock_take(&vci->lock);
}

static inline void weft_vci_unlock(struct weft_vci *vci)
{
	weft_lock_drop(&vci->lock);
}

#endif
