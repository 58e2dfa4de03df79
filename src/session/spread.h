/* SPDX-License-Identifier: BSD-3-Clause */
/* spread: a communicator whose messages use several VCIs, chosen by their tags
 *
 * MPI-5.0 section 7.4.4: mpi_assert_no_any_tag promises that no receive has a
 * wildcard tag. Messages of different tags may then take different VCIs, so
 * that threads with tags of their own share nothing. */
#ifndef WEFT_SPREAD_H
#define WEFT_SPREAD_H

#include "core/comm.h"

struct weft_info;

/* Spreads a new, unused communicator over WEFT_COMM_VCIS VCIs, or as many as
 * all members can have, if all members' infos make that promise. Other
 * communicators and intercommunicators stay unchanged. Collective over its
 * members, blocks. An error leaves it unchanged. No lock held. */
int weft_spread_open(struct weft_comm *comm, const struct weft_info *info);

/* Closes what weft_spread_open() created, before the communicator is closed.
 * Blocks until all members have done so; of a freed communicator, it closes in
 * the background. */
int weft_spread_disconnect(struct weft_comm *comm);
void weft_spread_free(struct weft_comm *comm);

#endif
