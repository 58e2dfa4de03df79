/* SPDX-License-Identifier: BSD-3-Clause */
/* am_target: the target's part of active messages: records, answers */
#include "am/am.h"

#include "base/word.h"
#include "core/comm.h"
#include "dt/redop.h"
#include "dt/type.h"

#include <string.h>

/* --- answers --------------------------------------------------------- */

void weft_am_replies_send(struct weft_am_replies *replies)
{
	struct weft_comm *comm = replies->comm;
	struct weft_wire_head head = {
		.op = replies->op, .src = (uint32_t)comm->rank, .ctx = comm->ctx
	};

	if (replies->len)
		weft_peer_control(weft_comm_peer(comm, replies->rank), &head,
			replies->bytes, replies->len);
	replies->len = 0;
}

void weft_am_reply(struct weft_am_replies *replies, uint32_t id, uint64_t pos,
	int err, const void *data, size_t len)
{
	struct weft_wire_am_reply rec = {
		.id = id, .err = (int16_t)err, .pos = pos
	};
	size_t padded;
	uint8_t *at;

	if (err) {
		data = weft_err_detail_peek(err);
		len = strlen(data);
	}
	rec.len = (uint16_t)len;
	padded = weft_round_up(len, 8);
	if (sizeof(rec) + padded > sizeof(replies->bytes) - replies->len)
		weft_am_replies_send(replies);
	at = replies->bytes + replies->len;
	memcpy(at, &rec, sizeof(rec));
	at += sizeof(rec);
	if (padded > len)
		memset(at + padded - 8, 0, 8);
	weft_word_store(at, data, len, __ATOMIC_RELAXED);
	replies->len += (uint32_t)(sizeof(rec) + padded);
}

/* --- records --------------------------------------------------------- */

/* The length in bytes of all elements of a record, of `unit` bytes each.
 * SIZE_MAX: longer than a message can be. */
static size_t am_product(const struct weft_wire_am *rec, uint64_t unit)
{
	if (rec->n > WEFT_AM_MAX || rec->n_runs > WEFT_AM_MAX ||
		rec->n * rec->n_runs > WEFT_AM_MAX ||
		rec->n * rec->n_runs * unit > WEFT_AM_MAX)
		return SIZE_MAX;
	return (size_t)(rec->n * rec->n_runs * unit);
}

/* Bytes of data that follow a record; SIZE_MAX: the record is malformed. */
static size_t am_data_len(const struct weft_wire_am *rec)
{
	const struct weft_type *type;

	switch (rec->kind) {
	case WEFT_WIRE_AM_PUT:
		return am_product(rec, 1);
	case WEFT_WIRE_AM_ACC:
		if ((rec->op & ~(unsigned)WEFT_WIRE_AM_FETCHES) ==
			WEFT_OP_NO_OP)
			return 0;
		type = weft_type_builtin(rec->type);
		return type && type->size > 0
			       ? am_product(rec, (uint64_t)type->extent)
			       : SIZE_MAX;
	case WEFT_WIRE_AM_CAS:
		type = weft_type_builtin(rec->type);
		return type && type->size > 0 && type->size <= WEFT_AM_SHORT
			       ? 2 * (size_t)type->size
			       : SIZE_MAX;
	case WEFT_WIRE_AM_AMO:
		return 2 * sizeof(uint64_t);
	default:
		return 0;
	}
}

/* True if the record has one run, or several runs with at most RUNS_MAX bytes
 * (PUT, GET) or elements in total. */
static bool am_has_sound_runs(const struct weft_wire_am *rec)
{
	return rec->n_runs == 1 ||
	       (rec->n && rec->n_runs &&
		       rec->n_runs <= WEFT_WIRE_AM_RUNS_MAX / rec->n);
}

bool weft_am_next(struct weft_wire_am *rec, const uint8_t **data_out,
	size_t *data_len, const uint8_t **at, size_t *len)
{
	size_t head_len = WEFT_AM_HEAD, size, padded;

	if (*len < head_len)
		return false;
	memcpy(rec, *at, head_len);
	if (rec->kind & WEFT_WIRE_AM_RUNS) {
		head_len = sizeof(*rec);
		if (*len < head_len)
			return false;
		memcpy(rec, *at, head_len);
		rec->kind &= (uint8_t)~WEFT_WIRE_AM_RUNS;
	} else {
		rec->at = rec->stride = 0;
		rec->n = rec->kind <= WEFT_WIRE_AM_GET ? rec->type : 1;
		rec->pos = 0;
		rec->n_runs = 1;
	}
	size = am_has_sound_runs(rec) ? am_data_len(rec) : SIZE_MAX;
	if (size > WEFT_AM_MAX)
		return false;
	padded = head_len + weft_round_up(size, 8);
	if (padded > *len)
		return false;
	*data_out = *at + head_len;
	*data_len = size;
	*at += padded;
	*len -= padded;
	return true;
}
