/* SPDX-License-Identifier: BSD-3-Clause */
/* serve: the smallest PMIx server that can start a job on one host
 *
 * The launcher and tests use it. The server registers one job and fills the
 * environment of each process. It answers fences, fetches, process-set queries,
 * group and publish calls, and notifies the other processes of a death. It does
 * not start processes.
 *
 * Threads: one thread makes all calls; the same thread reaps the processes.
 * PMIx's own thread answers the processes, and appends events to the queue that
 * weft_serve_next() reads. */
#ifndef WEFT_PMIX_SERVE_H
#define WEFT_PMIX_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_serve;

/* One application context: consecutive ranks that run the same program. */
struct weft_serve_app {
	uint32_t n;
	const char *pset; /* name of the set of these ranks, or NULL */
};

struct weft_serve_job {
	const char *name;   /* name of the job; unique among the user's running
			       jobs */
	const char *host;   /* name of the node, as the processes read it */
	const char *tmpdir; /* directory for PMIx's files: exists, private to
			       the user */
	const struct weft_serve_app *apps;
	uint32_t n_apps;
	uint8_t key[16]; /* the secret that all processes of the job share */
	/* of a job whose size can change, otherwise 0: the number of ranks, of
	 * which the apps use the first ones, and the limits of the number of
	 * processes. Later ranks belong to the first app */
	uint32_t n_places, n_min, n_max;
};

enum weft_serve_kind {
	WEFT_SERVE_CONNECTED, /* rank connected */
	WEFT_SERVE_FINALIZED, /* rank disconnected normally */
	WEFT_SERVE_ABORT,     /* rank requested the end of the job or of
				 `ranks`, with code and text */
	WEFT_SERVE_SPAWN,     /* rank requested a job with these argv; answered
				 by weft_serve_spawned() */
	WEFT_SERVE_RESIZE,    /* rank requested `resize`; answered by
				 weft_serve_resized() */
	WEFT_SERVE_SET,	      /* rank defined or deleted `set`, which has
				 members of other jobs; a definition is answered
				 by weft_serve_set_answer() */
};

enum { WEFT_SERVE_RUNS_MAX = 256 };

/* Members of a process set: n consecutive ranks of a job. */
struct weft_serve_run {
	uint32_t job; /* number of the job: upper half of its process numbers */
	uint32_t first, n;
};

/* A process set with members of other jobs. The job `by` has defined it. */
struct weft_serve_set {
	uint32_t by;
	uint32_t n_runs; /* 0: the set was deleted */
	char name[512];
	struct weft_serve_run runs[WEFT_SERVE_RUNS_MAX];
};

/* Requests about the size of the job. `text` of the event is the name of a set:
 * of the members now for ASK, otherwise of the new set. */
enum weft_serve_resize {
	WEFT_SERVE_ASK,	   /* `code` more processes, or fewer if below 0 */
	WEFT_SERVE_DONE,   /* the change is complete */
	WEFT_SERVE_CANCEL, /* the change ends without a result */
};

/* Results of these requests. */
enum weft_serve_verdict {
	WEFT_SERVE_ACCEPTED,
	WEFT_SERVE_ABOVE_MAX, /* or no rank is left */
	WEFT_SERVE_BELOW_MIN, /* or the request is not valid */
	WEFT_SERVE_NOT_CURRENT,
	WEFT_SERVE_BUSY,
	WEFT_SERVE_NOT_STARTED,
};

struct weft_serve_event {
	enum weft_serve_kind kind;
	uint32_t rank;
	int code;
	char text[256];
	uint32_t *ranks; /* ranks that an ABORT names; NULL: all ranks */
	size_t n_ranks;
	char **argv;  /* arguments of mpiexec, NULL-ended */
	char *parent; /* the port that the new processes connect to, or NULL; a
			 secret */
	void *spawn_request; /* argument of weft_serve_spawned() */
	enum weft_serve_resize resize;
	void *resize_request; /* argument of weft_serve_resized() */
	struct weft_serve_set *set;
	void *set_request; /* argument of weft_serve_set_answer(); NULL: the set
			      was deleted */
};

/* How a process ended, for weft_serve_died. */
enum weft_serve_end {
	WEFT_SERVE_END_SIGNAL,
	WEFT_SERVE_END_NONZERO,
	WEFT_SERVE_END_NO_FINALIZE,
	WEFT_SERVE_END_ABORTED,	  /* the launcher ended it on request of another
				     process */
	WEFT_SERVE_END_CANCELLED, /* the launcher ended it, because the change
				     with which it joined was cancelled */
};

