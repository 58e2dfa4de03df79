/* SPDX-License-Identifier: BSD-3-Clause */
/* seg: the memory into which the other processes of a node write messages
 *
 * A segment is an unnamed file (memfd), so no file remains when a process dies.
 * Other processes of the same user open the file through /proc/PID/fd/FD. A
 * segment has a header, in which writers announce themselves, and one ring for
 * each possible writer. A ring occupies memory only when it is used.
 *
 * weft_shm_add_extra() appends rings for writers that are not known in advance.
 * Such a writer claims the first free ring. The owner frees the ring with
 * weft_shm_free_extra() after the writer has ended. */
#ifndef WEFT_SEG_H
#define WEFT_SEG_H

#include "shm/ring.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct weft_shm;

enum { WEFT_SHM_EXTRA = 1024 };
#define WEFT_SHM_ANY UINT32_MAX

/* The part of the business card that another process needs to attach to the
 * segment. */
struct weft_shm_bc {
	int32_t pid;
	int32_t fd;
	uint32_t domain;      /* weft_share_domain() */
	uint32_t node;	      /* of a card for other jobs: the low half of
				 weft_proc_node_id() */
	uint64_t probe_addr;  /* address of a word with probe_value, which other
				 processes read to test cross-memory attach */
	uint64_t probe_value; /* random; also in the segment's header */
};

/* Called for each message that has arrived in a ring. rx->owner is NULL at
 * first and belongs to the callee. rx->ring->writer_proc and writer_cookie
 * identify the writer; the callee checks them. head and payload are valid only
 * during the call. The callee must not advance the ring. If the content of the
 * ring is invalid, the function is called once with head NULL. */
typedef void weft_shm_recv_fn(void *arg, struct weft_ring_rx *rx,
	const void *head, const void *payload, size_t len);

/* Creates a segment of this process, with n_writers rings. A ring has n_slots
 * slots, a power of two from WEFT_RING_SLOTS_MIN to WEFT_RING_SLOTS_MAX. Its
 * buffer has ring_len bytes, rounded up to a power of two. weft_shm_poll()
 * calls recv. 0, WEFT_ERR_NOMEM, or a described WEFT_ERR_OTHER. */
int weft_shm_open(uint32_t n_writers, size_t n_slots, size_t ring_len,
	weft_shm_recv_fn *recv, void *arg, struct weft_shm **shm_out);

/* Unmaps and frees the segment. The rings may still be mapped by their writers.
 * NULL is accepted. */
void weft_shm_close(struct weft_shm *shm);

/* The length of the segment in bytes. Only used parts occupy memory. */
size_t weft_shm_len(const struct weft_shm *shm);

/* Fills in the segment's part of the business card. */
void weft_shm_describe(struct weft_shm *shm, struct weft_shm_bc *bc_out);

/* Sets the wakeup that writers signal. Called before the business card is
 * published. */
void weft_shm_set_wakeup(
	struct weft_shm *shm, const struct weft_wakeup *wakeup);

/* Appends WEFT_SHM_EXTRA rings for processes that attach with the index
 * WEFT_SHM_ANY, unless they exist already. False if the rings would occupy
 * memory without being used, or the file cannot be longer. */
bool weft_shm_add_extra(struct weft_shm *shm);

/* Frees a ring that weft_shm_add_extra() appended, and its memory. The writer
 * must have ended. Has no effect on other rings. Not called by
 * weft_shm_recv_fn. */
void weft_shm_free_extra(struct weft_shm *shm, struct weft_ring_rx *rx);

/* Requests that each writer signals the owner's wakeup when it writes its next
 * message, and that a new writer does so when it attaches. Called before the
 * owner sleeps. After this call, the owner must call weft_wakeup_fence() and
 * poll once more. */
void weft_shm_watch(struct weft_shm *shm);

/* Maps ring `index` of the segment that the card describes, and announces this
 * process there as its writer. WEFT_SHM_ANY: a free ring of those that
 * weft_shm_add_extra() appended. 0 or a described error. WEFT_ERR_PEER: the
 * owner has ended, or the file is not its segment. WEFT_ERR_ACCESS: the owner
 * is in another domain, the kernel refuses access, or no ring is free. If
 * another process has attached to the ring before, tx->is_taken_over is set;
 * then this process may only write messages without a payload. */
int weft_ring_attach(struct weft_ring_tx *tx, const struct weft_shm_bc *bc,
	uint32_t index, uint64_t my_proc, uint64_t cookie);

/* Sets the writer's wakeup, which the reader signals after weft_ring_watch().
 */
void weft_ring_set_wakeup(
	struct weft_ring_tx *tx, const struct weft_wakeup_at *wakeup);

/* Requests that the reader signals the writer's wakeup once, when the ring has
 * space. After this call, and before it sleeps, the writer must call
 * weft_wakeup_fence() and try to write once more. */
void weft_ring_watch(struct weft_ring_tx *tx);

/* Closes the descriptors of the wakeups of a peer, which open again when they
 * are needed. rx is the ring that the peer writes, or NULL. */
void weft_ring_close_wakeups(struct weft_ring_tx *tx, struct weft_ring_rx *rx);

/* Unmaps an attached ring. A ring that is not attached is accepted. */
void weft_ring_detach(struct weft_ring_tx *tx);

/* Reads a bounded number of messages from each ring that has a writer. Returns
 * the number of messages read. */
int weft_shm_poll(struct weft_shm *shm);

#endif
