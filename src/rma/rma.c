/* SPDX-License-Identifier: BSD-3-Clause */
/* rma: opens and closes access to the symmetric memory of all PEs
 *
 * Every PE publishes a record of its regions, and the PEs of its node map them.
 * A PE that fails publishes its error, so that open fails at all PEs and no PE
 * waits for it. */
#include "rma/rma_priv.h"

#include "base/knob.h"
#include "base/log.h"
#include "coll/coll.h"
#include "core/group.h"
#include "rma/rma_fabric.h"
#include "transport/vci.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The record that a PE publishes to the other PEs. */
struct record {
	uint64_t owner;	 /* weft_share_owner() of the PE, for both files */
	int32_t heap_fd; /* descriptor of the heap's file; -1: it cannot be
			    mapped */
	int32_t data_fd;
	int32_t err; /* 0, or the error of this PE */
	uint32_t reserved;
	uint64_t heap_len;
	uint64_t data_len; /* 0: variables are not symmetric */
};

/* Gathers len bytes of every PE at all PEs, ordered by PE. Blocks. */
static int rma_gather(const void *mine, void *all, size_t len)
{
	struct weft_comm *comm = weft_rma_own.comm;
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_req *req;
	int err;

	weft_vci_lock(vci);
	err = weft_coll_allgather_bytes(comm, mine, all, len, &req);
	if (!err) {
		weft_req_wait(vci, req);
		err = req->status.err;
		weft_req_put(req);
	}
	weft_vci_unlock(vci);
	return err;
}

/* --- regions of this process -------------------------------------------- */

static void open_data(struct record *record)
{
	struct weft_share *share = &weft_rma_own.data_share;
	int err;

	share->fd = -1;
	if (!weft_knob_is_on(weft_knobs.globals))
		return;
	err = weft_proc.vci.shm ? weft_share_data(share)
				: weft_share_find_data(share);
	if (err) {
		weft_log_info("RMA-DATA",
			"global variables are not symmetric: %s",
			weft_err_detail_peek(err));
		return;
	}
	weft_rma.data.base = share->base;
	weft_rma.data.len = share->len;
	record->data_fd = share->fd;
	record->data_len = share->len;
}

static int open_heap(size_t len, struct record *record)
{
	struct weft_rma_own *own = &weft_rma_own;
	int err = weft_share_create(weft_max(len, 1), &own->heap_share);

	if (err)
		return err;
	weft_counter_add(
		&weft_proc.counters.heap_memory, (int64_t)own->heap_share.len);
	err = weft_heap_init(&own->heap, own->heap_share.len);
	if (err)
		return weft_err_set(err, "no memory to describe the heap");
	weft_rma.heap.base = own->heap_share.base;
	weft_rma.heap.len = own->heap_share.len;
	record->heap_fd = own->heap_share.fd;
	record->heap_len = own->heap_share.len;
	return 0;
}

static int open_own(size_t heap_len, uint32_t n_pes, struct record *record)
{
	weft_rma.pes = calloc(n_pes, sizeof(*weft_rma.pes));
	if (!weft_rma.pes)
		return weft_err_set(
			WEFT_ERR_NOMEM, "no memory for %u PEs", n_pes);
	open_data(record);
	return open_heap(heap_len, record);
}

/* --- regions of the other PEs --------------------------------------------- */

/* Returns the same result at every PE. Variables are symmetric only if their
 * length is the same at all PEs. */
static int rma_compare(const struct record *all, uint32_t n_pes)
{
	for (uint32_t i = 0; i < n_pes; i++)
		if (all[i].err)
			return weft_err_set(WEFT_ERR_PEER,
				"PE %u cannot take part: %s", i,
				weft_err_str(all[i].err));
	for (uint32_t i = 0; i < n_pes; i++) {
		if (all[i].heap_len != weft_rma.heap.len)
			return weft_err_set(WEFT_ERR_NOT_SAME,
				"the symmetric heap has %zu bytes here and "
				"%zu at PE %u",
				weft_rma.heap.len, (size_t)all[i].heap_len, i);
	}
	for (uint32_t i = 0; i < n_pes; i++) {
		if (all[i].data_len != all[0].data_len) {
			weft_rma.data.len = 0;
			if (weft_rma.my_pe == 0)
				weft_log_warn("RMA-DATA",
					"global variables are not symmetric: "
					"PE %u has %zu bytes of them, PE 0 "
					"has %zu; is it the same program "
					"everywhere?",
					i, (size_t)all[i].data_len,
					(size_t)all[0].data_len);
			return 0;
		}
	}
	return 0;
}

