/* SPDX-License-Identifier: BSD-3-Clause */
/* leak: what a communicator was left with, said, and whose fault it is
 *
 * A correct program leaves nothing behind. Each thing left is said, up to a
 * limit for each communicator and of communicators, and counted beyond; where
 * this process should have received or completed it, the call that leaves ends
 * with an error. */
#ifndef WEFT_LEAK_H
#define WEFT_LEAK_H

#include "core/comm.h"
#include "core/session_data.h"

/* Says what is left on comm, which is about to be destroyed. With is_sure all
 * members have left it, so that what should have come has come: then faults of
 * this process are added to leak. VCI's lock held. */
void weft_leak_report(
	struct weft_comm *comm, bool is_sure, struct weft_leak *leak);

/* Says how much was not said. 0, or WEFT_ERR_PENDING described by
 * weft_err_set(). */
int weft_leak_raise(const struct weft_leak *leak);

#endif
