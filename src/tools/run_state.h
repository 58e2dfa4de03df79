/* SPDX-License-Identifier: BSD-3-Clause */
/* run_state: queries the state of every process, and prints it
 *
 * The launcher's PMIx server sends the query as an event. A thread of each
 * process answers in memory that it shares with the launcher. For a process
 * that does not answer in time, the state that the kernel reports is printed.
 */
#ifndef WEFT_RUN_STATE_H
#define WEFT_RUN_STATE_H

#include "boot/liveness.h"
#include "tools/run_io.h"
#include "tools/run_proc.h"

/* One query. All zero: no query is open. */
struct weft_run_state {
	unsigned number;
	uint64_t until_ns; /* end of the wait for answers; 0: no query open */
	int sig; /* its cause: SIGUSR1, SIGQUIT, SIGALRM (timeout), or SIGCHLD
		    (a process has failed) */
};

/* Writes a new query to the memory of n processes. The caller then notifies the
 * processes (weft_serve_ask_states). A query with the cause SIGCHLD waits for
 * half a second, any other for two. */
void weft_run_state_open(struct weft_run_state *inquiry, int sig,
	struct weft_liveness *lives, uint32_t n);

/* True if all processes have answered, or the time is over. */
bool weft_run_state_is_over(const struct weft_run_state *inquiry,
	const struct weft_run_proc *procs, struct weft_liveness *lives,
	uint32_t n);

/* Prints one line for all processes in the same state, and closes the query. If
 * its cause is SIGCHLD, prints only processes that wait in a call, in a few
 * lines. */
void weft_run_state_print(struct weft_run_state *inquiry,
	struct weft_run_io *io, const struct weft_run_proc *procs,
	struct weft_liveness *lives, uint32_t n);

/* True if the process has its own handler for sig. */
bool weft_run_state_catches(pid_t pid, int sig);

#endif
