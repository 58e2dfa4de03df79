/* SPDX-License-Identifier: BSD-3-Clause */
/* pool: threads that move data while the program computes
 *
 * The pool has WEFT_IO_THREADS threads at most. A thread starts when a task is
 * queued and no thread is idle. All threads end when no file uses the pool. For
 * a task that waits for other processes, the pool may have one more thread.
 * Otherwise, all threads of two processes could run tasks that wait for tasks
 * which the other process cannot start. */
#ifndef WEFT_POOL_H
#define WEFT_POOL_H

#include "base/list.h"

#include <stdbool.h>

struct weft_vci;
struct weft_req;

/* A task. A thread of the pool calls run() once, without a lock. From then on,
 * run() owns the memory of the task. */
struct weft_pool_task {
	struct weft_link link;
	void (*run)(struct weft_pool_task *task);
	bool waits_for_others;
};

/* Adds a reference to the pool. Tasks may be added while the pool has a
 * reference. Makes the locks of the process thread-safe. No VCI's lock is held.
 */
void weft_pool_get(void);

/* Releases a reference. The threads end after the last reference is released.
 */
void weft_pool_put(void);

/* Queues a task. Tasks start in the order of these calls. False if there is no
 * thread for the task and none can be started. VCI's lock held. */
bool weft_pool_add(struct weft_pool_task *task);

/* Waits for a request of a collective access. With is_background, a long wait
 * is not reported and is not part of the wait-for graph, because the program
 * itself does not wait. VCI's lock held. */
void weft_pool_await(
	struct weft_vci *vci, struct weft_req *req, bool is_background);

#endif
