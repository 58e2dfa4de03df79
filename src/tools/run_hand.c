/* SPDX-License-Identifier: BSD-3-Clause */
/* run_hand: hand the job over to srun or PRRTE when we run inside them */
#include "tools/run_hand.h"

int weft_run_hand_over(const struct weft_run_opt *opt)
{
	(void)opt;
	return WEFT_RUN_HAND_SELF;
}
