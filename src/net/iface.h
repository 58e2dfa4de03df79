/* SPDX-License-Identifier: BSD-3-Clause */
/* iface: ranks interfaces by how likely they connect to other hosts */
#ifndef WEFT_IFACE_H
#define WEFT_IFACE_H

enum {
	WEFT_IFACE_RANK_MAX = 12,
};

/* Ranks an interface from 0 to WEFT_IFACE_RANK_MAX; a higher rank is better. An
 * interface whose link is up ranks above one whose link is down. Among
 * interfaces with the same state, a network device ranks above a bridge or
 * tunnel (docker0, virbr0), which only connects containers and virtual
 * machines. The reason is that a bridge may have the same address on every
 * host. Among bridges and tunnels, one with the default route ranks higher. An
 * unknown interface ranks like a network device whose link is up. Interfaces
 * are those of the process's network namespace. Any thread may call it. */
int weft_iface_rank(const char *name);

#endif
