/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_state: where every process is, asked and printed
 *
 * The question goes out as an event of our PMIx server, and a thread of each
 * process answers in the memory it shares with us.  A process that does not
 * answer in time is described by what the kernel knows of it.
 */
#ifndef WEFT_RUN_STATE_H
#define WEFT_RUN_STATE_H

#include "boot/liveness.h"
#include "tools/run_io.h"
#include "tools/run_proc.h"

/* One question.  All zero: none is open. */
struct weft_run_state {
	unsigned number;
	uint64_t until_ns; /* how long to wait for answers; 0: none open */
	int sig;	   /* what is to follow: 0, SIGQUIT or SIGALRM */
};

/* Open a question to the n processes, whom the caller then asks. */
void weft_run_state_open(struct weft_run_state *inquiry,
	struct weft_liveness *lives, uint32_t n);

/* Is there nothing more to wait for? */
bool weft_run_state_is_over(const struct weft_run_state *inquiry,
	const struct weft_run_proc *procs, struct weft_liveness *lives,
	uint32_t n);

/* Print one line for all processes that are in the same, and close it. */
void weft_run_state_print(struct weft_run_state *inquiry,
	struct weft_run_io *io, const struct weft_run_proc *procs,
	struct weft_liveness *lives, uint32_t n);

/* Does the process have a handler of its own for sig? */
bool weft_run_state_catches(pid_t pid, int sig);

#endif
