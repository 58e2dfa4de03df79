/* SPDX-License-Identifier: BSD-3-Clause */
/* node_bc: a table of business cards, one each place */
#include "transport/node_bc.h"

#include "base/err.h"
#include "base/log.h"
#include "shm/share.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* What a process says, for good. */
struct entry {
	_Alignas(64) _Atomic uint32_t len; /* 0: nothing yet */
	struct weft_bc bc;
};

static struct {
	struct entry *entries; /* n; NULL: there are none */
	uint32_t n;
	int fd; /* of who made it */
} table = { .fd = -1 };

static int map_table(pid_t pid, int fd, uint32_t n)
{
	char *base = NULL;
	int err = weft_share_map(pid, fd, 0, n * sizeof(struct entry), &base);

	if (err)
		return err;
	table.entries = (struct entry *)(void *)base;
	table.n = n;
	return 0;
}

int weft_node_bc_open(uint32_t n)
{
	int err = weft_share_file(n * sizeof(struct entry), &table.fd);

	if (!err)
		err = map_table(getpid(), table.fd, n);
	if (err) {
		weft_log_info("CORE-NODEBC", "%s", weft_err_detail_peek(err));
		weft_node_bc_close();
	}
	return table.fd;
}

void weft_node_bc_join(const struct weft_bc *first, uint32_t n)
{
	int err;

	if (table.entries || !first->shm.pid || first->node_fd < 0)
		return;
	err = map_table(first->shm.pid, first->node_fd, n);
	if (err)
		weft_log_info("CORE-NODEBC", "%s", weft_err_detail_peek(err));
}

bool weft_node_bc_is_open(void)
{
	return table.entries;
}

void weft_node_bc_put(uint32_t place, const struct weft_bc *bc)
{
	struct entry *entry;

	if (place >= table.n)
		return; /* the manager's numbers disagree: it will be asked */
	entry = &table.entries[place];
	memcpy(&entry->bc, bc, weft_bc_len(bc));
	/* pairs with the acquire in weft_node_bc_find */
	atomic_store_explicit(
		&entry->len, (uint32_t)weft_bc_len(bc), memory_order_release);
}

bool weft_node_bc_find(uint32_t place, struct weft_bc *bc_out)
{
	const struct entry *entry;
	uint32_t len;

	if (place >= table.n)
		return false;
	entry = &table.entries[place];
	/* pairs with the release in weft_node_bc_put */
	len = atomic_load_explicit(&entry->len, memory_order_acquire);
	return len && !weft_bc_read(bc_out, &entry->bc, len);
}

void weft_node_bc_close(void)
{
	weft_share_unmap((char *)table.entries, table.n * sizeof(struct entry));
	if (table.fd >= 0)
		close(table.fd);
	table.entries = NULL;
	table.n = 0;
	table.fd = -1;
}
