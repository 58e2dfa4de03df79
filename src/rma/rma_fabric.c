/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_fabric: the process's RMA domain, and memory exposed in it */
#include "rma/rma_fabric.h"

#include "base/map.h"
#include "rma/rma_priv.h"
#include "transport/proc.h"
#include "transport/thread_check.h"

#include <pthread.h>

/* `lock` may be acquired while a VCI's lock is held. While `lock` is held, only
 * locks of src/base are acquired. */
static struct {
	pthread_mutex_t lock;
	struct weft_rma_domain *domain;
	struct weft_map addrs; /* key: process number + 1; value: address + 1 */
	/* guarded by the default VCI's lock */
	uint32_t n_users;
	uint32_t skip; /* rounds until the next poll */
	struct weft_progress_hook hook;
} fabric = { .lock = PTHREAD_MUTEX_INITIALIZER };

enum {
	SKIP = 16,	 /* rounds without a poll after a costly empty poll */
	LATE_POLLS = 64, /* polls for errors after a flush, at most */
};

/* Polls the first endpoint, through which peers access this process's memory.
 */
static void rma_fabric_poll(struct weft_progress_hook *hook)
{
	int n;

	(void)hook;
	if (fabric.skip) {
		fabric.skip--;
		return;
	}
	n = weft_rma_ep_poll(weft_rma_domain_ep(fabric.domain));
	/* polls are skipped only if rounds are short: with shared memory and
	 * spinning */
	if (n == 0 && weft_proc.vci.shm && weft_proc.max_spin &&
		fabric.domain->plan.poll_ns > WEFT_POLL_CHEAP_NS)
		fabric.skip = SKIP;
}

void weft_rma_fabric_poll_next(void)
{
	fabric.skip = 0;
}

/* fabric.lock held. */
static int rma_fabric_begin(void)
{
	struct weft_net_hints hints;
	bool began;
	int err;

	if (fabric.domain)
		return 0;
	began = weft_thread_check_begin();
	weft_proc_net_hints(&hints);
	err = weft_rma_domain_open(&hints, &fabric.domain);
	weft_thread_check_end(began);
	return err;
}

int weft_rma_fabric_open(struct weft_rma_domain **domain_out)
{
	struct weft_vci *vci = &weft_proc.vci;
	int err;

	pthread_mutex_lock(&fabric.lock);
	err = rma_fabric_begin();
	pthread_mutex_unlock(&fabric.lock);
	if (err)
		return err;
	weft_vci_lock(vci);
	if (!fabric.n_users++) {
		fabric.hook.run = rma_fabric_poll;
		weft_list_push_back(&vci->hooks, &fabric.hook.link);
	}
	weft_vci_unlock(vci);
	*domain_out = fabric.domain;
	return 0;
}

int weft_rma_fabric_ep(
	struct weft_rma_domain *domain, struct weft_rma_ep **ep_out)
{
	bool began;
	int err;

	pthread_mutex_lock(&fabric.lock);
	began = weft_thread_check_begin();
	err = weft_rma_ep_open(domain, ep_out);
	weft_thread_check_end(began);
	pthread_mutex_unlock(&fabric.lock);
	return err;
}

void weft_rma_fabric_drain(struct weft_rma_ep *ep)
{
	for (int i = 0; i < LATE_POLLS && weft_rma_ep_poll(ep); i++)
		;
}

void weft_rma_fabric_release(void)
{
	if (!--fabric.n_users)
		weft_list_remove(&fabric.hook.link);
}

void weft_rma_fabric_close(void)
{
	if (fabric.n_users)
		weft_list_remove(&fabric.hook.link);
	fabric.n_users = 0;
	weft_rma_domain_close(fabric.domain);
	fabric.domain = NULL;
	weft_map_fini(&fabric.addrs);
}

int weft_rma_fabric_name(void *buf, size_t *len)
{
	return weft_rma_domain_name(fabric.domain, buf, len);
}

int weft_rma_fabric_peer(
	uint64_t proc, const void *name, size_t len, uint64_t *addr_out)
{
	uint64_t addr;
	int err = 0;

	pthread_mutex_lock(&fabric.lock);
	addr = (uintptr_t)weft_map_get(&fabric.addrs, proc + 1);
	if (!addr) {
		err = weft_rma_domain_peer_add(fabric.domain, name, len, &addr);
		if (!err && weft_map_put(&fabric.addrs, proc + 1,
				    (void *)(uintptr_t)(addr + 1)))
			err = weft_err_set(
				WEFT_ERR_NOMEM, "no memory for an address");
		addr++;
	}
	pthread_mutex_unlock(&fabric.lock);
	*addr_out = addr - 1;
	return err;
}

int weft_rma_fabric_expose(struct weft_rma_region *region)
{
	struct weft_rma_ep_key key;
	int err;

	pthread_mutex_lock(&fabric.lock);
	err = weft_rma_domain_expose(
		fabric.domain, region->base, region->len, &key, &region->mr);
	pthread_mutex_unlock(&fabric.lock);
	if (err)
		return err;
	region->remote = key.base;
	region->key = key.key;
	return 0;
}

void weft_rma_fabric_withdraw(struct weft_rma_region *region)
{
	pthread_mutex_lock(&fabric.lock);
	if (region->mr && fabric.domain)
		weft_rma_domain_withdraw(fabric.domain, region->mr);
	region->mr = NULL;
	pthread_mutex_unlock(&fabric.lock);
}
