/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_settle: the setup, in which the members of a communicator agree on nodes
 * and segments
 *
 * Identifiers call the setup `settle`. VCI's lock held. */
#ifndef WEFT_COLL_SETTLE_H
#define WEFT_COLL_SETTLE_H

#include "coll/coll_priv.h"

/* Runs the setup before the blocking collective `kind`. Blocks. The messages of
 * the setup have a sequence number of their own. 0 or an error. */
int weft_coll_settle(const struct weft_coll *args, enum weft_coll_kind kind);

/* True if the setup must run before the next blocking collective. */
bool weft_coll_settle_is_due(struct weft_comm *comm);

#endif
