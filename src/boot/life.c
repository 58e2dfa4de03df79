/* SPDX-License-Identifier: BSD-3-Clause */
/* life: a process tells its launcher whether it has sessions open */
#include "boot/life.h"

#include "base/err.h"
#include "base/knob.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int weft_life_make(uint32_t n, int *fd_out, atomic_uchar **bytes_out)
{
	int fd = memfd_create("weft-life", 0); /* inherited on purpose */
	void *bytes = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, n))
		bytes = mmap(
			NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return WEFT_ERR_NOMEM;
	}
	*fd_out = fd;
	*bytes_out = bytes;
	return 0;
}

void weft_life_unmake(uint32_t n, int fd, atomic_uchar *bytes)
{
	if (!bytes)
		return;
	munmap(bytes, n);
	close(fd);
}

/* The descriptor may have been closed, or be something else by now: only a
 * file without a name that is long enough is taken. */
atomic_uchar *weft_life_join(uint32_t rank)
{
	const char *text = weft_knob_foreign(WEFT_LIFE_ENV);
	struct stat st;
	void *bytes;
	int fd;

	if (!text)
		return NULL;
	fd = atoi(text);
	if (fd < 3 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
		st.st_nlink != 0 || st.st_size <= (off_t)rank)
		return NULL;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, 0);
	return bytes == MAP_FAILED ? NULL : (atomic_uchar *)bytes + rank;
}