/* Maps the regions of a PE on this node: both or none. */
static bool map_pe(struct weft_rma_pe *pe, const struct record *record)
{
	size_t data_len = weft_rma.data.len;
	int err = weft_share_map(record->owner, record->heap_fd, 0,
		weft_rma.heap.len, &pe->heap);

	if (!err && data_len) {
		err = weft_share_map(
			record->owner, record->data_fd, 0, data_len, &pe->data);
		if (err) {
			weft_share_unmap(pe->heap, weft_rma.heap.len);
			pe->heap = NULL;
		}
	}
	if (err)
		weft_log_info("RMA-FAR", "%s; it is reached through the fabric",
			weft_err_detail_peek(err));
	return !err;
}

/* Maps the regions of all PEs on this node. True if some PE is far. */
static bool map_pes(const struct record *all, uint32_t n_pes)
{
	const struct weft_group *group = weft_rma_own.comm->group;
	bool has_remote = false;

	for (uint32_t i = 0; i < n_pes; i++) {
		struct weft_rma_pe *pe = &weft_rma.pes[i];

		if (i == weft_rma.my_pe) {
			pe->heap = weft_rma.heap.base;
			pe->data = weft_rma.data.base;
		} else if (!weft_proc.vci.shm ||
			   !weft_proc_is_local(weft_group_proc(group, i)) ||
			   !map_pe(pe, &all[i])) {
			has_remote = true;
		}
	}
	return has_remote;
}

/* --- far PEs ------------------------------------------------------------- */

/* The record that a PE publishes for access through a fabric. */
struct bc {
	int32_t err; /* 0, or the error with which this PE opened its fabric */
	uint32_t name_len;
	struct weft_rma_ep_key spans[2];
	uint8_t has_fabric_amo;
	uint8_t has_data_key; /* else peers request it */
	uint8_t name[WEFT_NET_NAME_MAX];
};

/* Registers the heap. Registers the program's variables as well if the fabric
 * has atomics: no progress thread answers requests for their key then.
 * Otherwise the first request registers them. */
static int expose(struct bc *bc)
{
	const struct weft_plan *plan = &weft_rma_own.domain->plan;
	struct weft_rma_region *heap = &weft_rma.heap, *data = &weft_rma.data;
	int err = weft_rma_fabric_expose(heap);

	bc->spans[0] = (struct weft_rma_ep_key){ heap->remote, heap->key };
	bc->spans[1].base = plan->has_virt_addr ? (uintptr_t)data->base : 0;
	if (err || !data->len || !plan->has_fabric_amo)
		return err;
	err = weft_rma_fabric_expose(data);
	bc->spans[1].key = data->key;
	bc->has_data_key = 1;
	return err;
}

static int open_domain(struct bc *bc)
{
	size_t len = sizeof(bc->name);
	int err = weft_rma_fabric_open(&weft_rma_own.domain);

	if (!err)
		err = expose(bc);
	if (!err)
		err = weft_rma_fabric_name(bc->name, &len);
	bc->name_len = (uint32_t)len;
	bc->has_fabric_amo = !err && weft_rma_own.domain->plan.has_fabric_amo;
	return err;
}

