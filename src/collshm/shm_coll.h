/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_coll: blocking collectives in a shared segment
 *
 * The members of a communicator that are on one node map one segment. A local
 * rank is the index of a member in the segment. Parameters named `rank` and
 * `place` are local ranks. A member writes only its own part: its slots, its
 * areas for data that does not fit into a slot, and the words of the rounds
 * that it has begun. README.md has the layout and the invariants.
 *
 * Private fields need no lock, because calls on one communicator do not
 * overlap. */
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
	WEFT_COLL_AHEAD = 2, /* a slot is prefetched this many rounds before its
				round */
	WEFT_COLL_SHORT_MAX =
		8192, /* longest data of one round for most operations; longer
			 data is divided into pieces. Also the length of a part
			 of the area for short data */
	WEFT_COLL_SHORT_LEN = 8 * WEFT_COLL_SHORT_MAX,
	/* length of a part of the area for long data, or of both areas if
	 * processes share cores */
	WEFT_COLL_PART_LEN = 16384,
	WEFT_COLL_LONG_MAX = 4 * WEFT_COLL_PART_LEN, /* most data of a round */
	/* limits of the length of the area for long data */
	WEFT_COLL_LONG_LEAST =
		2 * WEFT_COLL_LONG_MAX, /* above the data of one round */
	WEFT_COLL_LONG_MOST = 2 << 20,
	WEFT_COLL_PARTS_MAX = (WEFT_COLL_SHORT_LEN + WEFT_COLL_LONG_MOST) /
			      WEFT_COLL_PART_LEN,
	WEFT_COLL_LENS = 4,   /* ranges of lengths of an operation */
	WEFT_COLL_TEXT = 112, /* bytes of an error's text */
};

/* In shared memory. The word (weft_coll_word()) is stored last. */
struct weft_coll_slot {
	union {
		uint8_t data[WEFT_COLL_INLINE];
		uint32_t at; /* offset of longer data in the areas */
	};
	_Atomic uint64_t word;
};
_Static_assert(sizeof(struct weft_coll_slot) == WEFT_CACHE_LINE, "one line");

/* In shared memory: the part that one member writes and the others read. */
struct weft_coll_member {
	/* words of the last rounds that the member has begun: that of round s
	 * is at s % 8 */
	_Alignas(2 * WEFT_CACHE_LINE) _Atomic uint64_t starts[WEFT_COLL_STARTS];
	/* the error of the round whose slot has WEFT_COLL_WORD_ERR in its word
	 */
	_Alignas(WEFT_CACHE_LINE) int32_t err;
	char text[WEFT_COLL_TEXT];
	_Alignas(WEFT_CACHE_LINE) struct weft_coll_slot slots[WEFT_COLL_SLOTS];
};

/* The lower half of a word. The upper half is the round's sequence number plus
 * 1. */
enum {
	WEFT_COLL_WORD_KIND = 15,
	WEFT_COLL_WORD_ERR = 16, /* the member failed; its slot has no data */
	WEFT_COLL_WORD_MESSAGES = 32, /* this collective uses messages */
	WEFT_COLL_WORD_SHIFT = 6,     /* first bit of a hash of length, root and
					 operation */
};

/* Offsets in an area. All members compute the same offsets, because they follow
 * from the collectives so far. */
struct weft_coll_area {
	/* offset of the area in a member's areas; length and number of its
	 * parts */
	uint32_t base, part_len, n_parts;
	uint32_t at; /* offset of the last data */
	/* used: the last round that used each part. before: the last round that
	 * used the current parts before the data at `at` */
	uint32_t used[WEFT_COLL_PARTS_MAX], before;
	bool is_large; /* the area exceeds the writer's cache */
};

/* A range of lengths of data, in bytes, for which an operation uses the
 * segment. `to` is -1 in unused entries. */
struct weft_coll_lens {
	int32_t from, to;
};

