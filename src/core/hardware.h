/* SPDX-License-Identifier: BSD-3-Clause */
/* hardware: the processes of this node that share a hardware object with this
 * process
 *
 * Default VCI's lock held in all calls. The first call reads the topology of
 * the machine, which takes milliseconds. */
#ifndef WEFT_HARDWARE_H
#define WEFT_HARDWARE_H

#include "core/group.h"

#include <stdbool.h>

/* Returns the name of hardware level i as a process set name
 * ("hwloc://Package"). Level 0 is the largest; NULL at the end. */
const char *weft_hardware_name(int i);

/* True if this machine has objects of level i and this process runs within one
 * of them. */
bool weft_hardware_is_known(int i);

/* Writes the id of the object of level i that this process runs within, with
 * hwloc's number ("Package:0"). If this machine has no such object, or the
 * processors of this process are in several objects, returns the error of
 * weft_topo_obj_of(). */
int weft_hardware_object_id(int i, char *buf, size_t len);

/* Creates a group of the processes of this node that run within the same
 * object. Waits until all processes of the node have published their
 * processors. WEFT_ERR_NOTFOUND: this process is not within one object of the
 * level. */
int weft_hardware_group(int i, struct weft_group **group_out);

#endif