/* Starts the server and registers the job. Copies the job's strings. A process
 * has at most one server at a time. On success the caller owns *serve_out. */
int weft_serve_open(
	struct weft_serve **serve_out, const struct weft_serve_job *job);

/* Stops the server and frees it. NULL is allowed. Returns false if libpmix did
 * not stop in time: its threads still run, and the process must end with
 * _exit(). */
bool weft_serve_close(struct weft_serve *serve);

/* Returns a descriptor that becomes readable when weft_serve_next() has an
 * event. The server owns it. */
int weft_serve_fd(const struct weft_serve *serve);

/* Removes the next event from the queue; false if there is none. The caller
 * frees ranks, argv (with weft_serve_argv_free()), parent and set. Also sends
 * the notices about process sets that libpmix's thread queued. */
bool weft_serve_next(
	struct weft_serve *serve, struct weft_serve_event *event_out);

/* Appends the variables that rank needs, each "NAME=value", to the NULL-ended
 * array *env. The array was allocated with malloc() and may be moved. */
int weft_serve_env(struct weft_serve *serve, uint32_t rank, char ***env);

/* Notifies the other processes that rank died, with the kind of its end. code
 * is its exit code, or 128 plus the signal. Later queries return the rank, as
 * after weft_serve_ended(). Does not block. */
void weft_serve_died(struct weft_serve *serve, uint32_t rank,
	enum weft_serve_end how, int code);

/* As weft_serve_died(), for a process of another job. */
void weft_serve_other_died(struct weft_serve *serve, const char *job,
	uint32_t rank, enum weft_serve_end how, int code);

/* Records that rank has exited normally. Later queries return the rank, and the
 * process that queries reports a normal end. So the launcher does not call this
 * function for a rank that has failed: weft_serve_died() reports a failure. */
void weft_serve_ended(struct weft_serve *serve, uint32_t rank);

/* weft_serve_spawned() answers a SPAWN event with the name of the job, or with
 * an error. weft_serve_argv_free() frees the argv of an event. */
void weft_serve_spawned(struct weft_serve *serve, void *spawn_request, int err,
	const char *name);
void weft_serve_argv_free(char **argv);

/* Answers a RESIZE event. set is the name of the new set if an ASK is accepted;
 * why is the sentence of a refusal. Both may be NULL. Does not block. */
void weft_serve_resized(struct weft_serve *serve, void *resize_request,
	enum weft_serve_verdict verdict, const char *set, const char *why);

/* weft_serve_set_define() defines a process set of n ranks and notifies the
 * processes. WEFT_ERR_NAME: the name is taken. weft_serve_set_delete() deletes
 * a set. Both on the launcher's thread. */
int weft_serve_set_define(struct weft_serve *serve, const char *name,
	const uint32_t *ranks, size_t n);
void weft_serve_set_delete(struct weft_serve *serve, const char *name);

/* weft_serve_set_add() defines a set with members of other jobs and notifies
 * the processes of this job. WEFT_ERR_NAME: the name is taken.
 * weft_serve_set_remove() deletes a set with this name that the job set->by has
 * defined, if there is one. Both on the launcher's thread. */
int weft_serve_set_add(
	struct weft_serve *serve, const struct weft_serve_set *set);
void weft_serve_set_remove(
	struct weft_serve *serve, const struct weft_serve_set *set);

/* Answers the definition of a SET event. err: 0, WEFT_ERR_NAME (the name is
 * taken in a job) or WEFT_ERR_UNSUPPORTED (the launcher of a job is not
 * connected to this launcher). Does not block. */
void weft_serve_set_answer(
	struct weft_serve *serve, void *set_request, int err);

/* Notifies the processes of an offer of delta processes until until_ns (0: no
 * limit). delta 0: there is no offer now. */
void weft_serve_offer(struct weft_serve *serve, int delta, uint64_t until_ns);

/* Sets the name of the set of the members, which queries return. */
void weft_serve_set_current(struct weft_serve *serve, const char *name);

/* Requests the state of every process. The processes write their answers to the
 * memory of boot/liveness.h. Does not block. */
void weft_serve_ask_states(struct weft_serve *serve);

/* Notifies the processes that another job has ended. Does not block. */
void weft_serve_job_ended(struct weft_serve *serve, const char *name);

#endif
