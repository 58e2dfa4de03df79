/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_record: the functions that the wrappers call
 *
 * Each thread adds to a table of its own, without locks. A wrapper first
 * compares the call with the previous call at the same site:
 *
 * 	site = weft_profile_latest(procedure, return address);
 * 	if (site && site->key[0] == ...)     fast path: same arguments
 * 		weft_profile_pass(site);     then calls the next MPI_X
 * 	else                                 slow path
 * 		weft_profile_begin(); next MPI_X; weft_profile_end();
 *
 * Only the slow path reads the clock, and only for timed calls. If the last
 * SHORT_RUN timed calls of a site were short, the next SAMPLE calls are not
 * timed. Their times are estimated from the next timed call. Sleeps of the
 * library (transport/sleep.h) are always timed. */
#ifndef WEFT_PROFILE_RECORD_H
#define WEFT_PROFILE_RECORD_H

#include "base/clock.h"
#include "mpi/mpi_map.h"
#include "profile/profile.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Reads the clock that the record uses, in ticks. The head of the record has
 * the length of a tick. */
static inline uint64_t weft_profile_now(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return weft_now_ns();
#endif
}

/* The state of this thread. */
struct weft_profile_thread {
	struct weft_profile_table *table; /* NULL: none yet, or nothing is
					     recorded */
	struct weft_profile_site *site;	  /* site of the call in progress */
	uint64_t slept;			  /* ticks that this call slept */
	/* set in a call that waits for a message of one rank */
	MPI_Comm comm;
	int source;
};

extern __thread struct weft_profile_thread weft_profile_thread
	__attribute__((tls_model("initial-exec")));

/* A call on the slow path. A wrapper passes it to the functions below, and does
 * not access the fields. */
struct weft_profile_call {
	struct weft_profile_site *site;	  /* after weft_profile_end(): NULL if
					     nothing is recorded */
	struct weft_profile_site *outer;  /* site of the call that contains
					     this call */
	struct weft_profile_event *event; /* NULL: no timeline */
	void *const *frame;
	uint64_t start;
	uint64_t waits;	      /* ticks that are not added to a peer yet */
	uint64_t slept;	      /* ticks that this call slept; valid after
				 weft_profile_end() */
	uint64_t outer_slept; /* ticks that the outer call slept before */
	uint32_t procedure;
	bool is_timed;
};

/* Returns the site of the procedure's last call in this thread if that call had
 * the same return address and this call need not be timed; else NULL. */
static inline struct weft_profile_site *weft_profile_latest(
	uint32_t procedure, const void *address)
{
	struct weft_profile_table *table = weft_profile_thread.table;
	struct weft_profile_site *site;

	if (weft_unlikely(!table))
		return NULL;
	site = (void *)((char *)table + table->latest[procedure]);
	return weft_likely(site->address == (uintptr_t)address && site->left)
		       ? site
		       : NULL;
}

/* Adds a call with the same key as the last call at this site. */
static inline void weft_profile_pass(struct weft_profile_site *site)
{
	site->left--;
	weft_profile_thread.site = site;
}

/* Begins a call on the slow path. frame is the frame address of the wrapper,
 * which has a frame pointer. must_time: the call's time must not be estimated.
 */
void weft_profile_begin(struct weft_profile_call *call, uint32_t procedure,
	void *const *frame, bool must_time);

/* Ends a call on the slow path. */
void weft_profile_end(struct weft_profile_call *call);

/* Adds the bytes that the call transferred. */
void weft_profile_bytes(struct weft_profile_call *call, uint64_t bytes);

/* weft_profile_sent() adds a message to a rank of the communicator.
 * weft_profile_put() adds a one-sided access to a rank of the window's group.
 */
void weft_profile_sent(struct weft_profile_call *call, MPI_Comm comm, int rank,
	int tag, uint64_t bytes);
void weft_profile_put(
	struct weft_profile_call *call, MPI_Win win, int rank, uint64_t bytes);

/* Adds an access to a PE of OpenSHMEM. */
void weft_profile_pe(struct weft_profile_call *call, int pe, uint64_t bytes);

