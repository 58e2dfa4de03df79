/* SPDX-License-Identifier: BSD-3-Clause */
/* vci: virtual communication interface
 *
 * A VCI is an endpoint with its completion queue and address table (net), the
 * rings within the node (shm), its peers, the parts that other rooms attach,
 * and one lock that guards all of these. Sessions share the default VCI, which
 * transport/proc_open.c opens with the first session; a session may acquire a
 * dedicated one. Each VCI stays open until the process exits.
 *
 * The default VCI's lock also guards the process manager (weft_proc.boot) and
 * the creation of communicators from groups. This lock may be acquired while a
 * dedicated VCI's lock is held (for buffers that sends of several VCIs use),
 * never the other way round. The lock of a dedicated VCI is not acquired while
 * the lock of another dedicated VCI is held. There is one exception:
 * communicators of a session may be spread over further VCIs
 * (session/spread.h). While the lock of such a VCI is held, the lock of the
 * session's own VCI may be acquired. */
#ifndef WEFT_VCI_H
#define WEFT_VCI_H

#include "base/counter.h"
#include "base/lock.h"
#include "base/map.h"
#include "transport/node_bc.h"
#include "transport/peer.h"
#include "transport/rail.h"
#include "shm/wakeup.h"
#include "shm/budget.h"
#include "shm/seg.h"

struct weft_boot;
struct weft_net;
struct weft_shm;
struct weft_comm;
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
	WEFT_VCIS = 16, /* most VCIs of a process, the default VCI included */
	WEFT_VCI_SHIFT = 60,
};

/* The fabric that a session or the process requests; "": no preference. */
struct weft_vci_hints {
	char provider[64];
	char iface[64];
	char tclass[24];
};

/* The address of a VCI, which processes exchange when they create a
 * communicator on it. */
struct weft_vci_card {
	uint8_t number; /* number of the VCI; 0: this process has no VCI for the
			   communicator */
	uint8_t name_len;
	uint8_t reserved[6];
	uint64_t fabric;	/* hash of the provider's name; without a fabric
				   weft_pid_access_id(). Two VCIs can reach each
				   other only if the values are equal */
	struct weft_shm_bc shm; /* pid 0: no shared memory */
	uint8_t key[16];	/* key of the cookies of messages to this
				   process */
	uint8_t name[64];
};
static_assert(sizeof(struct weft_vci_card) == 128, "wire layout");
static_assert((int)WEFT_VCIS == (int)WEFT_COUNTER_PROCESS, "one owner a VCI");

/* A function that rounds of progress call. A hook in the list `hooks` of a VCI
 * is called by each round, until the owner removes it; run() may remove it. A
 * hook in the list `deferred` is removed by the next round, and called once. */
struct weft_progress_hook {
	struct weft_link link;
	void (*run)(struct weft_progress_hook *hook); /* VCI's lock held */
};

