/* SPDX-License-Identifier: BSD-3-Clause */
/* pool: threads that wait for the kernel while the program computes
 *
 * WEFT_IO_THREADS at most, each started when there is work and nobody idle,
 * for the whole process; ended when nobody uses the pool any more. What waits
 * for other processes, too, has a thread beyond these: else two processes could
 * each have theirs busy with what the other has not begun. */
#ifndef WEFT_POOL_H
#define WEFT_POOL_H

#include "base/list.h"

#include <stdbool.h>

struct weft_vci;
struct weft_req;

/* Work: run() is called once, by a thread without any lock; the owner has the
 * memory back from then on. */
struct weft_pool_task {
	struct weft_link link;
	void (*run)(struct weft_pool_task *task);
	bool waits_for_others;
};

/* From now on locks are real, and work may be added until as many puts. No
 * VCI's lock held. */
void weft_pool_get(void);

/* Threads end by themselves after the last. */
void weft_pool_put(void);

/* Begun in the order of adding. False when there is no thread to be had. VCI's
 * lock held. */
bool weft_pool_add(struct weft_pool_task *task);

/* Waits for a request of an access by all. Aside nobody hears of it: the
 * program has not asked to wait, and may have the others wait for as long as it
 * likes. VCI's lock held. */
void weft_pool_await(
	struct weft_vci *vci, struct weft_req *req, bool is_background);

#endif
