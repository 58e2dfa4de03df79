/* SPDX-License-Identifier: BSD-3-Clause */
/* watchdog: what a lane needs to take part */
#ifndef WEFT_WATCHDOG_H
#define WEFT_WATCHDOG_H

struct weft_lane;

/* Installs the handlers; called when a lane opens. */
void weft_watchdog_open(struct weft_lane *lane);

#endif
