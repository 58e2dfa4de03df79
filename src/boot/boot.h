/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boot: who am I, who are the others, publish, fetch, hear of changes
 *
 * One implementation per process manager: PMIx (room pmix/) and none at all
 * (singleton.c).  Nothing here is collective except fence, and opening does not
 * wait for any other process: a job of a million ranks costs one process of
 * it the same as a job of two.
 *
 * Threads: every call is made by a thread that holds whatever lock guards
 * the boot object (core's progress lock).  Callbacks run only inside
 * weft_boot_poll(), on its caller's thread; they may call put, get, fence
 * and the pset calls, but not poll and not close.
 */
#ifndef WEFT_BOOT_H
#define WEFT_BOOT_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum {
	WEFT_BOOT_HOST_MAX = 256,
	WEFT_BOOT_JOB_MAX = 256,
	WEFT_BOOT_NAME_MAX = 512, /* longest process set name, with its NUL */
	WEFT_BOOT_KEY_LEN = 16,
	WEFT_BOOT_KINDS_MAX = 256,
	WEFT_BOOT_APP_ENV = 2,
};

/*
 * What the process manager told us about ourselves; filled by open, constant
 * afterwards.
 *
 * own_key: the secret a first message TO THIS PROCESS must carry.  It is not
 * sent to be compared with the sender's own: whoever wants to talk to a rank
 * first fetches what that rank published, and the publisher put its own_key
 * in there.  Only members of the job can fetch it, so only they know it.
 * Under our own launcher all ranks happen to have the same key; under Slurm
 * and PRRTE each draws its own, because agreeing on one would need either a
 * start-up collective or a rank that every other depends on.
 */
struct weft_boot_facts {
	char host[WEFT_BOOT_HOST_MAX]; /* the manager's name of this node */
	char job[WEFT_BOOT_JOB_MAX];   /* the manager's name of this job */
	char manager[32]; /* "singleton", "mpiexec", "slurm", "prrte", "pmix" */
	uint32_t rank;	  /* in the job */
	uint32_t size;	  /* processes in the job */
	uint32_t univ_size;  /* processes the job could have; 0: not known */
	uint32_t local_rank; /* among the job's processes on this node */
	uint32_t local_size; /* the job's processes on this node */
	uint32_t n_nodes;    /* of the job; 1 is exact, more is an estimate */
	uint32_t appnum;     /* index of my app context; 0 if not known */
	uint8_t own_key[WEFT_BOOT_KEY_LEN];
	char alloc_kinds[WEFT_BOOT_KINDS_MAX]; /* of the launch; "" if none */
};

enum weft_boot_event_kind {
	WEFT_BOOT_PSET_DEFINED, /* name */
	WEFT_BOOT_PSET_DELETED, /* name */
	WEFT_BOOT_PEER_DIED,	/* rank, code, end */
	WEFT_BOOT_JOB_ENDED,	/* name: another job, started by one of ours
				   or that started ours, is over */
	WEFT_BOOT_CALLED,	/* rank, data, len: see weft_boot_call */
};

/* How a process ended before its time, as far as the manager tells. */
enum weft_boot_end {
	WEFT_BOOT_END_UNKNOWN,
	WEFT_BOOT_END_CRASHED, /* by a signal */
	WEFT_BOOT_END_EXITED,  /* without taking leave */
	WEFT_BOOT_END_ABORTED, /* asked for it, or was made to */
	WEFT_BOOT_END_LEFT,    /* in order; told only where it was asked for */
	WEFT_BOOT_END_FOUND,   /* not the manager's word: name is a clause */
};

struct weft_boot_event {
	enum weft_boot_event_kind kind;
	char name[WEFT_BOOT_NAME_MAX]; /* process set or job; how an end was
					  found; else "" */
	uint32_t rank;		       /* who died or called; 0 otherwise */
	int code; /* exit code, or 128 + signal; -1 when not known */
	enum weft_boot_end end;
	const void *data; /* lent; NULL: none */
	size_t len;
};

