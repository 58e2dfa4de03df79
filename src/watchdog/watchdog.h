/* SPDX-License-Identifier: BSD-3-Clause */
/* watchdog: what a VCI needs to take part */
#ifndef WEFT_WATCHDOG_H
#define WEFT_WATCHDOG_H

struct weft_vci;

/* Installs the handlers; called when a VCI opens. */
void weft_watchdog_open(struct weft_vci *vci);

#endif
