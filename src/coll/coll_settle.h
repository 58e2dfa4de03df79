/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_settle: the members of a communicator agree on nodes and segments
 *
 * VCI's lock held. */
#ifndef WEFT_COLL_SETTLE_H
#define WEFT_COLL_SETTLE_H

#include "coll/coll_priv.h"

/* Runs the agreement before the collective `kind`. Its messages use a separate
 * sequence number. 0 or an error. */
int weft_coll_settle(const struct weft_coll *args, enum weft_coll_kind kind);

/* True if the agreement must run before the next collective. */
bool weft_coll_settle_is_due(struct weft_comm *comm);

#endif
