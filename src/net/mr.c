/* SPDX-License-Identifier: BSD-3-Clause */
/* mr: registrations, shared while they are open
 *
 * A registration closes with its last reference. A cache of unused
 * registrations would have to watch munmap(). Providers that pin pages have
 * such a cache. Operations that use the same buffer at the same time share a
 * registration. */
#include "net/net_priv.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct weft_mr *mr_find(struct weft_inside *in, uintptr_t start,
	size_t len, enum fi_hmem_iface iface)
{
	for (struct weft_mr *mr = in->mrs; mr; mr = mr->next)
		if (mr->iface == iface && start >= mr->start &&
			start - mr->start <= mr->len &&
			len <= mr->len - (start - mr->start))
			return mr;
	return NULL;
}

static bool is_key_taken(const struct weft_inside *in, uint64_t key)
{
	for (const struct weft_mr *mr = in->mrs; mr; mr = mr->next)
		if (mr->key == key)
			return true;
	return false;
}

int weft_mr_draw_key(const struct weft_plan *plan, uint64_t *key_out)
{
	uint64_t key;

	do {
		if (getrandom(&key, sizeof(key), 0) != sizeof(key))
			return weft_err_set(WEFT_ERR_OTHER,
				"no key for registered memory: getrandom: %s",
				strerror(errno));
		key &= plan->key_mask;
	} while (key < plan->n_keys);
	*key_out = key;
	return 0;
}

static int pick_key(const struct weft_inside *in, uint64_t *key_out)
{
	int err = 0;

	*key_out = 0;
	if (in->net.plan.has_prov_key)
		return 0;
	do
		err = weft_mr_draw_key(&in->net.plan, key_out);
	while (!err && is_key_taken(in, *key_out));
	return err;
}

static int enable(struct weft_inside *in, struct fid_mr *fid)
{
	int rc;

	if (!in->net.plan.has_mr_endpoint)
		return 0;
	rc = fi_mr_bind(fid, &in->net.ep->fid, 0);
	return rc ? rc : fi_mr_enable(fid);
}

static int reg(struct weft_inside *in, const struct iovec *iov,
	enum fi_hmem_iface iface, int device, struct fid_mr **fid_out)
{
	struct fi_mr_attr attr = {
		.mr_iov = iov,
		.iov_count = 1,
		.access = FI_SEND | FI_RECV,
		.iface = iface,
		/* each number of a device begins the union */
		.device.reserved = (uint64_t)device,
	};
	struct fid_mr *fid;
	int rc = pick_key(in, &attr.requested_key);

	if (rc)
		return rc;
	rc = fi_mr_regattr(in->dom.domain, &attr, 0, &fid);
	if (rc)
		return weft_net_fault(&in->net, "fi_mr_regattr", rc);
	rc = enable(in, fid);
	if (rc) {
		fi_close(&fid->fid);
		return weft_net_fault(&in->net, "fi_mr_enable", rc);
	}
	*fid_out = fid;
	return 0;
}

static int mr_get(struct weft_inside *in, struct iovec iov,
	enum fi_hmem_iface iface, int device, struct weft_mr **mr_out)
{
	const uintptr_t start = (uintptr_t)iov.iov_base;
	struct weft_counters *counters = &in->net.counters;
	struct weft_mr *mr = mr_find(in, start, iov.iov_len, iface);
	int rc;

	if (mr) {
		mr->n_refs++;
		counters->mr_reused++;
		*mr_out = mr;
		return 0;
	}
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory to register");
	rc = reg(in, &iov, iface, device, &mr->fid);
	if (rc) {
		free(mr);
		return rc;
	}
	mr->key = fi_mr_key(mr->fid);
	mr->desc = fi_mr_desc(mr->fid);
	mr->start = start;
	mr->len = iov.iov_len;
	mr->iface = iface;
	mr->n_refs = 1;
	mr->next = in->mrs;
	in->mrs = mr;
	counters->mr_registered++;
	counters->mr_memory += mr->len;
	*mr_out = mr;
	return 0;
}

int weft_mr_get(
	struct weft_net *net, void *buf, size_t len, struct weft_mr **mr_out)
{
	struct iovec iov = { buf, len };

	return mr_get(weft_net_inside(net), iov, FI_HMEM_SYSTEM, 0, mr_out);
}

int weft_mr_get_device(struct weft_net *net, void *buf, size_t len,
	enum fi_hmem_iface iface, int device, struct weft_mr **mr_out)
{
	struct iovec iov = { buf, len };

	assert(net->plan.has_hmem && iface != FI_HMEM_SYSTEM);
	return mr_get(weft_net_inside(net), iov, iface, device, mr_out);
}

void weft_mr_put(struct weft_net *net, struct weft_mr *mr)
{
	struct weft_inside *in = weft_net_inside(net);
	struct weft_mr **at = &in->mrs;
	int rc;

	if (!mr || --mr->n_refs)
		return;
	while (*at && *at != mr)
		at = &(*at)->next;
	if (*at)
		*at = mr->next;
	rc = fi_close(&mr->fid->fid);
	if (rc)
		weft_log_warn("NET-MR",
			"closing a registration of %zu bytes: %s (a provider "
			"fault; WEFT_PROVIDER chooses another)",
			mr->len, fi_strerror(-rc));
	net->counters.mr_memory -= mr->len;
	free(mr);
}

void weft_mr_fini(struct weft_inside *in)
{
	while (in->mrs) {
		in->mrs->n_refs = 1;
		weft_mr_put(&in->net, in->mrs);
	}
}
