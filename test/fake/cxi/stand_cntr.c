/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_cntr: counters, 48 bits of successes and 7 of failures */
#include "stand.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define SUCCESS_MASK ((1ull << 48) - 1)
#define FAILURE_MAX 127

static struct stand_cntr *cntr_of(struct fid_cntr *cntr)
{
	return stand_of(cntr, struct stand_cntr, fid);
}

static void write_back(struct stand_cntr *cntr)
{
	uint64_t *wb = cntr->wb;

	if (wb)
		__atomic_store_n(
			wb, cntr->value & SUCCESS_MASK, __ATOMIC_RELEASE);
}

void stand_cntr_step(struct stand_cntr *cntr, bool is_error)
{
	if (!is_error)
		cntr->value++;
	else if (cntr->errors < FAILURE_MAX)
		cntr->errors++;
	write_back(cntr);
}

void stand_count(struct stand_nic *nic, enum stand_count what, bool is_error)
{
	if (nic->cntrs[what])
		stand_cntr_step(nic->cntrs[what], is_error);
}

void stand_cntr_bind(struct stand_cntr *cntr, struct stand_nic *nic)
{
	pthread_mutex_lock(&cntr->bind_lock);
	for (size_t i = 0; i < cntr->n_nics; i++)
		if (cntr->nics[i] == nic)
			goto out;
	if (cntr->n_nics < STAND_EPS_MAX)
		cntr->nics[cntr->n_nics++] = nic;
out:
	pthread_mutex_unlock(&cntr->bind_lock);
}

void stand_cntr_unbind(struct stand_cntr *cntr, struct stand_nic *nic)
{
	pthread_mutex_lock(&cntr->bind_lock);
	for (size_t i = 0; i < cntr->n_nics; i++)
		if (cntr->nics[i] == nic)
			cntr->nics[i--] = cntr->nics[--cntr->n_nics];
	pthread_mutex_unlock(&cntr->bind_lock);
}

/* Makes progress on the sockets when a counter is read. The hardware updates
 * counters without that. */
static void progress(struct stand_cntr *cntr)
{
	pthread_mutex_lock(&cntr->bind_lock);
	for (size_t i = 0; i < cntr->n_nics; i++) {
		struct stand_nic *nic = cntr->nics[i];

		pthread_mutex_lock(&nic->lock);
		if (nic->is_enabled) {
			nic->polled_at = stand_now_us();
			stand_wire_pump(nic);
			if (nic->cntrs[STAND_COUNT_RECV] == cntr)
				stand_rx_progress(nic);
		}
		pthread_mutex_unlock(&nic->lock);
	}
	pthread_mutex_unlock(&cntr->bind_lock);
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	struct stand_cntr *cntr = cntr_of(fid);

	progress(cntr);
	return cntr->value & SUCCESS_MASK;
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	return cntr_of(fid)->errors;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	cntr_of(fid)->value += value;
	write_back(cntr_of(fid));
	return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	if (value & ~SUCCESS_MASK)
		return -FI_EINVAL;
	cntr_of(fid)->value = value;
	write_back(cntr_of(fid));
	return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	if (value > FAILURE_MAX)
		return -FI_EINVAL;
	cntr_of(fid)->errors += value;
	return 0;
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	if (value > FAILURE_MAX)
		return -FI_EINVAL;
	cntr_of(fid)->errors = value;
	return 0;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct stand_cntr *cntr = cntr_of(fid);
	uint64_t end = stand_now_us() + (uint64_t)timeout * 1000;
	uint64_t errors = cntr->errors;

	while (cntr_read(fid) < threshold) {
		if (cntr->errors != errors)
			return -FI_EAVAIL;
		if (timeout >= 0 && stand_now_us() >= end)
			return -FI_ETIMEDOUT;
		sched_yield();
	}
	return 0;
}

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(cntr_ops),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

/* fi_open_ops */

struct counter_ops {
	int (*set_wb_buffer)(struct fid *fid, void *buf, size_t len);
	int (*get_mmio_addr)(struct fid *fid, void **addr, size_t *len);
};

static int set_wb_buffer(struct fid *fid, void *buf, size_t len)
{
	struct stand_cntr *cntr = stand_of(fid, struct stand_cntr, fid.fid);

	if (!buf || len < sizeof(uint64_t) || (uintptr_t)buf & 7)
		return -FI_EINVAL;
	cntr->wb = buf;
	write_back(cntr);
	return 0;
}

static int get_mmio_addr(struct fid *fid, void **addr, size_t *len)
{
	(void)fid;
	(void)addr;
	(void)len;
	return -FI_ENOSYS;
}

static struct counter_ops counter_ops = { set_wb_buffer, get_mmio_addr };

static int cntr_open_ops(struct fid *fid, const char *name, uint64_t flags,
	void **ops, void *context)
{
	(void)fid;
	(void)flags;
	(void)context;
	if (strcmp(name, "cxi_counter_ops") != 0)
		return -FI_EINVAL;
	*ops = &counter_ops;
	return 0;
}

static int cntr_close(struct fid *fid)
{
	struct stand_cntr *cntr = stand_of(fid, struct stand_cntr, fid.fid);

	if (cntr->n_nics)
		return -FI_EBUSY;
	cntr->dom->n_cntrs--;
	cntr->dom->n_refs--;
	pthread_mutex_destroy(&cntr->bind_lock);
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fid_ops = {
	.size = sizeof(cntr_fid_ops),
	.close = cntr_close,
	.bind = stand_no_bind,
	.control = stand_no_control,
	.ops_open = cntr_open_ops,
};

int stand_cntr_open(struct fid_domain *fid, struct fi_cntr_attr *attr,
	struct fid_cntr **out, void *context)
{
	struct stand_dom *dom = stand_of(fid, struct stand_dom, fid);
	struct stand_cntr *cntr;

	if (attr && attr->wait_obj != FI_WAIT_NONE &&
		attr->wait_obj != FI_WAIT_UNSPEC)
		return -FI_ENOSYS;
	if (dom->n_cntrs >= STAND_CNTRS_MAX) {
		stand_log("counter refused: the hardware has %d",
			STAND_CNTRS_MAX);
		return -FI_ENOSPC;
	}
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return -FI_ENOMEM;
	cntr->dom = dom;
	pthread_mutex_init(&cntr->bind_lock, NULL);
	dom->n_refs++;
	dom->n_cntrs++;
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fid_ops;
	cntr->fid.ops = &cntr_ops;
	*out = &cntr->fid;
	return 0;
}
