/* SPDX-License-Identifier: BSD-3-Clause */
/* copy: copies directly between this process's memory and another's */
#ifndef WEFT_COPY_H
#define WEFT_COPY_H

#include "shm/seg.h"

#include <stdbool.h>
#include <sys/uio.h>

/* True if the kernel permits this process to read the memory of the process
 * with this card. Reads its probe word to test this. */
bool weft_copy_can_read(const struct weft_shm_bc *bc);

/* Permits other processes of this user to read the memory of this process,
 * where a security module requires permission. */
void weft_copy_permit(void);

/* Copies len bytes from addr in process pid into the local runs, which have len
 * bytes in all. May wait for a page of that process, so the caller must not
 * hold a lock that other threads need. 0; WEFT_ERR_PEER if the process has
 * ended; WEFT_ERR_ACCESS if the kernel does not permit the copy;
 * WEFT_ERR_OTHER if an address is not mapped or memory is short. */
int weft_copy_read(pid_t pid, const struct iovec *local, size_t n_local,
	uint64_t addr, size_t len);

/* Copies between local runs and remote runs in process pid. Both have the same
 * total length. is_write: the local runs are the source. The same errors as of
 * weft_copy_read(). */
int weft_copy_move(pid_t pid, const struct iovec *local, size_t n_local,
	const struct iovec *remote, size_t n_remote, bool is_write);

#endif
