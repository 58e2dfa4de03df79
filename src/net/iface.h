/* SPDX-License-Identifier: BSD-3-Clause */
/* iface: how likely an interface leads to other hosts */
#ifndef WEFT_IFACE_H
#define WEFT_IFACE_H

enum {
	WEFT_IFACE_RANK_MAX = 12,
};

/* Higher is better, 0 to WEFT_IFACE_RANK_MAX: an interface with a carrier
 * before one without, then one of its own before one that joins others on this
 * host (the intercommunicators of containers and virtual machines, which have
 * the same address on every host) unless the default route goes through it. An
 * unknown one ranks like a plain one with a carrier. Interfaces are those of
 * the process's network namespace. Any thread. */
int weft_iface_rank(const char *name);

#endif
