/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_proc: the processes of a job: started, signalled, reaped
 *
 * Each process leads its own process group, so that what it started itself
 * ends with it, and dies with the launcher.
 */
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

/* Why a process could not be started; written by it before it ends. */
struct weft_run_fault {
	enum weft_run_stage stage;
	int error; /* errno */
};

struct weft_run_proc {
	uint32_t rank;
	const struct weft_run_app *app;
	pid_t pid; /* 0: not started */
	bool is_running;
	bool is_connected;	      /* joined the PMIx server */
	bool is_finalized;	      /* and left it in order */
	bool is_aborted;	      /* another process ended it */
	int status;		      /* of waitid, as for waitpid */
	struct weft_run_fault *fault; /* in memory shared with the child */
};

/* What a process is started with; all lent for the call. */
struct weft_run_start {
	char **env;	       /* NULL-ended */
	int fds[3];	       /* standard input, output, error */
	const cpu_set_t *cpus; /* or NULL */
	pid_t launcher;	       /* our own pid */
};

/* Memory for the faults of n processes; freed by _unmap. */
struct weft_run_fault *weft_run_fault_map(uint32_t n);
void weft_run_fault_unmap(struct weft_run_fault *faults, uint32_t n);

/* Start it.  A program that cannot be executed shows up in fault later. */
int weft_run_proc_start(
	struct weft_run_proc *proc, const struct weft_run_start *start);

/* Send sig to the whole group of proc if it runs. */
void weft_run_proc_kill(const struct weft_run_proc *proc, int sig);

/* Another child ended, with a status as for waitpid. */
typedef void weft_run_other_fn(void *arg, pid_t pid, int status);

/*
 * Reap one process that ended, killing first what is left of its group.
 * NULL when none has ended, or only others; these are told to fn.
 */
struct weft_run_proc *weft_run_proc_reap(struct weft_run_proc *procs,
	uint32_t n, weft_run_other_fn *fn, void *arg);

/* Kill and reap every child that is left, except one. */
void weft_run_proc_sweep(pid_t except);

/*
 * The environment of a process of app: NULL-ended, the caller frees array and
 * strings.  Variables of an outer process manager are left out.  NULL when
 * memory is short.
 */
char **weft_run_env_make(
	const struct weft_run_opt *opt, const struct weft_run_app *app);

/* Set NAME=VALUE in *env, replacing an older NAME.  0 or WEFT_ERR_NOMEM. */
int weft_run_env_set(char ***env, const char *pair);

void weft_run_env_free(char **env);

#endif
