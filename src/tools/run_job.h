/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_job: a job of mpiexec, and its preparation and start
 */
#ifndef WEFT_RUN_JOB_H
#define WEFT_RUN_JOB_H

#include "tools/run_claim.h"
#include "tools/run_cleanup.h"
#include "tools/run_opt.h"
#include "tools/run_resize.h"
#include "tools/run_spawn.h"
#include "tools/run_state.h"
#include "topo/place.h"

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
	/* first entries of fds: signals, server, pipes from the parent launcher
	 * and from the child launchers, socket of weft-resize */
	WEFT_RUN_JOB_FDS = 5,
};

enum weft_run_job_state {
	WEFT_RUN_JOB_GOING,
	WEFT_RUN_JOB_FAILED, /* a process failed; states are queried */
	WEFT_RUN_JOB_ENDING, /* SIGTERM sent; SIGKILL at kill_ns */
	WEFT_RUN_JOB_KILLED,
};

/* One job: a variable of main(). */
struct weft_run_job {
	struct weft_run_opt opt;
	uint32_t n;	   /* number of processes that were started */
	uint32_t n_places; /* number of ranks; entries of the arrays below */
	char host[256];
	char name[WEFT_RUN_NAME_MAX];	  /* name of the job */
	char parent[WEFT_RUN_PARENT_MAX]; /* port of the parent job, or "" */
	char dir[4096]; /* session directory; "" before it exists */
	char mark[96];	/* variable in the environment of all processes */
	struct weft_run_cleanup cleanup;
	int signal_fd;
	struct weft_run_pipes pipes;
	struct weft_run_spawn *spawned;	   /* child launchers */
	struct weft_run_sharing *sharings; /* see run_sets.h */
	struct weft_run_io *io;
	struct weft_serve *serve;
	struct weft_run_fault *faults;
	int liveness_fd;
	struct weft_liveness *liveness; /* one struct per rank */
	struct weft_run_proc *procs;
	cpu_set_t *cpus; /* one set per rank, or NULL. An empty set: the process
			    is not bound */
	const char *unbound;	       /* the reason if cpus is NULL */
	bool is_placed;		       /* by options */
	enum weft_place_choice choice; /* otherwise */
	struct weft_run_claim claim;
	struct pollfd *fds;
	uint32_t n_running;
	enum weft_run_job_state state;
	bool is_all_ending;  /* the jobs that this job spawned end, too */
	bool has_failed;     /* status is set and does not change any more */
	int status;	     /* exit status of mpiexec */
	uint64_t timeout_ns; /* end of --timeout; 0: none */
	uint64_t kill_ns;    /* time of the SIGKILL in the state ENDING */
	uint64_t abort_ns;   /* time to kill aborted processes; 0: never */
	uint64_t output_ns;  /* end of the wait for output; 0: not yet set */
	uint64_t warn_ns;    /* time to report the final wait; 0: not yet set */
	bool has_warned;     /* the final wait was reported */
	int n_ends_asked;    /* number of signals INT, TERM, HUP and QUIT */
	uint64_t repeat_ns;  /* until then, another signal to end the job is
				ignored */
	struct weft_run_state inquiry;
	struct weft_run_resize resize;
	const struct weft_run_proc *failed; /* set in the state FAILED */
	uint64_t check_ns;  /* time of the next check of loaded libraries */
	uint64_t pause_ns;  /* interval to the check after that */
	bool has_other_mpi; /* another MPI was reported */
	bool is_stuck;	    /* the server's thread did not end */
};

/* Checks the options that concern several hosts, which this launcher does not
 * support. 0, or WEFT_ERR_ARG, described. */
int weft_run_job_check(const struct weft_run_job *run);

/* Creates all that the processes need: names, a session directory, the cleanup
 * process, pipes, cores and the PMIx server. After a failure, which is
 * described, tear_down() in tool_run.c releases the completed part. */
int weft_run_job_set_up(struct weft_run_job *run);

/* Starts all processes. After a failure, which is described, the processes
 * started so far continue. */
int weft_run_job_start(struct weft_run_job *run);

/* Starts the process of the next rank. step is the variable WEFT_BOOT_STEP_ENV.
 * After a failure, which is described, the rank has no process. */
int weft_run_job_start_late(struct weft_run_job *run, const char *step);

/* Releases the claims of a process that has ended. */
void weft_run_job_free_cores(struct weft_run_job *run, uint32_t rank);

/* True if the time when_ns has passed. Otherwise lowers *ms to the milliseconds
 * until when_ns, rounded up. when_ns 0: never. */
bool weft_run_job_is_due(uint64_t when_ns, int *ms);

/* Warns, once per job, if a process that has not joined the job has loaded
 * another MPI. */
void weft_run_job_check_loaded(struct weft_run_job *run, uint32_t rank);

#endif
