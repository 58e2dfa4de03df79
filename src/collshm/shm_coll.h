/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_coll: blocking collectives through memory of the communicator
 *
 * Members on one node map one segment, whose places count them. A member writes
 * only its own part of it: slots, of one cache line each, for what it has to
 * say in a collective, an area for data that does not fit into a slot, and
 * which of the communicator's collectives it has begun. Collective number s
 * uses slot s % 64 (s % 512 where processes share cores, which costs cache, but
 * each runs for longer) and data goes round the area, so that many may be under
 * way: who comes early writes and goes on, until that place holds what some
 * member may not have read yet. A member that has begun number s has read all
 * it wanted of those before. Data above 8 KiB takes a number for each piece of
 * it.
 *
 * Short data has an area that stays in a cache. Long data goes round a larger
 * one, of twice what a core's own cache holds where that can be had: a store to
 * a line that another core has read waits until that gives it up, unless it has
 * by then (likewise shm/ring.h). But where cores are shared what counts is how
 * far a member gets before another has to run, and all data goes round both
 * areas as one, which caches do hold.
 *
 * A slot's word says which collective of which kind, length, root and operation
 * its data belongs to; who reads it compares the word with its own, so members
 * that do not do the same find out. Only the calling thread touches what is
 * private here: calls on one communicator are made one after the other. */
#ifndef WEFT_SHM_COLL_H
#define WEFT_SHM_COLL_H

#include "base/bits.h"
#include "core/coll_args.h"
#include "shm/write.h"

#include <stdatomic.h>

enum {
	WEFT_COLL_SLOTS = 512,
	WEFT_COLL_STARTS = 8,
	WEFT_COLL_INLINE = 56,
	WEFT_COLL_AHEAD = 2,	    /* slots that are fetched */
	WEFT_COLL_SHORT_MAX = 8192, /* that is not cut; a part of that area */
	WEFT_COLL_SHORT_LEN = 8 * WEFT_COLL_SHORT_MAX,
	WEFT_COLL_PART_LEN = 16384, /* of the long area, behind that, or all */
	WEFT_COLL_LONG_MAX = 4 * WEFT_COLL_PART_LEN,   /* under one number */
	WEFT_COLL_LONG_LEAST = 2 * WEFT_COLL_LONG_MAX, /* of the long area */
	WEFT_COLL_LONG_MOST = 2 << 20,
	WEFT_COLL_PARTS_MAX = WEFT_COLL_LONG_MOST / WEFT_COLL_PART_LEN,
	WEFT_COLL_LENS = 4,
	WEFT_COLL_TEXT = 112,
};

/* In shared memory; the word is written last. */
struct weft_coll_slot {
	union {
		uint8_t data[WEFT_COLL_INLINE];
		uint32_t at; /* of longer data in the areas */
	};
	_Atomic uint64_t word;
};
_Static_assert(sizeof(struct weft_coll_slot) == WEFT_CACHE_LINE, "one line");

/* In shared memory: what one member writes and the others read. */
struct weft_coll_member {
	/* words of the last collectives it has begun: number s at s % 8 */
	_Alignas(2 * WEFT_CACHE_LINE) _Atomic uint64_t starts[WEFT_COLL_STARTS];
	/* of a slot whose word says that there was an error */
	_Alignas(WEFT_CACHE_LINE) int32_t err;
	char text[WEFT_COLL_TEXT];
	_Alignas(WEFT_CACHE_LINE) struct weft_coll_slot slots[WEFT_COLL_SLOTS];
};

/* What a word says besides its number, which is in the upper half. */
enum {
	WEFT_COLL_WORD_KIND = 15,
	WEFT_COLL_WORD_ERR = 16,      /* this member has none but an error */
	WEFT_COLL_WORD_MESSAGES = 32, /* it sends messages for this one */
	WEFT_COLL_WORD_SHIFT = 6,     /* length, root and operation */
};

/* Where data lies in an area, as all members that have had the same collectives
 * know it, whoever wrote. */
struct weft_coll_area {
	uint32_t base, part_len, n_parts; /* in a member's areas */
	uint32_t at;			  /* of the last data */
	/* the last collective that has a part, and the last one that had the
	 * part of now when it was begun */
	uint32_t used[WEFT_COLL_PARTS_MAX], before;
	bool is_large; /* so that its lines leave the caches */
};

/* Which lengths of an operation's data go through a segment: stretches of them,
 * the first ones; the others end at -1. */
struct weft_coll_lens {
	int32_t from, to;
};

/* A process's own view. */
struct weft_coll_shm {
	struct weft_coll_member *members;
	struct weft_coll_member *mine;
	uint8_t *data;			/* the areas of all members */
	uint32_t areas_len;		/* of one member */
	struct weft_coll_area areas[2]; /* for short data, for long */
	uint32_t short_max;		/* longest in the first of them */
	uint32_t last_all; /* the last one in which every member hears all */
	uint32_t n_slots;  /* that are used: a power of two */
	const int32_t
		*ranks; /* by place; NULL: it is all of the communicator's */
	int32_t n, me;
	bool is_whole; /* the members are all of the communicator's */
	bool shares_cores;
	/* [1]: of operations that do not commute */
	struct weft_coll_lens lens[2][WEFT_COLL_N][WEFT_COLL_LENS];
	uint32_t reached; /* every member has begun this or a later one */
	uint32_t n_calls; /* since the last progress */
	bool stores_past; /* the caches, data for an area */
};

/* One collective under way. */
struct weft_coll_round {
	struct weft_comm *comm;
	struct weft_coll_shm *shm;
	uint64_t word;
	uint32_t number;
	enum weft_coll_kind kind;
	size_t len;	    /* bytes of data, the same at all members */
	size_t skip;	    /* of a span's or block's bytes, that went before */
	uint32_t at;	    /* in each member's areas */
	bool is_all;	    /* every member hears of every other */
	bool has_published; /* has written its slot */
	int err;
};

