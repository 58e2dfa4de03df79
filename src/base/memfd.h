/* SPDX-License-Identifier: BSD-3-Clause */
/* memfd: memory with a file descriptor and without a name */
#ifndef WEFT_MEMFD_H
#define WEFT_MEMFD_H

#include <stddef.h>

/* Creates a file of len zero bytes in memory that no directory lists:
 * memfd_create(), or an unnamed file in /dev/shm where a container forbids
 * memfd_create(). flags are MFD_CLOEXEC or 0. The caller closes the descriptor.
 * Returns -1 with the errno of memfd_create() or ftruncate(), or with ENOSPC if
 * /dev/shm has too little space. */
int weft_memfd_open(const char *name, unsigned flags, size_t len);

#endif
