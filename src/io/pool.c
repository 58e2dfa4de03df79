/* SPDX-License-Identifier: BSD-3-Clause */
/* pool: threads that move data while the program computes */
#include "io/pool.h"

#include "base/bits.h"
#include "base/knob.h"
#include "base/lock.h"
#include "core/req.h"
#include "transport/progress.h"
#include "transport/sleep.h"
#include "transport/thread_check.h"
#include "transport/vci.h"

#include <pthread.h>
#include <signal.h>

/* The lock is acquired after a VCI's lock. n_users counts references, n_waiting
 * counts queued tasks. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t has_work;
	struct weft_link tasks;
	unsigned n_users, n_threads, n_idle, n_waiting;
	unsigned n_collective; /* queued or running waits_for_others tasks */
} pool = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.has_work = PTHREAD_COND_INITIALIZER,
	.tasks = { &pool.tasks, &pool.tasks },
};

/* The first queued task, or NULL if the thread must end. Lock held. */
static struct weft_pool_task *pool_next(void)
{
	struct weft_link *link;

	while (weft_list_is_empty(&pool.tasks)) {
		if (!pool.n_users)
			return NULL;
		pool.n_idle++;
		pthread_cond_wait(&pool.has_work, &pool.lock);
		pool.n_idle--;
	}
	link = weft_list_pop_front(&pool.tasks);
	pool.n_waiting--;
	return weft_container_of(link, struct weft_pool_task, link);
}

static void *pool_thread(void *arg)
{
	struct weft_pool_task *task;

	(void)arg;
	pthread_mutex_lock(&pool.lock);
	while ((task = pool_next()) != NULL) {
		bool is_collective = task->waits_for_others;

		pthread_mutex_unlock(&pool.lock);
		task->run(task);
		pthread_mutex_lock(&pool.lock);
		pool.n_collective -= is_collective;
	}
	pool.n_threads--;
	pthread_mutex_unlock(&pool.lock);
	return NULL;
}

/* Starts a thread with all signals blocked, so that threads of the program
 * handle them. Lock held. */
static void pool_start_thread(void)
{
	sigset_t all, old;
	pthread_t thread;
	bool began = weft_thread_check_begin();

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!pthread_create(&thread, NULL, pool_thread, NULL)) {
		pthread_detach(thread);
		pool.n_threads++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	weft_thread_check_end(began);
}

void weft_pool_get(void)
{
	weft_lock_enable_mt();
	pthread_mutex_lock(&pool.lock);
	pool.n_users++;
	pthread_mutex_unlock(&pool.lock);
}

void weft_pool_put(void)
{
	pthread_mutex_lock(&pool.lock);
	if (--pool.n_users == 0)
		pthread_cond_broadcast(&pool.has_work);
	pthread_mutex_unlock(&pool.lock);
}

bool weft_pool_add(struct weft_pool_task *task)
{
	bool has_thread;
	unsigned limit;

	pthread_mutex_lock(&pool.lock);
	limit = pool.n_collective + task->waits_for_others +
		(unsigned)weft_knobs.io_threads;
	if (pool.n_waiting + 1 > pool.n_idle && pool.n_threads < limit)
		pool_start_thread();
	has_thread = pool.n_threads > pool.n_collective;
	if (has_thread) {
		pool.n_collective += task->waits_for_others;
		weft_list_push_back(&pool.tasks, &task->link);
		pool.n_waiting++;
		pthread_cond_signal(&pool.has_work);
	}
	pthread_mutex_unlock(&pool.lock);
	return has_thread;
}

void weft_pool_await(
	struct weft_vci *vci, struct weft_req *req, bool is_background)
{
	if (!is_background)
		weft_req_wait_in(vci, req, "a collective access to a file");
	for (uint64_t n = 0; !req->is_done;) {
		if (vci->n_failed && vci->on_wait)
			(void)vci->on_wait(req);
		if (weft_progress(vci))
			n = 0;
		else if (!req->is_done)
			weft_sleep(vci, n++, WEFT_SLEEP_ALWAYS);
	}
}
