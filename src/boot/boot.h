/* SPDX-License-Identifier: BSD-3-Clause */
/* boot: the interface to the process manager: own rank, publish, fetch, fence,
 * events
 *
 * There are two implementations: PMIx (room pmix/), and one without a process
 * manager (singleton.c). Only the fence is collective. Opening waits for no
 * other process, so its cost does not depend on the size of the job.
 *
 * Threads: the caller holds the lock that guards the boot object (the default
 * VCI's lock), unless the contract of the function differs. Callbacks run only
 * inside weft_boot_poll(), on its caller's thread; they may call put, get,
 * fence and the pset calls, but not poll and not close. */
#ifndef WEFT_BOOT_H
#define WEFT_BOOT_H

#include "base/err.h"
#include "base/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Set by Weft's launcher for processes that it adds to a running job: "FIRST
 * SIZE GENERATION". FIRST and SIZE are the ranks that start together,
 * GENERATION is facts.generation. */
#define WEFT_BOOT_STEP_ENV "MPIEXEC_STEP"

enum {
	WEFT_BOOT_HOST_MAX = 256,
	WEFT_BOOT_JOB_MAX = 256,
	WEFT_BOOT_NAME_MAX = 512, /* longest process set name, with its NUL */
	WEFT_BOOT_KEY_LEN = 16,
	WEFT_BOOT_APP_ENV = 2,
};

/* Facts about this process and its job, from the process manager. Filled by
 * open, constant afterwards.
 *
 * own_key is the secret of this process. The first message of a peer to this
 * process carries a cookie that the peer computed with this key. The receiver
 * computes the cookie with its own key and compares. Before a process sends to
 * a rank, it fetches the business card of that rank, which contains own_key.
 * Only members of the job can fetch it. Under our own launcher all ranks have
 * the same key. Under Slurm and PRRTE each rank draws its own key, because
 * agreement on one key would need a collective at start-up. */
struct weft_boot_facts {
	char host[WEFT_BOOT_HOST_MAX]; /* name of this node, from the manager */
	char job[WEFT_BOOT_JOB_MAX];   /* name of this job, from the manager */
	char manager[32]; /* "singleton", "mpiexec", "slurm", "prrte", "pmix" */
	uint32_t rank;	  /* rank of this process in the job */
	uint32_t size; /* ranks of the job; if its size can change, also ranks
			  without a process */
	uint32_t world_first; /* ranks of MPI_COMM_WORLD: those that started */
	uint32_t world_size;  /* together with this process. 0: all ranks */
	uint32_t generation;  /* changes of the job's size before its start */
	uint32_t min_procs, max_procs; /* limits of the number of processes; 0:
					  the size of the job is fixed */
	uint32_t univ_size;  /* processes that the job could have; 0: unknown */
	uint32_t local_rank; /* index among the job's processes on this node */
	uint32_t local_size; /* number of the job's processes on this node */
	uint32_t n_nodes;    /* nodes of the job; 1: exact, more: an estimate */
	uint32_t appnum;     /* index of its app context; 0 if unknown */
	uint8_t own_key[WEFT_BOOT_KEY_LEN];
};

enum weft_boot_event_kind {
	WEFT_BOOT_PSET_DEFINED, /* fields: name */
	WEFT_BOOT_PSET_DELETED, /* fields: name */
	WEFT_BOOT_PEER_DIED,	/* fields: rank, code, end */
	WEFT_BOOT_OTHER_DIED,	/* fields: name of another job, rank in that
				   job, code, end */
	WEFT_BOOT_JOB_ENDED,	/* fields: name of a job that has ended, and
				   that spawns connect with this job, also
				   through other jobs */
	WEFT_BOOT_CALLED, /* fields: rank, data, len; see weft_boot_ops.call */
	WEFT_BOOT_OFFER,  /* fields: code, the offered processes (below 0: the
			     manager requests them back; 0: no offer); rank,
			     the seconds until the offer ends, or 0 */
};

/* How a process ended, as far as the manager reports it. */
enum weft_boot_end {
	WEFT_BOOT_END_UNKNOWN,
	WEFT_BOOT_END_CRASHED,	 /* ended by a signal */
	WEFT_BOOT_END_EXITED,	 /* exited without finalizing */
	WEFT_BOOT_END_ABORTED,	 /* requested its own end, or was aborted */
	WEFT_BOOT_END_CANCELLED, /* ended by the manager, because its change of
				    the job's size was cancelled */
	WEFT_BOOT_END_NORMAL,	 /* exited normally; reported only after
				  weft_boot_query_exit() */
	WEFT_BOOT_END_FOUND,  /* detected by this process, not by the manager;
				 name is a clause that describes how */
	WEFT_BOOT_END_SILENT, /* as END_FOUND, but the process may still run */
};

