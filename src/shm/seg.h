/* SPDX-License-Identifier: BSD-3-Clause */
/* seg: the memory a process of a node is written to by the others
 *
 * A segment is an unnamed file (memfd): others reach it through
 * /proc/PID/fd/FD, which the kernel allows to processes of the same user, so
 * nothing is left behind whatever happens to anybody. It holds a header, which
 * tells of writers that have come, and one ring per process of the node,
 * touched only when used. */
#ifndef WEFT_SEG_H
#define WEFT_SEG_H

#include "shm/ring.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct weft_shm;

/* What another process needs to know to write to us; part of the business card.
 */
struct weft_shm_bc {
	int32_t pid;
	int32_t fd;
	uint32_t domain; /* weft_share_domain() */
	uint32_t reserved;
	uint64_t probe_addr;  /* of probe_value, to try cross-memory attach */
	uint64_t probe_value; /* random; the segment repeats it */
};

/* A message came through a ring. rx->owner is the receiver's to set, at first
 * NULL; rx->ring->writer_proc and writer_cookie say who claims to write. All
 * is lent; the ring must not be advanced. head NULL, once: what is in the ring
 * makes no sense, and nothing more will be read from it. */
typedef void weft_shm_recv_fn(void *arg, struct weft_ring_rx *rx,
	const void *head, const void *payload, size_t len);

/* Creates my segment with room for n_writers. recv is called by poll. */
int weft_shm_open(uint32_t n_writers, size_t ring_len, weft_shm_recv_fn *recv,
	void *arg, struct weft_shm **shm_out);
void weft_shm_close(struct weft_shm *shm);

/* What to put on my business card. */
void weft_shm_describe(struct weft_shm *shm, struct weft_shm_bc *bc_out);

/* My wakeup, for those who write to me; before anybody is told the business
 * card. sleeps_long: a process that attaches to a ring of mine is to signal it,
 * as nothing is watched there yet. */
void weft_shm_set_wakeup(struct weft_shm *shm, const struct weft_wakeup *wakeup,
	bool sleeps_long);

/* The owner is about to sleep: writers are to signal its wakeup. They do so
 * once. weft_wakeup_fence() and another poll must follow. */
void weft_shm_watch(struct weft_shm *shm);

/* Maps the ring with place `index` in the segment a business card describes and
 * announces the writer there. WEFT_ERR_PEER with a description: the owner has
 * ended, or what is there now is not its segment. WEFT_ERR_ACCESS with one: the
 * owner is in another domain, or the kernel does not let us. */
int weft_ring_attach(struct weft_ring_tx *tx, const struct weft_shm_bc *bc,
	uint32_t index, uint64_t my_proc, uint64_t cookie);
/* Where the reader finds the writer's wakeup, for weft_ring_watch(). */
void weft_ring_set_wakeup(
	struct weft_ring_tx *tx, const struct weft_wakeup_at *wakeup);

/* The writer is about to sleep until there is space: as weft_shm_watch(). */
void weft_ring_watch(struct weft_ring_tx *tx);

void weft_ring_detach(struct weft_ring_tx *tx);

/* Reads all rings that have a writer, a bounded number of messages each.
 * Returns how many messages came. */
int weft_shm_poll(struct weft_shm *shm);

/* How many messages weft_shm_poll() has read since the segment was opened. */
uint64_t weft_shm_n_received(const struct weft_shm *shm);

#endif
