/* SPDX-License-Identifier: BSD-3-Clause */
/* watchdog: installs the handlers of this room */
#ifndef WEFT_WATCHDOG_H
#define WEFT_WATCHDOG_H

struct weft_vci;

/* Installs the handlers in a VCI. Called when the VCI opens. */
void weft_watchdog_open(struct weft_vci *vci);

#endif
