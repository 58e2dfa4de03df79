/* SPDX-License-Identifier: BSD-3-Clause */
/* pid: other processes of this machine */
#ifndef WEFT_PID_H
#define WEFT_PID_H

#include <stdbool.h>
#include <sys/types.h>

/* All of its threads have ended, or do within so many ms, whether or not its
 * parent has asked for it, until when it is still there to kill(). A pid that
 * is not positive: false. */
bool weft_pid_has_ended(pid_t pid, int wait_ms);

#endif