/* Private to a process. */
struct weft_coll_shm {
	struct weft_coll_member *members;
	struct weft_coll_member *mine;
	uint8_t *data;			/* areas of all members */
	uint32_t areas_len;		/* length of the areas of one member */
	struct weft_coll_area areas[2]; /* for short data, for long */
	uint32_t short_max;		/* longest data in areas[0] */
	uint32_t last_all; /* last round with data in which every member reads
			      the data of every other member */
	uint32_t n_slots;  /* slots in use: a power of two */
	/* the rank of local rank i is ranks[first + i], or first + i if ranks
	 * is NULL */
	const int32_t *ranks;
	int32_t first;
	int32_t n, me; /* members; local rank of this process */
	bool is_whole; /* all members of the communicator use this segment */
	bool shares_cores;
	/* lens[1]: lengths for operations that are not commutative */
	struct weft_coll_lens lens[2][WEFT_COLL_N][WEFT_COLL_LENS];
	uint32_t reached; /* every member has begun this or a later round */
	uint32_t n_calls; /* rounds since the last call of weft_progress() */
	bool stores_past; /* copies to areas use non-temporal stores */
};

/* A round: a short collective, a piece of a long one, or one of the two rounds
 * of a piece of a long allreduce. */
struct weft_coll_round {
	struct weft_comm *comm;
	struct weft_coll_shm *shm;
	uint64_t word;
	uint32_t number;
	enum weft_coll_kind kind;
	size_t len;  /* bytes of data, the same at all members */
	size_t skip; /* bytes of each buffer that earlier pieces contained */
	uint32_t at; /* offset in each member's areas */
	bool is_all; /* every member reads the data of every other member */
	bool has_published; /* this member has published its slot */
	int err;
};

/* The word of a round: its sequence number plus 1, and `what`, a combination of
 * the bits above. 0 is no word. */
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
	/* The compiler must not derive the address from slot->at. Otherwise the
	 * processor could not load the data before it has loaded the slot. */
	__asm__("" : "+r"(at));
	if (weft_likely(rank == r->shm->me || slot->at == at))
		return areas + at;
	/* the address is in the segment for any value of slot->at */
	return areas + slot->at % r->shm->areas_len;
}

static inline bool weft_coll_has_published(
	const struct weft_coll_round *r, int32_t rank)
{
	/* pairs with the release in weft_coll_publish(), before which the
	 * member has written its data */
	return atomic_load_explicit(&weft_coll_slot_of(r, rank)->word,
		       memory_order_acquire) == r->word;
}

/* Begins the communicator's next round, with len bytes of data. */
void weft_coll_round_begin(struct weft_coll_round *r,
	const struct weft_coll *args, enum weft_coll_kind kind, size_t len);

/* Waits until this member may write its slot and its data. Returns immediately
 * if the round has an error. */
void weft_coll_wait_space(struct weft_coll_round *r);
/* Waits until the member with local rank `rank` has published its slot. Returns
 * immediately if the round has an error. */
void weft_coll_wait_slow(struct weft_coll_round *r, int32_t rank);

static inline void weft_coll_wait(struct weft_coll_round *r, int32_t rank)
{
	if (weft_unlikely(!weft_coll_has_published(r, rank)))
		weft_coll_wait_slow(r, rank);
}

/* Prefetches the line of a later slot, because a root publishes successive
 * rounds without a wait. */
static inline void weft_coll_fetch_ahead(const struct weft_coll_round *r)
{
	const uint32_t number = r->number + WEFT_COLL_AHEAD;

	weft_prefetch_write(
		&r->shm->mine->slots[number & (r->shm->n_slots - 1)]);
}

/* Publishes this member's data, which is at weft_coll_data_of(). Does nothing
 * if the round has an error. */
