/* SPDX-License-Identifier: BSD-3-Clause */
/* ring: one-writer, one-reader message ring between two processes of a node
 *
 * Each process owns a segment (seg.h) with one ring for each process of its
 * node. The owner of the segment is the reader of all its rings. Each ring has
 * one writer. A ring has slots and a payload buffer, which is elsewhere in the
 * segment. A slot has:
 * - a sequence number and the length of the payload,
 * - a head of 24 bytes, which the ring does not interpret,
 * - up to WEFT_RING_INLINE bytes of payload. The shortest payloads are in the
 *   first cache line of the slot.
 *
 * A longer payload is in the buffer. Reader and writer compute its offset from
 * the lengths of the earlier payloads. The reader recognises a new slot by the
 * sequence number. So an idle poll reads one cache line, which stays in the
 * reader's cache. From time to time the reader publishes its position, which
 * frees space.
 *
 * The ring back is the ring in the opposite direction. A slot also has a count
 * of the slots that its writer has read from the ring back. If all messages of
 * the ring back were read, its writer writes the next payload at the start of
 * its buffer, whose lines both processes still have in their caches. A long
 * payload in a large buffer is an exception: it is written at the next offset.
 * A store to a line in the reader's cache waits for that cache. The store is
 * four times as fast if the line has left that cache.
 *
 * The writer counts the pages of the buffer that it has written, and returns
 * them to the kernel while they are unused (budget.h).
 *
 * If a writer reads no message between two messages that it writes, it will
 * probably write more. So it prefetches the lines of the next messages.
 *
 * Neither side is thread safe: the VCI's lock guards it. */
#ifndef WEFT_RING_H
#define WEFT_RING_H

#include "base/bits.h"
#include "base/err.h"
#include "base/list.h"
#include "shm/wakeup.h"
#include "shm/write.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	WEFT_RING_HEAD = 24,
	WEFT_RING_INLINE = 224,
	WEFT_RING_FIRST = 32,	 /* bytes of payload in the first cache line */
	WEFT_RING_SLOTS_MIN = 8, /* powers of two. A power of two that divides
				  * 128 makes the words of two laps differ */
	WEFT_RING_SLOTS_MAX = 128,
	WEFT_RING_FETCH = 1024, /* bytes of a payload to prefetch, at most */
	WEFT_RING_AHEAD = 4,	/* a writer prefetches the lines of the message
				 * this many messages later */
	WEFT_RING_LARGE = 512 << 10, /* bytes of a buffer that exceeds caches */
};

/* The word of a slot is written last. Its low 8 bits count messages, from 1,
 * and differ from those of the former message in the slot. The next bit is set
 * if the payload is at the start of the buffer. The bits above it are the
 * length of the payload. */
enum { WEFT_RING_REWOUND = 1 << 8, WEFT_RING_LEN_SHIFT = 9 };

struct weft_ring_slot {
	_Atomic uint32_t word;
	uint32_t n_back; /* slots that the writer has read from the ring back */
	uint8_t head[WEFT_RING_HEAD];
	uint8_t inl[WEFT_RING_INLINE];
};
_Static_assert(
	sizeof(struct weft_ring_slot) == 4 * WEFT_CACHE_LINE, "whole lines");

/* In shared memory. */
struct weft_ring {
	/* written by the writer, once */
	_Alignas(WEFT_CACHE_LINE) uint64_t writer_proc;
	uint64_t writer_cookie;
	/* seldom written: the flags of a reader or a writer that sleeps */
	_Atomic uint32_t is_reader_asleep;
	_Atomic uint32_t is_writer_asleep; /* the writer sleeps until the ring
					      has space */
	struct weft_wakeup_at writer_wakeup;
	/* not 0: the writer treats the reader as failed, for example because
	 * the reader was stopped. The reader checks this when it continues */
	_Atomic uint32_t is_given_up;
	/* the state of a long copy of which both processes copy pieces. Upper
	 * half: the number of the copy. Lower half: how many pieces are
	 * claimed. 0: no copy is open */
	_Atomic uint64_t claims;
	/* written by the reader: slots read, and bytes of the buffer freed */
	_Alignas(WEFT_CACHE_LINE) _Atomic uint64_t n_read;
	_Atomic uint64_t n_read_bytes;
	_Alignas(2 * WEFT_CACHE_LINE) struct weft_ring_slot slots[];
};