struct weft_boot_event {
	enum weft_boot_event_kind kind;
	char name[WEFT_BOOT_NAME_MAX]; /* name of a process set or job, or a
					  clause for END_FOUND and END_SILENT;
					  else "" */
	uint32_t rank; /* the rank that died or called; 0 otherwise */
	int code;      /* exit code, or 128 + signal; -1 if unknown */
	enum weft_boot_end end;
	const void *data; /* data of CALLED, valid during the call; else NULL */
	size_t len;
};

/* n processes to start with one program. All pointers are valid during the
 * call. */
struct weft_boot_app {
	uint32_t n;
	const char *program;
	char *const *argv; /* NULL-ended, without the program; or NULL */
	char *const *env;  /* NULL-ended NAME=VALUE, beside the manager's own;
			    * or NULL. MPI_Comm_spawn makes at most
			    * WEFT_BOOT_APP_ENV of them */
	const char *wdir;  /* or NULL */
	const char *host;  /* host on which the manager starts them, or NULL */
	const char *add_host;	  /* hosts that the manager adds to its hosts,
				   * or NULL */
	const char *add_hostfile; /* file of such hosts, or NULL */
	const char *pset;	  /* name of a process set of them, or NULL */
};

struct weft_boot;

/* Receives the answer to a get: err 0 and the bytes, which are valid until the
 * function returns; or err < 0, data NULL, len 0. Called exactly once for each
 * get that returned 0. */
typedef void weft_boot_get_fn(void *arg, int err, const void *data, size_t len);

/* Receives the result of a fence. Called exactly once for each fence that
 * returned 0. */
typedef void weft_boot_done_fn(void *arg, int err);

enum weft_boot_resize_kind {
	WEFT_BOOT_RESIZE_ASK,	 /* a request for delta more processes */
	WEFT_BOOT_RESIZE_DONE,	 /* the change to the set is complete */
	WEFT_BOOT_RESIZE_CANCEL, /* the change to the set is cancelled */
	WEFT_BOOT_RESIZE_HOSTS,	 /* the job no longer needs the hosts */
};

/* A message about a change of the number of processes, or of hosts. */
struct weft_boot_resize {
	enum weft_boot_resize_kind kind;
	int32_t delta;	  /* ASK: not 0 */
	const char *name; /* ASK: the set of the members; HOSTS: the hosts, as
			     "a,b"; else the new set */
};

/* Receives an event, which is valid until the function returns. */
typedef void weft_boot_event_fn(void *arg, const struct weft_boot_event *event);

/* The functions of an implementation. They return 0 or a negative enum
 * weft_err, and write no output on failure. Callers use the weft_boot_*
 * functions below. */
struct weft_boot_ops {
	const char *name;

	/* Disconnects from the manager and frees boot. clean != 0: this process
	 * exits normally and reports that to the manager. clean == 0: the
	 * manager must detect that the process ended without a report. The call
	 * does not wait for other processes. Callbacks of pending gets and
	 * fences are not called. Cannot fail. */
	void (*close)(struct weft_boot *boot, int clean);

	/* Requests that the manager ends n ranks with this exit code and text,
	 * or the whole job if ranks is NULL. A manager that cannot end a part
	 * of a job ends all of it. Returns after the request; the caller then
	 * ends its own process. WEFT_ERR_UNSUPPORTED: code is 0, but the
	 * manager would report another status for the job. Nothing was
	 * requested. */
	int (*abort)(struct weft_boot *boot, int code, const char *text,
		const uint32_t *ranks, size_t n);

	/* Publishes len bytes (at most 64 KiB) under key, copied. Not visible
	 * before commit. A process puts each key at most once, because some
	 * managers always return the first value. */
	int (*put)(struct weft_boot *boot, const char *key, const void *data,
		size_t len);

	/* Makes all published values visible. A process commits once: a key of
	 * a later commit may never become visible. May wait for the commits of
	 * other ranks, at most two seconds (pmix/README.md). */
	int (*commit)(struct weft_boot *boot);