static int add_remote(uint32_t pe, const struct bc *bc)
{
	struct weft_rma_remote *remote = &weft_rma_own.remotes[pe];

	if (bc->err)
		return weft_err_set(WEFT_ERR_PEER,
			"PE %u has no fabric for one-sided access: %s", pe,
			weft_err_str(bc->err));
	if (bc->has_fabric_amo != weft_rma_own.domain->plan.has_fabric_amo)
		return weft_err_set(WEFT_ERR_NOT_SAME,
			"PE %u uses another fabric; set WEFT_PROVIDER alike "
			"everywhere",
			pe);
	if (bc->name_len > sizeof(bc->name))
		return weft_err_set(WEFT_ERR_PROTO,
			"PE %u has a fabric address of %u bytes; the limit is "
			"%zu",
			pe, bc->name_len, sizeof(bc->name));
	memcpy(remote->spans, bc->spans, sizeof(remote->spans));
	atomic_init(&remote->has_data_key, bc->has_data_key);
	return weft_rma_fabric_peer(
		weft_group_proc(weft_rma_own.comm->group, pe), bc->name,
		bc->name_len, &remote->addr);
}

/* Called at all PEs if any PE is far from another PE. All PEs open a fabric and
 * exchange addresses and keys. On success all PEs are ready. */
static int rma_open_far(uint32_t n_pes)
{
	struct weft_rma_own *own = &weft_rma_own;
	struct bc *mine = calloc(n_pes + 1, sizeof(*mine));
	struct bc *all = mine ? mine + 1 : NULL;
	int err;

	own->remotes = calloc(n_pes, sizeof(*own->remotes));
	if (!mine || !own->remotes) {
		free(mine);
		return weft_err_set(
			WEFT_ERR_NOMEM, "no memory for %u PEs", n_pes);
	}
	weft_rma_am_open(own->comm);
	mine->err = open_domain(mine);
	err = rma_gather(mine, all, sizeof(*all));
	if (!err)
		err = mine->err;
	for (uint32_t i = 0; i < n_pes && !err; i++)
		err = add_remote(i, &all[i]);
	free(mine);
	if (err)
		return err;
	own->has_fabric_amo = own->domain->plan.has_fabric_amo;
	own->has_put_order = own->domain->plan.has_put_order;
	weft_rma_progress_open();
	return 0;
}

static void close_remote(void)
{
	struct weft_rma_own *own = &weft_rma_own;

	if (own->remotes)
		weft_rma_am_close();
	if (own->domain) {
		weft_rma_fabric_withdraw(&weft_rma.heap);
		weft_rma_fabric_withdraw(&weft_rma.data);
		weft_vci_lock(&weft_proc.vci);
		weft_rma_fabric_release();
		weft_vci_unlock(&weft_proc.vci);
	}
	own->domain = NULL;
	free(own->remotes);
	own->remotes = NULL;
	own->has_fabric_amo = false;
}

static int open_others(const struct record *mine, uint32_t n_pes)
{
	struct record *all = calloc(n_pes, sizeof(*all) + 1);
	uint8_t *is_remote = (uint8_t *)(all + n_pes);
	uint8_t am_remote;
	int err;

	if (!all)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for records");
	err = rma_gather(mine, all, sizeof(*all));
	if (!err)
		err = rma_compare(all, n_pes);
	if (err)
		goto out;
	am_remote = map_pes(all, n_pes);
	err = rma_gather(&am_remote, is_remote, 1);
	if (err)
		goto out;
	weft_rma.is_all_local = !memchr(is_remote, 1, n_pes);
	if (!weft_rma.is_all_local)
		err = rma_open_far(n_pes);
out:
	free(all);
	return err;
}

/* Destroys the contexts that the program did not destroy. */
static void close_contexts(void)
{
	struct weft_link *link;

	while ((link = weft_list_pop_front(&weft_rma_own.ctxs)) != NULL)
		weft_rma_ctx_destroy(
			weft_container_of(link, struct weft_rma_ctx, link));
}

static int quiet_contexts(void)
{
	int err = 0;

	weft_list_for_each(link, next, &weft_rma_own.ctxs)
	{
		int one = weft_rma_quiet(
			weft_container_of(link, struct weft_rma_ctx, link));

		err = err ? err : one;
	}
	return err;
}

