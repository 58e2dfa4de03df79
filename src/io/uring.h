/* SPDX-License-Identifier: BSD-3-Clause */
/* uring: transfers of many runs through io_uring
 *
 * By default only reads use io_uring; with WEFT_IO_ENGINE=uring, nonblocking
 * writes do, too. One thread of the process submits pieces of runs and reaps
 * their completions. It makes all submissions, because the kernel cancels the
 * requests of a thread that ends, and because completions interrupt the system
 * calls of the submitter. The kernel has WEFT_IO_THREADS worker threads at
 * most.
 *
 * If only a part of a piece is moved (end of the file, full file system, an
 * error), the task ends with the first missing byte. The owner of the task
 * moves the rest by other means, which report the error. */
#ifndef WEFT_URING_H
#define WEFT_URING_H

#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_move;

struct weft_uring_task {
	/* Set by the owner. m has contiguous memory and native data. The ring's
	 * thread calls on_done() without a lock, after the first n_moved bytes
	 * were transferred. From then on, the task belongs to the owner again.
	 */
	const struct weft_move *m;
	void (*on_done)(struct weft_uring_task *task, int64_t n_moved);
	/* private to uring.c */
	struct weft_link link;
	int64_t next;	 /* the first byte that is not in a submitted piece */
	int64_t stop;	 /* the first missing byte, or INT64_MAX */
	int n_in_flight; /* submitted pieces that are not complete */
	uint64_t since;	 /* weft_stat_now() when the task was queued */
};

/* The reason why io_uring is not used, or NULL. Tests io_uring once per
 * process. Any thread. */
const char *weft_uring_refusal(void);

/* True if the move should use io_uring. WEFT_IO_ENGINE can exclude or request
 * this. By default, reads of short runs use io_uring, except on tmpfs. */
bool weft_uring_is_suitable(const struct weft_move *m);

/* Queues a task from m->n_moved on. False if io_uring fails; the caller must
 * then move it by other means. VCI's lock held. */
bool weft_uring_add(struct weft_uring_task *task);

/* Moves a suitable read with many runs and waits for it. m->n_moved is
 * afterwards the number of bytes moved, possibly 0. No lock held. */
void weft_uring_move(struct weft_move *m);

/* Releases the reference of a file with has_uring. The thread ends after the
 * last reference is released. */
void weft_uring_put(void);

#endif
