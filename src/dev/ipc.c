/* SPDX-License-Identifier: BSD-3-Clause */
/* ipc: exports device memory, and maps that of other processes */
#include "dev/ipc.h"

#include "base/err.h"
#include "base/log.h"
#include "dev/dev_priv.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N_EXPORTS = 64, N_MAPPINGS = 64, EXPORT_UNIT = 512 };

/* A handle that the driver has returned. */
struct ipc_export {
	struct weft_ipc_memory memory;
	bool is_refused; /* the driver has no handle */
};

/* An allocation of another process, mapped into a context of this process. */
struct ipc_mapping {
	uint64_t owner;
	struct weft_dev_range range; /* in the owner */
	void *context;
	void *at;
	uint64_t id;	 /* of the mapping in this process; 0: unknown */
	uint32_t n_used; /* copies that use it now */
	bool is_stale;	 /* a copy failed: no further copy uses it */
	uint64_t used;	 /* number of the latest copy */
};

static struct {
	pthread_mutex_t lock;
	struct ipc_export exports[N_EXPORTS]; /* by address */
	struct ipc_mapping *mappings[N_MAPPINGS];
	int n_mappings;
	uint64_t n_copies;
	bool is_export_warned, is_map_warned;
} ipc = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the owner ---- */

bool weft_ipc_export(const void *ptr, struct weft_ipc_memory *memory_out)
{
	struct weft_dev_where where;
	struct weft_dev_range range;
	struct ipc_export *known;
	bool is_refused, is_first;

	if (!weft_dev_find(ptr, &where) || !weft_dev_range(&where, ptr, &range))
		return false;
	known = &ipc.exports[range.base / EXPORT_UNIT % N_EXPORTS];
	pthread_mutex_lock(&ipc.lock);
	if (memcmp(&known->memory.range, &range, sizeof(range)) != 0) {
		known->memory.range = range;
		known->is_refused = !weft_dev_export(
			&where, range.base, known->memory.handle);
	}
	is_refused = known->is_refused;
	is_first = is_refused && !ipc.is_export_warned;
	ipc.is_export_warned |= is_refused;
	*memory_out = known->memory;
	pthread_mutex_unlock(&ipc.lock);
	if (is_first)
		weft_log_warn("DEV-NOEXPORT",
			"the %s driver has no IPC handle for the memory at "
			"%p: messages of managed, virtual and pool memory are "
			"copied through host memory; use %s, or set "
			"WEFT_DEV_IPC=off",
			where.vendor->name, ptr, where.vendor->alloc);
	return !is_refused;
}

/* ---- the importer ---- */

/* Lock held, here and in all functions below but the last two. Returns the
 * driver's id of the memory. 0: unknown; UINT64_MAX: not device memory. */
static uint64_t id_of(const void *at)
{
	struct weft_dev_where where;
	struct weft_dev_range range;

	if (!weft_dev_find(at, &where))
		return UINT64_MAX;
	return weft_dev_range(&where, at, &range) ? range.id : 0;
}

/* True if the driver has this mapping no more: the program has destroyed its
 * context. Other memory may have its address. */
static bool ipc_is_gone(const struct ipc_mapping *m)
{
	return id_of(m->at) != m->id;
}

static void remove_mapping(int i)
{
	struct ipc_mapping *m = ipc.mappings[i];

	if (!ipc_is_gone(m))
		weft_dev_unmap((enum weft_dev_id)weft_dev_id_of(&m->range),
			m->context, m->at);
	free(m);
	ipc.mappings[i] = ipc.mappings[--ipc.n_mappings];
}

static bool overlaps(
	const struct weft_dev_range *a, const struct weft_dev_range *b)
{
	return a->base < b->base + b->len && b->base < a->base + a->len;
}

/* Finds the mapping of an allocation. Removes mappings of allocations that the
 * owner must have freed, because they overlap. */
