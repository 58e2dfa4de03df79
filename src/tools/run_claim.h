/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_claim: which cores the jobs of this host are on
 *
 * A launcher holds a socket in Linux's abstract namespace for every core that
 * its job is on.  Nobody else can have one of that name, and the kernel lets
 * go of it when the launcher ends, however that is.  Another user's claim is
 * believed while processes of the holder are bound to the core.
 */
#ifndef WEFT_RUN_CLAIM_H
#define WEFT_RUN_CLAIM_H

#include <stdbool.h>
#include <stddef.h>

/* All zero: none.  Emptied by weft_run_claim_fini. */
struct weft_run_claim {
	int *fds;
	size_t n;
};

/* A weft_place_claim_fn on a struct weft_run_claim. */
bool weft_run_claim_core(void *claim, unsigned cpu);

void weft_run_claim_fini(struct weft_run_claim *claim);

#endif
