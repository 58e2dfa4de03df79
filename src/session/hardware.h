/* SPDX-License-Identifier: BSD-3-Clause */
/* hardware: which processes of my node share a piece of hardware with me */
#ifndef WEFT_HARDWARE_H
#define WEFT_HARDWARE_H

#include "core/group.h"

#include <stdbool.h>

/* Name of level i as a process set, from the largest piece to the smallest;
 * NULL at the end. */
const char *weft_hardware_name(int i);

/* True if this machine tells its pieces of level i apart and I run within one
 * of them. Lane's lock held, here and below. */
bool weft_hardware_is_known(int i);

/* The processes of my node that run within the same piece as I do. May wait
 * until they have said where they run. */
int weft_hardware_group(int i, struct weft_group **group_out);

#endif