static struct ipc_mapping *find_mapping(
	uint64_t owner, const struct weft_dev_range *range, const void *context)
{
	struct ipc_mapping *found = NULL;

	for (int i = ipc.n_mappings - 1; i >= 0; i--) {
		struct ipc_mapping *m = ipc.mappings[i];
		bool is_same = !memcmp(&m->range, range, sizeof(*range));

		if (m->owner != owner || !overlaps(&m->range, range))
			continue;
		if (is_same && m->context != context)
			continue;
		if (is_same && !m->is_stale && !ipc_is_gone(m))
			found = m;
		else if (!m->n_used)
			remove_mapping(i);
	}
	return found;
}

/* Removes the mapping that was not used for the longest time, if the table is
 * full. False: all are in use. */
static bool make_place(void)
{
	int oldest = -1;

	if (ipc.n_mappings < N_MAPPINGS)
		return true;
	for (int i = 0; i < ipc.n_mappings; i++)
		if (!ipc.mappings[i]->n_used &&
			(oldest < 0 || ipc.mappings[i]->used <
					       ipc.mappings[oldest]->used))
			oldest = i;
	if (oldest >= 0)
		remove_mapping(oldest);
	return oldest >= 0;
}

/* Warns once that this process does not map device memory of other processes.
 */
static void warn_not_mapped(int err)
{
	if (!ipc.is_map_warned)
		weft_log_warn("DEV-NOMAP",
			"device memory of another process of this node cannot "
			"be mapped: %s; its messages are copied through host "
			"memory; give the processes access to each other's "
			"devices (Slurm: --gpu-bind=none), or set "
			"WEFT_DEV_IPC=off",
			weft_err_detail_peek(err));
	ipc.is_map_warned = true;
}

/* Returns a mapping in the context that is selected. */
static int acquire_mapping(uint64_t owner, const struct weft_ipc_memory *memory,
	const struct weft_dev_copies *copies, struct ipc_mapping **mapping_out)
{
	struct ipc_mapping *m =
		find_mapping(owner, &memory->range, copies->context);
	int err;

	if (!m) {
		m = make_place() ? calloc(1, sizeof(*m)) : NULL;
		if (!m)
			return WEFT_ERR_NOMEM;
		err = weft_dev_map(copies, memory->handle,
			(size_t)memory->range.len, &m->at);
		if (err) {
			free(m);
			warn_not_mapped(err);
			return err;
		}
		m->owner = owner;
		m->range = memory->range;
		m->context = copies->context;
		m->id = id_of(m->at);
		ipc.mappings[ipc.n_mappings++] = m;
	}
	m->n_used++;
	m->used = ++ipc.n_copies;
	*mapping_out = m;
	return 0;
}

int weft_ipc_copy(uint64_t owner, const struct weft_ipc_memory *memory,
	uint64_t offset, const struct weft_dev_where *where, void *dst,
	size_t len)
{
	struct weft_dev_copies copies;
	struct ipc_mapping *m = NULL;
	int err;

	if (where->vendor->id != weft_dev_id_of(&memory->range))
		return WEFT_ERR_UNSUPPORTED;
	err = weft_dev_begin(where, true, &copies);
	if (err)
		return err;
	pthread_mutex_lock(&ipc.lock);
	err = acquire_mapping(owner, memory, &copies, &m);
	pthread_mutex_unlock(&ipc.lock);
	if (m)
		err = weft_dev_add(&copies, dst, (char *)m->at + offset, len);
	err = weft_dev_end(&copies, err);
	pthread_mutex_lock(&ipc.lock);
	if (m) {
		m->n_used--;
		m->is_stale |= err != 0;
	}
	pthread_mutex_unlock(&ipc.lock);
	return err;
}

void weft_ipc_close(void)
{
	pthread_mutex_lock(&ipc.lock);
	while (ipc.n_mappings)
		remove_mapping(ipc.n_mappings - 1);
	memset(ipc.exports, 0, sizeof(ipc.exports));
	pthread_mutex_unlock(&ipc.lock);
	weft_dev_close();
}
