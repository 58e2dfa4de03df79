/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_cq: completion queues
 *
 * Messages move only when the process reads a completion queue: progress is
 * manual. */
#include "stand.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct stand_cq *cq_of(struct fid_cq *cq)
{
	return stand_of(cq, struct stand_cq, fid);
}

void stand_cq_put(
	struct stand_cq *cq, const struct fi_cq_tagged_entry *e, fi_addr_t src)
{
	pthread_mutex_lock(&cq->lock);
	if (cq->n == cq->n_max) {
		size_t n = cq->n_max ? cq->n_max * 2 : 256;
		struct stand_entry *ring = malloc(n * sizeof(*ring));

		if (!ring)
			abort();
		for (size_t i = 0; i < cq->n; i++)
			ring[i] = cq->ring[(cq->head + i) % cq->n_max];
		free(cq->ring);
		cq->ring = ring;
		cq->head = 0;
		cq->n_max = n;
	}
	cq->ring[(cq->head + cq->n) % cq->n_max] =
		(struct stand_entry){ *e, src };
	cq->n++;
	pthread_mutex_unlock(&cq->lock);
}

void stand_cq_put_err(struct stand_cq *cq, const struct fi_cq_err_entry *e)
{
	pthread_mutex_lock(&cq->lock);
	if (cq->n_errs == cq->n_errs_max) {
		size_t n = cq->n_errs_max ? cq->n_errs_max * 2 : 16;
		void *errs = realloc(cq->errs, n * sizeof(*cq->errs));

		if (!errs)
			abort();
		cq->errs = errs;
		cq->n_errs_max = n;
	}
	cq->errs[cq->n_errs++] = *e;
	pthread_mutex_unlock(&cq->lock);
}

void stand_cq_bind(struct stand_cq *cq, struct stand_nic *nic)
{
	pthread_mutex_lock(&cq->bind_lock);
	for (size_t i = 0; i < cq->n_nics; i++)
		if (cq->nics[i] == nic)
			goto out;
	if (cq->n_nics < STAND_EPS_MAX)
		cq->nics[cq->n_nics++] = nic;
out:
	pthread_mutex_unlock(&cq->bind_lock);
}

void stand_cq_unbind(struct stand_cq *cq, struct stand_nic *nic)
{
	pthread_mutex_lock(&cq->bind_lock);
	for (size_t i = 0; i < cq->n_nics; i++)
		if (cq->nics[i] == nic)
			cq->nics[i--] = cq->nics[--cq->n_nics];
	pthread_mutex_unlock(&cq->bind_lock);
}

static void progress(struct stand_cq *cq)
{
	pthread_mutex_lock(&cq->bind_lock);
	for (size_t i = 0; i < cq->n_nics; i++) {
		struct stand_nic *nic = cq->nics[i];

		pthread_mutex_lock(&nic->lock);
		if (nic->is_enabled) {
			nic->polled_at = stand_now_us();
			stand_wire_pump(nic);
			stand_rx_progress(nic);
		}
		pthread_mutex_unlock(&nic->lock);
	}
	pthread_mutex_unlock(&cq->bind_lock);
}

static size_t entry_len(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	default:
		return sizeof(struct fi_cq_entry);
	}
}

/* The formats are prefixes of each other. */
static ssize_t take(
	struct stand_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	size_t len = entry_len(cq->format);
	size_t n = 0;

	pthread_mutex_lock(&cq->lock);
	if (!cq->n && cq->n_errs) {
		pthread_mutex_unlock(&cq->lock);
		return -FI_EAVAIL;
	}
	while (n < count && cq->n) {
		const struct stand_entry *e = &cq->ring[cq->head];

		memcpy((char *)buf + n * len, &e->e, len);
		if (src)
			src[n] = e->src;
		cq->head = (cq->head + 1) % cq->n_max;
		cq->n--;
		n++;
	}
	pthread_mutex_unlock(&cq->lock);
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static ssize_t cq_readfrom(
	struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	struct stand_cq *cq = cq_of(fid);

	progress(cq);
	return take(cq, buf, count, src);
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

static ssize_t cq_readerr(
	struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct stand_cq *cq = cq_of(fid);
	ssize_t n = -FI_EAGAIN;

	(void)flags;
	pthread_mutex_lock(&cq->lock);
	if (cq->n_errs) {
		*buf = cq->errs[0];
		memmove(cq->errs, cq->errs + 1,
			--cq->n_errs * sizeof(*cq->errs));
		n = 1;
	}
	pthread_mutex_unlock(&cq->lock);
	return n;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count,
	fi_addr_t *src, const void *cond, int timeout)
{
	uint64_t end = stand_now_us() + (uint64_t)timeout * 1000;
	ssize_t n;

	(void)cond;
	while ((n = cq_readfrom(fid, buf, count, src)) == -FI_EAGAIN &&
		(timeout < 0 || stand_now_us() < end))
		sched_yield();
	return n;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count,
	const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	(void)fid;
	return -FI_ENOSYS;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno,
	const void *err_data, char *buf, size_t len)
{
	(void)fid;
	(void)err_data;
	if (buf && len)
		snprintf(buf, len, "stand-in return code %d", prov_errno);
	return buf;
}

static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

static int cq_close(struct fid *fid)
{
	struct stand_cq *cq = stand_of(fid, struct stand_cq, fid.fid);

	if (cq->n_nics)
		return -FI_EBUSY;
	cq->dom->n_cqs--;
	cq->dom->n_refs--;
	pthread_mutex_destroy(&cq->bind_lock);
	pthread_mutex_destroy(&cq->lock);
	free(cq->ring);
	free(cq->errs);
	free(cq);
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(cq_fid_ops),
	.close = cq_close,
	.bind = stand_no_bind,
	.control = stand_no_control,
	.ops_open = stand_no_open,
};

int stand_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr,
	struct fid_cq **out, void *context)
{
	struct stand_dom *dom = stand_of(fid, struct stand_dom, fid);
	struct stand_cq *cq;

	if (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC)
		return -FI_ENOSYS;
	if (dom->n_cqs >= STAND_CQS_MAX)
		return -FI_ENOSPC;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->dom = dom;
	cq->format = attr->format ? attr->format : FI_CQ_FORMAT_CONTEXT;
	pthread_mutex_init(&cq->bind_lock, NULL);
	pthread_mutex_init(&cq->lock, NULL);
	dom->n_refs++;
	dom->n_cqs++;
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->fid.ops = &cq_ops;
	*out = &cq->fid;
	return 0;
}