/* Processes to be started: n that run one program. All lent for the call. */
struct weft_boot_app {
	uint32_t n;
	const char *program;
	char *const *argv; /* NULL-ended, without the program; or NULL */
	char *const *env;  /* NULL-ended NAME=VALUE, beside the manager's own;
			    * or NULL. MPI_Comm_spawn makes at most
			    * WEFT_BOOT_APP_ENV of them */
	const char *wdir;  /* or NULL */
	const char *host;  /* where the manager is to start them, or NULL */
	const char *pset;  /* a process set to make of them, or NULL */
};

struct weft_boot;

/*
 * Answer to a get: err 0 and the bytes, lent until the function returns; or
 * err < 0, data NULL, len 0.  Called exactly once for each get that
 * returned 0.
 */
typedef void weft_boot_get_fn(void *arg, int err, const void *data, size_t len);

/* Answer to a fence; called exactly once for each fence that returned 0. */
typedef void weft_boot_done_fn(void *arg, int err);

/* A change nobody asked for; the event is lent until the function returns. */
typedef void weft_boot_event_fn(void *arg, const struct weft_boot_event *event);

/*
 * The table.  All slots return 0 or a negative enum weft_err and leave
 * outputs alone on failure.  Callers use the weft_boot_* functions below.
 */
struct weft_boot_ops {
	const char *name;

	/*
	 * Leave the manager and free boot.  clean != 0: this process ends
	 * in order and says so to the manager.  clean == 0: it does not, and
	 * the manager is to see that the process left without goodbye.
	 * Neither waits for other processes.  Callbacks of gets and fences
	 * still open are not called.  Cannot fail.
	 */
	void (*close)(struct weft_boot *boot, int clean);

	/*
	 * Ask the manager to end n ranks with this exit code and text, or the
	 * whole job when ranks is NULL.  A manager that cannot end a part of
	 * a job ends all of it.  Returns once asked; the caller then ends its
	 * own process.  WEFT_ERR_UNSUPPORTED: code is 0, and the status of the
	 * job would not be; the manager was not asked.
	 */
	int (*abort)(struct weft_boot *boot, int code, const char *text,
		const uint32_t *ranks, size_t n);

	/*
	 * Publish len bytes (at most 64 KiB) under key, copied.  Not visible
	 * before commit.  Each key at most once in a process's life: some
	 * managers go on answering with the first value.
	 */
	int (*put)(struct weft_boot *boot, const char *key, const void *data,
		size_t len);

	/*
	 * Make all that was put visible.  Once in a process's life: a key of
	 * a later commit may never become visible.
	 */
	int (*commit)(struct weft_boot *boot);

	/*
	 * Fetch what rank published under key.  Does not block; the answer
	 * comes from poll.  Waits for a rank that has not committed yet; ends
	 * with WEFT_ERR_PEER if that rank is known dead.
	 */
	int (*get)(struct weft_boot *boot, uint32_t rank, const char *key,
		weft_boot_get_fn *fn, void *arg);

	/*
	 * Barrier of n ranks (strictly ascending, the caller among them), or
	 * of the whole job when ranks is NULL.  Does not block; the answer
	 * comes from poll.  A member's death may let some members pass and
	 * fail others.
	 */
	int (*fence)(struct weft_boot *boot, const uint32_t *ranks, size_t n,
		weft_boot_done_fn *fn, void *arg);

	/*
	 * Name of the node that rank runs on, at most len - 1 bytes.  Two
	 * ranks share a node exactly if the names are equal.
	 */
	int (*host_of)(
		struct weft_boot *boot, uint32_t rank, char *buf, size_t len);

	/*
	 * The ranks on my node, ascending, me included.  Lent for the life of
	 * boot.  O(processes on the node).
	 */
	int (*local)(struct weft_boot *boot, const uint32_t **ranks_out,
		size_t *n_out);

	/*
	 * Names of the process sets the manager knows now, in its order, each
	 * once.  The caller frees the array with one free(); the strings lie
	 * inside it.  No sets, or a manager without sets: 0 and n == 0 (and
	 * *names_out NULL).  May wait for the manager, not for other ranks.
	 */
	int (*pset_list)(
		struct weft_boot *boot, char ***names_out, size_t *n_out);

