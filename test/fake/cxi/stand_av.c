/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_av: addresses by number */
#include "stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct stand_av *av_of(struct fid_av *av)
{
	return stand_of(av, struct stand_av, fid);
}

bool stand_av_get(struct stand_av *av, fi_addr_t at, struct stand_addr *out)
{
	bool ok;

	pthread_mutex_lock(&av->lock);
	ok = at < av->n && av->is_used[at];
	if (ok)
		*out = av->addrs[at];
	pthread_mutex_unlock(&av->lock);
	return ok;
}

static bool is_same(struct stand_addr a, struct stand_addr b)
{
	return a.nic == b.nic && a.pid == b.pid && a.vni == b.vni;
}

fi_addr_t stand_av_find(struct stand_av *av, struct stand_addr addr)
{
	fi_addr_t found = FI_ADDR_NOTAVAIL;

	pthread_mutex_lock(&av->lock);
	for (size_t i = 0; i < av->n && found == FI_ADDR_NOTAVAIL; i++)
		if (av->is_used[i] && is_same(av->addrs[i], addr))
			found = i;
	pthread_mutex_unlock(&av->lock);
	return found;
}

/* Appends an address. Numbers are not reused. */
static int insert_one(struct stand_av *av, const void *addr, fi_addr_t *out)
{
	if (av->n == av->n_max) {
		size_t n = av->n_max ? av->n_max * 2 : 16;
		void *addrs = realloc(av->addrs, n * sizeof(*av->addrs));
		void *used;

		if (!addrs)
			return -FI_ENOMEM;
		av->addrs = addrs;
		used = realloc(av->is_used, n * sizeof(*av->is_used));
		if (!used)
			return -FI_ENOMEM;
		av->is_used = used;
		av->n_max = n;
	}
	memcpy(&av->addrs[av->n], addr, sizeof(*av->addrs));
	av->is_used[av->n] = true;
	if (out)
		*out = av->n;
	av->n++;
	return 0;
}

static int av_insert(struct fid_av *fid, const void *addr, size_t count,
	fi_addr_t *out, uint64_t flags, void *context)
{
	struct stand_av *av = av_of(fid);
	const char *at = addr;
	size_t i;

	(void)flags;
	(void)context;
	pthread_mutex_lock(&av->lock);
	for (i = 0; i < count; i++)
		if (insert_one(av, at + i * sizeof(struct stand_addr),
			    out ? out + i : NULL))
			break;
	pthread_mutex_unlock(&av->lock);
	return (int)i;
}

static int av_remove(
	struct fid_av *fid, fi_addr_t *addrs, size_t count, uint64_t flags)
{
	struct stand_av *av = av_of(fid);

	(void)flags;
	pthread_mutex_lock(&av->lock);
	for (size_t i = 0; i < count; i++)
		if (addrs[i] < av->n)
			av->is_used[addrs[i]] = false;
	pthread_mutex_unlock(&av->lock);
	return 0;
}

static int av_lookup(struct fid_av *fid, fi_addr_t at, void *addr, size_t *len)
{
	struct stand_addr found;
	size_t room = *len;

	if (!stand_av_get(av_of(fid), at, &found))
		return -FI_EINVAL;
	*len = sizeof(found);
	memcpy(addr, &found, room < sizeof(found) ? room : sizeof(found));
	return 0;
}

static const char *av_straddr(
	struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	struct stand_addr a;
	int n;

	(void)fid;
	memcpy(&a, addr, sizeof(a));
	n = snprintf(buf, *len, "fi_addr_cxi://0x%05x%03x", a.nic, a.pid);
	*len = (size_t)n + 1;
	return buf;
}

static int av_close(struct fid *fid)
{
	struct stand_av *av = stand_of(fid, struct stand_av, fid.fid);

	if (av->n_refs)
		return -FI_EBUSY;
	av->dom->n_refs--;
	pthread_mutex_destroy(&av->lock);
	free(av->addrs);
	free(av->is_used);
	free(av);
	return 0;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(av_fid_ops),
	.close = av_close,
	.bind = stand_no_bind,
	.control = stand_no_control,
	.ops_open = stand_no_open,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(av_ops),
	.insert = av_insert,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
};

int stand_av_open(struct fid_domain *dom, struct fi_av_attr *attr,
	struct fid_av **out, void *context)
{
	struct stand_av *av;

	if (attr->name || attr->type > FI_AV_TABLE)
		return -FI_ENOSYS;
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	pthread_mutex_init(&av->lock, NULL);
	av->dom = stand_of(dom, struct stand_dom, fid);
	av->dom->n_refs++;
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fid_ops;
	av->fid.ops = &av_ops;
	attr->type = FI_AV_TABLE;
	*out = &av->fid;
	return 0;
}
