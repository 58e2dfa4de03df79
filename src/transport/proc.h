/* SPDX-License-Identifier: BSD-3-Clause */
/* proc: the one process-wide object
 *
 * The first session opens the process manager, shared memory and the fabric.
 * They stay open after the last session, so that the next session opens fast.
 * They are closed when the process exits. */
#ifndef WEFT_PROC_H
#define WEFT_PROC_H

#include "boot/boot.h"
#include "boot/liveness.h"
#include "transport/node_plan.h"
#include "transport/vci.h"

#include <pthread.h>
#include <stdbool.h>

struct weft_net_hints;
struct weft_topo;

/* Called with each event that reports the end of a process or a change of
 * process sets. The session room sets the function. */
typedef void weft_proc_event_fn(const struct weft_boot_event *event);

/* Context id of MPI_COMM_WORLD. It is constant, so the members need no
 * agreement. */
#define WEFT_CTX_WORLD ((uint64_t)WEFT_CTX_OFFSET_END)

/* Context id of the communicator with which a spawned job connects to its
 * parent job before it has other communicators. */
#define WEFT_CTX_PARENT (3 * (uint64_t)WEFT_CTX_OFFSET_END)

/* The last offer of the process manager to change the size of the job. */
struct weft_offer {
	int32_t delta;	    /* 0: none */
	int32_t last_delta; /* of the last event; 0: no event */
	uint64_t end_ns;    /* time at which the offer ends; 0: no limit */
	bool was_queried;
};

struct weft_proc {
	pthread_mutex_t lock; /* opening and closing; lock order 1 */
	/* weft_boot_open; a test puts its own process manager here */
	int (*open_boot)(
		struct weft_boot **boot_out, struct weft_boot_facts *facts_out);
	struct weft_vci_hints vci_hints; /* set under lock while not open */
	char near[512]; /* fabric devices near this process, once determined */
	bool is_open;
	atomic_int n_sessions;	/* open sessions, that of MPI_Init included; set
				   under lock */
	uint64_t proc;		/* number of this process */
	struct weft_boot *boot; /* guarded by VCI.lock */
	struct weft_boot_facts facts;
	struct weft_topo *topo; /* NULL until core/hardware.c opens it */
	struct weft_liveness *liveness; /* shared with the launcher, or NULL */
	struct weft_vci vci;
	/* dedicated VCIs of sessions; set under lock */
	struct weft_vci *_Atomic others[WEFT_VCIS - 1];
	atomic_uint n_others;
	/* the ends of processes of this job, in the order of the reports; the
	 * list only grows */
	struct weft_peer_death *_Atomic first_death;
	struct weft_peer_death *last_death; /* guarded by VCI.lock */
	atomic_ulong next_ctx;
	atomic_uint n_coll_segs;  /* mapped segments of communicators */
	atomic_bool has_foreign;  /* messages of other jobs are accepted */
	atomic_bool lacks_shm;	  /* a process of this node cannot share memory
				     with this process */
	atomic_bool has_devices;  /* a driver of devices is open, for a session
				     that may use device memory */
	atomic_bool is_excluded;  /* a process treats this process as failed */
	struct weft_bsend *bsend; /* attached buffer; guarded by VCI.lock */
	struct weft_offer offer;  /* guarded by VCI.lock */
	uint64_t n_pset_events;	  /* events that defined or deleted a process
				     set; guarded by VCI.lock */
	uint64_t pset_version;	  /* incremented with each change of the
				     process manager's sets; guarded by
				     VCI.lock */
	struct weft_node_plan node; /* made once, when the process opens */
	int64_t max_spin; /* empty polls before yielding or sleeping */
	bool is_blocking; /* WEFT_WAIT=block */
	bool sleeps;	  /* waiting threads sleep: is_blocking; or they sleep
			     for short times, because a cgroup's quota is below
			     one processor for each process */
	weft_proc_event_fn *on_event; /* set by the session room */
	bool is_exiting; /* the job ends by EXIT messages; guarded by
			    VCI.lock */
	struct weft_progress_hook exit_hook; /* guarded by VCI.lock */
	atomic_bool has_notices;	     /* notify() is pending */
	void (*notify)(void);	       /* notifies the program; no lock held */
	struct weft_counters counters; /* process counters; guarded by lock, or
					  changed by weft_counter_add() */
	void (*wait_req)(struct weft_vci *vci, struct weft_req *req,
		const char *call); /* see core/req.h */
};

extern struct weft_proc weft_proc;

/* Reads the knobs from the environment if no session was opened yet. Any
 * thread; acquires the process lock. */
void weft_proc_read_knobs(void);

