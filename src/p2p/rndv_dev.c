/* SPDX-License-Identifier: BSD-3-Clause */
/* rndv_dev: rendezvous of data in device memory
 *
 * A send of mode WEFT_SEND_DEVICE has its data in device memory. If the
 * receiver is on another node, the fabric reads the data from there if the
 * provider can (FI_HMEM). Otherwise each segment is copied to host memory
 * before it is posted (rndv_seg.c). Likewise, the fabric writes the data to the
 * receiver's device memory, or the receiver copies each segment there when the
 * segment has arrived. So these copies and the transfer overlap.
 *
 * If the receiver is on this node, the RTS contains the driver's IPC handle of
 * the memory. The receiver maps the memory and copies from it: to device
 * memory, or to contiguous host memory. Then it sends FIN.
 *
 * If the driver has no handle, or the receiver cannot map the memory, the
 * receiver sends CTS. The sender then copies a segment to host memory, sends it
 * in fragments (rndv.c), and copies the next one. The receiver copies each
 * segment to its device when the segment has arrived. The flag CANNOT_MAP of
 * the CTS ends the use of handles between these two processes.
 *
 * The copy of the receiver runs without the VCI's lock, like those of
 * rndv_copy.c, and only the copy completes the receive. */
#include "p2p/p2p_priv.h"

#include "base/err.h"
#include "base/log.h"
#include "dev/ipc.h"
#include "dev/pinned.h"
#include "dev/shadow.h"
#include "net/net.h"
#include "transport/proc.h"

#include <stdlib.h>

/* The provider may refuse some memory, such as managed memory, or all. After
 * this many refusals in succession, no registration is tried any more. */
enum { REFUSALS = 3 };

static_assert(sizeof(((struct weft_wire_device *)0)->handle) == WEFT_DEV_HANDLE,
	"handle");

/* ---- memory for the fabric ---- */

bool weft_rndv_dev_is_direct(const struct weft_vci *vci)
{
	return vci->net->plan.has_hmem && vci->p2p->n_refused < REFUSALS;
}

bool weft_rndv_dev_register(struct weft_vci *vci, struct weft_net *net,
	char *at, size_t len, struct weft_mr **mr_out)
{
	static const enum fi_hmem_iface ifaces[WEFT_DEV_N] = {
		[WEFT_DEV_CUDA] = FI_HMEM_CUDA,
		[WEFT_DEV_ROCM] = FI_HMEM_ROCR,
		[WEFT_DEV_ZE] = FI_HMEM_ZE,
	};
	struct weft_dev_where where;
	int err;

	if (!weft_rndv_dev_is_direct(vci) || !weft_dev_find(at, &where))
		return false;
	err = weft_mr_get_device(net, at, len,
		ifaces[weft_dev_vendor_of(&where)], where.device, mr_out);
	if (!err) {
		vci->p2p->n_refused = 0;
		return true;
	}
	if (++vci->p2p->n_refused == REFUSALS)
		weft_log_warn("P2P-HMEM",
			"%s; after %d refusals in succession, data in device "
			"memory passes through host memory "
			"(WEFT_DEV_FABRIC=off does not try)",
			weft_err_detail_peek(err), REFUSALS);
	return false;
}

static int not_device(const char *data, size_t offset)
{
	return weft_err_set(WEFT_ERR_BUFFER,
		"byte %zu of the message at %p is not in device memory: the "
		"allocation is too short, or was freed before the operation "
		"was complete",
		offset, (const void *)data);
}

/* ---- the sender's part ---- */

static char *run_of(const struct weft_req *req)
{
	return (char *)req->buf + req->type->true_lb;
}

bool weft_send_is_direct_locked(const struct weft_msg *msg)
{
	const struct weft_comm *comm = msg->comm;
	size_t len = (size_t)(msg->count * msg->type->size);
	size_t eager_len = weft_proc.node.eager_len;
	const struct weft_peer *peer;
	bool is_self;

	if (msg->rank < 0 || !weft_type_is_run(msg->type, msg->count))
		return false;
	peer = weft_comm_peer_cached(comm, (uint32_t)msg->rank);
	is_self = peer ? peer->is_self
		       : !comm->is_inter && msg->rank == comm->rank;
	if (peer && peer->state == WEFT_PEER_READY && !peer->is_shm && !is_self)
		eager_len = peer->vci->net->plan.eager_len;
	return !is_self && len > eager_len;
}

bool weft_send_is_direct(const struct weft_msg *msg)
{
	bool is_direct;

	weft_vci_lock(msg->comm->vci);
	is_direct = weft_send_is_direct_locked(msg);
	weft_vci_unlock(msg->comm->vci);
	return is_direct;
}

bool weft_rndv_dev_export(
	const struct weft_req *req, struct weft_wire_device *device_out)
{
	const char *data = run_of(req);
	const size_t len = (size_t)(req->count * req->type->size);
	struct weft_ipc_memory memory;

	if (!req->peer->is_shm || !weft_knob_is_on(weft_knobs.dev_ipc) ||
		weft_p2p_peer_of(req->peer)->is_unmappable ||
		!weft_ipc_export(data, &memory) ||
		len > memory.range.len - ((uintptr_t)data - memory.range.base))
		return false;
	memcpy(device_out->handle, memory.handle, sizeof(memory.handle));
	device_out->base = memory.range.base;
	device_out->size = memory.range.len;
	device_out->id = memory.range.id;
	device_out->offset = (uintptr_t)data - memory.range.base;
	return true;
}

