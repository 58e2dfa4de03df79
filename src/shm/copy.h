/* SPDX-License-Identifier: BSD-3-Clause */
/* copy: copies directly between this process's memory and another's */
#ifndef WEFT_COPY_H
#define WEFT_COPY_H

#include "shm/seg.h"

#include <stdbool.h>
#include <sys/uio.h>

/* True if the kernel permits this process to read the memory of the process
 * with this card. Tests this by reading the probe word of that process. */
bool weft_copy_can_read(const struct weft_shm_bc *bc);

/* Permits other processes of this user to access the memory of this process, if
 * the Yama security module restricts such access. */
void weft_copy_permit(void);

/* Copies len bytes from addr in process pid into the local iovec entries, which
 * have len bytes in all. May wait until the kernel has loaded a page of that
 * process, so the caller must not hold a lock that other threads need. 0 or a
 * described error. WEFT_ERR_PEER: the process has ended. WEFT_ERR_ACCESS: the
 * kernel does not permit the copy. WEFT_ERR_OTHER: an address is not mapped, or
 * memory is short. */
int weft_copy_read(pid_t pid, const struct iovec *local, size_t n_local,
	uint64_t addr, size_t len);

/* Copies between local iovec entries and remote entries, which are in process
 * pid. Both have the same total length. is_write: the local entries are the
 * source. The same contract as weft_copy_read(). */
int weft_copy_move(pid_t pid, const struct iovec *local, size_t n_local,
	const struct iovec *remote, size_t n_remote, bool is_write);

#endif
