/* SPDX-License-Identifier: BSD-3-Clause */
/* leak: reports messages and requests left on a communicator that closes
 *
 * A correct program receives all messages and completes all requests. This file
 * reports each message and request that is left, up to a limit per communicator
 * and a limit of communicators. Messages and requests beyond the limits are
 * counted. If this process should have received a message or completed a
 * request, the call that closes the communicator returns an error. */
#ifndef WEFT_LEAK_H
#define WEFT_LEAK_H

#include "core/comm.h"
#include "core/session_data.h"

/* Reports messages and requests left on comm, which is about to be destroyed.
 * all_closed: all members have closed comm, so no message is in flight. Then
 * faults of this process are added to leak. VCI's lock held. */
void weft_leak_report(
	struct weft_comm *comm, bool all_closed, struct weft_leak *leak);

/* Reports the numbers of messages and requests beyond the limits. Returns 0, or
 * WEFT_ERR_PENDING with a description if leak has a fault. */
int weft_leak_raise(const struct weft_leak *leak);

#endif