int weft_rndv_dev_stage(struct weft_req *req, size_t offset, size_t len)
{
	char *data = run_of(req);
	struct weft_dev_copies copies;
	struct weft_dev_where where;
	int err;

	if (req->staging)
		return 0;
	if (!weft_dev_find(data + offset, &where))
		return not_device(data, offset);
	req->staging = weft_pinned_alloc(&where, len);
	if (!req->staging)
		return WEFT_ERR_NOMEM;
	err = weft_dev_begin(&where, true, &copies);
	if (!err)
		err = weft_dev_end(&copies, weft_dev_add(&copies, req->staging,
						    data + offset, len));
	return err;
}

void weft_rndv_dev_unstage(struct weft_req *req)
{
	weft_pinned_free(req->staging);
	req->staging = NULL;
}

/* ---- the receiver's part ---- */

/* Returns the shadow that has the data of a receive, and no other data. So the
 * shadow of a collective's whole buffer is excluded. */
static struct weft_shadow *shadow_of_recv(const struct weft_req *req)
{
	struct weft_shadow *shadow;

	if (!weft_dev_is_open() || !weft_type_is_run(req->type, req->count))
		return NULL;
	shadow = weft_shadow_of((char *)req->buf + req->type->true_lb);
	if (shadow && !shadow->is_message &&
		req->ctx % WEFT_CTX_OFFSET_END != WEFT_CTX_OFFSET_P2P)
		return NULL;
	return shadow;
}

char *weft_rndv_dev_at(const struct weft_req *req, size_t offset)
{
	const struct weft_shadow *shadow;

	if (req->kind == WEFT_REQ_SEND)
		return req->send.mode == WEFT_SEND_DEVICE ? run_of(req) + offset
							  : NULL;
	shadow = shadow_of_recv(req);
	return shadow ? (char *)weft_shadow_device(shadow, run_of(req)) + offset
		      : NULL;
}

int weft_rndv_dev_write(const void *at, size_t len)
{
	const struct weft_shadow *shadow = weft_shadow_of(at);
	const char *dev = weft_shadow_device(shadow, at);
	struct weft_dev_where where;

	if (!weft_dev_find(dev, &where))
		return not_device(shadow->low, (size_t)(dev - shadow->low));
	return weft_shadow_write_range(
		shadow, (const char *)at - shadow->host, (int64_t)len);
}

void weft_rndv_dev_written(const struct weft_req *req)
{
	if (!req->status.err || req->status.err == WEFT_ERR_TRUNCATE)
		shadow_of_recv(req)->is_bypassed = true;
}

bool weft_rndv_dev_is_valid(
	const struct weft_wire_device *device, const struct weft_wire_rts *rts)
{
	return device->id >> WEFT_DEV_ID_SHIFT < WEFT_DEV_N && device->base &&
	       device->size <= UINT64_MAX - device->base &&
	       device->offset <= device->size &&
	       rts->len <= device->size - device->offset && !rts->addr;
}

/* A deferred copy. */
struct dev_pull {
	struct weft_progress_hook hook;
	struct weft_req *req;
	uint64_t sreq;
	size_t len;
	struct weft_wire_device device;
	weft_rndv_copied_fn *copied;
};

/* Copies the data to the buffer of the receive, without the lock.
 * WEFT_ERR_ACCESS if it must arrive through host memory. *shadow_out: the
 * shadow of the buffer; NULL: the buffer is in host memory. */
static int dev_copy_mapped(
	const struct dev_pull *p, struct weft_shadow **shadow_out)
{
	const struct weft_req *req = p->req;
	struct weft_ipc_memory memory = {
		.range = { p->device.base, p->device.size, p->device.id }
	};
	void *dst = (char *)req->buf + req->type->true_lb;
	struct weft_dev_where where;

	*shadow_out = shadow_of_recv(req);
	if (*shadow_out) {
		dst = weft_shadow_device(*shadow_out, dst);
		where = (*shadow_out)->where;
	} else if (!weft_dev_used(
			   (enum weft_dev_id)weft_dev_id_of(&memory.range),
			   &where)) {
		return WEFT_ERR_NOMEM;
	}
	memcpy(memory.handle, p->device.handle, sizeof(memory.handle));
	return weft_ipc_copy(req->peer->proc, &memory, p->device.offset, &where,
		dst, p->len);
}

static void run_dev_pull(struct weft_progress_hook *hook)
{
	struct dev_pull *p = weft_container_of(hook, struct dev_pull, hook);
	struct weft_req *req = p->req;
	struct weft_p2p_peer *peer = weft_p2p_peer_of(req->peer);
	struct weft_shadow *shadow = NULL;
	int err = WEFT_ERR_ACCESS;

	peer->is_unmappable |= !weft_knob_is_on(weft_knobs.dev_ipc);
	if (weft_type_is_run(req->type, req->count) && !peer->is_unmappable &&
		weft_dev_is_open()) {
		weft_vci_unlock(req->vci);
		err = dev_copy_mapped(p, &shadow);
		weft_vci_lock(req->vci);
		peer->is_unmappable |= err == WEFT_ERR_ACCESS;
	}
	req->rndv.is_copying = false;
	if (err && req->peer->state == WEFT_PEER_FAILED)
		err = req->peer->err;
	else if (err)
		err = WEFT_ERR_ACCESS;
	if (!err && shadow)
		shadow->is_bypassed = true;
	p->copied(req, p->sreq, err);
	free(p);
}

int weft_rndv_dev_pull(struct weft_req *req,
	const struct weft_rndv_announced *announced, size_t len,
	weft_rndv_copied_fn *copied)
{
	struct dev_pull *p = malloc(sizeof(*p));

	if (!p)
		return WEFT_ERR_NOMEM;
	*p = (struct dev_pull){
		.hook.run = run_dev_pull,
		.req = req,
		.sreq = announced->sreq,
		.len = len,
		.device = *announced->device,
		.copied = copied,
	};
	req->rndv.is_copying = true;
	weft_vci_defer(req->vci, &p->hook);
	return 0;
}
