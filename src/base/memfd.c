/* SPDX-License-Identifier: BSD-3-Clause */
/* memfd: memory with a descriptor and without a name */
#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Opens an unnamed file in /dev/shm and allocates its storage. Without storage,
 * a store to the mapped file raises SIGBUS when the file system is full. */
static int open_file(unsigned flags, size_t len)
{
	int fd = open("/dev/shm",
		O_TMPFILE | O_RDWR | (flags & MFD_CLOEXEC ? O_CLOEXEC : 0),
		0600);
	int err = fd < 0 || !len ? 0 : posix_fallocate(fd, 0, (off_t)len);

	if (!err)
		return fd;
	close(fd);
	errno = err;
	return -1;
}

int weft_memfd_open(const char *name, unsigned flags, size_t len)
{
	int fd = memfd_create(name, flags), reason = errno;

	if (fd < 0)
		fd = open_file(flags, len);
	if (fd < 0) {
		errno = errno == ENOSPC ? ENOSPC : reason;
		return -1;
	}
	if (!ftruncate(fd, (off_t)len))
		return fd;
	reason = errno;
	close(fd);
	errno = reason;
	return -1;
}
