/* SPDX-License-Identifier: BSD-3-Clause */
/* twin: a rank that exists twice
 *
 * A program that a process starts inherits the process manager's variables and
 * would join as the same rank. So each process holds an abstract socket named
 * after its rank until it ends. */
#ifndef WEFT_TWIN_H
#define WEFT_TWIN_H

/* Before the process manager is told of this process: WEFT_ERR_BOOT with a
 * description if another living process of this user is the same rank of the
 * same job. Does not block. The name is kept until the process ends; where
 * there are no such sockets nothing is checked. */
int weft_twin_check(const char *job, const char *rank);

#endif