static void close_all(void)
{
	struct weft_rma_own *own = &weft_rma_own;

	weft_rma_progress_close();
	weft_rma.ctx = NULL;
	close_contexts();
	close_remote();

	for (uint32_t i = 0; weft_rma.pes && i < weft_rma.n_pes; i++) {
		if (i == weft_rma.my_pe)
			continue;
		weft_share_unmap(weft_rma.pes[i].heap, weft_rma.heap.len);
		weft_share_unmap(weft_rma.pes[i].data, weft_rma.data.len);
	}
	if (own->heap_share.base)
		weft_heap_fini(&own->heap);
	weft_counter_add(
		&weft_proc.counters.heap_memory, -(int64_t)own->heap_share.len);
	weft_share_destroy(&own->heap_share);
	free(weft_rma.pes);
	weft_counters_close(&weft_rma.counters);
	memset(&weft_rma, 0, sizeof(weft_rma));
	own->comm = NULL;
}

int weft_rma_open(struct weft_comm *comm, size_t heap_len)
{
	struct record mine = {
		.owner = weft_share_owner(), .heap_fd = -1, .data_fd = -1
	};
	uint32_t n_pes = (uint32_t)comm->size;
	int err;

	weft_counters_open(&weft_rma.counters, WEFT_COUNTER_PROCESS);
	weft_rma_own.comm = comm;
	weft_list_init(&weft_rma_own.ctxs);
	weft_rma.my_pe = (uint32_t)comm->rank;
	mine.err = open_own(heap_len, n_pes, &mine);
	weft_rma.n_pes = n_pes;
	err = open_others(&mine, n_pes);
	if (!err)
		err = weft_rma_ctx_create(0, &weft_rma.ctx);
	if (mine.err)
		err = mine.err;
	if (err)
		close_all();
	return err;
}

int weft_rma_close(void)
{
	uint8_t byte = 0;
	uint8_t *all;
	int err;

	if (!weft_rma.n_pes)
		return 0;
	all = malloc(weft_rma.n_pes);
	err = quiet_contexts();
	if (all)
		rma_gather(&byte, all, 1);
	free(all);
	close_all();
	return err;
}

/* --- the heap ------------------------------------------------------------ */

void *weft_heap_alloc(size_t len, size_t align)
{
	struct weft_rma_own *own = &weft_rma_own;
	size_t at;

	if (align > weft_share_align(weft_rma.heap.len))
		return NULL; /* the base of the heap is aligned to less */
	pthread_mutex_lock(&own->heap_lock);
	at = weft_heap_take(&own->heap, len, align);
	pthread_mutex_unlock(&own->heap_lock);
	return at == SIZE_MAX ? NULL : weft_rma.heap.base + at;
}

int weft_heap_free(void *ptr)
{
	struct weft_rma_own *own = &weft_rma_own;
	int err;

	if (!ptr)
		return 0;
	pthread_mutex_lock(&own->heap_lock);
	err = weft_heap_give(
		&own->heap, (size_t)((char *)ptr - weft_rma.heap.base));
	pthread_mutex_unlock(&own->heap_lock);
	return err ? weft_err_set(err,
			     "%p does not begin a block of the symmetric heap; "
			     "was it freed before?",
			     ptr)
		   : 0;
}

void *weft_heap_realloc(void *ptr, size_t len)
{
	struct weft_rma_own *own = &weft_rma_own;
	size_t at = (size_t)((char *)ptr - weft_rma.heap.base);
	size_t old;
	void *fresh;
	bool is_resized;

	if (!ptr)
		return weft_heap_alloc(len, 0);
	pthread_mutex_lock(&own->heap_lock);
	old = weft_heap_len(&own->heap, at);
	is_resized = weft_heap_resize(&own->heap, at, len);
	pthread_mutex_unlock(&own->heap_lock);
	if (is_resized || !old)
		return is_resized ? ptr : NULL;
	fresh = weft_heap_alloc(len, 0);
	if (!fresh)
		return NULL;
	memcpy(fresh, ptr, weft_min(old, len));
	weft_heap_free(ptr);
	return fresh;
}
