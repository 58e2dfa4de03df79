/* SPDX-License-Identifier: BSD-3-Clause */
/* nic_priv: matching on the network card: what nic_send.c and nic_recv.c share
 *
 * Each process decides for its own receives. One that has the card match gives
 * the communicator a slot, a number of its own, and tells it to each sender
 * that asks before its first message; what a sender says meanwhile waits in
 * order. Who is told that all is as usual here sends as usual: those on the
 * node, always. A tag for the fabric is, from the top: the slot, the sender's
 * rank, the message's tag, and in the midst of it bit 31, which the tags of
 * rendezvous (request handles) never have. VCI's lock held everywhere. */
#ifndef WEFT_NIC_PRIV_H
#define WEFT_NIC_PRIV_H

#include "net/tagged.h"
#include "p2p/nic_match.h"

enum {
	WEFT_NIC_SLOT_BITS = 12,
	WEFT_NIC_SLOTS = 1 << WEFT_NIC_SLOT_BITS,
	WEFT_NIC_TAG_BITS_MIN = 15
};

/* Of a VCI: made with the first communicator that takes one. */
struct weft_nic_slots {
	uint64_t used[WEFT_NIC_SLOTS / 64];
	uint32_t next; /* to be tried */
};

/* How messages to one rank are sent. */
struct weft_nic_dest {
	struct weft_link waiting; /* sends, by req->out.link */
	enum {
		WEFT_NIC_NEW,
		WEFT_NIC_ASKED,
		WEFT_NIC_USUAL,
		WEFT_NIC_CARD
	} how;
	uint64_t base;
	uint32_t tag_ub;
};

/* A communicator on which the card is wanted. Made by weft_nic_settle_locked(),
 * freed with the communicator, emptied by weft_nic_purge(). */
struct weft_nic_match {
	struct weft_comm *comm;
	bool is_on;  /* the card matches my receives */
	bool is_all; /* also those from my node and from any source */
	uint32_t slot;
	unsigned tag_bits, rank_bits;
	int tag_ub;
	struct weft_map dests;	 /* rank + 1 to struct weft_nic_dest */
	struct weft_op injected; /* for all of them */
	uint32_t n_injected;	 /* that have not left */
	struct weft_link posted; /* receives the card has, by req->link */
	struct weft_link held;	 /* that it could not take, in order */
	struct weft_progress_hook hook; /* tries again */
	struct weft_op swept;		/* looks for messages nobody wants */
	bool is_sweeping;
	bool is_draining;
	bool is_last;  /* sweep: nothing more can come */
	bool is_empty; /* so it found */
	size_t swept_len;
	struct weft_message marker; /* stands for the card's messages */
	struct weft_message seen;   /* what a probe found */
};

/* One of the card's messages, kept for a receive. Its op's scratch is the
 * provider's from the claiming probe on. */
struct weft_claim {
	struct weft_op op;
	struct weft_req *req; /* takes it */
	struct weft_vci *vci;
	struct weft_progress_hook hook; /* tries again to throw it away */
	bool is_done;			/* the probe */
	int err;
	uint64_t tag;
	size_t len;
};

/* Bits of a communicator's tags below the slot at their places in a tag for
 * the fabric, and back. */
static inline uint64_t weft_nic_spread(uint64_t bits)
{
	return (bits & INT32_MAX) | bits >> 31 << 32;
}

static inline uint64_t weft_nic_gather(uint64_t tag)
{
	return (tag & INT32_MAX) | tag >> 32 << 31;
}

/* The tag of a message; wildcards stand for 0. */
static inline uint64_t weft_nic_tag(
	const struct weft_nic_match *nic, int32_t src, int32_t tag)
{
	uint64_t bits = (uint64_t)nic->slot << nic->rank_bits;

	bits = (bits | (src < 0 ? 0 : (uint32_t)src)) << nic->tag_bits;
	return weft_nic_spread(bits | (tag < 0 ? 0 : (uint32_t)tag)) |
	       1ull << 31;
}

/* What does not matter of it to who takes any. */
static inline uint64_t weft_nic_ignore(
	const struct weft_nic_match *nic, int32_t src, int32_t tag)
{
	uint64_t bits = 0;

	if (src == WEFT_ANY_SOURCE)
		bits = ((1ull << nic->rank_bits) - 1) << nic->tag_bits;
	if (tag == WEFT_ANY_TAG)
		bits |= (1ull << nic->tag_bits) - 1;
	return weft_nic_spread(bits);
}

static inline int32_t weft_nic_src_of(
	const struct weft_nic_match *nic, uint64_t tag)
{
	return (int32_t)(weft_nic_gather(tag) >> nic->tag_bits &
			 ((1ull << nic->rank_bits) - 1));
}

static inline int32_t weft_nic_tag_of(
	const struct weft_nic_match *nic, uint64_t tag)
{
	return (int32_t)(weft_nic_gather(tag) & ((1ull << nic->tag_bits) - 1));
}

/* nic_send.c: whether messages of this rank are the card's to match. */
bool weft_nic_has(const struct weft_nic_match *nic, int32_t rank);

/* nic_recv.c: the progress hook. */
void weft_nic_retry(struct weft_progress_hook *hook);

#endif
