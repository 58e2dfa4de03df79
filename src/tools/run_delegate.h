/* SPDX-License-Identifier: BSD-3-Clause */
/* run_delegate: hand the job over to srun or PRRTE when we run inside them */
#ifndef WEFT_RUN_DELEGATE_H
#define WEFT_RUN_DELEGATE_H

#include "tools/run_opt.h"

enum { WEFT_RUN_DELEGATE_NONE = -1 };

enum weft_run_by { WEFT_RUN_BY_SELF, WEFT_RUN_BY_SLURM, WEFT_RUN_BY_PRRTE };

/* A command line that grows; err keeps the first failure. */
struct weft_run_cmd {
	char **argv; /* NULL-ended, each word ours */
	size_t n;
	int err;
};

/*
 * Who starts the processes: what WEFT_MPIEXEC says, else PRRTE when a machine
 * of it is named, else Slurm inside an allocation with srun at hand.  0 or
 * WEFT_ERR_ARG.
 */
int weft_run_delegate_choose(
	const struct weft_run_opt *opt, enum weft_run_by *by_out);

/* opt in the words of srun, or of prun and prterun. */
void weft_run_delegate_slurm(
	struct weft_run_cmd *cmd, const struct weft_run_opt *opt);
void weft_run_delegate_prrte(
	struct weft_run_cmd *cmd, const struct weft_run_opt *opt);

void weft_run_cmd_fini(struct weft_run_cmd *cmd);

/*
 * Become the chosen launcher.  Returns WEFT_RUN_DELEGATE_NONE when the job is
 * ours, or an exit status when handing over failed.
 */
int weft_run_delegate(const struct weft_run_opt *opt);

#endif
