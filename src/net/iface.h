/* SPDX-License-Identifier: BSD-3-Clause */
/* iface: ranks interfaces by how likely they connect to other hosts */
#ifndef WEFT_IFACE_H
#define WEFT_IFACE_H

enum {
	WEFT_IFACE_RANK_MAX = 12,
};

/* Ranks an interface from 0 to WEFT_IFACE_RANK_MAX; a higher rank is better. An
 * interface with a carrier ranks above one without. At equal carrier, a network
 * device of this host ranks above an interface that only connects containers
 * and virtual machines (bridges such as docker0 and virbr0, tunnels), because a
 * bridge has the same address on every host. Among interfaces of the second
 * kind, an interface with the default route ranks higher. An unknown interface
 * ranks like a network device with a carrier. Interfaces are those of the
 * process's network namespace. Any thread may call it. */
int weft_iface_rank(const char *name);

#endif