	/*
	 * Ranks in set name, in the set's order; the caller frees the array.
	 * WEFT_ERR_NOTFOUND: no such set, or one with members outside this
	 * job.  May wait for the manager, not for other ranks.
	 */
	int (*pset_members)(struct weft_boot *boot, const char *name,
		uint32_t **ranks_out, size_t *n_out);

	/*
	 * Define a set of n > 0 ranks for the whole job, or take one back
	 * that a process of it defined.  When it returns the caller sees the
	 * change; the others hear of it.  May wait for the manager, not for
	 * other ranks.  WEFT_ERR_NAME: there is such a set, there is none to
	 * take back; WEFT_ERR_UNSUPPORTED: this manager cannot do it.
	 */
	int (*pset_define)(struct weft_boot *boot, const char *name,
		const uint32_t *ranks, size_t n);
	int (*pset_delete)(struct weft_boot *boot, const char *name);

	/*
	 * Start a job of n apps; its name is written to job_out, of
	 * WEFT_BOOT_JOB_MAX bytes, as the new processes have it in their
	 * facts. Waits for the manager. WEFT_ERR_SPAWN. Any thread, without a
	 * lock, like the names below.
	 */
	int (*spawn)(struct weft_boot *boot, const struct weft_boot_app *apps,
		size_t n, char *job_out);

	/*
	 * Names with values that all processes of this manager can look up.
	 * All wait for the manager. WEFT_ERR_SERVICE: the name is taken, or
	 * not the caller's to take back; WEFT_ERR_NAME: there is none.
	 */
	int (*publish)(
		struct weft_boot *boot, const char *name, const char *value);
	int (*unpublish)(struct weft_boot *boot, const char *name);
	int (*lookup)(struct weft_boot *boot, const char *name, char *buf,
		size_t len);

	/*
	 * Has rank ended in order?  If so, and this manager can tell, a
	 * PEER_DIED with END_LEFT comes from poll.  Does not block.
	 */
	void (*look)(struct weft_boot *boot, uint32_t rank);

	/*
	 * Have len bytes delivered to a rank of this node that has committed,
	 * as an event WEFT_BOOT_CALLED.  Does not block, and nothing is heard
	 * of it: the manager may lose it.
	 */
	int (*call)(struct weft_boot *boot, uint32_t rank, const void *data,
		size_t len);

	/*
	 * Deliver what arrived: answers to their callbacks, changes to fn
	 * (which may be NULL to discard them).  Does not block.  Returns how
	 * many were delivered.  Called only when pending != 0.
	 */
	int (*poll)(struct weft_boot *boot, weft_boot_event_fn *fn, void *arg);
};

/*
 * A connection to a process manager.  Created by weft_boot_open, destroyed by
 * weft_boot_close.  An implementation puts this first in its own struct.
 */
struct weft_boot {
	const struct weft_boot_ops *ops;
	atomic_uint pending; /* items the manager's thread queued for poll */
	atomic_int wakeup;   /* to write to then; 0 or less: nobody sleeps */
	/* Called on the manager's thread when the launcher asks where this
	 * process is; set after open, or NULL. */
	void (*_Atomic on_where)(void);
};

/*
 * Connect to the process manager found in the environment, or be alone when
 * there is none.  Not collective; waits for no other process.  On success the
 * caller owns *boot_out.  A manager that is there but cannot be reached is an
 * error, never silently a job of one.
 */
int weft_boot_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out);

/* See struct weft_boot_ops.close; NULL is allowed. */
static inline void weft_boot_close(struct weft_boot *boot, int clean)
{
	if (boot)
		boot->ops->close(boot, clean);
}

static inline int weft_boot_abort(struct weft_boot *boot, int code,
	const char *text, const uint32_t *ranks, size_t n)
{
	return boot->ops->abort(boot, code, text, ranks, n);
}

static inline int weft_boot_put(
	struct weft_boot *boot, const char *key, const void *data, size_t len)
{
	return boot->ops->put(boot, key, data, len);
}

static inline int weft_boot_commit(struct weft_boot *boot)
{
	return boot->ops->commit(boot);
}

static inline int weft_boot_get(struct weft_boot *boot, uint32_t rank,
	const char *key, weft_boot_get_fn *fn, void *arg)
{
	return boot->ops->get(boot, rank, key, fn, arg);
}

