/* SPDX-License-Identifier: BSD-3-Clause */
/* memfd: memory with a descriptor and without a name */
#ifndef WEFT_MEMFD_H
#define WEFT_MEMFD_H

#include <stddef.h>

/* A file of len bytes of zeros in memory that no directory lists: memfd_create,
 * or, where a container forbids that, an unnamed file in /dev/shm. flags are
 * MFD_CLOEXEC or 0. The caller closes it. -1 with errno of what was refused
 * first. */
int weft_memfd_open(const char *name, unsigned flags, size_t len);

#endif