	/* Fetches the value that rank published under key. Does not block; poll
	 * delivers the value after rank has committed. WEFT_ERR_PEER: this
	 * process knows that the rank has died. */
	int (*get)(struct weft_boot *boot, uint32_t rank, const char *key,
		weft_boot_get_fn *fn, void *arg);

	/* Barrier of n ranks (strictly ascending, the caller among them), or of
	 * the whole job when ranks is NULL. Does not block; poll delivers the
	 * answer. If a member dies, the fence may succeed for some members and
	 * fail for others. */
	int (*fence)(struct weft_boot *boot, const uint32_t *ranks, size_t n,
		weft_boot_done_fn *fn, void *arg);

	/* Writes the name of the node of rank, at most len - 1 bytes. Two ranks
	 * share a node exactly if the names are equal. */
	int (*host_of)(
		struct weft_boot *boot, uint32_t rank, char *buf, size_t len);

	/* Returns the ranks on this node, ascending, this process included. The
	 * array is valid until close. O(processes on the node). */
	int (*local)(struct weft_boot *boot, const uint32_t **ranks_out,
		size_t *n_out);

	/* Returns the names of the process sets that the manager knows now, in
	 * the manager's order, without duplicates. The caller frees the array
	 * with one free(); it contains the strings. Without sets: 0, n == 0 and
	 * *names_out NULL. May wait for the manager, not for other ranks. */
	int (*pset_list)(
		struct weft_boot *boot, char ***names_out, size_t *n_out);

	/* Returns the process numbers of the members of the set `name`, in the
	 * set's order; the caller frees the array. WEFT_ERR_NOTFOUND: there is
	 * no such set. May wait for the manager, not for other ranks. */
	int (*pset_members)(struct weft_boot *boot, const char *name,
		uint64_t **procs_out, size_t *n_out);

	/* pset_define() defines a set of n > 0 processes for the whole job.
	 * pset_delete() deletes a set that a process of the job defined. The
	 * change is visible to the caller on return. The other processes
	 * receive an event. Both may wait for the manager, not for other ranks.
	 * WEFT_ERR_NAME: the set to define exists, or the set to delete does
	 * not. WEFT_ERR_UNSUPPORTED: the manager has no such operation. */
	int (*pset_define)(struct weft_boot *boot, const char *name,
		const uint64_t *procs, size_t n);
	int (*pset_delete)(struct weft_boot *boot, const char *name);

	/* Starts a job of n apps. Writes the job's name to job_out, of
	 * WEFT_BOOT_JOB_MAX bytes. The facts of the new processes have the same
	 * name. Waits for the manager. WEFT_ERR_SPAWN: the job could not be
	 * started. This function and the next three: any thread, without a
	 * lock. */
	int (*spawn)(struct weft_boot *boot, const struct weft_boot_app *apps,
		size_t n, char *job_out);

	/* publish() publishes a value under a name, which all processes of this
	 * manager can look up. unpublish() removes a name that this process
	 * published. lookup() writes the value of a name to buf. All three wait
	 * for the manager. WEFT_ERR_SERVICE: publish() of a name that is taken,
	 * or unpublish() of a name that this process has not published.
	 * WEFT_ERR_NAME: lookup() of a name that is not published. */
	int (*publish)(
		struct weft_boot *boot, const char *name, const char *value);
	int (*unpublish)(struct weft_boot *boot, const char *name);
	int (*lookup)(struct weft_boot *boot, const char *name, char *buf,
		size_t len);

	/* Queries the manager whether rank exited normally. If the rank did,
	 * and the manager supports the query, poll delivers a PEER_DIED with
	 * END_NORMAL. Does not block. */
	void (*query_exit)(struct weft_boot *boot, uint32_t rank);

	/* Delivers len bytes to a rank of this node that has committed, as an
	 * event WEFT_BOOT_CALLED. Does not block and reports no result: the
	 * manager may lose the call. */
	int (*call)(struct weft_boot *boot, uint32_t rank, const void *data,
		size_t len);

	/* Sends a message about a change of the number of processes. Does not
	 * block. fn receives the answer as that of a get: for an accepted ASK,
	 * the data is the name of the new set, with its NUL. The name is
	 * defined, and the new processes are started. Errors:
	 * WEFT_ERR_UNSUPPORTED: the manager supports no such message.
	 * WEFT_ERR_ARG: the number would be below the minimum.
	 * WEFT_ERR_SPAWN: the number would be above the maximum, or processes
	 * could not be started. WEFT_ERR_NAME: the set is not current.
	 * WEFT_ERR_SERVICE: another change is in progress. */
	int (*resize)(struct weft_boot *boot,
		const struct weft_boot_resize *how, weft_boot_get_fn *fn,
		void *arg);

