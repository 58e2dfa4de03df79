/* SPDX-License-Identifier: BSD-3-Clause */
/* hardware: the processes of this node that share a hardware object with this
 * one
 *
 * VCI's lock held in all calls. The first call reads the machine, which takes
 * milliseconds. */
#ifndef WEFT_HARDWARE_H
#define WEFT_HARDWARE_H

#include "core/group.h"

#include <stdbool.h>

/* Name of level i, from the largest to the smallest, as a process set name
 * ("hwloc://Package"); NULL at the end. */
const char *weft_hardware_name(int i);

/* True if this machine has objects of level i and this process runs within one
 * of them. */
bool weft_hardware_is_known(int i);

/* The object of level i that this process runs within, by hwloc's number
 * ("Package:0"). WEFT_ERR_NOTFOUND if the level is unknown here. */
int weft_hardware_object_id(int i, char *buf, size_t len);

/* The processes of this node that run within the same object. Waits until all
 * processes of the node have published where they run. WEFT_ERR_NOTFOUND if the
 * level is unknown here. */
int weft_hardware_group(int i, struct weft_group **group_out);

#endif
