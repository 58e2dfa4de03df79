/* SPDX-License-Identifier: BSD-3-Clause */
/* pages64k: refuses the calls that a kernel with pages of 64 KiB refuses
 *
 * For LD_PRELOAD, on a kernel with smaller pages. arm64 and ppc64le often have
 * pages of 64 KiB. mmap refuses a file offset and a fixed address that do not
 * begin such a page, and sysconf reports that page size. One difference
 * remains: a mapping does not extend to the end of its last page of 64 KiB.
 * Therefore OpenSHMEM cannot move the variables of a program that preloads this
 * library. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 65536 };

typedef void *map_fn(void *, size_t, int, int, int, off_t);
typedef long sysconf_fn(int);

static map_fn *real_mmap;
static sysconf_fn *real_sysconf;

__attribute__((constructor)) static void pages_begin(void)
{
	real_mmap = (map_fn *)dlsym(RTLD_NEXT, "mmap");
	real_sysconf = (sysconf_fn *)dlsym(RTLD_NEXT, "sysconf");
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	if ((!(flags & MAP_ANONYMOUS) && offset % PAGE) ||
		(flags & MAP_FIXED && (uintptr_t)at % PAGE)) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if (!real_mmap)
		pages_begin();
	return real_mmap(at, len, prot, flags, fd, offset);
}

void *mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return mmap(at, len, prot, flags, fd, offset);
}

long sysconf(int name)
{
	if (name == _SC_PAGESIZE)
		return PAGE;
	if (!real_sysconf)
		pages_begin();
	return real_sysconf(name);
}
