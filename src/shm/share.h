/* SPDX-License-Identifier: BSD-3-Clause */
/* share: memory that several processes of the node map
 *
 * The memory is an unnamed file (memfd), which other processes open through
 * /proc/PID/fd/FD as in seg.h. It is either new memory, or the writable data of
 * the program, which is moved into such a file and keeps its address. */
#ifndef WEFT_SHARE_H
#define WEFT_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct weft_share {
	char *base; /* NULL: there is none */
	size_t len;
	int fd;
};

/* The alignment of shared memory of len bytes, the same in every process: the
 * largest power of two up to len, at least 2 MiB and at most 1 GiB. */
size_t weft_share_align(size_t len);

/* Creates len bytes of zeros, rounded up to pages, aligned by
 * weft_share_align(). 0, or WEFT_ERR_NOMEM with a description and *share_out
 * unchanged. */
int weft_share_create(size_t len, struct weft_share *share_out);
void weft_share_destroy(struct weft_share *share);

/* Creates only the file, of len bytes of zeros, which this process and others
 * map by weft_share_map(). The caller closes *fd_out; mappings stay valid. 0,
 * or WEFT_ERR_NOMEM with a description. */
int weft_share_file(size_t len, int *fd_out);

/* Moves the writable data of the main program (.data and .bss, whole pages)
 * into shared memory at the same address. The data stays there until the
 * process ends. Later calls return the same memory. A child of fork() gets a
 * private copy before fork() returns in the child. Other threads must not write
 * to the program's variables during the call. WEFT_ERR_UNSUPPORTED with a
 * description and no effect, if there is no such data or the kernel refuses. */
int weft_share_data(struct weft_share *share_out);

/* Finds the data that weft_share_data() would move, but does not move it.
 * share_out->fd is -1. WEFT_ERR_UNSUPPORTED with a description if there is no
 * such data. */
int weft_share_find_data(struct weft_share *share_out);

/* A hash of the pid and user namespace, the user and the capabilities. Two
 * processes of a node may open each other's descriptors only if their numbers
 * are equal. A process has a unique number if no other process may open its
 * descriptors: its program file is executable but not readable, or /proc
 * belongs to another pid namespace. */
uint32_t weft_share_domain(void);

/* Identifies this process as the owner of descriptors: its pid in the lower
 * half, the domain that the pid belongs to in the upper half. Never 0. */
uint64_t weft_share_owner(void);

/* Maps len bytes of the file behind descriptor fd of process `owner`. offset is
 * a multiple of the page size. WEFT_ERR_PEER with a description if the owner is
 * in another domain, or the kernel refuses. */
int weft_share_map(
	uint64_t owner, int fd, size_t offset, size_t len, char **base_out);
void weft_share_unmap(char *base, size_t len);

#endif
