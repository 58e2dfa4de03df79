/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_mix: objects of different sessions in one call
 *
 * The standard forbids this for every procedure, also for objects of the World
 * (MPI-4.1, 11.3). Calls that create an object from objects of two sessions, or
 * communicate over them, always return an error. Calls that compare groups,
 * translate ranks or complete requests have a defined result nevertheless.
 * Libraries make such calls with arbitrary objects, so these calls return an
 * error with WEFT_CHECK=strict only. */
#ifndef WEFT_MPI_MIX_H
#define WEFT_MPI_MIX_H

#include "mpi_check.h"

/* 0, or an error that names both sessions: WEFT_ERR_COMM for two communicators,
 * else WEFT_ERR_GROUP. The empty group belongs to no session. */
int weft_mix_groups(const struct weft_group *a, const struct weft_group *b);
int weft_mix_comms(const struct weft_comm *a, const struct weft_comm *b);
int weft_mix_comm_group(
	const struct weft_comm *comm, const struct weft_group *group);

/* WEFT_ERR_REQUEST if two of the requests, which are all valid, belong to
 * communicators of different sessions. */
int weft_mix_requests(int count, const MPI_Request *requests)
	__attribute__((cold));

/* True if calls with a defined result are errors, too. */
static inline bool weft_mix_is_strict(void)
{
	return weft_unlikely(weft_knobs.check[0] == 's');
}

#endif
