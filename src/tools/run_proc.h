/* SPDX-License-Identifier: BSD-3-Clause */
/* run_proc: starts, signals and reaps the processes of a job
 *
 * Each process leads its own process group, which is killed when the process
 * ends. Each process is killed when the launcher dies. */
#ifndef WEFT_RUN_PROC_H
#define WEFT_RUN_PROC_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/run_opt.h"

enum weft_run_stage {
	WEFT_RUN_STAGE_NONE, /* nothing failed */
	WEFT_RUN_STAGE_WDIR,
	WEFT_RUN_STAGE_BIND,
	WEFT_RUN_STAGE_EXEC,
};

/* The reason why a process could not be started. The process writes it before
 * it exits. */
struct weft_run_fault {
	enum weft_run_stage stage;
	int error; /* errno */
};

struct weft_run_proc {
	uint32_t rank;
	const struct weft_run_app *app;
	pid_t pid; /* 0: not started */
	bool is_running;
	bool is_connected;	      /* has connected to the PMIx server */
	bool is_finalized;	      /* has finalized PMIx after that */
	bool is_aborted;	      /* another process aborted it */
	bool is_cancelled;	      /* its change of the job's size ended
					 without a result */
	uint32_t slot;		      /* index for the options of placement */
	int status;		      /* result of waitpid() */
	struct weft_run_fault *fault; /* memory shared with the child */
};

/* Arguments of the start of a process; valid during the call. */
struct weft_run_start {
	char **env;	       /* NULL-terminated */
	int fds[3];	       /* standard input, output, error */
	int kept[2];	       /* other descriptors to inherit, or 0 */
	const cpu_set_t *cpus; /* processors to run on, or NULL */
	pid_t launcher;	       /* pid of the caller */
	bool is_held; /* stopped before its first instruction, for a debugger */
};

/* weft_run_fault_map() maps memory for the faults of n processes, which the
 * processes inherit; NULL when out of memory. weft_run_fault_unmap() unmaps it;
 * faults may be NULL. */
struct weft_run_fault *weft_run_fault_map(uint32_t n);
void weft_run_fault_unmap(struct weft_run_fault *faults, uint32_t n);

/* Starts a process. 0, or WEFT_ERR_OTHER if fork() fails, described. If the
 * program cannot be executed, the process writes proc->fault and exits. */
int weft_run_proc_start(
	struct weft_run_proc *proc, const struct weft_run_start *start);

/* Sends sig to the process group of proc, if proc runs. */
void weft_run_proc_kill(const struct weft_run_proc *proc, int sig);

/* Called after a child has ended that is no process of the job. status is the
 * result of waitpid(). */
typedef void weft_run_other_fn(void *arg, pid_t pid, int status);

/*
 * Returns a process that has ended, after it has killed the group of the
 * process. NULL if no process has ended. Calls fn for other children that have
 * ended, and reaps them. The caller calls weft_run_proc_reap() before the next
 * call of this function.
 */
struct weft_run_proc *weft_run_proc_next_ended(struct weft_run_proc *procs,
	uint32_t n, weft_run_other_fn *fn, void *arg);

/* Reaps a process that has ended. The kernel may need seconds: Linux 6.18
 * without preemption needed up to 11 s on a busy machine. */
void weft_run_proc_reap(const struct weft_run_proc *proc);

/* Kills and reaps all remaining children except the process `except`. */
void weft_run_proc_sweep(pid_t except);

/*
 * Makes the environment of a process of app, NULL-terminated; the caller calls
 * weft_run_env_free(). It has no variables of an outer process manager. NULL
 * when out of memory.
 */
char **weft_run_env_make(
	const struct weft_run_opt *opt, const struct weft_run_app *app);

/* Sets NAME=VALUE in *env, and replaces an older value. 0 or WEFT_ERR_NOMEM. */
int weft_run_env_set(char ***env, const char *pair);

void weft_run_env_free(char **env);

#endif
