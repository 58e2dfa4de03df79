/* SPDX-License-Identifier: BSD-3-Clause */
/* run_hand: hand the job over to srun or PRRTE when we run inside them */
#ifndef WEFT_RUN_HAND_H
#define WEFT_RUN_HAND_H

#include "tools/run_opt.h"

enum { WEFT_RUN_HAND_SELF = -1 };

/*
 * Inside a Slurm allocation replace this process by srun, with a PRRTE
 * machine by prun or prterun.  Returns WEFT_RUN_HAND_SELF when the job is
 * ours, or an exit status when handing over failed.
 */
int weft_run_hand_over(const struct weft_run_opt *opt);

#endif