/* Sets the value of knob i. If is_live is false, only the first session reads
 * the knob; WEFT_ERR_OTHER if that session was opened. WEFT_ERR_ARG if the
 * value is invalid. No error is described. Any thread; acquires the process
 * lock. */
int weft_proc_set_knob(size_t i, const char *text, bool is_live);

/* Counts a session. The first one opens the process manager and the default
 * VCI, for which it calls on_open. Any thread, at any time. 0 or a described
 * error. */
int weft_proc_get(weft_vci_open_fn *on_open);

/* Counts the end of a session. The process manager and the VCIs stay open. */
void weft_proc_put(void);

/* True if all processes of the job are on this host, and the knob `scope` is
 * not "network". Then only a job that PRRTE spawns on another host may connect
 * to this process. */
bool weft_proc_is_one_host(void);

/* Sets the hints for a fabric of this process. The strings belong to weft_proc.
 */
void weft_proc_net_hints(struct weft_net_hints *hints);

/* Handles an event of the process manager for a VCI; for weft_boot_poll. */
void weft_proc_on_event(void *arg, const struct weft_boot_event *event);

/* Returns the number of the process whose end or call an event reports. */
uint64_t weft_proc_of_event(const struct weft_boot_event *event);

/* Allocates n consecutive context ids, WEFT_CTX_OFFSET_END apart, that no other
 * process of the job allocates; returns the first. Once other jobs may connect,
 * the ids are random, so that they also differ from the ids of other jobs. Any
 * thread. */
uint64_t weft_proc_new_ctx(uint32_t n);

/* Returns the context id of the communicator with only this process. */
uint64_t weft_proc_self_ctx(void);

/* Requests that the process manager end the given ranks of the job, or the
 * whole job if ranks is NULL. Ends this process. */
void weft_proc_abort(int code, const char *text, const uint32_t *ranks,
	size_t n) __attribute__((noreturn));

enum { WEFT_PROC_FOUND = 120 };

/* Checks whether a process that does not answer has ended. The process may be
 * of another job. If the process has ended, handles its end like an event of
 * the process manager. `addr` is the address of the process on the VCI `held`,
 * whose lock is held. Writes a clause of at most WEFT_PROC_FOUND bytes with the
 * finding, or "", to what. May block for 20 ms. */
bool weft_proc_find_end(
	struct weft_vci *held, uint64_t addr, uint64_t proc, char *what);

/* Receives the last messages of processes that have ended: the report of an end
 * may overtake them. VCI's lock held. */
void weft_proc_receive_rest(struct weft_vci *vci);

/* Called when a process of the job counts as failed although it may live.
 * Handles the failure like an event of the process manager, and excludes the
 * process. `why` is a clause for the description. */
void weft_proc_on_silent(struct weft_vci *held, uint64_t proc, const char *why);

/* Returns the exit status for a code. The system keeps the low byte only. A
 * code that is not 0 and whose low byte is 0 becomes 1. */
int weft_proc_status(int code);

/* Returns the number of a process, unique over jobs. */
static inline uint64_t weft_proc_number(uint32_t job, uint32_t rank)
{
	return (uint64_t)job << 32 | rank;
}

/* True if MPI_COMM_WORLD of this process contains the rank of the job. */
static inline bool weft_proc_is_world(uint32_t rank)
{
	return rank - weft_proc.facts.world_first < weft_proc.facts.world_size;
}

/* Returns the number of the first process of MPI_COMM_WORLD. */
static inline uint64_t weft_proc_world_first(void)
{
	return (weft_proc.proc & ~(uint64_t)UINT32_MAX) |
	       weft_proc.facts.world_first;
}

/* True if the job has, or may have later, a process with this number. */
static inline bool weft_proc_is_member(uint64_t proc)
{
	return proc >> 32 == weft_proc.proc >> 32 &&
	       (uint32_t)proc < weft_proc.facts.size;
}

/* Queries the process manager whether a process of the job has exited normally.
 * If it has, its exit is handled like a death. The lock of `held` is held. */
void weft_proc_query_exit(struct weft_vci *held, uint64_t proc);

/* Derives the key of the cookies of messages that other jobs send to this
 * process. */
void weft_proc_foreign_key(uint8_t key_out[16]);

/* True if the process is of this job and runs on this node. */
bool weft_proc_is_local(uint64_t proc);

/* Identifies the node of this process to processes of all jobs: a hash of
 * weft_share_machine() and of the node's name without its domain, because some
 * process managers omit the domain. The name includes the number of a node that
 * WEFT_NODES simulates. */
uint64_t weft_proc_node_id(void);

#endif
