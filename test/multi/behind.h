/* SPDX-License-Identifier: BSD-3-Clause */
/* behind: finds the C library's function that a function of the program
 * replaces
 *
 * Define _GNU_SOURCE before the first header. */
#ifndef TEST_BEHIND_H
#define TEST_BEHIND_H

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>

typedef ssize_t pread_fn(int fd, void *buf, size_t len, off_t at);
typedef ssize_t pwrite_fn(int fd, const void *buf, size_t len, off_t at);

static inline void *behind(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (!fn)
		abort();
	return fn;
}

#endif