/* Bytes of a ring without its buffer. */
static inline size_t weft_ring_bytes(size_t n_slots)
{
	return sizeof(struct weft_ring) +
	       n_slots * sizeof(struct weft_ring_slot);
}

struct weft_budget;

/* The writer's side, private. */
struct weft_ring_tx {
	struct weft_ring *ring; /* NULL: not attached */
	uint8_t *buf;
	uint64_t mask;	       /* number of slots, less one */
	uint64_t n;	       /* slots written */
	uint64_t n_read;       /* ring->n_read when last loaded */
	uint64_t pos;	       /* payload bytes written or skipped */
	uint64_t n_read_bytes; /* bytes of the buffer known as freed */
	uint64_t buf_len;      /* a power of two */
	uint64_t open_len;     /* a payload that ends behind these bytes of the
				* buffer calls weft_ring_open_to() */
	const struct weft_ring_rx *back; /* the ring back; NULL: none yet */
	uint32_t rewound;  /* REWOUND flag of the reserved message */
	uint32_t n_back;   /* n_back of the last message */
	bool knows_wakeup; /* the writer has tried to open the wakeup */
	int wakeup;	   /* descriptor of the reader's wakeup; -1: none */
	struct weft_wakeup_at wakeup_at; /* address of the reader's wakeup */
	bool stores_past; /* payloads are stored past the caches */
	bool is_reserved; /* the memory of the segment was allocated in advance
			   */
	void *map;	  /* mapping to unmap, of the ring and its neighbours */
	size_t map_len;
	size_t buf_map_len;	    /* mapping of the buffer */
	struct weft_budget *budget; /* NULL: the buffer is not counted */
	uint64_t n_occupied;   /* bytes of the buffer that may occupy memory,
				  from its start on. 0: the buffer is empty */
	struct weft_link link; /* in budget->open if n_occupied is not 0 */
};

/* The reader's side, private. */
struct weft_ring_rx {
	struct weft_ring *ring;
	const uint8_t *buf;
	uint64_t mask;	      /* number of slots, less one */
	uint64_t n;	      /* slots read */
	uint64_t n_published; /* n when it was last stored in ring->n_read */
	uint64_t most_late;   /* n is published when more slots were read */
	uint64_t pos;	      /* payload bytes read or skipped */
	uint64_t buf_len;
	uint32_t n_back; /* n_back of the last slot read */
	bool is_broken;	 /* invalid content was reported */
	int wakeup;	 /* descriptor of the writer's wakeup; -1: not opened */
	void *owner;	 /* the upper room's record of the writer */
};

/* The offset of a payload of len bytes: the first one from pos on at which the
 * payload does not wrap. */
static inline uint64_t weft_ring_place(
	uint64_t pos, uint64_t len, uint64_t buf_len)
{
	uint64_t room = buf_len - (pos & (buf_len - 1));

	return len <= room ? pos : pos + room;
}

/* Counts the first end bytes of the buffer as occupied, and returns buffers of
 * other rings to the kernel. budget.c */
void weft_ring_open_to(struct weft_ring_tx *tx, uint64_t end);

/* Reserves a slot, and len bytes for the payload of the message. NULL if the
 * ring is full. len is at most buf_len / 2 and below 8 MiB. The reader does not
 * read the message before weft_ring_commit(), which must be the next call. */
static inline void *weft_ring_reserve(struct weft_ring_tx *tx, size_t len)
{
	struct weft_ring_slot *slot = &tx->ring->slots[tx->n & tx->mask];
	uint64_t at, end;

	if (weft_unlikely(tx->n - tx->n_read > tx->mask)) {
		/* pairs with the release in weft_ring_publish: the reader has
		 * finished with the slots before n_read */
		tx->n_read = atomic_load_explicit(
			&tx->ring->n_read, memory_order_acquire);
		if (tx->n - tx->n_read > tx->mask)
			return NULL;
	}
	if (weft_likely(len <= WEFT_RING_INLINE))
		return slot->inl;
	tx->rewound = 0;
	if (!tx->n_occupied ||
		(tx->back && tx->back->n_back == (uint32_t)tx->n &&
			(len < WEFT_WRITE_LONG ||
				tx->buf_len < WEFT_RING_LARGE))) {
		tx->pos = weft_round_up(tx->pos, tx->buf_len);
		tx->n_read_bytes = tx->pos;
		tx->rewound = WEFT_RING_REWOUND;
	}
	at = weft_ring_place(tx->pos, len, tx->buf_len);
	if (weft_unlikely(at + len - tx->n_read_bytes > tx->buf_len)) {
		/* pairs with the release in weft_ring_publish: the reader has
		 * finished with the bytes before n_read_bytes */
		uint64_t n_read_bytes = atomic_load_explicit(
			&tx->ring->n_read_bytes, memory_order_acquire);

		/* after a rewind, tx->n_read_bytes may exceed the published
		 * value */
		if (n_read_bytes > tx->n_read_bytes)
			tx->n_read_bytes = n_read_bytes;
		if (at + len - tx->n_read_bytes > tx->buf_len)
			return NULL;
	}
	end = (at & (tx->buf_len - 1)) + len;
	if (weft_unlikely(end > tx->open_len))
		weft_ring_open_to(tx, end);
	return tx->buf + end - len;
}

