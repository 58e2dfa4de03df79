/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_dom: fabric and domain, with the provider's extension points */
#include "stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int stand_no_bind(struct fid *fid, struct fid *with, uint64_t flags)
{
	(void)fid;
	(void)with;
	(void)flags;
	return -FI_ENOSYS;
}

int stand_no_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	return -FI_ENOSYS;
}

int stand_no_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
	void *context)
{
	(void)fid;
	(void)name;
	(void)flags;
	(void)ops;
	(void)context;
	return -FI_ENOSYS;
}

/* The hardware has sixteen profiles. Each combination of traffic class and
 * packet type occupies one profile for each network identifier (VNI). */
int stand_profile(struct stand_dom *dom, uint32_t tclass, char type)
{
	struct stand_profile want = { 0,
		type == 'h' || type == 'r' ? type : 'd' };
	int rc = 0;

	if (tclass == FI_TC_BULK_DATA || tclass == FI_TC_DEDICATED_ACCESS ||
		tclass == FI_TC_LOW_LATENCY)
		want.tclass = tclass;
	pthread_mutex_lock(&dom->lock);
	for (unsigned i = 0; i < dom->n_profiles; i++)
		if (dom->profiles[i].tclass == want.tclass &&
			dom->profiles[i].type == want.type)
			goto out;
	if (dom->n_profiles == stand_env.profiles || dom->n_profiles == 64) {
		rc = -FI_ENOSPC;
		goto out;
	}
	dom->profiles[dom->n_profiles++] = want;
	stand_log("profile %u vni=%u tclass=%s type=%s", dom->n_profiles,
		dom->auth.vni, stand_tclass(tclass),
		type == 'h'   ? "hrp"
		: type == 'r' ? "restricted"
			      : "default");
out:
	pthread_mutex_unlock(&dom->lock);
	return rc;
}

/* fi_open_ops: seven functions, alike in all six versions */

struct dom_ops {
	int (*cntr_read)(struct fid *fid, unsigned which, uint64_t *value,
		struct timespec *when);
	int (*topology)(struct fid *fid, unsigned *group, unsigned *node,
		unsigned *port);
	int (*enable_hybrid_mr_desc)(struct fid *fid, bool enable);
	size_t (*ep_get_unexp_msgs)(struct fid_ep *ep,
		struct fi_cq_tagged_entry *entries, size_t n, fi_addr_t *src,
		size_t *n_out);
	int (*get_dwq_depth)(struct fid *fid, size_t *depth);
	int (*enable_mr_match_events)(struct fid *fid, bool enable);
	int (*enable_optimized_mrs)(struct fid *fid, bool enable);
};

static int ops_cntr_read(
	struct fid *fid, unsigned which, uint64_t *value, struct timespec *when)
{
	(void)fid;
	(void)which;
	(void)when;
	*value = 0;
	return 0;
}

static int ops_topology(
	struct fid *fid, unsigned *group, unsigned *node, unsigned *port)
{
	(void)fid;
	if (group)
		*group = 0;
	if (node)
		*node = 0;
	if (port)
		*port = 0;
	return 0;
}

static int ops_hybrid(struct fid *fid, bool enable)
{
	(void)fid;
	stand_log("enable_hybrid_mr_desc %d", enable);
	return 0;
}

static size_t ops_unexpected(struct fid_ep *ep,
	struct fi_cq_tagged_entry *entries, size_t n, fi_addr_t *src,
	size_t *n_out)
{
	(void)ep;
	(void)entries;
	(void)n;
	(void)src;
	*n_out = 0;
	return 0;
}

static int ops_depth(struct fid *fid, size_t *depth)
{
	(void)fid;
	*depth = 504;
	return 0;
}

static struct stand_dom *dom_of(struct fid *fid)
{
	return stand_of(fid, struct stand_dom, fid.fid);
}

/* Events and optimized keys may only be enabled or disabled if the provider
 * chooses the keys: the value of a client's key determines its kind. */
static int set_flag(
	struct stand_dom *dom, bool *flag, bool on, const char *what)
{
	stand_log("domain %s %d", what, on);
	if (flag == &dom->has_optimized && !dom->has_prov_key)
		return -FI_EINVAL;
	*flag = on;
	return 0;
}

static int ops_events(struct fid *fid, bool on)
{
	struct stand_dom *dom = dom_of(fid);

	return set_flag(dom, &dom->has_match_events, on, "mr_match_events");
}

static int ops_optimized(struct fid *fid, bool on)
{
	struct stand_dom *dom = dom_of(fid);

	return set_flag(dom, &dom->has_optimized, on, "optimized_mrs");
}

static struct dom_ops dom_ops = {
	.cntr_read = ops_cntr_read,
	.topology = ops_topology,
	.enable_hybrid_mr_desc = ops_hybrid,
	.ep_get_unexp_msgs = ops_unexpected,
	.get_dwq_depth = ops_depth,
	.enable_mr_match_events = ops_events,
	.enable_optimized_mrs = ops_optimized,
};

static int dom_open_ops(struct fid *fid, const char *name, uint64_t flags,
	void **ops, void *context)
{
	(void)fid;
	(void)flags;
	(void)context;
	if (strncmp(name, "dom_ops_v", 9) != 0 || name[9] < '1' ||
		name[9] > '6' || name[10])
		return -FI_EINVAL;
	*ops = &dom_ops;
	return 0;
}

/* The domain */

