/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_claim: the cores that the jobs of this host use
 *
 * A launcher binds a socket in Linux's abstract namespace for every core that
 * its job uses. The kernel permits one socket of a name, and closes it whenever
 * and however the launcher ends. A claim of another user is valid while
 * processes of its holder are bound to the core.
 */
#ifndef WEFT_RUN_CLAIM_H
#define WEFT_RUN_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A claimed core. */
struct weft_run_claimed {
	int fd;
	unsigned cpu;  /* its first processor */
	uint32_t rank; /* the process that uses it */
};

/* The claims of one job. All zero: no claims. Only the launcher's main thread
 * uses it. */
struct weft_run_claim {
	struct weft_run_claimed *cores;
	size_t n;
	uint32_t rank; /* the process that the next cores are claimed for */
};

/* Claims a core for the job; a weft_place_claim_fn on a struct weft_run_claim.
 * False if another job uses the core, or if no descriptor is free. */
bool weft_run_claim_core(void *claim, unsigned cpu);

/* Releases the claim of cores[i]. Moves the last core to its place. */
void weft_run_claim_drop(struct weft_run_claim *claim, size_t i);

/* Releases all claims. */
void weft_run_claim_fini(struct weft_run_claim *claim);

#endif