/* Signals the wakeup of the reader. The first call opens the wakeup. */
void weft_ring_wake_reader(struct weft_ring_tx *tx);

/* The head of the reserved message, which the caller fills in. The caller must
 * store each field directly into the slot. A wide load from a copy on the stack
 * would wait until all earlier stores, including the payload, have left the
 * core.
 */
static inline void *weft_ring_head(struct weft_ring_tx *tx)
{
	return tx->ring->slots[tx->n & tx->mask].head;
}

/* Prefetches the lines of a later message for writing. Called if no message has
 * arrived from the reader since the previous message. */
static inline void weft_ring_fetch_ahead(
	const struct weft_ring_tx *tx, size_t len)
{
	const uint64_t n = tx->n + WEFT_RING_AHEAD;
	const struct weft_ring_slot *slot = &tx->ring->slots[n & tx->mask];
	const uint8_t *payload = slot->inl;
	size_t first = WEFT_RING_FIRST;

	weft_prefetch_write(slot);
	if (weft_likely(len <= WEFT_RING_FIRST) || len > WEFT_RING_FETCH)
		return;
	if (len > WEFT_RING_INLINE) {
		payload = tx->buf + ((tx->pos + (WEFT_RING_AHEAD - 1) * len) &
					    (tx->buf_len - 1));
		first = 0;
	}
	for (size_t i = first; i < len; i += WEFT_CACHE_LINE)
		weft_prefetch_write(payload + i);
}

/* Makes the reserved message visible. Its head and payload have been written.
 */
static inline void weft_ring_commit(struct weft_ring_tx *tx, size_t len)
{
	struct weft_ring_slot *slot = &tx->ring->slots[tx->n & tx->mask];
	uint32_t word = (uint32_t)len << WEFT_RING_LEN_SHIFT;
	uint32_t n_back = tx->back ? (uint32_t)tx->back->n : 0;
	bool is_more = n_back == tx->n_back;

	slot->n_back = tx->n_back = n_back;
	if (len > WEFT_RING_INLINE) {
		tx->pos = weft_round_up(
			weft_ring_place(tx->pos, len, tx->buf_len) + len,
			WEFT_CACHE_LINE);
		word |= tx->rewound;
	}
	tx->n++;
	/* publishes the slot and its payload; pairs with the acquire in
	 * weft_ring_peek */
	atomic_store_explicit(
		&slot->word, word | (uint8_t)tx->n, memory_order_release);
	/* The store of the word precedes the load of the flag below. Here a
	 * compiler fence suffices, because a reader that is about to sleep sets
	 * the flag (weft_shm_watch()), calls weft_wakeup_fence(), which is a
	 * barrier in all processes, and then polls once more. */
	atomic_signal_fence(memory_order_seq_cst);
	if (weft_unlikely(atomic_load_explicit(
		    &tx->ring->is_reader_asleep, memory_order_relaxed)))
		weft_ring_wake_reader(tx);
	if (is_more)
		weft_ring_fetch_ahead(tx, len);
}

/* Returns the head of the next message, or NULL. The payload is at *payload_out
 * until weft_ring_next(). Its first lines are prefetched. If the length is
 * impossible, returns NULL and sets *len_out to SIZE_MAX. Then the content of
 * the ring is invalid, and the ring must not be read again. */
static inline const void *weft_ring_peek(
	struct weft_ring_rx *rx, const void **payload_out, size_t *len_out)
{
	struct weft_ring_slot *slot = &rx->ring->slots[rx->n & rx->mask];
	const uint8_t *payload = slot->inl;
	/* pairs with the release in weft_ring_commit */
	uint32_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
	size_t len = word >> WEFT_RING_LEN_SHIFT;

