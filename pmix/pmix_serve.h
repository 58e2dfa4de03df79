/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve: the smallest PMIx server that can start a job on one host
 *
 * Used by the launcher and by tests.  It registers one job, gives each
 * process its environment, answers fences, fetches, process-set queries,
 * group and publish calls, and tells the survivors of a death.  It starts
 * no process itself.
 *
 * Threads: one, which also reaps the processes.  PMIx's own thread only sets
 * flags and appends to what weft_serve_next() hands out.
 */
#ifndef WEFT_PMIX_SERVE_H
#define WEFT_PMIX_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_serve;

/* One app context: consecutive ranks that run the same program. */
struct weft_serve_app {
	uint32_t n;
	const char *pset; /* name of the set of these ranks, or NULL */
};

struct weft_serve_job {
	const char *name; /* of the job; unique among live ones of the user */
	const char *host; /* what the processes are told their node is called */
	const char *tmpdir; /* exists, private to the user; rendezvous files */
	const struct weft_serve_app *apps;
	uint32_t n_apps;
	uint8_t key[16]; /* the secret all processes of the job share */
};

enum weft_serve_kind {
	WEFT_SERVE_CONNECTED, /* rank joined */
	WEFT_SERVE_FINALIZED, /* rank left in order */
	WEFT_SERVE_ABORT,     /* rank asked to end the job, or the ranks
				 listed: code, text */
	WEFT_SERVE_SPAWN,     /* rank wants a job: argv; to be answered */
};

struct weft_serve_event {
	enum weft_serve_kind kind;
	uint32_t rank;
	int code;
	char text[256];
	uint32_t *ranks; /* NULL: all; who takes the event frees it */
	size_t n_ranks;
	char **argv;  /* as mpiexec takes them, NULL-ended; who takes the event
			 frees it with weft_serve_argv_free */
	char *parent; /* the port its processes connect to, or NULL; freed by
			 who takes the event; a secret */
	void *asked;  /* for weft_serve_spawned */
};

/* How a process ended, for weft_serve_died. */
enum weft_serve_end {
	WEFT_SERVE_END_SIGNAL,
	WEFT_SERVE_END_NONZERO,
	WEFT_SERVE_END_NO_FINALIZE,
	WEFT_SERVE_END_ABORTED, /* we ended it as another one asked */
};

/*
 * Start the server and register the job.  The job's strings are copied.  At
 * most one server per process at a time.  On success the caller owns
 * *serve_out.
 */
int weft_serve_open(
	struct weft_serve **serve_out, const struct weft_serve_job *job);

/*
 * Stop the server and free it.  NULL is allowed.  False when libpmix did not
 * stop in time: its threads still run, and the process is to end by _exit().
 */
bool weft_serve_close(struct weft_serve *serve);

/*
 * A descriptor that becomes readable when weft_serve_next has something;
 * owned by serve.
 */
int weft_serve_fd(const struct weft_serve *serve);

/*
 * Take the next event; false when there is none.  Also carries out what
 * processes asked of the server meanwhile.
 */
bool weft_serve_next(
	struct weft_serve *serve, struct weft_serve_event *event_out);

/*
 * What rank needs in its environment, "NAME=value" each, appended to the
 * NULL-ended array *env (made with malloc, which may be moved).
 */
int weft_serve_env(struct weft_serve *serve, uint32_t rank, char ***env);

/*
 * Tell the others that rank died, and how; code is its exit code or 128 plus
 * the signal.  Does not block.
 */
void weft_serve_died(struct weft_serve *serve, uint32_t rank,
	enum weft_serve_end how, int code);

/*
 * The rank has ended, in whatever way.  Who asks is told; nobody else is, as
 * one that ended in order owes nobody anything.
 */
void weft_serve_ended(struct weft_serve *serve, uint32_t rank);

/* The answer to a SPAWN: the name of the job, or why (err) there is none. */
void weft_serve_spawned(
	struct weft_serve *serve, void *asked, int err, const char *name);
void weft_serve_argv_free(char **argv);

/* Ask the processes where they are; they answer in boot/liveness.h.  Does not
 * block. */
void weft_serve_ask_where(struct weft_serve *serve);

/* Tell the processes that another job is over.  Does not block. */
void weft_serve_job_ended(struct weft_serve *serve, const char *name);

#endif
