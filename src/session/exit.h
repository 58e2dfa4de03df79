/* SPDX-License-Identifier: BSD-3-Clause */
/* exit: the end of the job without a fault */
#ifndef WEFT_EXIT_H
#define WEFT_EXIT_H

struct weft_vci;

/* Ends all processes of the job with this code, which may be 0. If the process
 * manager cannot end a job with status 0, the processes notify each other by
 * messages, and exit. If a process makes no progress for 30 s, the status is 1.
 * No VCI's lock held. */
void weft_exit_all(int code, const char *text) __attribute__((noreturn));

/* Installs the handler of these messages; called when the default VCI opens. */
void weft_exit_setup(struct weft_vci *vci);

#endif