struct weft_vci {
	struct weft_lock lock;	    /* guards everything below */
	struct weft_net *net;	    /* NULL while no peer needs a fabric */
	struct weft_rails rails;    /* used by the default VCI only */
	struct weft_shm *shm;	    /* NULL: switched off or impossible */
	struct weft_budget budget;  /* of the rings that this VCI writes */
	struct weft_vci_core *core; /* parts of other rooms, which this room
				      does not access */
	struct weft_vci_p2p *p2p;
	struct weft_vci_era *era;
	struct weft_vci_comm *comm;
	struct weft_tmp *scratch; /* buffer of coll, kept for its next
				     collective */
	struct weft_map peers;	  /* maps a VCI address + 1 to a struct
				     weft_peer */
	struct weft_peer *self;
	struct weft_bc *own_bc; /* default VCI: the published card; owned */
	struct weft_link pending_peers; /* peers with pending work */
	const void *asked; /* the peer of this node whose card was requested and
			      has not arrived, or the VCI itself if it is the
			      card of the node's first process; NULL: none */
	struct weft_node_bc node_bc; /* used by the default VCI only */
	bool has_requested_first;    /* the card of the node's first process was
					requested */
	uint64_t asked_ns;	     /* time of the request in `asked` */
	struct weft_link hooks; /* list of struct weft_progress_hook; mostly
				   empty */
	struct weft_boot *boot; /* source of reports of deaths: the process
				   manager, or the inbox of a dedicated VCI */
	struct weft_map early;	/* by context id, messages of communicators not
				   created yet; see dispatch.h */
	uint32_t idle_polls;	/* empty rounds of waits since the last event */
	uint64_t foreign_check_ns; /* time of the next tests of
				      weft_foreign_check(); 0: no process of
				      another job shares memory */
	uint32_t n_foreign_rounds; /* calls of weft_foreign_check() */
	uint32_t net_skip;	   /* rounds until the fabric is polled */
	uint32_t n_net_rounds;	   /* rounds of progress with an open fabric */
	uint32_t vain_wakes; /* sleeps of one wait that the fabric prevented
				or ended, without an event in between */
	uint32_t n_slept; /* sleeps of one wait, without an event in between */
	union {
		struct {
			bool is_polling; /* inside weft_progress */
			bool has_deferred;
		};
		uint16_t round_flags; /* both flags, to read them together;
					 mostly 0 when a round begins */
	};
	bool is_signalled;	   /* wakeup was signalled since the leader
				      began to sleep */
	bool has_leader;	   /* one sleeping thread, the leader, polls the
				      wakeup */
	uint32_t n_asleep;	   /* threads that sleep in weft_sleep */
	atomic_uint n_wakes;	   /* futex of the other sleeping threads */
	struct weft_wakeup wakeup; /* wakes the leader */
	uint8_t number;		   /* number of this VCI; 0: the default VCI */
	uint64_t addr;		   /* address of this VCI */
	uint64_t job_mask;	   /* bits of an address that name the job */
	atomic_uint n_idle;	   /* rounds without an event; counted while
				      there are several VCIs */
	uint32_t seen_idle[WEFT_VCIS]; /* n_idle of each VCI when this VCI last
					  read it */
	struct weft_link deferred;     /* struct weft_progress_hook; see
					  weft_vci_defer() */
	uint32_t n_failed;	       /* peers that died, and members that
					  departed from a communicator */
	uint64_t n_lost_seen; /* net_undelivered at the last probe of all peers;
				 see peer.h */
	struct weft_link unacked; /* peers with unacknowledged messages */
	struct weft_progress_hook resend_hook; /* in `hooks` while `unacked` is
						  not empty */
	uint32_t n_resend_rounds;	       /* calls of resend_hook */
	size_t peer_size; /* size of p2p's struct around struct weft_peer; set
			     before the first peer is created */
	weft_wire_fn *handlers[WEFT_WIRE_OP_END];
	void (*on_failed)(struct weft_peer *peer); /* p2p: a peer died */
	/* p2p: the peer is a member of a communicator that is not closing. If
	 * it is not, it may have exited normally. */
	bool (*needs_peer)(const struct weft_peer *peer);
	void (*on_win_failed)(struct weft_peer *peer); /* win: a peer died */
	/* win: a window's communicator was revoked */
	void (*on_win_revoked)(struct weft_comm *comm);
	void (*on_era_failed)(struct weft_peer *peer); /* era: a peer died */
	/* p2p: called in a wait for a request while n_failed is not 0. Ends the
	 * request if only a departed process could complete it. True: the wait
	 * must end, because a member has failed, but the request remains active
	 */
	bool (*on_wait)(struct weft_req *req);
	/* after the VCI was closed: frees the parts of other rooms */
	void (*on_close)(struct weft_vci *vci);
	struct weft_counters counters;
	bool is_served; /* the progress thread runs the current round */
	/* times that the progress thread has served this VCI since another
	 * thread made progress on it. About a millisecond each. */
	uint32_t n_served;
};

/* Returns the address of a VCI of a process. The address of its default VCI is
 * the process number. */
