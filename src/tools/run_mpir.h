/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_mpir: the process table of a job for debuggers
 *
 * The symbols of the MPIR Process Acquisition Interface, version 1.1: a
 * debugger that runs mpiexec, or attaches to it, reads the table and attaches
 * to the processes.
 */
#ifndef WEFT_RUN_MPIR_H
#define WEFT_RUN_MPIR_H

#include "tools/run_proc.h"

/* One process; the name and the order of the fields are those of the interface.
 */
typedef struct {
	char *host_name;
	char *executable_name;
	int pid;
} MPIR_PROCDESC;

/* True if a debugger runs mpiexec, or has attached to it. Processes then start
 * stopped, before their first instruction. */
bool weft_run_mpir_is_debugged(void);

/* Called in the launcher. Waits until a process that calls
 * weft_run_mpir_trace() has stopped at its exec(), or before that call. The
 * process stays stopped, without a tracer. Also returns if the process has
 * ended. */
void weft_run_mpir_hold(pid_t pid);

/* Called in the process before exec(): permits the launcher to stop the process
 * there. */
void weft_run_mpir_trace(void);

/* Fills the table, and calls MPIR_Breakpoint(), at which a debugger stops
 * mpiexec. After that, continues the stopped processes if there is a debugger.
 * name_of writes the path of the program of an app context. The table exists
 * until mpiexec ends. */
void weft_run_mpir_publish(const struct weft_run_proc *procs, uint32_t n,
	const char *host,
	void (*name_of)(
		const struct weft_run_app *app, char *file, size_t len));

/* Notifies the debugger that the job ends early. */
void weft_run_mpir_abort(void);

#endif
