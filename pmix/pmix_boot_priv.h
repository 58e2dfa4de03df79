/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_boot_priv: the connection to a PMIx server, shared by the room's files
 */
#ifndef WEFT_PMIX_BOOT_PRIV_H
#define WEFT_PMIX_BOOT_PRIV_H

#include "base/bits.h"
#include "base/list.h"
#include "boot/boot.h"

#include <pmix.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum pmix_item_kind {
	PMIX_ITEM_GET,
	PMIX_ITEM_FENCE,
	PMIX_ITEM_EVENT,
	PMIX_ITEM_RESIZE, /* data: a name, or the text of an error, with its NUL
			   */
};

/* An answer or event that poll delivers. The function that starts a get, a
 * fence or a query of an exit creates its item. PMIx's thread creates the item
 * of any other event. The item is on boot.outstanding until PMIx answers and on
 * boot.queue afterwards. poll frees it. */
struct pmix_item {
	struct weft_link link;
	struct pmix_boot *owner;
	enum pmix_item_kind kind;
	weft_boot_get_fn *get_fn; /* NULL: already called, because rank died */
	weft_boot_done_fn *done_fn;
	void *arg;
	uint32_t rank;		       /* rank whose value a get fetches */
	char key[PMIX_MAX_KEYLEN + 1]; /* key whose value a get fetches */
	uint64_t until_ns;	       /* time until which a get is repeated */
	int err;
	void *data; /* data of a get or a call, or members of a set; owned */
	size_t len; /* length of data, or number of members */
	struct weft_boot_event event;
};

/* The connection. weft_pmix_open creates it, close destroys it. The caller's
 * thread uses it. PMIx's thread moves items from outstanding to queue and
 * appends events, under the lock. */
struct pmix_boot {
	struct weft_boot boot;
	pmix_proc_t me;
	char host[WEFT_BOOT_HOST_MAX];
	uint32_t size;
	uint64_t first_proc; /* number of rank 0 */
	uint32_t *local;     /* local ranks, ascending; NULL: not loaded */
	size_t n_local;
	bool has_query;	 /* the manager's queries return all process sets */
	bool has_places; /* some ranks may start later, or never */
	uint32_t n_virtual_nodes; /* parts into which WEFT_NODES splits this
				     node; 1: not split */
	uint32_t *failed;	  /* ranks known to have died */
	size_t n_failed;
	char *ended_keys[2]; /* keys of the query `ended` */
	pmix_query_t ended; /* the query for ended processes; PMIx uses it until
			       PMIx has answered */
	sem_t started;	    /* posted when weft_pmix_fence_start's fence ends */
	struct weft_link sets;	      /* process sets of notices, and sets that
					 this process has defined */
	pthread_mutex_t lock;	      /* innermost in the lock order */
	pthread_mutex_t name_lock;    /* held from the lookup of a name to its
				      publication */
	struct weft_link outstanding; /* guarded by lock */
	struct weft_link queue;	      /* guarded by lock */
	/* Number of queries and registrations of event handlers without an
	 * answer. PMIx's thread continues them under a lock. PMIx_Finalize
	 * holds this lock while it waits for the server. */
	atomic_uint n_unanswered;
};

static inline struct pmix_boot *pmix_boot_of(struct weft_boot *boot)
{
	return weft_container_of(boot, struct pmix_boot, boot);
}

/* Returns the manager, by the name of the job: "slurm", "prrte", or "pmix" for
 * any other manager. */
const char *weft_pmix_manager(const struct pmix_boot *boot);

/* pmix_bc.c */
int weft_pmix_put(
	struct weft_boot *boot, const char *key, const void *data, size_t len);
int weft_pmix_commit(struct weft_boot *boot);
int weft_pmix_get(struct weft_boot *boot, uint32_t rank, const char *key,
	weft_boot_get_fn *fn, void *arg);

/* pmix_fence.c */

/* Called after the commit. Waits until all ranks of a job on several nodes have
 * committed, at most two seconds, and only under PRRTE. */
void weft_pmix_fence_start(struct pmix_boot *boot);

int weft_pmix_fence(struct weft_boot *boot, const uint32_t *ranks, size_t n,
	weft_boot_done_fn *fn, void *arg);

/* pmix_pset.c */
int weft_pmix_pset_list(
	struct weft_boot *boot, char ***names_out, size_t *n_out);
int weft_pmix_pset_members(struct weft_boot *boot, const char *name,
	uint64_t **procs_out, size_t *n_out);
int weft_pmix_pset_define(struct weft_boot *boot, const char *name,
	const uint64_t *procs, size_t n);
int weft_pmix_pset_delete(struct weft_boot *boot, const char *name);

/* pmix_spawn.c */
int weft_pmix_spawn(struct weft_boot *boot, const struct weft_boot_app *apps,
	size_t n, char *job_out);
int weft_pmix_publish(
	struct weft_boot *boot, const char *name, const char *value);
int weft_pmix_unpublish(struct weft_boot *boot, const char *name);
int weft_pmix_lookup(
	struct weft_boot *boot, const char *name, char *buf, size_t len);

/* Reads the members of a set from a value. The caller frees the array.
 * WEFT_ERR_NOTFOUND: the value is no array of processes, or no process of this
 * job may use the set. Any thread. */
int weft_pmix_pset_read(const struct pmix_boot *boot, const pmix_value_t *value,
	uint64_t **procs_out, size_t *n_out);

/* weft_pmix_pset_record() records a set with its members.
 * weft_pmix_pset_remove() removes a deleted set; if name is NULL, all sets. */
int weft_pmix_pset_record(struct pmix_boot *boot, const char *name,
	const uint64_t *procs, size_t n);
void weft_pmix_pset_remove(struct pmix_boot *boot, const char *name);

/* pmix_resize.c */
int weft_pmix_resize(struct weft_boot *boot, const struct weft_boot_resize *how,
	weft_boot_get_fn *fn, void *arg);
int weft_pmix_offer(
	struct weft_boot *boot, int *delta_out, uint32_t *seconds_out);

/* pmix_item.c */

/* Creates an item on the outstanding list. NULL: out of memory. */
struct pmix_item *weft_pmix_item_create(
	struct pmix_boot *boot, enum pmix_item_kind kind);

/* Removes and frees an item whose call failed, or that was delivered. */
void weft_pmix_item_destroy(struct pmix_item *item);

/* Queues an answered item for poll and wakes a sleeping thread. Any thread. */
void weft_pmix_item_post(struct pmix_item *item);

/* pmix_event.c */

/* Registers handlers for the events that the library uses. WEFT_PMIX_WHERE,
 * WEFT_PMIX_OFFER and WEFT_PMIX_CANCELLED are registered only if the manager is
 * Weft's launcher (is_ours). If a manager refuses an event, the event is never
 * delivered. */
void weft_pmix_event_open(struct pmix_boot *boot, bool is_ours);

int weft_pmix_poll(struct weft_boot *boot, weft_boot_event_fn *fn, void *arg);

void weft_pmix_query_exit(struct weft_boot *boot, uint32_t rank);

int weft_pmix_call(
	struct weft_boot *boot, uint32_t rank, const void *data, size_t len);

/* Repeats a get that was answered "not found" or "timeout", until
 * item->until_ns. True if a new item continues the get; the caller then
 * destroys item without calling its callback. */
bool weft_pmix_get_again(struct pmix_item *item);

/* True if this process knows that rank has died. */
bool weft_pmix_is_failed(const struct pmix_boot *boot, uint32_t rank);

#endif
