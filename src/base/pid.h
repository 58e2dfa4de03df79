/* SPDX-License-Identifier: BSD-3-Clause */
/* pid: other processes of this machine */
#ifndef WEFT_PID_H
#define WEFT_PID_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* True if all threads of the process have ended, or end within wait_ms. A
 * zombie counts as ended, although kill() still finds it. Linux before 5.3
 * finds only processes that have ended and were reaped. False if pid is not
 * positive. */
bool weft_pid_has_ended(pid_t pid, int wait_ms);

/* True if /proc shows that the process is stopped, by a signal or a debugger.
 */
bool weft_pid_is_stopped(pid_t pid);

/* Returns a hash of namespaces, user and capabilities. Two processes of a
 * machine with the same hash may open each other's memory. Any thread. */
uint64_t weft_pid_access_id(void);

#endif
