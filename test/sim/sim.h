/* SPDX-License-Identifier: BSD-3-Clause */
/* sim: thousands of processes of one job, with simulated time
 *
 * weft-sim executes the library for each simulated process, with three
 * replacements: a fabric (sim_fabric.c), a process manager (sim_boot.c) and a
 * clock (sim_world.c). All simulated processes are in one process of the system
 * (sim_image.h) and take turns. So the simulation needs no lock, and a run
 * depends only on its options.
 *
 * Each process has a clock of its own. Events are messages and answers of the
 * manager; each has a time and a receiver. When a process polls, all events
 * with an earlier time arrive. Other processes take their turn before, if a
 * message that they send could still arrive earlier. */
#ifndef WEFT_TEST_SIM_H
#define WEFT_TEST_SIM_H

#include "coll/network.h"
#include "test/sim/sim_phases.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_boot;
struct weft_boot_facts;

enum { SIM_NS_PER_S = 1000000000, SIM_START_NS = SIM_NS_PER_S };

struct sim_options {
	uint32_t n_procs;
	uint32_t per_node;
	struct weft_loggp between;     /* nodes */
	struct weft_loggp within;      /* a node */
	uint32_t interfaces;	       /* of a node */
	struct weft_topology topology; /* n_nodes 0: no shared links */
	const char *coll;  /* runs only this collective; NULL: all phases */
	const char *sizes; /* with coll: bytes, divided by commas */
	const char *until; /* the last phase; NULL: all phases */
	bool repairs;	   /* only the phases of a repair */
	uint64_t seed;
	uint32_t jitter; /* longest additional delay of a message, ns */
	uint32_t n_dead; /* processes that die in the phase "shrink" */
	uint32_t deadline_s;
	uint64_t get_ns;     /* for a request to the manager and its answer */
	uint64_t detect_ns;  /* from a death to the reports */
	uint64_t service_ns; /* in which a node's manager handles one request */
};

enum sim_kind {
	SIM_MESSAGE, /* untagged */
	SIM_TAGGED,
	SIM_SENT,   /* a send of this process is complete */
	SIM_ANSWER, /* the manager has a card */
	SIM_DIED,   /* the manager reports the end of process `from` */
	SIM_KILL,   /* ends this process */
};

/* The next place that a message reaches. Each place handles messages in the
 * order in which they reach it. */
enum sim_stage {
	SIM_ARRIVED,	 /* its receiver */
	SIM_AT_NODE,	 /* the interface of the sender's node */
	SIM_AT_LINKS,	 /* the links that groups of nodes share */
	SIM_AT_RECEIVER, /* the interfaces of the receiver's node, and of the
			    receiver */
};

struct sim_event {
	struct sim_event *next; /* in the list of arrived events */
	enum sim_kind kind;
	enum sim_stage stage;
	uint32_t from, to;
	uint64_t tag;	/* TAGGED */
	void *context;	/* SENT: the operation; ANSWER: the request. Valid in
			   the receiving process */
	uint64_t flags; /* SENT: flags of its completion */
	size_t len;
	char data[];
};

/* The work of a process since the start. */
struct sim_counts {
	uint64_t n_sent;
	uint64_t n_bytes;
	uint64_t n_far; /* messages to other nodes */
	uint64_t n_peers;
	uint64_t n_gets;
};

enum sim_state {
	SIM_RUNS,
	SIM_IDLE,  /* continues with the next event for it */
	SIM_READY, /* has an event, and a turn later */
	SIM_ENDED,
	SIM_DEAD,
};

struct sim_proc {
	enum sim_state state;
	uint32_t version; /* incremented when the process continues; earlier
			     timers have no effect then */
	uint64_t clock;
	bool is_synced;	    /* waits in sim_sync() */
	uint64_t synced_at; /* its clock at that call */
	/* time when the interface has sent all messages, and when it has
	 * received all: untagged messages [0], and data of rendezvous [1]. An
	 * interface sends packets of both in turn, so neither waits for the
	 * other. */
	uint64_t nic_free[2], nic_taken[2];
	struct sim_event *first, *last; /* arrived events, oldest first */
	const void *card;
	size_t card_len;
	struct sim_event *card_waiters;	  /* answers that need the card */
	struct sim_counts counts, before; /* before: at the last phase */
};

struct sim_world;

/* Creates the simulation. False, with a message, if there is too little memory.
 */
bool sim_world_create(const struct sim_options *options);

const struct sim_options *sim_options(void);

/* Starts all processes, each of which calls run(rank). Returns 0 when all have
 * ended, or 1 with a message if no process can continue. A crash, and the
 * deadline, end the program. */
int sim_world_run(void (*run)(uint32_t rank));

/* The functions below are called by the process whose turn it is. */

uint32_t sim_rank(void);
struct sim_proc *sim_proc(uint32_t rank);
struct sim_proc *sim_self(void);
static inline uint32_t sim_node(uint32_t rank)
{
	return rank / sim_options()->per_node;
}

/* malloc(), which ends the run if there is no memory. */
void *sim_alloc(size_t n);

/* Creates an event for process `to` with space for len bytes. */
struct sim_event *sim_event_create(enum sim_kind kind, uint32_t to, size_t len);

/* The event arrives at a time. The call takes the event. */
void sim_event_post_take(struct sim_event *event, uint64_t at);

void sim_event_free(struct sim_event *event);

/* Lets the CPU of this process work for some time. */
void sim_charge(uint64_t ns);

/* Returns the oldest event that has arrived, or NULL; sim_drop() removes it
 * from the list. Other processes take their turn before. */
struct sim_event *sim_peek(void);
void sim_drop(void);

/* Waits for the next event, at most until a time; 0: no limit. */
void sim_idle(uint64_t until);

/* Waits for all living processes and sets their clocks to the latest one. The
 * library makes progress meanwhile. */
void sim_sync(void);

/* Ends this process: a simulated crash, of which the manager informs the others
 * later. Does not return. */
void sim_die(void) __attribute__((noreturn));

/* Random number from the seed of the run and two values. */
uint64_t sim_random(uint64_t a, uint64_t b);

/* sim_fabric.c: replaces the functions of libfabric. */
void sim_fabric_install(void);

/* sim_fabric.c: takes a message that has reached its next stage. */
void sim_fabric_move_take(struct sim_event *event, uint64_t now);

/* sim_fabric.c: the manager delivers an item. After a death, the library polls
 * the fabric for other reasons than a wait. */
void sim_fabric_on_news(bool is_death);

/* sim_boot.c: called once, before the processes start. */
void sim_boot_install(void);

/* sim_boot.c: opens the simulated manager; for weft_proc.open_boot. */
int sim_boot_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out);

/* sim_boot.c: takes an event for the manager. */
void sim_boot_take(struct sim_event *event);

/* The time when a group of nodes has sent all messages to other groups over its
 * shared links, and when it has received all; indices are those of nic_free. */
struct sim_links {
	uint64_t up_free[2], down_free[2];
};
struct sim_links *sim_links(uint32_t rank);

/* The same for the interface of a node. */
struct sim_links *sim_interface(uint32_t rank);

/* sim_run.c: executes the phases in this process, and prints the table. */
void sim_run(uint32_t rank);

#endif