	/* Returns the manager's offer: the fields code and rank of an event
	 * OFFER. May wait for the manager. */
	int (*offer)(
		struct weft_boot *boot, int *delta_out, uint32_t *seconds_out);

	/* Delivers arrived items: answers to their callbacks, events to fn
	 * (NULL discards them). Does not block. Returns the number of items.
	 * Called only when pending != 0. */
	int (*poll)(struct weft_boot *boot, weft_boot_event_fn *fn, void *arg);
};

/* A connection to a process manager. Created by weft_boot_open, destroyed by
 * weft_boot_close. An implementation embeds this as its first member. */
struct weft_boot {
	const struct weft_boot_ops *ops;
	atomic_uint pending; /* number of items that are queued for poll */
	atomic_int wakeup;   /* descriptor to which a byte is written when
				pending rises; 0 or less: no thread sleeps */
	/* Called on the manager's thread when the launcher requests the state
	 * of this process. Set after open, or NULL. */
	void (*_Atomic on_where)(void);
};

/* Returns the number of a process: its rank in the lower half, and in the upper
 * half the number of its job, which is a hash of the job's name. Any thread. */
static inline uint64_t weft_boot_proc_number(const char *job, uint32_t rank)
{
	static const uint8_t no_key[16];

	return weft_hash(no_key, job, strlen(job)) << 32 | rank;
}

/* Connects to the process manager that the environment names, or opens a
 * singleton if it names none. Not collective; waits for no other process. On
 * success the caller owns *boot_out. A manager that is named but cannot be
 * reached is an error, never silently a job of one. */
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
	const char *name, uint64_t **procs_out, size_t *n_out)
{
	return boot->ops->pset_members(boot, name, procs_out, n_out);
}

static inline int weft_boot_pset_define(struct weft_boot *boot,
	const char *name, const uint64_t *procs, size_t n)
{
	return boot->ops->pset_define(boot, name, procs, n);
}

static inline int weft_boot_pset_delete(
	struct weft_boot *boot, const char *name)
{
	return boot->ops->pset_delete(boot, name);
}

/* weft_boot_spawn() starts jobs also for a singleton, with a launcher of its
 * own. A singleton implements none of the next seven functions, which then
 * return WEFT_ERR_UNSUPPORTED or do nothing. */
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

static inline void weft_boot_query_exit(struct weft_boot *boot, uint32_t rank)
{
	if (boot->ops->query_exit)
		boot->ops->query_exit(boot, rank);
}

static inline int weft_boot_call(
	struct weft_boot *boot, uint32_t rank, const void *data, size_t len)
{
	return boot->ops->call ? boot->ops->call(boot, rank, data, len)
			       : WEFT_ERR_UNSUPPORTED;
}

static inline int weft_boot_resize(struct weft_boot *boot,
	const struct weft_boot_resize *how, weft_boot_get_fn *fn, void *arg)
{
	return boot->ops->resize ? boot->ops->resize(boot, how, fn, arg)
				 : WEFT_ERR_UNSUPPORTED;
}

static inline int weft_boot_offer(
	struct weft_boot *boot, int *delta_out, uint32_t *seconds_out)
{
	return boot->ops->offer ? boot->ops->offer(boot, delta_out, seconds_out)
				: WEFT_ERR_UNSUPPORTED;
}

/* Costs one relaxed load, so that the progress loop may call it. */
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

/* Called by an implementation after it queued an item. Wakes a thread that
 * sleeps. Any thread. */
static inline void weft_boot_wake(struct weft_boot *boot)
{
	int fd = atomic_load_explicit(&boot->wakeup, memory_order_relaxed);

	if (fd > 0 && write(fd, "", 1) < 0)
		return; /* the pipe is full, so its reader wakes as well */
}

/* Returns the index of rank among those on this node, as `local` lists them; -1
 * if it is on another node. O(log processes on the node), no call to the
 * manager. */
int weft_boot_local_index(struct weft_boot *boot, uint32_t rank);

static inline bool weft_boot_is_local(struct weft_boot *boot, uint32_t rank)
{
	return weft_boot_local_index(boot, rank) >= 0;
}

#endif