static int dom_control(struct fid *fid, int command, void *arg)
{
	struct stand_dom *dom = dom_of(fid);
	struct fi_fid_var *var = arg;

	if (command != FI_SET_VAL && command != FI_GET_VAL)
		return -FI_ENOSYS;
	switch (var->name) {
	case WEFT_CXI_SET_MR_MATCH_EVENTS:
		return ops_events(fid, *(bool *)var->val);
	case WEFT_CXI_SET_OPTIMIZED_MRS:
		return ops_optimized(fid, *(bool *)var->val);
	case WEFT_CXI_SET_PROV_KEY_CACHE:
		return set_flag(dom, &dom->has_key_cache, *(bool *)var->val,
			"prov_key_cache");
	case WEFT_CXI_GET_MR_MATCH_EVENTS:
		*(bool *)var->val = dom->has_match_events;
		return 0;
	case WEFT_CXI_GET_OPTIMIZED_MRS:
		*(bool *)var->val = dom->has_optimized;
		return 0;
	case WEFT_CXI_GET_PROV_KEY_CACHE:
		*(bool *)var->val = dom->has_key_cache;
		return 0;
	default:
		return -FI_EINVAL;
	}
}

static int dom_close(struct fid *fid)
{
	struct stand_dom *dom = dom_of(fid);

	if (dom->n_refs)
		return -FI_EBUSY;
	dom->fab->n_refs--;
	pthread_mutex_destroy(&dom->lock);
	free(dom);
	return 0;
}

static struct fi_ops dom_fid_ops = {
	.size = sizeof(dom_fid_ops),
	.close = dom_close,
	.bind = stand_no_bind,
	.control = dom_control,
	.ops_open = dom_open_ops,
};

static struct fi_ops_domain dom_dom_ops = {
	.size = sizeof(dom_dom_ops),
	.av_open = stand_av_open,
	.cq_open = stand_cq_open,
	.endpoint = stand_ep_open,
	.cntr_open = stand_cntr_open,
	.query_atomic = stand_query_atomic,
};

static bool env_is_off(const char *name)
{
	const char *text = getenv(name);

	return text && *text == '0';
}

static bool is_broken(const char *device)
{
	const char *name = getenv("CXISTAND_BROKEN");

	return name && strcmp(name, device) == 0;
}

static int dom_open(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **out, void *context)
{
	struct stand_dom *dom;
	const struct fi_domain_attr *attr = info->domain_attr;
	struct weft_cxi_auth_key auth;
	int rc = stand_auth(
		attr->name, attr->auth_key, attr->auth_key_size, &auth);

	if (rc)
		return rc;
	if (!auth.vni) {
		stand_log("domain refused: no service for this process");
		return -FI_EINVAL;
	}
	if (is_broken(attr->name)) {
		stand_log("domain %s refused: CXISTAND_BROKEN", attr->name);
		return -FI_ENODEV;
	}
	dom = calloc(1, sizeof(*dom));
	if (!dom)
		return -FI_ENOMEM;
	pthread_mutex_init(&dom->lock, NULL);
	dom->fab = stand_of(fabric, struct stand_fab, fid);
	dom->fab->n_refs++;
	dom->auth = auth;
	snprintf(dom->device, sizeof(dom->device), "%s", attr->name);
	dom->has_prov_key = attr->mr_mode & FI_MR_PROV_KEY;
	dom->has_hmem = info->caps & FI_HMEM;
	dom->has_optimized = !env_is_off("FI_CXI_OPTIMIZED_MRS");
	dom->has_key_cache = true;
	dom->next_key = 1;
	dom->fid.fid.fclass = FI_CLASS_DOMAIN;
	dom->fid.fid.context = context;
	dom->fid.fid.ops = &dom_fid_ops;
	dom->fid.ops = &dom_dom_ops;
	dom->fid.mr = &stand_mr_ops;
	stand_log("domain %s vni=%u svc=%u keys=%s threading=%d", attr->name,
		auth.vni, auth.svc_id,
		dom->has_prov_key ? "provider" : "client", attr->threading);
	*out = &dom->fid;
	return 0;
}

/* The fabric */

static int fab_close(struct fid *fid)
{
	struct stand_fab *fab = stand_of(fid, struct stand_fab, fid.fid);

	if (fab->n_refs)
		return -FI_EBUSY;
	free(fab);
	return 0;
}

static struct fi_ops fab_fid_ops = {
	.size = sizeof(fab_fid_ops),
	.close = fab_close,
	.bind = stand_no_bind,
	.control = stand_no_control,
	.ops_open = stand_no_open,
};

static int no_passive(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **pep, void *context)
{
	(void)fabric;
	(void)info;
	(void)pep;
	(void)context;
	return -FI_ENOSYS;
}

static int no_eq(struct fid_fabric *fabric, struct fi_eq_attr *attr,
	struct fid_eq **eq, void *context)
{
	(void)fabric;
	(void)attr;
	(void)eq;
	(void)context;
	return -FI_ENOSYS;
}

static struct fi_ops_fabric fab_ops = {
	.size = sizeof(fab_ops),
	.domain = dom_open,
	.passive_ep = no_passive,
	.eq_open = no_eq,
};

int stand_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	struct stand_fab *fab;

	if (attr->name && strcmp(attr->name, "cxi") != 0)
		return -FI_ENODATA;
	fab = calloc(1, sizeof(*fab));
	if (!fab)
		return -FI_ENOMEM;
	fab->fid.fid.fclass = FI_CLASS_FABRIC;
	fab->fid.fid.context = context;
	fab->fid.fid.ops = &fab_fid_ops;
	fab->fid.ops = &fab_ops;
	fab->fid.api_version = attr->api_version;
	*out = &fab->fid;
	return 0;
}
