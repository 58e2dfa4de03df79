/* SPDX-License-Identifier: BSD-3-Clause */
/* bc: business card, which a process publishes once and its peers read
 *
 * The first session publishes the card through boot under WEFT_BC_KEY. Before
 * its first message, a peer reads the card: from the process manager, from the
 * node's table (node_bc.h), or from a message. The content of a card is not
 * trusted: weft_bc_read() checks it. */
#ifndef WEFT_BC_H
#define WEFT_BC_H

#include "boot/boot.h"
#include "net/net.h"
#include "shm/seg.h"

#include <stddef.h>
#include <stdint.h>

#define WEFT_BC_KEY "weft.card.4"

enum { WEFT_BC_CPUS_MAX = 256, WEFT_BC_NAMES_MAX = 2 * WEFT_NET_NAME_MAX };

struct weft_bc {
	uint32_t magic;
	uint32_t version;
	uint32_t local_rank;
	uint32_t name_len; /* bytes of one fabric name; 0: no fabric is open */
	uint32_t n_rails;  /* number of rails; their names follow the first
			      name, each of name_len bytes */
	int32_t node_fd;   /* descriptor of the node's table of cards
			      (node_bc.h), in its first process; else -1 */
	struct weft_shm_bc shm;		/* pid 0: no shared memory */
	uint8_t key[WEFT_BOOT_KEY_LEN]; /* key of the cookies of messages to
					   this process */
	char cpus[WEFT_BC_CPUS_MAX]; /* processors that the process may run on,
					as a list "0-3,8"; "": unknown */
	uint8_t name[WEFT_BC_NAMES_MAX];
};

/* Fills in the fixed fields and the cpu list. */
void weft_bc_init(struct weft_bc *bc);

/* Returns the length of the card to publish, without the unused end of name. */
size_t weft_bc_len(const struct weft_bc *bc);

/* Checks and copies a fetched business card. WEFT_ERR_PROTO if it is invalid.
 */
int weft_bc_read(struct weft_bc *bc_out, const void *data, size_t len);

#endif
