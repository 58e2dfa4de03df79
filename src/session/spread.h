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

/* Spreads a new, unused communicator over WEFT_COMM_VCIS VCIs, or over as many
 * as all members can provide. Has no effect unless the infos of all members
 * make that promise, nor for an intercommunicator. Collective over the members;
 * blocks. An error leaves the communicator unchanged. No lock held. */
int weft_spread_open(struct weft_comm *comm, const struct weft_info *info);

/* weft_spread_disconnect() closes the communicators that weft_spread_open()
 * created, and waits until all members have closed them. weft_spread_free(),
 * for MPI_Comm_free, lets them close in the background. Both are called before
 * the communicator itself is closed. */
int weft_spread_disconnect(struct weft_comm *comm);
void weft_spread_free(struct weft_comm *comm);

#endif