static inline uint64_t weft_vci_addr(uint64_t proc, uint8_t number)
{
	return proc ^ (uint64_t)number << WEFT_VCI_SHIFT;
}

/* Returns the peer at an address, which is created if new; NULL if out of
 * memory. VCI's lock held. */
struct weft_peer *weft_peer_of(struct weft_vci *vci, uint64_t addr);

/* Initialises a zeroed VCI with this number; opens no transport. */
void weft_vci_init(struct weft_vci *vci, uint8_t number);

/* Opens the wakeup of the VCI. The client of the process manager signals the
 * wakeup with each event. Called before weft_vci_open_shm(). */
void weft_vci_open_wakeup(struct weft_vci *vci, struct weft_boot *boot);

/* Opens shared memory for the processes of this node, unless WEFT_SHM is off.
 */
void weft_vci_open_shm(struct weft_vci *vci);

/* Opens the default VCI's fabric if it is not open yet. Default VCI's lock
 * held. */
int weft_vci_open_default_net(void);

/* Writes the name of the default VCI's fabric to its own business card, for
 * processes that get the card from this process. Default VCI's lock held. */
int weft_vci_name_net(struct weft_vci *vci);

/* Returns the name of the entry of the VCI's provider ("verbs"), "" while no
 * fabric is open. The caller does not own the string. */
const char *weft_vci_fabric(const struct weft_vci *vci);

/* Sets *names to the provider, the domain and the traffic class of the VCI's
 * fabric. The first two are "none" while no fabric is open. VCI's lock held. */
void weft_vci_names(const struct weft_vci *vci, struct weft_vci_hints *names);

/* Prepares a VCI before a transport of it opens: installs handlers, attaches
 * the parts of other rooms, sets on_close. 0 or an error. */
typedef int weft_vci_open_fn(struct weft_vci *vci);

/* Acquires a VCI for one session: a released VCI with the same hints, or a new
 * VCI, for which on_open is called. If the hints name a provider or an
 * interface, all messages of the VCI use that fabric. Otherwise the VCI selects
 * transports as the default VCI does. WEFT_ERR_OTHER if all WEFT_VCIS are in
 * use. Any thread, no VCI's lock held. */
int weft_vci_acquire(const struct weft_vci_hints *vci_hints,
	weft_vci_open_fn *on_open, struct weft_vci **vci_out);

/* Releases an acquired VCI, so that another session can acquire it. The VCI
 * stays open. Any thread, no VCI's lock held. */
void weft_vci_release(struct weft_vci *vci);

/* Returns the hints of a dedicated VCI. */
const struct weft_vci_hints *weft_vci_hints_of(const struct weft_vci *vci);

/* Returns the card of a dedicated VCI; constant. */
const struct weft_vci_card *weft_vci_card(const struct weft_vci *vci);

/* Reports the end of a process to the dedicated VCIs. The default VCI has
 * received the report from the process manager. */
void weft_vci_record_failure(const struct weft_boot_event *event);

/* Closes and frees the dedicated VCIs, when the process exits. */
void weft_vci_close_dedicated(void);

/* Closes the VCI except its wakeup, and frees all peers. The VCI can be opened
 * again. */
void weft_vci_close(struct weft_vci *vci);

/* Wakes the threads of this process that sleep for the VCI. VCI's lock
 * held. */
void weft_vci_wake(struct weft_vci *vci);

/* Wakes n sleeping threads that are not the leader. These threads sleep on a
 * futex, not on the wakeup: a signal for all of them would stay readable until
 * the last thread had read it. */
void weft_vci_wake_followers(struct weft_vci *vci, int n);

/* Defers a call of hook->run() to the next round of progress, of any thread.
 * run() is called with the lock held and may release it, because no handler is
 * running. Functions of the program and copies that may block are called this
 * way. VCI's lock held. */
void weft_vci_defer(struct weft_vci *vci, struct weft_progress_hook *hook);

/* Cancels a deferred call that was not made yet. */
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
