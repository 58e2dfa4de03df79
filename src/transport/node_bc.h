/* SPDX-License-Identifier: BSD-3-Clause */
/* node_bc: business cards of the processes of a node, in memory they share
 *
 * The first process of the node has that memory, and its own business card says
 * where. Each of the others asks the process manager for that one before any
 * other of the node, puts its own there with the answer, and need not ask for
 * those that are there: n questions for a node of n processes, not n * n. What
 * is not there is asked for as before, so nobody depends on the first one. An
 * unnamed file, as in shm/share.h.
 *
 * A place is a process's index among those of the node (weft_boot_place). All
 * is guarded by the default VCI's lock. */
#ifndef WEFT_NODE_BC_H
#define WEFT_NODE_BC_H

#include "transport/bc.h"

#include <stdbool.h>
#include <stdint.h>

struct weft_node_bc_entry;

/* All zero: neither opened nor joined. */
struct weft_node_bc {
	struct weft_node_bc_entry *entries; /* n; NULL: there are none */
	uint32_t n;
	int fd; /* of who opened it; else -1 */
};

/* Makes the memory, for n processes. Its descriptor, for the business card, or
 * -1 where there is none. */
int weft_node_bc_open(struct weft_node_bc *table, uint32_t n);

/* Maps the memory that the first process's business card tells of, if it does.
 */
void weft_node_bc_join(
	struct weft_node_bc *table, const struct weft_bc *first, uint32_t n);

/* Puts my business card in my place, if there is such a table and place; once.
 */
void weft_node_bc_put(
	struct weft_node_bc *table, uint32_t place, const struct weft_bc *bc);

/* The business card of a place, checked; false if there is none. */
bool weft_node_bc_find(const struct weft_node_bc *table, uint32_t place,
	struct weft_bc *bc_out);

/* Of no effect on others. */
void weft_node_bc_close(struct weft_node_bc *table);

#endif
