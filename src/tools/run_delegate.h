/* SPDX-License-Identifier: BSD-3-Clause */
/* run_delegate: replaces mpiexec by srun, prun or prterun */
#ifndef WEFT_RUN_DELEGATE_H
#define WEFT_RUN_DELEGATE_H

#include "tools/run_opt.h"

enum { WEFT_RUN_DELEGATE_NONE = -1 };

enum weft_run_by { WEFT_RUN_BY_SELF, WEFT_RUN_BY_SLURM, WEFT_RUN_BY_PRRTE };

/* A command line under construction; err is the first failure. */
struct weft_run_cmd {
	char **argv; /* NULL-terminated; this struct owns the words */
	size_t n;
	int err;
};

/*
 * Chooses the launcher: that of WEFT_MPIEXEC; else PRRTE if the options name a
 * DVM; else Slurm inside an allocation if srun is in PATH; else mpiexec itself.
 * 0, or WEFT_ERR_ARG for an invalid value of WEFT_MPIEXEC.
 */
int weft_run_delegate_choose(
	const struct weft_run_opt *opt, enum weft_run_by *by_out);

/* weft_run_delegate_slurm() translates the options to the command line of srun,
 * and weft_run_delegate_prrte() to that of prun (with a DVM) or prterun. The
 * caller calls weft_run_cmd_fini(). */
void weft_run_delegate_slurm(
	struct weft_run_cmd *cmd, const struct weft_run_opt *opt);
void weft_run_delegate_prrte(
	struct weft_run_cmd *cmd, const struct weft_run_opt *opt);

void weft_run_cmd_fini(struct weft_run_cmd *cmd);

/*
 * Executes the chosen launcher in place of this process. Returns
 * WEFT_RUN_DELEGATE_NONE if mpiexec itself starts the job, or an exit status if
 * the launcher cannot be executed.
 */
int weft_run_delegate(const struct weft_run_opt *opt);

#endif
