/* SPDX-License-Identifier: BSD-3-Clause */
/* run_mpir: the process table of a job for debuggers */
#include "tools/run_mpir.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { MPIR_DEBUG_SPAWNED = 1, MPIR_DEBUG_ABORTING = 2 };

/* The names and types are those of the MPIR interface. A debugger writes
 * MPIR_being_debugged. A debugger only tests whether the last three exist.
 * MPIR_i_am_starter: mpiexec is no process of the job. MPIR_partial_attach_ok:
 * the debugger need not attach to all processes. MPIR_acquired_pre_main: the
 * processes are stopped before main(). */
MPIR_PROCDESC *MPIR_proctable;
int MPIR_proctable_size;
volatile int MPIR_being_debugged;
volatile int MPIR_debug_state;
char *MPIR_debug_abort_string;
int MPIR_i_am_starter;
int MPIR_partial_attach_ok;
int MPIR_acquired_pre_main = 1;

void MPIR_Breakpoint(void);

/* A debugger sets a breakpoint here. */
__attribute__((noinline)) void MPIR_Breakpoint(void)
{
	__asm__ volatile("" ::: "memory");
}

bool weft_run_mpir_is_debugged(void)
{
	return MPIR_being_debugged;
}

void weft_run_mpir_trace(void)
{
	/* ptrace() fails if a debugger traces the children of the launcher, or
	 * if the kernel forbids tracing: this process then stops before exec()
	 */
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		raise(SIGSTOP);
}

/* A process that has ended, for example because exec() failed, is not reaped
 * here: the launcher's loop does that. */
void weft_run_mpir_hold(pid_t pid)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT) ||
		info.si_code != CLD_TRAPPED)
		return;
	(void)waitpid(pid, NULL, WUNTRACED);
	if (!ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)SIGSTOP))
		(void)waitid(
			P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT);
}

static char *dup_or_empty(const char *text)
{
	char *copy = strdup(text);

	return copy ? copy : (char *)(uintptr_t) "";
}

void weft_run_mpir_publish(const struct weft_run_proc *procs, uint32_t n,
	const char *host,
	void (*name_of)(const struct weft_run_app *app, char *file, size_t len))
{
	MPIR_PROCDESC *table = calloc(n, sizeof(*table));
	char file[4096];

	for (uint32_t r = 0; table && r < n; r++) {
		name_of(procs[r].app, file, sizeof(file));
		table[r] = (MPIR_PROCDESC){ dup_or_empty(host),
			dup_or_empty(file), procs[r].pid };
	}
	MPIR_proctable = table;
	MPIR_proctable_size = table ? (int)n : 0;
	MPIR_debug_state = MPIR_DEBUG_SPAWNED;
	MPIR_Breakpoint();
	for (uint32_t r = 0; MPIR_being_debugged && r < n; r++)
		weft_run_proc_kill(&procs[r], SIGCONT);
}

void weft_run_mpir_abort(void)
{
	MPIR_debug_abort_string = (char *)(uintptr_t) "mpiexec ends the job";
	MPIR_debug_state = MPIR_DEBUG_ABORTING;
	MPIR_Breakpoint();
}
