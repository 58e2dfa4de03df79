/* SPDX-License-Identifier: BSD-3-Clause */
/* failed: processes known to have failed */
#ifndef WEFT_FAILED_H
#define WEFT_FAILED_H

#include "boot/boot.h"
#include "core/group.h"

#include <stdbool.h>

/* Records a death that the process manager reports. */
void weft_failed_event(const struct weft_boot_event *event);

/* True if a member of the group has failed. Costs one load while no process of
 * the job has failed. Any thread. */
bool weft_failed_in(const struct weft_group *group);

/* True if the process proc has failed. */
bool weft_failed_is(uint64_t proc);

/* The rank of the member whose failure was reported first, or WEFT_UNDEFINED.
 */
int32_t weft_failed_first(const struct weft_group *group);

#endif
