/* SPDX-License-Identifier: BSD-3-Clause */
/* step: steps, scratch memory and the watch, for all schedules */
#include "coll/coll_priv.h"
#include "collshm/shm_coll.h"

#include "base/knob.h"
#include "dt/pack.h"
#include "p2p/p2p.h"

#include <stdlib.h>

enum { WATCH_ROUNDS = 64, CACHED_MAX = 8, CACHED_LEN_MIN = 32768 };

/* ---- scratch memory ---- */

struct weft_tmp {
	struct weft_tmp *next;
	size_t len;
	_Alignas(16) char data[];
};

/* Removes scratch memory of at least len bytes from the VCI's cache; the last
 * freed first. NULL: none fits. A VCI caches long scratch memory, because the
 * first access to a new page is slow. */
static struct weft_tmp *take_cached(struct weft_vci *vci, size_t len)
{
	for (struct weft_tmp **at = &vci->scratch; *at; at = &(*at)->next) {
		struct weft_tmp *tmp = *at;

		if (tmp->len < len || tmp->len / 4 > len)
			continue;
		*at = tmp->next;
		return tmp;
	}
	return NULL;
}

static void keep(struct weft_vci *vci, struct weft_tmp *kept)
{
	struct weft_tmp **at = &vci->scratch;
	size_t n = 0, len = 0;

	kept->next = *at;
	*at = kept;
	while (*at) {
		struct weft_tmp *tmp = *at;

		len += tmp->len;
		if (n++ < CACHED_MAX &&
			len <= (size_t)weft_knobs.coll_scratch) {
			at = &tmp->next;
			continue;
		}
		len -= tmp->len;
		*at = tmp->next;
		free(tmp);
	}
}

static void free_all(struct weft_tmp **tmps)
{
	while (*tmps) {
		struct weft_tmp *tmp = *tmps;

		*tmps = tmp->next;
		free(tmp);
	}
}

void weft_coll_close(struct weft_vci *vci)
{
	free_all(&vci->scratch);
}

void weft_sched_free_tmps(struct weft_sched *sched)
{
	while (sched->vci && sched->tmps) {
		struct weft_tmp *tmp = sched->tmps;

		sched->tmps = tmp->next;
		if (tmp->len < CACHED_LEN_MIN)
			free(tmp);
		else
			keep(sched->vci, tmp);
	}
	free_all(&sched->tmps);
}

void *weft_sched_tmp(struct weft_sched *sched, size_t len)
{
	struct weft_tmp *tmp = NULL;
	char *room = sched->room;

	if (room && len <= sched->room_len) {
		len = (len + 15) & ~(size_t)15;
		sched->room += len;
		sched->room_len -= len;
		return room;
	}
	if (sched->vci && len >= CACHED_LEN_MIN)
		tmp = take_cached(sched->vci, len);
	if (!tmp) {
		tmp = malloc(sizeof(*tmp) + len);
		if (!tmp) {
			sched->err = WEFT_ERR_NOMEM;
			return sched; /* any address: after an error, steps
					 access no memory */
		}
		tmp->len = len;
	}
	tmp->next = sched->tmps;
	sched->tmps = tmp;
	return tmp->data;
}

void *weft_sched_tmp_typed(
	struct weft_sched *sched, int64_t count, const struct weft_type *type)
{
	int64_t low;
	size_t len = weft_items_len(count, type, &low);

	return (char *)weft_sched_tmp(sched, len) - low;
}

/* ---- writing steps ---- */

void weft_sched_copy(
	struct weft_sched *sched, struct weft_span from, struct weft_span to)
{
	if (from.count == 0 || from.type->size == 0)
		return;
	sched->add(sched, &(struct weft_step){ .kind = WEFT_STEP_COPY,
				  .in = from.buf,
				  .in_count = from.count,
				  .in_type = from.type,
				  .span = to });
}

void weft_sched_reduce(struct weft_sched *sched, struct weft_redop *op,
	const void *in, struct weft_span inout)
{
	if (inout.count == 0)
		return;
	sched->add(sched, &(struct weft_step){ .kind = WEFT_STEP_REDUCE,
				  .in = in,
				  .op = op,
				  .span = inout });
}

/* ---- executing steps ---- */

/* Ends a message of a schedule whose buffers may be in device memory. */
static void end_on_device(struct weft_sched *sched, void *buf,
	const struct weft_type *type, int64_t n_received)
{
	int err;

	if (weft_likely(!sched->is_on_device))
		return;
	err = weft_step_dev_end(buf, type, n_received);
	if (err && !sched->err)
		sched->err = err;
}

