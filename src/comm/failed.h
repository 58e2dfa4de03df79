/* SPDX-License-Identifier: BSD-3-Clause */
/* failed: processes known to have failed */
#ifndef WEFT_FAILED_H
#define WEFT_FAILED_H

#include "boot/boot.h"
#include "core/group.h"

#include <stdbool.h>

/* Handles events of the process manager; weft_proc.on_event. */
void weft_failed_event(const struct weft_boot_event *event);

/* True if a member of the group has failed. Costs one load while no process
 * has. Any thread. */
bool weft_failed_in(const struct weft_group *group);

/* True if this process has failed. */
bool weft_failed_is(uint64_t proc);

/* The first member that failed, as a rank, or WEFT_UNDEFINED. */
int32_t weft_failed_first(const struct weft_group *group);

#endif
