/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_job: a job of mpiexec, from its command line to its exit status
 */
#ifndef WEFT_RUN_JOB_H
#define WEFT_RUN_JOB_H

#include "tools/run_claim.h"
#include "tools/run_cleanup.h"
#include "tools/run_opt.h"
#include "tools/run_spawn.h"
#include "tools/run_state.h"

#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct weft_liveness;
struct weft_run_fault;
struct weft_run_io;
struct weft_run_proc;
struct weft_serve;

enum {
	WEFT_RUN_JOB_FDS = 3, /* in fds: signals, server, launcher above */
};

enum weft_run_job_state {
	WEFT_RUN_JOB_GOING,
	WEFT_RUN_JOB_ENDING, /* asked to end; kill at kill_ns */
	WEFT_RUN_JOB_KILLED,
};

/* One launch.  Lives in main; fields in the order they are set up. */
struct weft_run_job {
	struct weft_run_opt opt;
	uint32_t n;
	char host[256];
	char name[WEFT_RUN_NAME_MAX];	  /* of the job */
	char parent[WEFT_RUN_PARENT_MAX]; /* port it connects to, or "" */
	char dir[4096]; /* session directory; "" when there is none */
	char mark[96];	/* in the environment of all processes */
	struct weft_run_cleanup cleanup;
	int signal_fd;
	int above_fd; /* from the launcher that started this one, or -1 */
	struct weft_run_spawn *spawned; /* launchers this one started */
	struct weft_run_io *io;
	struct weft_serve *serve;
	struct weft_run_fault *faults;
	int liveness_fd;
	struct weft_liveness *liveness; /* one a process */
	struct weft_run_proc *procs;
	cpu_set_t *cpus;     /* one a process, or NULL */
	const char *unbound; /* why not, where cpus is NULL */
	struct weft_run_claim claim;
	struct pollfd *fds;
	uint32_t n_running;
	enum weft_run_job_state state;
	bool is_all_ending; /* the jobs beneath, too */
	bool has_failed;    /* status is decided */
	int status;
	uint64_t timeout_ns; /* 0: none */
	uint64_t kill_ns;    /* while ENDING */
	uint64_t abort_ns;   /* when to kill the aborted ones; 0: never */
	uint64_t output_ns;  /* when to stop waiting for output; 0: not yet */
	uint64_t warn_ns;    /* when to say what we wait for; 0: not yet */
	bool has_warned;
	int n_ends_asked;   /* INT, TERM, HUP and QUIT so far */
	uint64_t repeat_ns; /* until when one more is the same */
	struct weft_run_state inquiry;
	uint64_t check_ns; /* when to look what processes have loaded */
	uint64_t pause_ns; /* until the look after that */
	bool has_other;	   /* said of another MPI */
	bool is_stuck;	   /* the server's thread did not end */
};

/* May the job be as its command line says? Nodes and processes a node are for
 * launchers of several hosts. WEFT_ERR_ARG, described, or 0. */
int weft_run_job_check(const struct weft_run_job *run);

/* All that the processes need: names, a session directory, the cleanup process,
 * pipes, cores and the PMIx server. After failure run holds what was had until
 * then, which tear_down() in tool_run.c gives back; described. */
int weft_run_job_set_up(struct weft_run_job *run);

/* Starts all processes. Those that were started run on after failure;
 * described. */
int weft_run_job_start(struct weft_run_job *run);

/* Says, once a job, if this process, which has not joined it, has another MPI
 * loaded. */
void weft_run_job_check_loaded(struct weft_run_job *run, uint32_t rank);

#endif
