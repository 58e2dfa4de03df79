/* SPDX-License-Identifier: BSD-3-Clause */
/* fakeboot: a process manager in a table, for one process of a simulated job
 *
 * The test sets the number of processes; only this process exists. A fetch of
 * another process's card is answered only by the test. The test sets the
 * process sets. The manager counts its requests, so that a test can claim that
 * there were none. */
#ifndef WEFT_FAKEBOOT_H
#define WEFT_FAKEBOOT_H

#include "boot/boot.h"

struct fakeboot_counts {
	unsigned n_put, n_commit, n_get, n_fence, n_pset;
};

/* Sets the job that the next weft_proc_get() opens. */
void fakeboot_set_job(uint32_t rank, uint32_t size, uint32_t local_size);

/* Opens the simulated process manager. A test stores it in weft_proc.open_boot.
 */
int fakeboot_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out);

const struct fakeboot_counts *fakeboot_counts(void);

/* Answers the last fetch. */
void fakeboot_answer(const void *data, size_t len);

#endif
