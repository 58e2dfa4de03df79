/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_record: what the wrappers call
 *
 * Each thread adds to a table of its own, without locks. */
#ifndef WEFT_PROFILE_RECORD_H
#define WEFT_PROFILE_RECORD_H

#include "base/clock.h"
#include "mpi/mpi_map.h"
#include "profile/profile.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* The clock of the record. Its unit is in the head. */
static inline uint64_t weft_profile_now(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return weft_now_ns();
#endif
}

/* Adds a call that began at `start` and ends now. frame is the frame address of
 * the wrapper, which has a frame pointer. Returns the call's site, or NULL if
 * nothing is recorded. */
struct weft_profile_site *weft_profile_add(
	uint32_t procedure, void *const *frame, uint64_t start);

/* Adds the bytes that a call at this site passed. */
void weft_profile_bytes(struct weft_profile_site *site, uint64_t bytes);

/* Adds a message to a rank of the communicator, or an access to a rank of the
 * window's group. */
void weft_profile_sent(struct weft_profile_site *site, MPI_Comm comm, int rank,
	int tag, uint64_t bytes);
void weft_profile_put(
	struct weft_profile_site *site, MPI_Win win, int rank, uint64_t bytes);

/* Adds an access to a PE of OpenSHMEM. */
void weft_profile_pe(struct weft_profile_site *site, int pe, uint64_t bytes);

/* Notes the algorithm of a collective on comm, at calls 1, 2, 4, 8, ... of the
 * site. */
void weft_profile_collective(struct weft_profile_site *site, MPI_Comm comm);

/* Adds the time of the call that was added last, from `start`, to the waits for
 * a rank of the communicator. A wildcard is ignored. */
void weft_profile_waited(MPI_Comm comm, int rank, uint64_t start);

/* Adds a receive to the timeline, and the time since `start` to the waits;
 * start 0: the call does not wait. status: the source and tag if they were
 * wildcards, or MPI_STATUS_IGNORE. */
void weft_profile_received(MPI_Comm comm, int rank, int tag,
	const MPI_Status *status, uint64_t start);

/* Where a wrapper finds the function that it calls. */
struct weft_profile_slot {
	const char *name; /* MPI_X */
	void *function;	  /* address of the pointer */
};

/* Sets each pointer to the next function of that name in the loader's order:
 * that of another tool, or of libmpi_abi. Before, it is PMPI_X. */
void weft_profile_find_next(const struct weft_profile_slot *slots, size_t n);

/* Bytes of one item; 0 for an invalid type. */
static inline uint64_t weft_profile_size(MPI_Datatype datatype)
{
	const struct weft_type *type = weft_mpi_type(datatype);

	return type ? (uint64_t)type->size : 0;
}

#endif
