/* SPDX-License-Identifier: BSD-3-Clause */
/* leak: reports what is left on a communicator that closes
 *
 * A correct program leaves no messages or requests behind. Each is reported, up
 * to a limit per communicator and a limit of communicators; the rest is
 * counted. If this process should have received or completed it, the closing
 * call returns an error. */
#ifndef WEFT_LEAK_H
#define WEFT_LEAK_H

#include "core/comm.h"
#include "core/session_data.h"

/* Reports what is left on comm, which is about to be destroyed. With all_closed
 * all members have closed it, so that nothing is in flight; then faults of this
 * process are added to leak. VCI's lock held. */
void weft_leak_report(
	struct weft_comm *comm, bool all_closed, struct weft_leak *leak);

/* Reports how many were not reported. 0, or WEFT_ERR_PENDING described by
 * weft_err_set(). */
int weft_leak_raise(const struct weft_leak *leak);

#endif
