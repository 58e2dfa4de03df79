/* SPDX-License-Identifier: BSD-3-Clause */
/* ring: message ring with one writer and one reader, two processes of a node
 *
 * Each VCI owns a segment (seg.h) with one ring for each possible writer on its
 * node. The owner of the segment is the reader of all its rings. Each ring has
 * one writer. A ring has slots and a payload buffer, which is elsewhere in the
 * segment. A slot has:
 * - a sequence number and the length of the payload,
 * - a head of 24 bytes, which the ring does not interpret,
 * - up to WEFT_RING_INLINE bytes of payload. The shortest payloads are in the
 *   first cache line of the slot.
 *
 * A longer payload is in the buffer. Reader and writer compute its offset from
 * the lengths of the earlier payloads. The reader recognises a new message by
 * the sequence number of the slot. So a poll of an empty ring reads one cache
 * line, which stays in the reader's cache. The reader publishes its position
 * after several messages, or when the ring is empty. This frees the space of
 * the messages that it has read.
 *
 * The ring back is the ring in the opposite direction. A slot also has a count
 * of the slots that its writer has read from the ring back. The count can show
 * that all messages of the ring back were read. Then the writer of the ring
 * back writes its next payload at the start of its buffer, because both
 * processes still have these lines in their caches. A long payload in a large
 * buffer is an exception: it follows the previous payload. A store to a line in
 * the reader's cache waits for that cache; it can be four times as fast if the
 * line has left that cache.
 *
 * The writer counts the pages of the buffer that it has written, and returns
 * unused pages to the kernel (budget.h).
 *
 * A writer that has read no message between two messages that it writes will
 * probably write more. So it prefetches the lines of the next messages.
 *
 * Neither side is thread safe. The VCI's lock guards both. */
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
	WEFT_RING_FIRST = 32, /* bytes of payload in the first cache line */
	/* The number of slots is a power of two. It is at most 128, so that the
	 * 8-bit counts of two successive messages in a slot differ. */
	WEFT_RING_SLOTS_MIN = 8,
	WEFT_RING_SLOTS_MAX = 128,
	WEFT_RING_FETCH = 1024, /* bytes of a payload to prefetch, at most */
	WEFT_RING_AHEAD = 4,	/* a writer prefetches the lines of the message
				 * this many messages later */
	WEFT_RING_LARGE = 512 << 10, /* shortest buffer that counts as large */
};

/* The writer stores the word of a slot last. Its low 8 bits count messages,
 * from 1, and differ from those of the previous message in the slot.
 * WEFT_RING_REWOUND is set if the payload is at the start of the buffer. The
 * bits above it are the length of the payload. */
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
	/* stored by the writer when it attaches */
	_Alignas(WEFT_CACHE_LINE) uint64_t writer_proc;
	uint64_t writer_cookie;
	/* Written only around a sleep. Not 0: the reader sleeps until a message
	 * arrives. */
	_Atomic uint32_t is_reader_asleep;
	_Atomic uint32_t is_writer_asleep; /* the writer sleeps until the ring
					      has space */
	struct weft_wakeup_at writer_wakeup;
	/* Not 0: the writer treats the reader as failed, for example because
	 * the reader was stopped. The reader checks this when it continues. */
	_Atomic uint32_t is_given_up;
	/* The state of a long copy, of which both processes copy pieces. Upper
	 * half: the number of the copy. Lower half: how many pieces are
	 * claimed. 0: no copy is open. */
	_Atomic uint64_t claims;
	/* The reader's published position: slots read, and payload bytes read
	 * or skipped. */
	_Alignas(WEFT_CACHE_LINE) _Atomic uint64_t n_read;
	_Atomic uint64_t n_read_bytes;
	_Alignas(2 * WEFT_CACHE_LINE) struct weft_ring_slot slots[];
};

/* The length of a ring without its buffer, in bytes. */
static inline size_t weft_ring_bytes(size_t n_slots)
{
	return sizeof(struct weft_ring) +
	       n_slots * sizeof(struct weft_ring_slot);
}

struct weft_budget;

/* The writer's state, in private memory. */
struct weft_ring_tx {
	struct weft_ring *ring; /* NULL: not attached */
	uint8_t *buf;
	uint64_t mask;	       /* number of slots, less one */
	uint64_t n;	       /* slots written */
	uint64_t n_read;       /* ring->n_read when last loaded */
	uint64_t pos;	       /* payload bytes written or skipped */
	uint64_t n_read_bytes; /* payload bytes known to be freed, as pos */
	uint64_t buf_len;      /* a power of two */
	uint64_t open_len;     /* before a payload is written beyond this offset
				* of the buffer, weft_ring_open_to() is called
				*/
	const struct weft_ring_rx *back; /* the ring back; NULL: none yet */
	uint32_t rewound; /* WEFT_RING_REWOUND or 0, for the reserved message */
	uint32_t n_back;  /* n_back of the last message */
	bool knows_wakeup; /* the writer has tried to open the wakeup */
	int wakeup;	   /* descriptor of the reader's wakeup; -1: none */
	struct weft_wakeup_at wakeup_at; /* address of the reader's wakeup */
	bool is_taken_over; /* another process has attached to the ring before
			     */
	bool stores_past; /* long payloads use non-temporal stores (write.h) */
	bool is_reserved; /* the memory of the segment was allocated in advance
			   */
	void *map;	  /* mapping of whole pages that contain the ring */
	size_t map_len;
	size_t buf_map_len;	    /* length of the mapping of the buffer */
	struct weft_budget *budget; /* NULL: the buffer is not counted */
	uint64_t n_occupied;   /* bytes of the buffer that may occupy memory,
				  from its start on. 0: the buffer is empty */
	struct weft_link link; /* in budget->open if n_occupied is not 0 */
};

