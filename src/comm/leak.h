/* SPDX-License-Identifier: BSD-3-Clause */
/* leak: reports messages and requests left on a communicator that closes
 *
 * A correct program receives all messages and completes all requests. This file
 * reports each message and request that is left, up to a limit for each
 * communicator and a limit of communicators. Beyond the limits, it reports only
 * their number. A message or request is a fault of this process if all members
 * have closed the communicator. Exceptions are buffered sends and complete
 * requests that the program never waited for. With a fault, the call that
 * closes the communicator returns an error. */
#ifndef WEFT_LEAK_H
#define WEFT_LEAK_H

#include "core/comm.h"
#include "core/session_data.h"

/* Reports messages and requests left on comm, which is about to be destroyed.
 * all_closed: all members have closed comm, so no message is in flight. Only
 * then are faults of this process added to leak. VCI's lock held. */
void weft_leak_report(
	struct weft_comm *comm, bool all_closed, struct weft_leak *leak);

/* Reports the numbers of messages and requests beyond the limits, and the
 * complete requests. 0, or a described WEFT_ERR_PENDING if leak has a fault. */
int weft_leak_raise(const struct weft_leak *leak);

#endif
