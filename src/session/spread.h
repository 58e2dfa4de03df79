/* SPDX-License-Identifier: BSD-3-Clause */
/* spread: a communicator whose messages go over several VCIs, by their tags
 *
 * MPI-5.0 section 7.4.4: who promises with mpi_assert_no_any_tag that no
 * receive of his has a wildcard tag lets messages of different tags go
 * different ways, so that threads with tags of their own share nothing. */
#ifndef WEFT_SPREAD_H
#define WEFT_SPREAD_H

#include "core/comm.h"

struct weft_info;

/* Spreads a communicator that nobody has used yet over WEFT_COMM_VCIS VCIs, or
 * as many as all members can have, where all members' infos make that promise;
 * nothing happens to others, and to intercommunicators. Collective over its
 * members, blocks. An error leaves it as it was. No lock held. */
int weft_spread_open(struct weft_comm *comm, const struct weft_info *info);

/* Leaves what weft_spread_open() made, before the communicator is left: blocks
 * until all members have, or, when it is freed, does so in the background. */
int weft_spread_disconnect(struct weft_comm *comm);
void weft_spread_free(struct weft_comm *comm);

#endif
