/* SPDX-License-Identifier: BSD-3-Clause */
/* req: allocate, complete, wait, release */
#include "core/req.h"

#include "core/comm.h"
#include "base/err.h"
#include "core/lane.h"
#include "core/progress.h"
#include "dt/type.h"

#include <stdlib.h>

struct weft_table weft_reqs = WEFT_TABLE_INIT(struct weft_req, WEFT_KIND_REQ);

struct weft_req *weft_req_new(struct weft_lane *lane, enum weft_req_kind kind)
{
	struct weft_req *req = lane->spare_reqs;

	if (weft_likely(req)) {
		lane->spare_reqs = req->state;
		weft_obj_renew(req);
	} else {
		req = weft_table_new(&weft_reqs);
		if (!req)
			return NULL;
		req->lane = lane;
		weft_list_init(&req->link);
		weft_list_init(&req->out.link);
	}
	req->kind = kind;
	req->refs = 1;
	req->is_done = false;
	req->is_persistent = false;
	req->is_active = true;
	req->is_user_freed = false;
	req->is_posted = false;
	req->is_eager = false;
	req->ops = NULL;
	req->comm = NULL;
	req->type = NULL;
	req->staging = NULL;
	req->on_done = NULL;
	req->state = NULL;
	req->n_parts = 0;
	req->n_moved = 0;
	req->status.is_cancelled = false;
	req->status.err = 0;
	return req;
}

void weft_req_put(struct weft_req *req)
{
	struct weft_lane *lane = req->lane;

	if (--req->refs > 0)
		return;
	if (req->ops && req->ops->release)
		req->ops->release(req);
	if (weft_unlikely(req->staging))
		free(req->staging);
	if (req->type && !req->type->is_builtin)
		weft_type_put(req->type);
	if (req->comm)
		weft_comm_put(req->comm);
	/* Stale for everybody at once: odd generations stay odd, but nobody
	 * knows the next one before weft_req_new() hands it out. */
	weft_obj_renew(req);
	req->state = lane->spare_reqs;
	lane->spare_reqs = req;
}

void weft_req_complete(struct weft_req *req, int err)
{
	req->status.err = err;
	req->is_done = true;
	if (req->on_done)
		req->on_done(req->on_done_arg, req);
}

void weft_req_wait(struct weft_lane *lane, struct weft_req *req)
{
	while (!req->is_done)
		weft_progress_wait(lane);
}

int weft_req_start(struct weft_req *req)
{
	int err;

	if (!req->is_persistent)
		return weft_err_set(WEFT_ERR_REQUEST,
			"the request is not a persistent one");
	if (req->is_active)
		return weft_err_set(WEFT_ERR_REQUEST,
			"the request is active; complete it "
			"before starting it again");
	weft_lane_take(req->lane);
	req->is_active = true;
	req->is_done = false;
	req->is_eager = false;
	req->remote = 0;
	req->n_parts = 0;
	req->status = (struct weft_status){ 0 };
	err = req->ops->start(req);
	if (err)
		req->is_active = false;
	weft_lane_drop(req->lane);
	return err;
}

void weft_req_detach(struct weft_req *req)
{
	req->is_user_freed = true;
	weft_req_put(req);
}
