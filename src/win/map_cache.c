/* SPDX-License-Identifier: BSD-3-Clause */
/* map_cache: mappings of other processes' files
 *
 * If a process keeps a file open until it exits, this process maps the file
 * once for all windows. Up to UNUSED_MAX mappings that no window uses are kept.
 */
#include "win/node_memory.h"

#include "base/err.h"
#include "base/map.h"
#include "shm/share.h"

#include <pthread.h>
#include <stdlib.h>

/* A process has two such files, and more if it allocates much memory. So the
 * mappings of 1,000 processes of a node are kept. */
enum { UNUSED_MAX = 4096, FD_BITS = 20 };

/* `lock` guards all fields and the mappings in `maps`. */
static struct {
	pthread_mutex_t lock;
	struct weft_map maps; /* key: process and fd */
	uint32_t n_unused;
} mapped = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct weft_win_mapped *mapped_new(
	uint64_t key, uint64_t owner, int fd, size_t len)
{
	struct weft_win_mapped *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->key = key;
	m->owner = owner;
	m->len = len;
	if (!weft_share_map(owner, fd, 0, len, &m->base) &&
		!weft_map_put(&mapped.maps, key, m)) {
		mapped.n_unused++;
		return m;
	}
	weft_share_unmap(m->base, len);
	free(m);
	return NULL;
}

struct weft_win_mapped *weft_win_mapped_get(
	uint64_t proc, uint64_t owner, int fd, size_t len)
{
	uint64_t key = (proc + 1) << FD_BITS | (uint64_t)fd;
	struct weft_win_mapped *m;

	if (fd < 0 || fd >> FD_BITS)
		return NULL;
	pthread_mutex_lock(&mapped.lock);
	m = weft_map_get(&mapped.maps, key);
	if (!m)
		m = mapped_new(key, owner, fd, len);
	if (m && (m->owner != owner || m->len != len))
		m = NULL;
	if (m && !m->n_users++)
		mapped.n_unused--;
	pthread_mutex_unlock(&mapped.lock);
	return m;
}

struct weft_win_mapped *weft_win_mapped_once(
	uint64_t owner, int fd, size_t at, size_t len)
{
	struct weft_win_mapped *m = calloc(1, sizeof(*m));

	if (m) {
		m->len = len;
		if (!weft_share_map(owner, fd, at, len, &m->base))
			return m;
	} else {
		weft_err_set(WEFT_ERR_PEER, "no memory to map a window's");
	}
	free(m);
	return NULL;
}

void weft_win_mapped_put(struct weft_win_mapped *m)
{
	if (!m->key) {
		weft_share_unmap(m->base, m->len);
		free(m);
		return;
	}
	pthread_mutex_lock(&mapped.lock);
	if (!--m->n_users && ++mapped.n_unused > UNUSED_MAX) {
		mapped.n_unused--;
		weft_map_remove(&mapped.maps, m->key);
		weft_share_unmap(m->base, m->len);
		free(m);
	}
	pthread_mutex_unlock(&mapped.lock);
}
