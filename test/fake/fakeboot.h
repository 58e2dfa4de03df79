/* SPDX-License-Identifier: BSD-3-Clause */
/* fakeboot: a process manager in a table, for one process of a made-up job
 *
 * The job has as many processes as the test says; only this one exists. A
 * fetch of another's card is never answered. Process sets are given by the
 * test. Counts what is asked of it, so that a test can say "nothing was". */
#ifndef WEFT_FAKEBOOT_H
#define WEFT_FAKEBOOT_H

#include "boot/boot.h"

struct fakeboot_counts {
	unsigned n_put, n_commit, n_get, n_fence, n_pset;
};

/* The job the next weft_proc_get() will find itself in. */
void fakeboot_set_job(uint32_t rank, uint32_t size, uint32_t local_size);

/* For weft_proc.open_boot. */
int fakeboot_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out);

const struct fakeboot_counts *fakeboot_counts(void);

#endif
