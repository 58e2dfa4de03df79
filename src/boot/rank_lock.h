/* SPDX-License-Identifier: BSD-3-Clause */
/* rank_lock: detects a rank that exists twice
 *
 * A program that a process starts inherits the process manager's variables and
 * would join as the same rank. So each process holds an abstract socket named
 * after its rank until it ends. */
#ifndef WEFT_RANK_LOCK_H
#define WEFT_RANK_LOCK_H

/* WEFT_ERR_BOOT with a description if another living process of this user is
 * the same rank of the same job. Call it before connecting to the process
 * manager. Does not block. The name is held until the process ends. Where there
 * are no abstract sockets, nothing is checked. */
int weft_rank_lock_acquire(const char *job, const char *rank);

#endif
