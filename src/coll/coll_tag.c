/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_tag: a tag has the sequence number and the kind of a collective */
#include "coll/coll_priv.h"
#include "collshm/shm_coll.h"

#include "p2p/p2p.h"

enum { KIND = 15 };

int32_t weft_coll_tag(struct weft_comm *comm, enum weft_ctx_offset ctx_offset,
	enum weft_coll_kind kind)
{
	uint32_t number;

	if (ctx_offset != WEFT_CTX_OFFSET_COLL)
		return (int32_t)(comm->ctl.seq++ & 0x7fffffff);
	number = comm->coll.seq++;
	if (comm->coll.shm)
		weft_shm_coll_note_messages(comm, number, kind);
	return (int32_t)(number & WEFT_TAG_COLL_NUMBER) |
	       (int32_t)kind << WEFT_TAG_COLL_SHIFT;
}

int weft_coll_tag_mismatch(int32_t tag, int32_t met, int32_t rank)
{
	return weft_coll_mismatch(
		(enum weft_coll_kind)(tag >> WEFT_TAG_COLL_SHIFT & KIND),
		(unsigned)met >> WEFT_TAG_COLL_SHIFT & KIND, rank);
}

int weft_coll_tag_refuse(
	struct weft_comm *comm, int32_t tag, int32_t met, int32_t rank)
{
	const struct weft_msg word = {
		.comm = comm,
		.rank = rank,
		.tag = met,
		.ctx_offset = WEFT_CTX_OFFSET_COLL,
	};
	int err = weft_coll_tag_mismatch(tag, met, rank);

	if (met & WEFT_COLL_TAG_SETTLE && rank >= 0)
		weft_send_coll_error_locked(&word, err);
	return err;
}

_Static_assert(
	(int)WEFT_COLL_N <= KIND, "a kind fits above its number in a tag");
