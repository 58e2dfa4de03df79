/* SPDX-License-Identifier: BSD-3-Clause */
/* pool: threads that wait for the kernel while the program computes
 *
 * WEFT_IO_THREADS at most, each started when there is work and nobody idle,
 * for the whole process; ended when nobody uses the pool any more. */
#ifndef WEFT_POOL_H
#define WEFT_POOL_H

#include "base/list.h"

#include <stdbool.h>

/* Work: run() is called once, by a thread without any lock; the owner has the
 * memory back from then on. */
struct weft_pool_task {
	struct weft_link link;
	void (*run)(struct weft_pool_task *task);
};

/* From now on locks are real, and work may be added until as many puts. No
 * VCI's lock held. */
void weft_pool_get(void);

/* Threads end by themselves after the last. */
void weft_pool_put(void);

/* Begun in the order of adding. False when there is no thread to be had. VCI's
 * lock held. */
bool weft_pool_add(struct weft_pool_task *task);

#endif
