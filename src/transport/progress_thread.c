/* SPDX-License-Identifier: BSD-3-Clause */
/* progress_thread: one thread that makes progress for all users, while a user
 * exists */
#include "transport/progress_thread.h"

#include "base/err.h"
#include "base/yield.h"
#include "transport/progress.h"
#include "transport/thread_check.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum {
	PAUSE_NS = 1000000,
	MIN_ROUNDS = 4, /* fewest rounds for a user, because a store by a peer
			   is not counted as an event */
	MAX_ROUNDS = 1000,
	LINGER = 50, /* pauses without a user before the thread ends */
};

/* `lock` may be acquired while a VCI's lock is held. So the progress thread,
 * which holds `lock`, only tries to acquire a VCI's lock. */
static struct {
	pthread_mutex_t lock;
	struct weft_link users;
	pthread_t thread;
	bool is_there;	/* the thread was created and not joined */
	bool is_ending; /* the thread ends: it found no user, or is_closing is
			   set */
	bool is_closing;
	uint32_t n_idle; /* pauses without a user */
	pthread_mutex_t tick_lock;
	void (*tick)(void); /* function to call once a millisecond, or NULL */
} shared_thread = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.tick_lock = PTHREAD_MUTEX_INITIALIZER,
	.users = { &shared_thread.users, &shared_thread.users },
};

static void count_round(struct weft_progress_hook *hook)
{
	struct weft_progress_user *user =
		weft_container_of(hook, struct weft_progress_user, hook);

	if (user->vci->is_served)
		return;
	user->vci->n_served = 0;
	/* VCI's lock is held: no other thread changes n_rounds */
	atomic_store_explicit(&user->n_rounds,
		atomic_load_explicit(&user->n_rounds, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

static void serve_user(struct weft_progress_user *user)
{
	uint32_t now =
		atomic_load_explicit(&user->n_rounds, memory_order_relaxed);

	if (now != user->last) {
		user->last = now;
		return;
	}
	for (int i = 0, n = 1; i < MIN_ROUNDS || (n && i < MAX_ROUNDS); i++) {
		if (!weft_lock_try(&user->vci->lock))
			break;
		user->vci->net_skip = 0;
		user->vci->is_served = true;
		user->vci->n_served += i == 0;
		n = weft_progress(user->vci);
		user->vci->is_served = false;
		weft_vci_unlock(user->vci);
		/* yields only if a thread waits for the lock. A thread that
		 * computes on this core would keep the core for a time
		 * slice. */
		if (weft_lock_is_wanted(&user->vci->lock))
			weft_yield_wait(0);
	}
	user->last =
		atomic_load_explicit(&user->n_rounds, memory_order_relaxed);
}

/* Counts the lease of a user down. Removes the user when its lease is over and
 * no operation is queued on the VCI. shared_thread.lock held. */
static void end_lease(struct weft_progress_user *user)
{
	uint32_t lease =
		atomic_load_explicit(&user->lease, memory_order_relaxed);
	struct weft_vci *vci = user->vci;

	if (lease > 1)
		atomic_fetch_sub_explicit(
			&user->lease, 1, memory_order_relaxed);
	if (lease != 1 || !weft_lock_try(&vci->lock))
		return;
	if (weft_list_is_empty(&vci->pending_peers)) {
		weft_list_remove(&user->hook.link);
		user->n_adds = 0;
		weft_list_remove(&user->link);
	}
	weft_vci_unlock(vci);
}

static void *run_thread(void *arg)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	(void)arg;
	for (;;) {
		pthread_mutex_lock(&shared_thread.lock);
		shared_thread.n_idle = weft_list_is_empty(&shared_thread.users)
					       ? shared_thread.n_idle + 1
					       : 0;
		shared_thread.is_ending = shared_thread.n_idle > LINGER ||
					  shared_thread.is_closing;
		weft_list_for_each(link, next, &shared_thread.users)
		{
			struct weft_progress_user *user = weft_container_of(
				link, struct weft_progress_user, link);

			serve_user(user);
			end_lease(user);
		}
		if (shared_thread.is_ending) {
			pthread_mutex_unlock(&shared_thread.lock);
			return NULL;
		}
		pthread_mutex_unlock(&shared_thread.lock);
		pthread_mutex_lock(&shared_thread.tick_lock);
		if (shared_thread.tick)
			shared_thread.tick();
		pthread_mutex_unlock(&shared_thread.tick_lock);
		nanosleep(&pause, NULL);
	}
}

/* The thread blocks all signals, so that the program's threads handle them. */
static int start_thread(void)
{
	sigset_t all, old;
	bool began = weft_thread_check_begin();
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&shared_thread.thread, NULL, run_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	weft_thread_check_end(began);
	if (rc)
		return weft_err_set(WEFT_ERR_OTHER,
			"no thread for progress while the program computes: %s",
			strerror(rc));
	shared_thread.is_there = true;
	shared_thread.is_ending = false;
	shared_thread.n_idle = 0;
	return 0;
}

/* Waits for a thread that is ending; releases the lock meanwhile. */
static void join_ending(void)
{
	pthread_t thread = shared_thread.thread;

	shared_thread.is_there = false;
	pthread_mutex_unlock(&shared_thread.lock);
	pthread_join(thread, NULL);
	pthread_mutex_lock(&shared_thread.lock);
}

int weft_progress_thread_add(struct weft_progress_user *user)
{
	int err = 0;

	weft_lock_enable_mt();
	weft_vci_lock(user->vci);
	pthread_mutex_lock(&shared_thread.lock);
	while (shared_thread.is_there && shared_thread.is_ending)
		join_ending();
	if (!user->n_adds++) {
		user->hook.run = count_round;
		weft_list_push_back(&user->vci->hooks, &user->hook.link);
		weft_list_push_back(&shared_thread.users, &user->link);
	}
	if (!shared_thread.is_there)
		err = start_thread();
	pthread_mutex_unlock(&shared_thread.lock);
	weft_vci_unlock(user->vci);
	return err;
}

void weft_progress_thread_remove(struct weft_progress_user *user)
{
	if (!user->n_adds || --user->n_adds)
		return;
	weft_list_remove(&user->hook.link);
	pthread_mutex_lock(&shared_thread.lock);
	weft_list_remove(&user->link);
	pthread_mutex_unlock(&shared_thread.lock);
}

void weft_progress_thread_tick(void (*tick)(void))
{
	pthread_mutex_lock(&shared_thread.tick_lock);
	shared_thread.tick = tick;
	pthread_mutex_unlock(&shared_thread.tick_lock);
}

void weft_progress_thread_join(void)
{
	pthread_mutex_lock(&shared_thread.lock);
	while (!weft_list_is_empty(&shared_thread.users))
		weft_container_of(weft_list_pop_front(&shared_thread.users),
			struct weft_progress_user, link)
			->n_adds = 0;
	shared_thread.is_closing = true;
	if (shared_thread.is_there)
		join_ending();
	shared_thread.is_closing = false;
	pthread_mutex_unlock(&shared_thread.lock);
}
