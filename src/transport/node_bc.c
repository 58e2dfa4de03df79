/* SPDX-License-Identifier: BSD-3-Clause */
/* node_bc: a table in shared memory with the business card of each process of
 * the node */
#include "transport/node_bc.h"

#include "base/err.h"
#include "base/log.h"
#include "shm/share.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* A card, which is written once. */
struct weft_node_bc_entry {
	_Alignas(64) _Atomic uint32_t len; /* length of the card; 0: no card */
	struct weft_bc bc;
};

static int map_table(
	struct weft_node_bc *table, uint64_t owner, int fd, uint32_t n)
{
	char *base = NULL;
	int err = weft_share_map(
		owner, fd, 0, n * sizeof(struct weft_node_bc_entry), &base);

	if (err)
		return err;
	table->entries = (struct weft_node_bc_entry *)(void *)base;
	table->n = n;
	table->fd = -1;
	return 0;
}

int weft_node_bc_open(struct weft_node_bc *table, uint32_t n)
{
	int fd = -1;
	int err = weft_share_file(n * sizeof(*table->entries), &fd);

	if (!err)
		err = map_table(table, weft_share_owner(), fd, n);
	if (!err) {
		table->fd = fd;
		return fd;
	}
	weft_log_info("CORE-NODEBC", "%s", weft_err_detail_peek(err));
	if (fd >= 0)
		close(fd);
	return -1;
}

void weft_node_bc_join(
	struct weft_node_bc *table, const struct weft_bc *first, uint32_t n)
{
	const uint64_t owner =
		(uint64_t)first->shm.domain << 32 | (uint32_t)first->shm.pid;
	int err;

	if (table->entries || !first->shm.pid || first->node_fd < 0)
		return;
	err = map_table(table, owner, first->node_fd, n);
	if (err)
		weft_log_info("CORE-NODEBC", "%s", weft_err_detail_peek(err));
}

void weft_node_bc_put(
	struct weft_node_bc *table, uint32_t place, const struct weft_bc *bc)
{
	struct weft_node_bc_entry *entry;

	if (place >= table->n)
		return; /* the process manager is inconsistent; the card is not
			   stored */
	entry = &table->entries[place];
	memcpy(&entry->bc, bc, weft_bc_len(bc));
	/* release: publishes the card before its length; pairs with the load in
	 * weft_node_bc_find() */
	atomic_store_explicit(
		&entry->len, (uint32_t)weft_bc_len(bc), memory_order_release);
}

bool weft_node_bc_find(const struct weft_node_bc *table, uint32_t place,
	struct weft_bc *bc_out)
{
	const struct weft_node_bc_entry *entry;
	uint32_t len;

	if (place >= table->n)
		return false;
	entry = &table->entries[place];
	/* acquire: reads the length before the card; pairs with the store in
	 * weft_node_bc_put() */
	len = atomic_load_explicit(&entry->len, memory_order_acquire);
	return len && !weft_bc_read(bc_out, &entry->bc, len);
}

void weft_node_bc_close(struct weft_node_bc *table)
{
	if (!table->entries)
		return;
	weft_share_unmap(
		(char *)table->entries, table->n * sizeof(*table->entries));
	if (table->fd >= 0)
		close(table->fd);
	*table = (struct weft_node_bc){ 0 };
}
