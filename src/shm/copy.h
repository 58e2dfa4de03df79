/* SPDX-License-Identifier: BSD-3-Clause */
/* copy: single copy out of another process's memory */
#ifndef WEFT_COPY_H
#define WEFT_COPY_H

#include "shm/seg.h"

#include <stdbool.h>
#include <sys/uio.h>

/* True if the kernel permits reading that process, tried on its probe word. */
bool weft_copy_can_read(const struct weft_shm_bc *bc);

/* Permits other processes of this user to read this one, where a security
 * module requires it. */
void weft_copy_permit(void);

/* Copies len bytes from addr in process pid into the local runs, which have len
 * bytes in all. May wait for a page of that process: no lock may be held that
 * other threads need. 0; WEFT_ERR_PEER if the process has ended;
 * WEFT_ERR_ACCESS if the kernel no longer permits it; or WEFT_ERR_OTHER. */
int weft_copy_read(pid_t pid, const struct iovec *local, size_t n_local,
	uint64_t addr, size_t len);

/* Copies between local runs and runs in process pid of the same total length;
 * is_write: to that process. Same errors. */
int weft_copy_move(pid_t pid, const struct iovec *local, size_t n_local,
	const struct iovec *remote, size_t n_remote, bool is_write);

#endif