struct weft_req *weft_step_start(
	struct weft_sched *sched, const struct weft_step *step)
{
	struct weft_msg msg = {
		.comm = step->comm,
		.buf = step->span.buf,
		.count = step->span.count,
		.type = step->span.type,
		.rank = step->rank,
		.tag = sched->tag,
		.ctx_offset = sched->ctx_offset,
	};
	struct weft_req *req;
	int32_t met;
	int err;

	if (weft_unlikely(sched->is_on_device) && !sched->err)
		sched->err =
			weft_step_dev_begin(&msg, step->kind == WEFT_STEP_SEND);
	if (weft_unlikely(sched->err)) {
		if (step->kind == WEFT_STEP_SEND)
			weft_send_coll_error_locked(&msg, sched->err);
		else
			weft_recv_drop_locked(&msg);
		return NULL;
	}
	if (step->kind == WEFT_STEP_SEND) {
		if (weft_send_try_locked(&msg)) {
			end_on_device(sched, msg.buf, msg.type, 0);
			return NULL;
		}
		err = weft_isend_locked(&msg, &req);
	} else if (weft_unlikely(msg.comm->match.n_unexpected) &&
		   weft_recv_other_locked(&msg, &met))
		err = weft_coll_tag_refuse(
			msg.comm, sched->tag, met, step->rank);
	else
		err = weft_irecv_locked(&msg, &req);
	if (weft_unlikely(err)) {
		end_on_device(sched, msg.buf, msg.type, 0);
		sched->err = err;
		return NULL;
	}
	if (!req->is_done)
		return req;
	weft_step_end(sched, req);
	return NULL;
}

void weft_step_end(struct weft_sched *sched, struct weft_req *req)
{
	if (weft_unlikely(req->status.err) && !sched->err) {
		sched->err = req->status.err;
		if (sched->err == WEFT_ERR_NOT_SAME &&
			req->status.tag != sched->tag)
			weft_coll_tag_refuse(req->comm, sched->tag,
				req->status.tag, req->status.source);
	}
	end_on_device(sched, req->buf, req->type,
		req->kind == WEFT_REQ_RECV && !req->status.err ? req->status.len
							       : 0);
	weft_req_put(req);
}

int weft_step_local(
	const struct weft_sched *sched, const struct weft_step *step)
{
	if (weft_unlikely(sched->is_on_device))
		return weft_step_dev_copy(step);
	if (step->kind == WEFT_STEP_COPY)
		return weft_type_copy(step->in_type, step->in_count, step->in,
			step->span.type, step->span.count, step->span.buf);
	return weft_redop_apply(step->op, step->in, step->span.buf,
		step->span.buf, step->span.count, step->span.type);
}

void weft_step_send_error(
	struct weft_sched *sched, const struct weft_step *step)
{
	if (step->kind == WEFT_STEP_SEND || step->kind == WEFT_STEP_RECV)
		weft_step_start(sched, step);
}

/* ---- members that use the segment ---- */

static void end_messages(const struct weft_watch *watch)
{
	struct weft_req *req;
	uint32_t pos = 0;

	if (watch->req) /* if the request completes here, this reference keeps
			   the schedule valid */
		weft_req_get(watch->req);
	while ((req = weft_req_next(watch->comm->vci, &pos)) != NULL)
		if (req->refs && !req->is_done && req->on_done &&
			req->on_done_arg == watch->sched)
			weft_cancel_unreceivable(req, watch->sched->err);
	if (watch->req)
		weft_req_put(watch->req);
}

static void watch_check(struct weft_progress_hook *hook)
{
	struct weft_watch *watch =
		weft_container_of(hook, struct weft_watch, hook);
	struct weft_sched *sched = watch->sched;
	enum weft_coll_kind other;
	int32_t rank;

	if (++watch->n_rounds % WATCH_ROUNDS)
		return;
	rank = weft_shm_coll_find_other(watch->comm, watch->number, &other);
	if (rank < 0)
		return;
	weft_watch_end(watch);
	if (!sched->err)
		sched->err = weft_coll_tag_mismatch(sched->tag,
			(int32_t)other << WEFT_TAG_COLL_SHIFT, rank);
	end_messages(watch);
}

void weft_watch_begin(struct weft_watch *watch, struct weft_sched *sched,
	struct weft_comm *comm, uint32_t number)
{
	watch->sched = sched;
	watch->comm = comm;
	watch->number = number;
	watch->n_rounds = 0;
	watch->hook.run = watch_check;
	weft_list_push_back(&comm->vci->hooks, &watch->hook.link);
}

void weft_watch_end(struct weft_watch *watch)
{
	if (weft_likely(weft_list_is_empty(&watch->hook.link)))
		return;
	weft_list_remove(&watch->hook.link);
}
