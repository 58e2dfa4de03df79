/* SPDX-License-Identifier: BSD-3-Clause */
/* top_nodes: the processes of a job on several nodes
 *
 * A command of the user (srun, prun, pdsh) starts one weft-top on each node.
 * Each of them prints its processes in lines of text. The weft-top that the
 * user started reads these lines from the command's output. It ignores text
 * that a launcher puts in front of them. */
#ifndef WEFT_TOP_NODES_H
#define WEFT_TOP_NODES_H

#include "tools/top_read.h"

/* Prints the processes of this node for another weft-top. job->n may be 0. */
void weft_top_part_print(const struct weft_top_job *job, FILE *to);

/* Runs `command WEFT-TOP --part NAME` in a shell, and merges the records that
 * the nodes print. The caller calls weft_top_job_fini(). False and a reason if
 * no node has a process of the job. */
bool weft_top_nodes_read(struct weft_top_job *job, const char *command,
	const char *name, char why[WEFT_TOP_WHY]);

#endif
