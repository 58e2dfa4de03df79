/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_mix: objects of different sessions in one call
 *
 * The standard forbids it, also with objects of the World (MPI-4.1, 11.3), for
 * every procedure. Calls that make something of both or communicate over both
 * refuse it always. Calls that only look (compare, translate) or that complete
 * requests are well defined all the same, and libraries use them on whatever
 * they are given: these refuse it with WEFT_CHECK=strict. */
#ifndef WEFT_MPI_MIX_H
#define WEFT_MPI_MIX_H

#include "mpi_check.h"

/* 0, or WEFT_ERR_GROUP or WEFT_ERR_COMM (the first object is a group or not),
 * which names both sessions. The empty group is of no session. */
int weft_mix_groups(const struct weft_group *a, const struct weft_group *b);
int weft_mix_comms(const struct weft_comm *a, const struct weft_comm *b);
int weft_mix_comm_group(
	const struct weft_comm *comm, const struct weft_group *group);

/* WEFT_ERR_REQUEST where two of the requests, which are all valid, are of
 * communicators of different sessions. */
int weft_mix_requests(int count, const MPI_Request *requests)
	__attribute__((cold));

/* Refuse also what does no harm. */
static inline bool weft_mix_is_strict(void)
{
	return weft_unlikely(weft_knobs.check[0] == 's');
}

#endif
