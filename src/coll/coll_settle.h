/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_settle: what the members of a communicator agree on
 *
 * The VCI's lock is held. */
#ifndef WEFT_COLL_SETTLE_H
#define WEFT_COLL_SETTLE_H

#include "coll/coll_priv.h"

/* The members agree on nodes and segments, with messages that take a number
 * of their own, before the collective that this is. 0 or an error. */
int weft_coll_settle(const struct weft_coll *args, enum weft_coll_kind kind);

/* Whether that is due. */
bool weft_coll_settle_is_due(struct weft_comm *comm);

#endif
