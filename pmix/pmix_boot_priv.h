/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_boot_priv: the connection to a PMIx server, shared by its files */
#ifndef WEFT_PMIX_BOOT_PRIV_H
#define WEFT_PMIX_BOOT_PRIV_H

#include "base/bits.h"
#include "base/list.h"
#include "boot/boot.h"

#include <pmix.h>
#include <pthread.h>
#include <stdatomic.h>

enum pmix_item_kind { PMIX_ITEM_GET, PMIX_ITEM_FENCE, PMIX_ITEM_EVENT };

/*
 * Something for poll to deliver.  A get or fence is made by its call, stands
 * on boot.asked until PMIx answers, then on boot.queue, and is freed by poll.
 * An event is made by PMIx's thread.
 */
struct pmix_item {
	struct weft_link link;
	struct pmix_boot *owner;
	enum pmix_item_kind kind;
	weft_boot_get_fn *get_fn; /* NULL: answered already, for a dead rank */
	weft_boot_done_fn *done_fn;
	void *arg;
	uint32_t rank;		       /* whose value a get fetches */
	char key[PMIX_MAX_KEYLEN + 1]; /* which value */
	uint64_t until_ns;	       /* when a get stops asking again */
	int err;
	void *data; /* of a get or a call, or the ranks of a set; ours */
	size_t len;
	struct weft_boot_event event;
};

/*
 * The connection.  Created by weft_pmix_open, destroyed by close.  Used by
 * the caller's thread, except for what lock guards: PMIx's thread moves items
 * from asked to queue and appends events.
 */
struct pmix_boot {
	struct weft_boot boot;
	pmix_proc_t me;
	char host[WEFT_BOOT_HOST_MAX];
	uint32_t size;
	uint32_t *local; /* ascending; NULL: not asked for yet */
	size_t n_local;
	uint32_t as_nodes; /* of WEFT_NODES; 1: nodes are as they are */
	uint32_t *failed;  /* ranks known to have died */
	size_t n_failed;
	char *ended_keys[2];	/* of the query */
	pmix_query_t ended;	/* who has ended? lent to PMIx */
	struct weft_link sets;	/* process sets we were told of */
	pthread_mutex_t lock;	/* lock order: innermost */
	pthread_mutex_t naming; /* while a name is looked for and published */
	struct weft_link asked; /* guarded by lock */
	struct weft_link queue; /* guarded by lock */
	/* questions and handlers that PMIx's thread goes on with under the
	 * lock that PMIx_Finalize holds until the server has answered */
	atomic_uint n_unanswered;
};

static inline struct pmix_boot *pmix_boot_of(struct weft_boot *boot)
{
	return weft_container_of(boot, struct pmix_boot, boot);
}

/* Ranks as PMIx names them; the caller frees. NULL when memory is short. */
pmix_proc_t *weft_pmix_procs(
	const struct pmix_boot *boot, const uint32_t *ranks, size_t n);

/* pmix_bc.c */
int weft_pmix_put(
	struct weft_boot *boot, const char *key, const void *data, size_t len);
int weft_pmix_commit(struct weft_boot *boot);
int weft_pmix_get(struct weft_boot *boot, uint32_t rank, const char *key,
	weft_boot_get_fn *fn, void *arg);

/* pmix_fence.c */
int weft_pmix_fence(struct weft_boot *boot, const uint32_t *ranks, size_t n,
	weft_boot_done_fn *fn, void *arg);

/* pmix_pset.c */
int weft_pmix_pset_list(
	struct weft_boot *boot, char ***names_out, size_t *n_out);
int weft_pmix_pset_members(struct weft_boot *boot, const char *name,
	uint32_t **ranks_out, size_t *n_out);
int weft_pmix_pset_define(struct weft_boot *boot, const char *name,
	const uint32_t *ranks, size_t n);
int weft_pmix_pset_delete(struct weft_boot *boot, const char *name);

/* pmix_spawn.c */
int weft_pmix_spawn(struct weft_boot *boot, const struct weft_boot_app *apps,
	size_t n, char *job_out);
int weft_pmix_publish(
	struct weft_boot *boot, const char *name, const char *value);
int weft_pmix_unpublish(struct weft_boot *boot, const char *name);
int weft_pmix_lookup(
	struct weft_boot *boot, const char *name, char *buf, size_t len);

/* A set was announced, with its members; or taken back (NULL: all sets). */
int weft_pmix_set_learn(struct pmix_boot *boot, const char *name,
	const uint32_t *ranks, size_t n);
void weft_pmix_set_forget(struct pmix_boot *boot, const char *name);

/* pmix_event.c */

/* Ask PMIx for the events we understand, one of them only if the manager is
 * our launcher.  Managers without them refuse in silence. */
void weft_pmix_event_open(struct pmix_boot *boot, bool is_ours);

int weft_pmix_poll(struct weft_boot *boot, weft_boot_event_fn *fn, void *arg);

void weft_pmix_look(struct weft_boot *boot, uint32_t rank);

int weft_pmix_call(
	struct weft_boot *boot, uint32_t rank, const void *data, size_t len);

/* A new item on the asked list; NULL when memory is short. */
struct pmix_item *weft_pmix_item_create(
	struct pmix_boot *boot, enum pmix_item_kind kind);

/* Take an item back whose call failed; or free it after delivery. */
void weft_pmix_item_destroy(struct pmix_item *item);

/* The answer has come: hand the item to poll.  Any thread. */
void weft_pmix_item_post(struct pmix_item *item);

/*
 * Ask once more for what a get was told is not there, until its time is over.
 * True if a new item took its place; item itself is then only to be destroyed.
 */
bool weft_pmix_get_again(struct pmix_item *item);

/* Is rank known to have died? */
bool weft_pmix_is_failed(const struct pmix_boot *boot, uint32_t rank);

#endif