/* Records the algorithm of a collective on comm, at the timed calls 1, 2, 4, 8,
 * ... of the site. */
void weft_profile_collective(struct weft_profile_call *call, MPI_Comm comm);

/* Adds the call's time to the waits for a rank of the communicator. A wildcard
 * is ignored. */
void weft_profile_waited(
	struct weft_profile_call *call, MPI_Comm comm, int rank);

/* Adds a receive to the timeline. waits: also adds the call's time to the waits
 * for the sender. status has the sender and the tag; if it is
 * MPI_STATUS_IGNORE, rank and tag are used, and wildcards are ignored. */
void weft_profile_received(struct weft_profile_call *call, MPI_Comm comm,
	int rank, int tag, const MPI_Status *status, bool waits);

/* Records that the call will wait for a message of this rank. Called before
 * MPI_X, so that sleeps are added to the waits for this rank. */
static inline void weft_profile_source(MPI_Comm comm, int rank)
{
	weft_profile_thread.comm = comm;
	weft_profile_thread.source = rank;
}

/* Sets the arguments on which the bytes and the peer of a call depend. A later
 * call with the same arguments is counted like this call. */
static inline void weft_profile_key(const struct weft_profile_call *call,
	uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	if (!call->site)
		return;
	call->site->key[0] = a;
	call->site->key[1] = b;
	call->site->key[2] = c;
	call->site->key[3] = d;
}

/* Returns the head of the record if there is a timeline, else NULL. */
struct weft_profile_head *weft_profile_traced(void);

/* The pointer through which a wrapper calls the next function. */
struct weft_profile_slot {
	const char *name; /* MPI_X */
	void *function;	  /* address of the pointer */
};

/* Sets each pointer to the next function of that name in the loader's order:
 * that of another tool, or of the library. Does nothing if there is no next
 * function for the first name. The pointers to MPI procedures are PMPI_X before
 * this call. */
void weft_profile_find_next(const struct weft_profile_slot *slots, size_t n);

/* Returns the size of one item in bytes; 0 for an invalid type. */
static inline uint64_t weft_profile_size(MPI_Datatype datatype)
{
	const struct weft_type *type = weft_mpi_type(datatype);

	return type ? (uint64_t)type->size : 0;
}

/* weft_profile_members() returns the size of the group to which messages on the
 * communicator are sent. weft_profile_neighbors() returns the number of
 * neighbours to which this process sends in its topology, without
 * MPI_PROC_NULL. Both return 0 for an invalid communicator. */
uint64_t weft_profile_members(MPI_Comm comm);
uint64_t weft_profile_neighbors(MPI_Comm comm);

/* Returns the total size of n blocks in bytes. counts: an array of MPI_Count
 * (is_large) or int, or NULL: 0 bytes. types: an array, or NULL: all have this
 * type. */
uint64_t weft_profile_sum(bool is_large, uint64_t n, const void *counts,
	const MPI_Datatype *types, MPI_Datatype type);

/* As weft_profile_sum(), for the blocks that are sent to neighbours in the
 * topology. A block for MPI_PROC_NULL does not count. */
uint64_t weft_profile_neighbor_sum(bool is_large, MPI_Comm comm,
	const void *counts, const MPI_Datatype *types, MPI_Datatype type);

/* ---- profile_clock.c ---- */

/* Both functions compare the clocks of the nodes if there is a timeline, and
 * otherwise do nothing. weft_profile_clock_begin() is called after MPI_Init,
 * and weft_profile_clock_end() before MPI_Finalize. Collective. */
void weft_profile_clock_begin(void);
void weft_profile_clock_end(void);

/* ---- profile_request.c ---- */

/* Adds a persistent or partitioned request, which sends this number of bytes at
 * each start. rank: the receiver in the communicator; < 0: a collective. */
void weft_profile_init(
	MPI_Request request, MPI_Comm comm, int rank, uint64_t bytes);

/* Adds the messages that these requests send. */
void weft_profile_start(
	struct weft_profile_call *call, int n, const MPI_Request *started);

/* Removes a request that is freed. */
void weft_profile_forget(const MPI_Request *request);

#endif