static inline uint64_t weft_coll_word(uint32_t number, uint32_t what)
{
	return (uint64_t)(number + 1) << 32 | what;
}

static inline struct weft_coll_slot *weft_coll_slot_of(
	const struct weft_coll_round *r, int32_t rank)
{
	return &r->shm->members[rank].slots[r->number & (r->shm->n_slots - 1)];
}

static inline uint8_t *weft_coll_data_of(
	const struct weft_coll_round *r, int32_t rank)
{
	struct weft_coll_slot *slot = weft_coll_slot_of(r, rank);
	uint8_t *areas = r->shm->data + (size_t)rank * r->shm->areas_len;
	uint32_t at;

	if (r->len <= WEFT_COLL_INLINE)
		return slot->data;
	at = r->at;
	/* So that the processor fetches it before its slot has come the
	 * compiler must not know that the two are the same. */
	__asm__("" : "+r"(at));
	if (weft_likely(rank == r->shm->me || slot->at == at))
		return areas + at;
	/* in the segment, whatever stands there */
	return areas + slot->at % r->shm->areas_len;
}

static inline bool weft_coll_has_published(
	const struct weft_coll_round *r, int32_t rank)
{
	/* pairs with the release in weft_coll_publish */
	return atomic_load_explicit(&weft_coll_slot_of(r, rank)->word,
		       memory_order_acquire) == r->word;
}

/* The next collective, of so many bytes. */
void weft_coll_round_begin(struct weft_coll_round *r,
	const struct weft_coll *args, enum weft_coll_kind kind, size_t len);

/* Waits until this member may write its slot and its data; until a member has
 * said what it has to: its data is there. Nothing after an error. */
void weft_coll_wait_space(struct weft_coll_round *r);
void weft_coll_wait_slow(struct weft_coll_round *r, int32_t rank);

static inline void weft_coll_wait(struct weft_coll_round *r, int32_t rank)
{
	if (weft_unlikely(!weft_coll_has_published(r, rank)))
		weft_coll_wait_slow(r, rank);
}

/* Who alone writes may write again at once, where others have read last. */
static inline void weft_coll_fetch_ahead(const struct weft_coll_round *r)
{
	const uint32_t number = r->number + WEFT_COLL_AHEAD;

	weft_fetch_to_write(
		&r->shm->mine->slots[number & (r->shm->n_slots - 1)]);
}

/* This member's data is where weft_coll_data_of() says. */
static inline void weft_coll_publish(struct weft_coll_round *r)
{
	struct weft_coll_slot *slot = weft_coll_slot_of(r, r->shm->me);

	if (weft_unlikely(r->err))
		return;
	r->has_published = true;
	/* with the word, as others may be looking at the line */
	if (r->len > WEFT_COLL_INLINE)
		slot->at = r->at;
	/* pairs with the acquire in weft_coll_has_published */
	atomic_store_explicit(&slot->word, r->word, memory_order_release);
	if (!r->is_all)
		weft_coll_fetch_ahead(r);
}

/* All is done, or there was an error, which those hear who count on this
 * member. Returns it. */
int weft_coll_round_end(struct weft_coll_round *r);

static inline int32_t weft_shm_coll_rank(
	const struct weft_coll_shm *shm, int32_t place)
{
	return shm->ranks ? shm->ranks[place] : place;
}

/* The longest data that a collective has in the segment, in bytes as the rules
 * count them. */
static inline int64_t weft_coll_segment_max(enum weft_coll_kind kind)
{
	return kind == WEFT_COLL_REDUCE_SCATTER ? WEFT_COLL_LONG_MAX : 1 << 20;
}

/* How the members of a node lay out their segment: alike at all of them. */
struct weft_coll_layout {
	int32_t n, me;	   /* members on the node; this one's place */
	uint32_t long_len; /* of a member's area for long data */
	bool shares_cores;
};

/* Where a node's file is. */
struct weft_coll_offer {
	uint64_t owner; /* 0: there is none */
	int32_t fd;
	uint32_t reserved;
};

/* The area for long data that this process prefers, where a node has at most so
 * many members; and the nearest length that is valid. */
uint32_t weft_shm_coll_long_len(int32_t most);
uint32_t weft_shm_coll_valid_len(uint32_t len);

/* A new file for a segment; without one, an offer of owner 0. The caller closes
 * the file. */
struct weft_coll_offer weft_shm_coll_offer(
	const struct weft_comm *comm, const struct weft_coll_layout *layout);

/* Maps what was offered: comm->coll.shm. False where that is not wanted or
 * fails. The next collective is the first one that may use it. */
bool weft_shm_coll_map(struct weft_comm *comm,
	const struct weft_coll_offer *offer,
	const struct weft_coll_layout *layout);
void weft_shm_coll_unmap(struct weft_comm *comm);

/* A whole collective, of a communicator with a segment: WEFT_AGAIN when it goes
 * another way, and then does at all members. No lock held. */
int weft_shm_coll_try(enum weft_coll_kind kind, const struct weft_coll *args);

/* The same as a part, within the node; root and blocks count its places. With
 * an error already the others hear it. */
int weft_shm_coll_part(
	enum weft_coll_kind kind, const struct weft_coll *args, int err);

/* This member sends messages for a collective: all may know. */
void weft_shm_coll_note_messages(
	struct weft_comm *comm, uint32_t number, enum weft_coll_kind kind);

/* A rank that does not send messages for this one, and what it does; -1 when
 * there is none. */
int32_t weft_shm_coll_find_other(const struct weft_comm *comm, uint32_t number,
	enum weft_coll_kind *kind_out);

#endif
