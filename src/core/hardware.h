/* SPDX-License-Identifier: BSD-3-Clause */
/* hardware: which processes of my node share a piece of hardware with me
 *
 * VCI's lock held in all calls. The first reads the machine, which takes
 * milliseconds. */
#ifndef WEFT_HARDWARE_H
#define WEFT_HARDWARE_H

#include "core/group.h"

#include <stdbool.h>

/* Name of level i, from the largest piece to the smallest, as a process set
 * has it ("hwloc://Package"); NULL at the end. */
const char *weft_hardware_name(int i);

/* True if this machine has pieces of level i and I run within one of them. */
bool weft_hardware_is_known(int i);

/* The piece of level i that I run within, as hwloc numbers it ("Package:0").
 * WEFT_ERR_NOTFOUND where the level is not known. */
int weft_hardware_piece(int i, char *buf, size_t len);

/* The processes of my node that run within the same piece as I do. Waits until
 * all on the node have said where they run. WEFT_ERR_NOTFOUND where the level
 * is not known. */
int weft_hardware_group(int i, struct weft_group **group_out);

#endif
