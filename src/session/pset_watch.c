/* SPDX-License-Identifier: BSD-3-Clause */
/* pset_watch: calls a program's function when process sets change */
#include "session/pset_watch.h"

#include "base/err.h"
#include "boot/boot.h"
#include "core/failed.h"
#include "session/pset.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

/* A change for which the function was not called yet. */
struct notice {
	struct weft_link link;
	enum weft_pset_change change;
	char name[];
};

/* The function that the program registered for a session. weft_pset_watch_set()
 * creates and destroys the watch; closing the session destroys it too. If the
 * function calls weft_pset_watch_set() itself, the watch is destroyed after the
 * function has returned (is_orphan). */
struct watch {
	struct weft_link link;
	struct weft_session *session;
	struct weft_watch_how how;
	struct weft_link notices;
	uint32_t n_failed; /* failed processes that the function was called for
			    */
	bool is_running;   /* thread `runner` is in the function */
	bool is_orphan;	   /* removed by the function itself */
	pthread_t runner;
};

/* The lock guards all watches. No other lock of the library is acquired under
 * it.
 */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t has_run;
	struct weft_link list;
} watches = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.has_run = PTHREAD_COND_INITIALIZER,
	.list = { &watches.list, &watches.list },
};

static struct watch *watch_at(struct weft_link *link)
{
	return weft_container_of(link, struct watch, link);
}

static void watch_free(struct watch *watch)
{
	weft_list_for_each(link, next, &watch->notices)
		free(weft_container_of(link, struct notice, link));
	free(watch);
}

/* Removes a watch. The lock is held; it is released while the call waits for
 * another thread that is in the function. */
static void watch_remove(struct watch *watch)
{
	weft_list_remove(&watch->link);
	if (watch->is_running && pthread_equal(watch->runner, pthread_self())) {
		watch->is_orphan = true;
		return;
	}
	while (watch->is_running)
		pthread_cond_wait(&watches.has_run, &watches.lock);
	watch_free(watch);
}

static struct watch *pset_watch_find(const struct weft_session *session)
{
	weft_list_for_each(
		link, next, &watches.list) if (watch_at(link)->session ==
					       session) return watch_at(link);
	return NULL;
}

int weft_pset_watch_set(
	struct weft_session *session, const struct weft_watch_how *how)
{
	struct watch *watch = how ? calloc(1, sizeof(*watch)) : NULL;
	struct watch *old;
	uint32_t n_failed = weft_failed_count();

	if (how && !watch)
		return WEFT_ERR_NOMEM;
	pthread_mutex_lock(&watches.lock);
	old = pset_watch_find(session);
	if (old)
		watch_remove(old);
	if (watch) {
		watch->session = session;
		watch->how = *how;
		watch->n_failed = n_failed;
		weft_list_init(&watch->notices);
		weft_list_push_back(&watches.list, &watch->link);
	}
	pthread_mutex_unlock(&watches.lock);
	return 0;
}

/* Records a change, or drops it when out of memory. The lock is held. */
static void pset_watch_note(
	struct watch *watch, const char *name, enum weft_pset_change change)
{
	size_t len = strlen(name) + 1;
	struct notice *notice = malloc(sizeof(*notice) + len);

	if (!notice)
		return;
	notice->change = change;
	memcpy(notice->name, name, len);
	weft_list_push_back(&watch->notices, &notice->link);
	atomic_store_explicit(
		&weft_proc.has_notices, true, memory_order_relaxed);
}

void weft_pset_watch_event(const struct weft_boot_event *event)
{
	const char *name = event->name;
	enum weft_pset_change change;

	if (event->kind == WEFT_BOOT_PSET_DEFINED)
		change = WEFT_PSET_CHANGE_DEFINED;
	else if (event->kind == WEFT_BOOT_PSET_DELETED)
		change = WEFT_PSET_CHANGE_DELETED;
	else if (event->kind == WEFT_BOOT_OFFER)
		change = WEFT_PSET_CHANGE_OFFER;
	else
		return;
	if (change == WEFT_PSET_CHANGE_OFFER)
		name = WEFT_PSET_JOB;
	pthread_mutex_lock(&watches.lock);
	weft_list_for_each(link, next, &watches.list)
		pset_watch_note(watch_at(link), name, change);
	pthread_mutex_unlock(&watches.lock);
}

void weft_pset_watch_defined(
	struct weft_session *session, const char *name, bool is_defined)
{
	struct watch *watch;

	pthread_mutex_lock(&watches.lock);
	watch = pset_watch_find(session);
	if (watch)
		pset_watch_note(watch, name,
			is_defined ? WEFT_PSET_CHANGE_DEFINED
				   : WEFT_PSET_CHANGE_DELETED);
	pthread_mutex_unlock(&watches.lock);
}

/* Returns the first watch whose function must be called and is not running, or
 * NULL. The function must be called if the watch has notices, or if it was not
 * called for all n_failed processes. The lock is held. */
static struct watch *first_pending(uint32_t n_failed)
{
	weft_list_for_each(link, next, &watches.list)
	{
		struct watch *watch = watch_at(link);

		if (!watch->is_running &&
			(!weft_list_is_empty(&watch->notices) ||
				watch->n_failed < n_failed))
			return watch;
	}
	return NULL;
}

static void pset_watch_call(struct watch *watch, uint32_t n_failed)
{
	struct weft_link *link = weft_list_pop_front(&watch->notices);
	struct notice *notice =
		link ? weft_container_of(link, struct notice, link) : NULL;

	if (!notice)
		watch->n_failed = n_failed;
	watch->is_running = true;
	watch->runner = pthread_self();
	pthread_mutex_unlock(&watches.lock);
	watch->how.call(&watch->how, notice ? notice->name : WEFT_PSET_ALIVE,
		notice ? notice->change : WEFT_PSET_CHANGE_DEFINED);
	free(notice);
	pthread_mutex_lock(&watches.lock);
	watch->is_running = false;
	if (watch->is_orphan)
		watch_free(watch);
	else
		pthread_cond_broadcast(&watches.has_run);
}

void weft_pset_watch_notify(void)
{
	struct watch *watch;
	uint32_t n_failed;

	/* the flag is cleared before the count is read, so that a later failure
	 * sets the flag again */
	atomic_store_explicit(
		&weft_proc.has_notices, false, memory_order_relaxed);
	n_failed = weft_failed_count();
	pthread_mutex_lock(&watches.lock);
	while ((watch = first_pending(n_failed)) != NULL)
		pset_watch_call(watch, n_failed);
	pthread_mutex_unlock(&watches.lock);
}