	if (weft_likely((uint8_t)word != (uint8_t)(rx->n + 1)))
		return NULL;
	rx->n_back = slot->n_back;
	*len_out = len;
	if (weft_unlikely(len > rx->buf_len)) {
		*len_out = SIZE_MAX;
		return NULL;
	}
	if (weft_unlikely(word & WEFT_RING_REWOUND))
		rx->pos = weft_round_up(rx->pos, rx->buf_len);
	if (len > WEFT_RING_INLINE)
		payload =
			rx->buf + (weft_ring_place(rx->pos, len, rx->buf_len) &
					  (rx->buf_len - 1));
	if (len > WEFT_RING_FIRST)
		for (size_t i = 0; i < weft_min(len, WEFT_RING_FETCH);
			i += WEFT_CACHE_LINE)
			__builtin_prefetch(payload + i);
	*payload_out = payload;
	return slot->head;
}

/* Frees the space of all messages read so far. */
static inline void weft_ring_publish(struct weft_ring_rx *rx)
{
	/* Both stores follow all reads of the freed slots and bytes. They pair
	 * with the acquires in weft_ring_reserve. */
	atomic_store_explicit(
		&rx->ring->n_read_bytes, rx->pos, memory_order_release);
	atomic_store_explicit(&rx->ring->n_read, rx->n, memory_order_release);
	rx->n_published = rx->n;
}

/* Advances past the message of the last weft_ring_peek(); len is its length. */
static inline void weft_ring_next(struct weft_ring_rx *rx, size_t len)
{
	if (len > WEFT_RING_INLINE)
		rx->pos = weft_round_up(
			weft_ring_place(rx->pos, len, rx->buf_len) + len,
			WEFT_CACHE_LINE);
	rx->n++;
	if (weft_unlikely(rx->n - rx->n_published > rx->most_late ||
			  len > rx->buf_len / 8))
		weft_ring_publish(rx);
}

/* Opens a copy from the memory of the writer to the memory of the reader. The
 * writer may copy pieces of it. The reader calls this after it has closed the
 * previous copy. The number is not 0 and differs from that of the previous
 * copy.
 */
static inline void weft_ring_claims_open(
	struct weft_ring *ring, uint32_t number)
{
	/* pairs with the acquire in weft_ring_claim */
	atomic_store_explicit(
		&ring->claims, (uint64_t)number << 32, memory_order_release);
}

/* True if a copy is open. */
static inline bool weft_ring_claims_are_open(struct weft_ring *ring)
{
	return atomic_load_explicit(&ring->claims, memory_order_relaxed);
}

/* Claims the next of n pieces of a copy, for the calling process. False if no
 * piece is left, or the copy with this number is not open. */
static inline bool weft_ring_claim(struct weft_ring *ring, uint32_t number,
	uint32_t n, uint32_t *piece_out)
{
	/* pairs with the release in weft_ring_claims_open */
	uint64_t claims =
		atomic_load_explicit(&ring->claims, memory_order_acquire);

	do {
		if (claims >> 32 != number || (uint32_t)claims >= n)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&ring->claims, &claims,
		claims + 1, memory_order_acq_rel, memory_order_acquire));
	*piece_out = (uint32_t)claims;
	return true;
}

/* Called before the writer ends its operations on the reader, because it treats
 * the reader as failed. A reader that continues may read the memory of these
 * operations after they have ended. */
static inline void weft_ring_give_up(struct weft_ring_tx *tx)
{
	atomic_store_explicit(&tx->ring->is_given_up, 1, memory_order_relaxed);
	/* orders the store before later changes of that memory; pairs with the
	 * fence in weft_ring_is_given_up */
	atomic_thread_fence(memory_order_release);
}

/* True if the writer treats this process as failed. Then data that this process
 * has read from the memory of the writer before the call may be wrong. */
static inline bool weft_ring_is_given_up(const struct weft_ring_rx *rx)
{
	/* orders earlier reads of that memory before the load of the flag;
	 * pairs with the fence in weft_ring_give_up */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(
		&rx->ring->is_given_up, memory_order_relaxed);
}

/* Closes the copy: no more pieces can be claimed. Returns the number of claimed
 * pieces. */
static inline uint32_t weft_ring_claims_close(struct weft_ring *ring)
{
	return (uint32_t)atomic_exchange_explicit(
		&ring->claims, 0, memory_order_acq_rel);
}

#endif
