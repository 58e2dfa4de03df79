/* SPDX-License-Identifier: BSD-3-Clause */
/* copy: single copy out of another process's memory */
#ifndef WEFT_COPY_H
#define WEFT_COPY_H

#include "shm/seg.h"

#include <stdbool.h>
#include <sys/uio.h>

/* True if this kernel lets us read that process (tried on its probe word). */
bool weft_copy_can_read(const struct weft_shm_bc *bc);

/* Lets the other processes of this user read ours where that needs saying. */
void weft_copy_permit(void);

/* Copies len bytes from addr in process pid into the local runs, which must
 * hold as many. 0, WEFT_ERR_PEER when the process is gone, WEFT_ERR_ACCESS when
 * the kernel does not let us at it any more, or WEFT_ERR_OTHER. */
int weft_copy_read(pid_t pid, const struct iovec *local, size_t n_local,
	uint64_t addr, size_t len);

/* Copies between local runs and runs in process pid, of the same length in all;
 * is_write: to it. Same errors. */
int weft_copy_move(pid_t pid, const struct iovec *local, size_t n_local,
	const struct iovec *remote, size_t n_remote, bool is_write);

#endif
