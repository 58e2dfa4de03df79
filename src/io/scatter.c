/* SPDX-License-Identifier: BSD-3-Clause */
/* scatter: many short runs are stored in the page cache by one call */
#include "io/scatter.h"

#include "io/view.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* Copies runs from buf to the mapping. map is the address of byte `begin` of
 * the file. Returns the number of bytes, or -1 with errno. */
static ssize_t scatter_store(char *map, int64_t begin, const char *buf,
	const struct iovec *runs, size_t n_runs)
{
	struct iovec to[WEFT_SCATTER_MAX];
	struct iovec from = { .iov_base = (void *)(uintptr_t)buf };

	for (size_t i = 0; i < n_runs; i++) {
		to[i].iov_base = map + (weft_view_run_begin(&runs[i]) - begin);
		to[i].iov_len = runs[i].iov_len;
		from.iov_len += runs[i].iov_len;
	}
	return process_vm_readv(getpid(), to, n_runs, &from, 1, 0);
}

/* MAP_POPULATE is faster, but allocates storage for all pages. So it is used
 * only if no gap between two runs is longer than a page. */
static int map_flags(const struct iovec *runs, size_t n_runs, int64_t page)
{
	for (size_t i = 1; i < n_runs; i++)
		if (weft_view_run_begin(&runs[i]) -
				weft_view_run_begin(&runs[i - 1]) -
				(int64_t)runs[i - 1].iov_len >
			page)
			return MAP_SHARED;
	return MAP_SHARED | MAP_POPULATE;
}

size_t weft_scatter_write(int fd, const char *buf, const struct iovec *runs,
	size_t n_runs, bool *is_supported_out)
{
	const struct iovec *last = &runs[n_runs - 1];
	int64_t page = sysconf(_SC_PAGESIZE);
	int64_t begin = weft_view_run_begin(runs) / page * page;
	size_t len = (size_t)(weft_view_run_begin(last) - begin) +
		     last->iov_len,
	       n = 0;
	char *map = mmap(NULL, len, PROT_READ | PROT_WRITE,
		map_flags(runs, n_runs, page), fd, (off_t)begin);
	ssize_t stored;

	*is_supported_out = true;
	if (map == MAP_FAILED) {
		*is_supported_out = errno == ENOMEM || errno == EAGAIN;
		return 0;
	}
	stored = scatter_store(map, begin, buf, runs, n_runs);
	if (stored < 0)
		*is_supported_out = errno == EFAULT || errno == ENOMEM;
	for (; n < n_runs && stored >= (ssize_t)runs[n].iov_len; n++)
		stored -= (ssize_t)runs[n].iov_len;
	munmap(map, len);
	return n;
}