static inline int weft_boot_fence(struct weft_boot *boot, const uint32_t *ranks,
	size_t n, weft_boot_done_fn *fn, void *arg)
{
	return boot->ops->fence(boot, ranks, n, fn, arg);
}

static inline int weft_boot_host_of(
	struct weft_boot *boot, uint32_t rank, char *buf, size_t len)
{
	return boot->ops->host_of(boot, rank, buf, len);
}

static inline int weft_boot_local(
	struct weft_boot *boot, const uint32_t **ranks_out, size_t *n_out)
{
	return boot->ops->local(boot, ranks_out, n_out);
}

static inline int weft_boot_pset_list(
	struct weft_boot *boot, char ***names_out, size_t *n_out)
{
	return boot->ops->pset_list(boot, names_out, n_out);
}

static inline int weft_boot_pset_members(struct weft_boot *boot,
	const char *name, uint32_t **ranks_out, size_t *n_out)
{
	return boot->ops->pset_members(boot, name, ranks_out, n_out);
}

static inline int weft_boot_pset_define(struct weft_boot *boot,
	const char *name, const uint32_t *ranks, size_t n)
{
	return boot->ops->pset_define(boot, name, ranks, n);
}

static inline int weft_boot_pset_delete(
	struct weft_boot *boot, const char *name)
{
	return boot->ops->pset_delete(boot, name);
}

/* A process without a manager starts jobs with a launcher of its own; the three
 * calls after this one are NULL there. */
static inline int weft_boot_spawn(struct weft_boot *boot,
	const struct weft_boot_app *apps, size_t n, char *job_out)
{
	return boot->ops->spawn ? boot->ops->spawn(boot, apps, n, job_out)
				: WEFT_ERR_UNSUPPORTED;
}

static inline int weft_boot_publish(
	struct weft_boot *boot, const char *name, const char *value)
{
	return boot->ops->publish ? boot->ops->publish(boot, name, value)
				  : WEFT_ERR_UNSUPPORTED;
}

static inline int weft_boot_unpublish(struct weft_boot *boot, const char *name)
{
	return boot->ops->unpublish ? boot->ops->unpublish(boot, name)
				    : WEFT_ERR_UNSUPPORTED;
}

static inline int weft_boot_lookup(
	struct weft_boot *boot, const char *name, char *buf, size_t len)
{
	return boot->ops->lookup ? boot->ops->lookup(boot, name, buf, len)
				 : WEFT_ERR_UNSUPPORTED;
}

static inline void weft_boot_look(struct weft_boot *boot, uint32_t rank)
{
	if (boot->ops->look)
		boot->ops->look(boot, rank);
}

static inline int weft_boot_call(
	struct weft_boot *boot, uint32_t rank, const void *data, size_t len)
{
	return boot->ops->call ? boot->ops->call(boot, rank, data, len)
			       : WEFT_ERR_UNSUPPORTED;
}

/* Costs one relaxed load, so that it may stand in the progress loop. */
static inline bool weft_boot_has_events(const struct weft_boot *boot)
{
	return atomic_load_explicit(&boot->pending, memory_order_relaxed);
}

/* See struct weft_boot_ops.poll. */
static inline int weft_boot_poll(
	struct weft_boot *boot, weft_boot_event_fn *fn, void *arg)
{
	if (!weft_boot_has_events(boot))
		return 0;
	return boot->ops->poll(boot, fn, arg);
}

/*
 * For implementations: something was queued.  Whoever sleeps wakes.  Any
 * thread.
 */
static inline void weft_boot_ring(struct weft_boot *boot)
{
	int fd = atomic_load_explicit(&boot->wakeup, memory_order_relaxed);

	if (fd > 0 && write(fd, "", 1) < 0)
		return; /* full: it wakes as well */
}

/*
 * Index of rank among those on my node, as `local` has them; -1: it is on
 * another.  O(log processes on the node), no call to the manager.
 */
int weft_boot_place(struct weft_boot *boot, uint32_t rank);

static inline bool weft_boot_is_local(struct weft_boot *boot, uint32_t rank)
{
	return weft_boot_place(boot, rank) >= 0;
}

#endif
