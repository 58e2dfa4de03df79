/* SPDX-License-Identifier: BSD-3-Clause */
/* req: allocates, starts, waits for and recycles requests */
#include "core/req.h"

#include "core/comm.h"
#include "base/err.h"
#include "transport/vci.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "dt/type.h"

#include <stdlib.h>

enum { SHORT_WAIT = 64 }; /* rounds of progress */

struct weft_table weft_reqs = WEFT_TABLE_INIT(struct weft_req, WEFT_KIND_REQ);

struct weft_req *weft_req_make(struct weft_vci *vci)
{
	struct weft_req *req = weft_table_new(&weft_reqs);

	if (!req)
		return NULL;
	/* vci is constant from now on: only the same VCI reuses the request */
	__atomic_store_n(&req->vci, vci, __ATOMIC_RELAXED);
	weft_list_init(&req->link);
	weft_list_init(&req->out.link);
	return req;
}

struct weft_req *weft_req_next(const struct weft_vci *vci, uint32_t *pos)
{
	struct weft_req *req;

	/* requests of other VCIs may change concurrently, but not their VCI */
	while ((req = weft_table_at(&weft_reqs, *pos)) != NULL) {
		++*pos;
		if (__atomic_load_n(&req->vci, __ATOMIC_RELAXED) == vci)
			return req;
	}
	return NULL;
}

/* Frees and clears the parts of a request that short messages do not use. */
static void req_clean(struct weft_req *req)
{
	if (req->ops && req->ops->release)
		req->ops->release(req);
	free(req->staging);
	req->ops = NULL;
	req->on_done = NULL;
	req->staging = NULL;
	req->attached = NULL;
	req->rndv = (struct weft_req_rndv){ 0 };
}

void weft_req_recycle(struct weft_req *req)
{
	struct weft_vci *vci = req->vci;

	if (weft_unlikely((uintptr_t)req->ops | (uintptr_t)req->on_done |
			  (uintptr_t)req->staging | (uintptr_t)req->attached |
			  req->rndv.remote | req->rndv.n_segs))
		req_clean(req);
	if (req->type && weft_unlikely(!req->type->is_builtin))
		weft_type_put(req->type);
	if (weft_likely(req->comm))
		weft_comm_put(req->comm);
	/* makes every handle stale: an odd generation stays odd, and
	 * weft_req_new() uses the next generation */
	weft_obj_renew(req);
	req->spare = vci->core->spare_reqs;
	vci->core->spare_reqs = req;
}

/* A wait that ends within SHORT_WAIT rounds is not registered with the
 * watchdog.
 */
void weft_req_wait_more(
	struct weft_vci *vci, struct weft_req *req, const char *call)
{
	for (int i = 0; i < SHORT_WAIT; i++) {
		if (req->is_done)
			return;
		weft_progress_wait(vci);
	}
	if (weft_likely(weft_proc.wait_req)) {
		weft_proc.wait_req(vci, req, call);
		return;
	}
	while (!req->is_done)
		weft_progress_wait(vci);
}

void weft_req_on_wait(weft_req_wait_fn *fn)
{
	if (weft_proc.wait_req != fn)
		weft_proc.wait_req = fn;
}

int weft_req_start_locked(struct weft_req *req)
{
	int err;

	req->is_active = true;
	req->is_done = false;
	if (req->kind == WEFT_REQ_SEND)
		req->send.is_eager = false;
	req->rndv = (struct weft_req_rndv){ 0 };
	req->status = (struct weft_status){ 0 };
	err = req->ops->start(req);
	if (err)
		req->is_active = false;
	return err;
}

int weft_req_start(struct weft_req *req)
{
	int err;

	if (!req->is_persistent)
		return weft_err_set(
			WEFT_ERR_REQUEST, "the request is not persistent");
	if (req->is_active)
		return weft_err_set(WEFT_ERR_REQUEST,
			"the request is active; complete it "
			"before starting it again");
	weft_vci_lock(req->vci);
	err = weft_req_start_locked(req);
	weft_vci_unlock(req->vci);
	return err;
}

void weft_req_detach(struct weft_req *req)
{
	req->is_user_freed = true;
	weft_req_put(req);
}
