/* SPDX-License-Identifier: BSD-3-Clause */
/* run_spawn: jobs that processes spawn
 *
 * Each spawned job has its own launcher, another mpiexec, which is a child of
 * this launcher. So the new job is independent of this job. Only communicators
 * that its processes create connect the two jobs. The launchers notify each
 * other of failed processes and of jobs that have ended, so that no process
 * waits for a process that has ended. */
#ifndef WEFT_RUN_SPAWN_H
#define WEFT_RUN_SPAWN_H

#include "pmix/pmix_serve.h"
#include "tools/run_proc.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	WEFT_RUN_NAME_MAX = 64,
	WEFT_RUN_PARENT_MAX = 512, /* longest name of a port */
};

/* Environment of a child launcher: the name of its job, the pipes from and to
 * its parent, and the port of the parent job. The port is a secret, so it is
 * not on the command line. */
#define WEFT_RUN_SPAWN_NAME_ENV "MPIEXEC_NAME"
#define WEFT_RUN_SPAWN_PIPES_ENV "MPIEXEC_ABOVE"
#define WEFT_RUN_SPAWN_PARENT_ENV "MPIEXEC_PARENT"

enum weft_run_notice_kind {
	WEFT_RUN_JOB_ENDED,
	WEFT_RUN_DEATH, /* a process of the job died */
	/* process sets with members of several jobs (run_sets.h): job is the
	 * job of the launcher that sends the record */
	WEFT_RUN_SET_DEFINED,
	WEFT_RUN_SET_ANSWER,
	WEFT_RUN_SET_DELETED,
};

/* A record in a pipe from one launcher to another. The runs of the set that are
 * not used are not written. */
struct weft_run_notice {
	enum weft_run_notice_kind kind;
	char job[WEFT_RUN_NAME_MAX];
	uint32_t rank;
	enum weft_serve_end how;
	int code;	    /* exit code, or 128 + signal */
	uint32_t n_defined; /* SET_ANSWER: jobs that have defined the set */
	bool is_taken;	    /* SET_ANSWER: in a job, its name is taken */
	struct weft_serve_set set;
};

/* The pipes of a launcher to its parent and to its child launchers. */
struct weft_run_pipes {
	int from_above, to_above; /* -1: there is no parent launcher */
	int below[2]; /* pipe from all child launchers; -1 before the first
			 child launcher */
};

/* One child launcher. weft_run_spawn_start() creates it. */
struct weft_run_spawn {
	struct weft_run_spawn *next;
	char name[WEFT_RUN_NAME_MAX]; /* name of its job */
	char parent[WEFT_RUN_PARENT_MAX];
	struct weft_run_proc proc;
	struct weft_run_app app;
	int pipe; /* write end of the pipe to it */
};

/*
 * Starts a child launcher with these arguments (NULL-terminated; the first is
 * replaced), and inserts it at the head of *list. The child launcher writes its
 * notices to pipes->below, which the first call creates. parent is the port
 * that the processes of the new job connect to, or NULL. keep_going: the new
 * job has --continue, too. WEFT_ERR_SPAWN if one of the programs does not
 * exist.
 */
int weft_run_spawn_start(struct weft_run_spawn **list,
	struct weft_run_pipes *pipes, char *const *argv, const char *parent,
	bool keep_going);

/* Marks the launcher with this pid as ended, with its status, and returns it.
 * NULL if no launcher of the list has the pid. */
struct weft_run_spawn *weft_run_spawn_ended(
	struct weft_run_spawn *list, pid_t pid, int status);

/* Returns the number of launchers that still run. */
size_t weft_run_spawn_running(const struct weft_run_spawn *list);

void weft_run_spawn_kill(const struct weft_run_spawn *list, int sig);

/* Sends a notice to the child launchers of the list, except to the launcher of
 * the job that the notice is about. */
void weft_run_spawn_notify(const struct weft_run_spawn *list,
	const struct weft_run_notice *notice);

/* Sends a notice to one child launcher. False if it has ended, or does not read
 * its notices. */
bool weft_run_spawn_send(
	const struct weft_run_spawn *s, const struct weft_run_notice *notice);

/* Returns the child launcher of the job with this name, or NULL. */
struct weft_run_spawn *weft_run_spawn_find(
	struct weft_run_spawn *list, const char *name);

/* Sends a notice to the parent launcher. False if there is none, or if it does
 * not read its notices. */
bool weft_run_spawn_report(const struct weft_run_pipes *pipes,
	const struct weft_run_notice *notice);

void weft_run_spawn_free(struct weft_run_spawn *list);

/*
 * Called by every launcher at its start. Reads from the environment what its
 * parent launcher has set: the pipes (-1 without a parent launcher), the name
 * of the job and the port of the parent job ("" without a parent launcher).
 * Removes all three from the environment.
 */
void weft_run_spawn_above(
	struct weft_run_pipes *pipes_out, char *name_out, char *parent_out);

/* Receives the next notice from a pipe without blocking. False if there is none
 * at present, or if *fd is -1. If the pipe has no writer any more, closes *fd
 * and sets it to -1. */
bool weft_run_spawn_receive(int *fd, struct weft_run_notice *notice_out);

#endif
