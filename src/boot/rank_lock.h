/* SPDX-License-Identifier: BSD-3-Clause */
/* rank_lock: refuses a second process with the same rank
 *
 * A program that a process starts inherits the process manager's variables and
 * would connect as the same rank. So until it ends, each process holds an
 * abstract socket that is named after its rank. */
#ifndef WEFT_RANK_LOCK_H
#define WEFT_RANK_LOCK_H

/* Acquires the lock of a rank until this process ends. WEFT_ERR_BOOT with a
 * description if another running process of this user holds it. Call it before
 * connecting to the process manager. Does not block. If the system has no
 * abstract sockets, the function returns 0. */
int weft_rank_lock_acquire(const char *job, const char *rank);

#endif
