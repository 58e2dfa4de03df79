/* SPDX-License-Identifier: BSD-3-Clause */
/* node_bc: a table with the business cards of a node's processes, in shared
 * memory
 *
 * The first process of the node creates the table. Its business card has the
 * descriptor of the table. Each other process first requests that card from the
 * process manager. Then it stores its own card in the table, and reads the
 * other cards from the table. A node of n processes makes n requests instead of
 * n * n. If a card is missing in the table, a process requests it from the
 * manager, so no process depends on the first one. The table is an unnamed
 * file, as in shm/share.h.
 *
 * `place` is the index of a process among those of the node
 * (weft_boot_local_index). The default VCI's lock guards struct
 * weft_node_bc. */
#ifndef WEFT_NODE_BC_H
#define WEFT_NODE_BC_H

#include "transport/bc.h"

#include <stdbool.h>
#include <stdint.h>

struct weft_node_bc_entry;

/* All zero: neither opened nor joined. */
struct weft_node_bc {
	struct weft_node_bc_entry *entries; /* array of n entries; NULL: no
					       table is mapped */
	uint32_t n;
	int fd; /* descriptor, in the process that created the table; else -1 */
};

/* Creates the table for n processes. Returns its descriptor, for the business
 * card, or -1 on failure. */
int weft_node_bc_open(struct weft_node_bc *table, uint32_t n);

/* Maps the table whose descriptor is in the first process's business card, if
 * the card has one. */
void weft_node_bc_join(
	struct weft_node_bc *table, const struct weft_bc *first, uint32_t n);

/* Stores this process's card at index `place`, once, if there is a table with
 * that index. */
void weft_node_bc_put(
	struct weft_node_bc *table, uint32_t place, const struct weft_bc *bc);

/* Copies the business card at index `place` and checks it. False if there is no
 * valid card. */
bool weft_node_bc_find(const struct weft_node_bc *table, uint32_t place,
	struct weft_bc *bc_out);

/* Unmaps the table. Other processes keep their mappings. */
void weft_node_bc_close(struct weft_node_bc *table);

#endif