/* The reader's state, in private memory. */
struct weft_ring_rx {
	struct weft_ring *ring;
	const uint8_t *buf;
	uint64_t mask;	      /* number of slots, less one */
	uint64_t n;	      /* slots read */
	uint64_t n_published; /* n when it was last stored in ring->n_read */
	uint64_t most_late;   /* n is published when it exceeds n_published by
			       * more than this */
	uint64_t pos;	      /* payload bytes read or skipped */
	uint64_t buf_len;
	uint32_t n_back; /* n_back of the last slot read */
	bool is_broken;	 /* invalid content was reported */
	int wakeup;	 /* descriptor of the writer's wakeup; -1: not opened */
	void *owner;	 /* the upper room's record of the writer */
	struct weft_ring_rx *next; /* the next ring to poll, or NULL */
};

/* The position of a payload of len bytes: the first position from pos on at
 * which the payload does not wrap. */
static inline uint64_t weft_ring_place(
	uint64_t pos, uint64_t len, uint64_t buf_len)
{
	uint64_t room = buf_len - (pos & (buf_len - 1));

	return len <= room ? pos : pos + room;
}

/* Counts the first `end` bytes of the buffer as occupied. If the budget is
 * exceeded, returns unused buffers of other rings to the kernel. In budget.c.
 */
void weft_ring_open_to(struct weft_ring_tx *tx, uint64_t end);

/* Reserves a slot and len bytes for the payload of the message. Returns the
 * address for the payload, or NULL if the ring is full. len is at most buf_len
 * / 2 and below 8 MiB. The caller writes payload and head (weft_ring_head()),
 * and must then call weft_ring_commit(). */
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

/* Signals the reader's wakeup. The first call opens the wakeup. */
void weft_ring_wake_reader(struct weft_ring_tx *tx);

/* The head of the reserved message, which the caller fills in. The caller must
 * store each field directly into the slot. If the caller copied the head from
 * the stack, a wide load would wait until all earlier stores, including the
 * payload, have left the core. */
static inline void *weft_ring_head(struct weft_ring_tx *tx)
{
	return tx->ring->slots[tx->n & tx->mask].head;
}

/* Prefetches the lines that the writer will write WEFT_RING_AHEAD messages
 * later, if the messages have the same length. Called if the writer has read no
 * message from the reader since its previous message. */
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

/* Publishes the reserved message, of which the caller has written head and
 * payload. */
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
	/* The store of the word must precede the load of the flag below. A
	 * compiler fence suffices: a reader that is about to sleep sets the
	 * flag (weft_shm_watch()), calls weft_wakeup_fence(), which is a
	 * barrier in all processes, and then polls once more. */
	atomic_signal_fence(memory_order_seq_cst);
	if (weft_unlikely(atomic_load_explicit(
		    &tx->ring->is_reader_asleep, memory_order_relaxed)))
		weft_ring_wake_reader(tx);
	if (is_more)
		weft_ring_fetch_ahead(tx, len);
}

/* Returns the head of the next message, or NULL if there is none. The payload
 * is at *payload_out until weft_ring_next(). Its first lines are prefetched. If
 * the length of the message exceeds the buffer, the content of the ring is
 * invalid: returns NULL, and sets *len_out to SIZE_MAX. */
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

/* Publishes the reader's position, which frees the space of all messages read
 * so far. */
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

/* Opens a copy from the memory of the writer to the memory of the reader, so
 * that both can claim pieces. The reader calls this after it has closed the
 * previous copy. The number is not 0 and differs from the number of the
 * previous copy. */
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

/* The writer calls this when it treats the reader as failed, before it
 * completes its operations with the reader. A stopped reader that continues
 * later may read the memory of these operations after they have completed. */
static inline void weft_ring_give_up(struct weft_ring_tx *tx)
{
	atomic_store_explicit(&tx->ring->is_given_up, 1, memory_order_relaxed);
	/* orders the store before later changes of that memory; pairs with the
	 * fence in weft_ring_is_given_up */
	atomic_thread_fence(memory_order_release);
}

/* True if the writer treats this process as failed. Then data that this process
 * read from the memory of the writer before the call may be invalid. */
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
