/* SPDX-License-Identifier: BSD-3-Clause */
/* mr: registrations, shared while they are open
 *
 * A registration closes with its last reference. A cache of unused
 * registrations would have to watch munmap(). Providers that pin pages have
 * such a cache. Operations that use the same buffer at the same time share a
 * registration. */
#include "net/net_priv.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct weft_mr *mr_find(
	struct weft_inside *in, uintptr_t start, size_t len)
{
	for (struct weft_mr *mr = in->mrs; mr; mr = mr->next)
		if (start >= mr->start && start - mr->start <= mr->len &&
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

static int reg(
	struct weft_inside *in, void *buf, size_t len, struct fid_mr **fid_out)
{
	struct fid_mr *fid;
	uint64_t key;
	int rc = pick_key(in, &key);

	if (rc)
		return rc;
	rc = fi_mr_reg(in->dom.domain, buf, len, FI_SEND | FI_RECV, 0, key, 0,
		&fid, NULL);
	if (rc)
		return weft_net_fault(&in->net, "fi_mr_reg", rc);
	rc = enable(in, fid);
	if (rc) {
		fi_close(&fid->fid);
		return weft_net_fault(&in->net, "fi_mr_enable", rc);
	}
	*fid_out = fid;
	return 0;
}

int weft_mr_get(
	struct weft_net *net, void *buf, size_t len, struct weft_mr **mr_out)
{
	struct weft_inside *in = weft_net_inside(net);
	struct weft_mr *mr = mr_find(in, (uintptr_t)buf, len);
	int rc;

	if (mr) {
		mr->n_refs++;
		net->counters.mr_reused++;
		*mr_out = mr;
		return 0;
	}
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory to register");
	rc = reg(in, buf, len, &mr->fid);
	if (rc) {
		free(mr);
		return rc;
	}
	mr->key = fi_mr_key(mr->fid);
	mr->desc = fi_mr_desc(mr->fid);
	mr->start = (uintptr_t)buf;
	mr->len = len;
	mr->n_refs = 1;
	mr->next = in->mrs;
	in->mrs = mr;
	net->counters.mr_registered++;
	net->counters.mr_memory += len;
	*mr_out = mr;
	return 0;
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
