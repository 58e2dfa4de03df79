/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_mr: registrations: bound to one endpoint, then enabled
 *
 * Addresses are offsets. A key that the client chooses has 32 bits, and is
 * optimized below WEFT_CXI_OPTIMIZED_KEYS. A key that the provider chooses has
 * bit 63 set. Whether writes become visible in order is decided when the
 * registration is enabled, from the endpoint's receive side. */
#include "stand.h"

#include <stdlib.h>
#include <string.h>

#define KEY_PROV (1ull << 63)
#define KEY_PROV_OPTIMIZED (1ull << 62)

bool stand_key_is_optimized(const struct stand_dom *dom, uint64_t key)
{
	if (key & KEY_PROV)
		return key & KEY_PROV_OPTIMIZED;
	return dom->has_optimized && key < WEFT_CXI_OPTIMIZED_KEYS;
}

static uint64_t access_of(uint8_t type)
{
	switch (type) {
	case STAND_READ:
		return FI_REMOTE_READ;
	case STAND_FETCH:
	case STAND_COMPARE:
		return FI_REMOTE_READ | FI_REMOTE_WRITE;
	default:
		return FI_REMOTE_WRITE;
	}
}

struct stand_mr *stand_mr_find(struct stand_nic *nic,
	const struct stand_frame *f, size_t len, int *status)
{
	uint64_t access = access_of(f->type);

	for (struct stand_mr *mr = nic->mrs; mr; mr = mr->next) {
		if (mr->key != f->key)
			continue;
		*status = FI_EINVAL;
		if (f->addr > mr->len || len > mr->len - f->addr)
			break;
		*status = FI_EACCES;
		if ((mr->access & access) != access)
			break;
		*status = 0;
		return mr;
	}
	if (!*status)
		*status = FI_ENOKEY;
	stand_log("target refused key=0x%llx offset=%llu len=%zu: %s",
		(unsigned long long)f->key, (unsigned long long)f->addr, len,
		fi_strerror(*status));
	return NULL;
}

static int mr_close(struct fid *fid)
{
	struct stand_mr *mr = stand_of(fid, struct stand_mr, fid.fid);

	if (mr->nic) {
		pthread_mutex_lock(&mr->nic->lock);
		stand_target_flush(mr->nic, NULL, mr);
		for (struct stand_mr **at = &mr->nic->mrs; *at;
			at = &(*at)->next)
			if (*at == mr) {
				*at = mr->next;
				break;
			}
		mr->nic->n_handles--;
		pthread_mutex_unlock(&mr->nic->lock);
	}
	mr->dom->n_refs--;
	if (mr->driver)
		stand_hmem_close(mr);
	stand_hmem_unuse(mr);
	return 0;
}

static int mr_bind(struct fid *fid, struct fid *with, uint64_t flags)
{
	struct stand_mr *mr = stand_of(fid, struct stand_mr, fid.fid);

	(void)flags;
	if (mr->is_enabled)
		return -FI_EOPBADSTATE;
	if (with->fclass == FI_CLASS_CNTR) {
		mr->cntr = stand_of(with, struct stand_cntr, fid.fid);
		return 0;
	}
	if (with->fclass != FI_CLASS_EP || mr->nic)
		return -FI_EINVAL;
	mr->nic = stand_of(with, struct stand_ep, fid.fid)->nic;
	pthread_mutex_lock(&mr->nic->lock);
	mr->nic->n_handles++;
	pthread_mutex_unlock(&mr->nic->lock);
	return 0;
}

static bool is_key_taken(const struct stand_nic *nic, uint64_t key)
{
	for (const struct stand_mr *mr = nic->mrs; mr; mr = mr->next)
		if (mr->key == key)
			return true;
	return false;
}

static int enable(struct stand_mr *mr)
{
	struct stand_nic *nic = mr->nic;
	const char *kind = "standard";

	if (!nic || !nic->is_enabled) {
		stand_log("mr_enable refused: %s",
			nic ? "the endpoint is not enabled" : "not bound");
		return nic ? -FI_EOPBADSTATE : -FI_EINVAL;
	}
	if (mr->cntr && !(nic->caps & FI_RMA_EVENT))
		return -FI_EINVAL;
	if (is_key_taken(nic, mr->key))
		return -FI_ENOKEY;
	if (stand_key_is_optimized(mr->dom, mr->key))
		kind = "optimized";
	mr->is_strict = nic->rx_order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW);
	mr->is_enabled = true;
	mr->fid.key = mr->key;
	mr->next = nic->mrs;
	nic->mrs = mr;
	stand_log("mr_enable key=0x%llx len=%zu %s %s%s%s",
		(unsigned long long)mr->key, mr->len, kind,
		mr->is_strict ? "strict" : "relaxed",
		mr->driver ? " hmem=" : "",
		mr->driver ? stand_hmem_name(mr) : "");
	return 0;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	struct stand_mr *mr = stand_of(fid, struct stand_mr, fid.fid);
	int rc;

	(void)arg;
	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	if (mr->is_enabled)
		return -FI_EOPBADSTATE;
	if (!mr->nic)
		return enable(mr);
	pthread_mutex_lock(&mr->nic->lock);
	rc = enable(mr);
	pthread_mutex_unlock(&mr->nic->lock);
	return rc;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(mr_fid_ops),
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
	.ops_open = stand_no_open,
};

static uint64_t prov_key(struct stand_dom *dom)
{
	uint64_t key;

	pthread_mutex_lock(&dom->lock);
	key = KEY_PROV | (dom->has_optimized ? KEY_PROV_OPTIMIZED : 0) |
	      dom->next_key++;
	pthread_mutex_unlock(&dom->lock);
	return key;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **out)
{
	struct stand_dom *dom = stand_of(fid, struct stand_dom, fid.fid);
	struct stand_mr *mr;
	int rc;

	(void)flags;
	if (attr->iov_count != 1 || attr->offset)
		return -FI_EINVAL;
	if (!dom->has_prov_key && attr->requested_key >> 32) {
		stand_log("mr_reg refused: key 0x%llx has more than 32 bits",
			(unsigned long long)attr->requested_key);
		return -FI_EKEYREJECTED;
	}
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->dom = dom;
	mr->base = attr->mr_iov[0].iov_base;
	mr->len = attr->mr_iov[0].iov_len;
	mr->access = attr->access;
	mr->n_refs = 1;
	rc = stand_hmem_register(mr, attr);
	if (rc) {
		free(mr);
		return rc;
	}
	mr->key = dom->has_prov_key ? prov_key(dom) : attr->requested_key;
	dom->n_refs++;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.key = FI_KEY_NOTAVAIL;
	*out = &mr->fid;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count,
	uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
	struct fid_mr **out, void *context)
{
	struct fi_mr_attr attr = {
		.mr_iov = iov,
		.iov_count = count,
		.access = access,
		.offset = offset,
		.requested_key = key,
		.context = context,
	};

	return mr_regattr(fid, &attr, flags, out);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access,
	uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **out,
	void *context)
{
	struct iovec iov = { (void *)buf, len };

	return mr_regv(fid, &iov, 1, access, offset, key, flags, out, context);
}

struct fi_ops_mr stand_mr_ops = {
	.size = sizeof(stand_mr_ops),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