static inline void weft_coll_publish(struct weft_coll_round *r)
{
	struct weft_coll_slot *slot = weft_coll_slot_of(r, r->shm->me);

	if (weft_unlikely(r->err))
		return;
	r->has_published = true;
	/* stored directly before the word, because other members may poll the
	 * line */
	if (r->len > WEFT_COLL_INLINE)
		slot->at = r->at;
	/* publishes the data and slot->at; pairs with the acquire in
	 * weft_coll_has_published() */
	atomic_store_explicit(&slot->word, r->word, memory_order_release);
	if (!r->is_all)
		weft_coll_fetch_ahead(r);
}

/* Ends a round. 0 or the error of the round. After an error, a member that has
 * not published its slot publishes the error in it, because other members may
 * wait for the slot. */
int weft_coll_round_end(struct weft_coll_round *r);

/* The rank of a local rank in the communicator. */
static inline int32_t weft_shm_coll_rank(
	const struct weft_coll_shm *shm, int32_t place)
{
	return shm->ranks ? shm->ranks[shm->first + place] : shm->first + place;
}

/* The longest data of a collective in the segment, in bytes as the rules count
 * them. */
static inline int64_t weft_coll_segment_max(enum weft_coll_kind kind)
{
	return kind == WEFT_COLL_REDUCE_SCATTER ? WEFT_COLL_LONG_MAX : 1 << 20;
}

/* The layout of a node's segment, equal at all members on the node. */
struct weft_coll_layout {
	int32_t n, me;	   /* number of members on the node; local rank of this
			      member */
	uint32_t long_len; /* length of a member's area for long data */
	bool shares_cores;
};

/* The file of a node's segment, as the node leader publishes it. */
struct weft_coll_offer {
	uint64_t owner; /* 0: no file */
	int32_t fd;
	uint32_t long_len; /* as in the layout of the node leader */
};

/* Returns the length of a member's area for long data that this process
 * prefers, if its node has n members. */
uint32_t weft_shm_coll_long_len(int32_t n);
/* Limits a length of that area, and rounds it down to whole parts. */
uint32_t weft_shm_coll_valid_len(uint32_t len);

/* Creates the file of a segment. owner is 0 if this process wants no segment,
 * or on failure. The caller closes fd. */
struct weft_coll_offer weft_shm_coll_offer(
	const struct weft_comm *comm, const struct weft_coll_layout *layout);

/* Maps the offered file and sets comm->coll.shm. False if there is no file,
 * this process wants no segment, or on failure. */
bool weft_shm_coll_map(struct weft_comm *comm,
	const struct weft_coll_offer *offer,
	const struct weft_coll_layout *layout);
/* Unmaps the segment, if there is one, and clears comm->coll.shm. */
void weft_shm_coll_unmap(struct weft_comm *comm);

/* Runs a collective of a communicator with a segment. 0 or an error.
 * WEFT_AGAIN: all members use messages for this collective. No lock held. */
int weft_shm_coll_try(enum weft_coll_kind kind, const struct weft_coll *args);

/* True if weft_shm_coll_try() would run this collective. The communicator may
 * have no segment. */
bool weft_shm_coll_is_due(enum weft_coll_kind kind,
	const struct weft_coll *args) __attribute__((cold));

/* Runs the part of a collective within this node. The root and the indices of
 * blocks are local ranks. If err is not 0, an earlier part has failed; err is
 * published to the other members and returned. 0 or an error. WEFT_AGAIN: all
 * members use messages for this part. No lock held. */
int weft_shm_coll_part(
	enum weft_coll_kind kind, const struct weft_coll *args, int err);

/* Publishes that this member uses messages for the collective with this
 * sequence number. VCI's lock held. */
void weft_shm_coll_note_messages(
	struct weft_comm *comm, uint32_t number, enum weft_coll_kind kind);

/* Finds a member that runs the collective with this sequence number in the
 * segment, not by messages. Returns its rank, and sets *kind_out to the
 * collective; -1: there is none. VCI's lock held. */
int32_t weft_shm_coll_find_other(const struct weft_comm *comm, uint32_t number,
	enum weft_coll_kind *kind_out);

#endif
