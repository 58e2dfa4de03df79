/* SPDX-License-Identifier: BSD-3-Clause */
/* seg: the memory into which the other processes of a node write messages
 *
 * A segment is an unnamed file (memfd). Other processes of the same user open
 * it through /proc/PID/fd/FD, so no file remains when a process dies. It holds
 * a header, in which writers announce themselves, and one ring for each process
 * of the node. A ring takes memory only when it is used. */
#ifndef WEFT_SEG_H
#define WEFT_SEG_H

#include "shm/ring.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct weft_shm;

/* The part of the business card that another process needs to attach to the
 * segment. */
struct weft_shm_bc {
	int32_t pid;
	int32_t fd;
	uint32_t domain; /* weft_share_domain() */
	uint32_t reserved;
	uint64_t probe_addr;  /* address of a word with probe_value, which peers
				 read to test cross-memory attach */
	uint64_t probe_value; /* random; also in the segment's header */
};

/* Called for each message that arrived through a ring. rx->owner is NULL at
 * first and belongs to the callee. rx->ring->writer_proc and writer_cookie name
 * the writer; the callee checks them. All arguments are valid only during the
 * call. The callee must not advance the ring. If the content of the ring is
 * invalid, the function is called once with head NULL, and the ring is not read
 * again. */
typedef void weft_shm_recv_fn(void *arg, struct weft_ring_rx *rx,
	const void *head, const void *payload, size_t len);

/* Creates the segment of this process, with a ring for each of n_writers. A
 * ring has n_slots slots, a power of two from WEFT_RING_SLOTS_MIN to
 * WEFT_RING_SLOTS_MAX, and a buffer of at least ring_len bytes.
 * weft_shm_poll() calls recv. 0, WEFT_ERR_NOMEM, or a described WEFT_ERR_OTHER.
 */
int weft_shm_open(uint32_t n_writers, size_t n_slots, size_t ring_len,
	weft_shm_recv_fn *recv, void *arg, struct weft_shm **shm_out);

/* Unmaps and frees the segment. Writers may still have mapped their rings. NULL
 * is accepted. */
void weft_shm_close(struct weft_shm *shm);

/* The length of the segment, which is address space. */
size_t weft_shm_len(const struct weft_shm *shm);

/* Fills in the segment's part of the business card. */
void weft_shm_describe(struct weft_shm *shm, struct weft_shm_bc *bc_out);

/* Sets the wakeup that writers signal. Called before the business card is
 * published. sleeps_long: a process that attaches to a ring also signals the
 * wakeup, because the owner does not watch that ring yet. */
void weft_shm_set_wakeup(struct weft_shm *shm, const struct weft_wakeup *wakeup,
	bool sleeps_long);

/* Requests that writers signal the owner's wakeup once. Called before the owner
 * sleeps. After this call, the owner must call weft_wakeup_fence() and poll
 * once more. */
void weft_shm_watch(struct weft_shm *shm);

/* Maps ring `index` of the segment on a business card and announces the writer
 * there. WEFT_ERR_PEER with a description: the owner has ended, or the file is
 * not its segment. WEFT_ERR_ACCESS with a description: the owner is in another
 * domain, or the kernel refuses. */
int weft_ring_attach(struct weft_ring_tx *tx, const struct weft_shm_bc *bc,
	uint32_t index, uint64_t my_proc, uint64_t cookie);

/* Sets the writer's wakeup, which the reader signals after weft_ring_watch().
 */
void weft_ring_set_wakeup(
	struct weft_ring_tx *tx, const struct weft_wakeup_at *wakeup);

/* Requests that the reader signals the writer's wakeup once, when the ring has
 * space. The writer must then call weft_wakeup_fence() and try again, before it
 * sleeps. */
void weft_ring_watch(struct weft_ring_tx *tx);

/* Unmaps an attached ring. A ring that is not attached is accepted. */
void weft_ring_detach(struct weft_ring_tx *tx);

/* Reads a bounded number of messages from each ring that has a writer. Returns
 * the number of messages. */
int weft_shm_poll(struct weft_shm *shm);

#endif
