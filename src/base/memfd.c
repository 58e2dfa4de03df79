/* SPDX-License-Identifier: BSD-3-Clause */
/* memfd: memory with a descriptor and without a name */
#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int weft_memfd_open(const char *name, unsigned flags, size_t len)
{
	int fd = memfd_create(name, flags), reason = errno;

	if (fd < 0)
		fd = open("/dev/shm",
			O_TMPFILE | O_RDWR |
				(flags & MFD_CLOEXEC ? O_CLOEXEC : 0),
			0600);
	if (fd < 0) {
		errno = reason;
		return -1;
	}
	if (!ftruncate(fd, (off_t)len))
		return fd;
	reason = errno;
	close(fd);
	errno = reason;
	return -1;
}
