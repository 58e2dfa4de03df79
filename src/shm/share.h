/* SPDX-License-Identifier: BSD-3-Clause */
/* share: memory that several processes of a node map
 *
 * The memory is an unnamed file (memfd), which other processes open through
 * /proc/PID/fd/FD, as in seg.h. It is either new memory, or the writable data
 * of the program. This data is moved into the file and keeps its address. */
#ifndef WEFT_SHARE_H
#define WEFT_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct weft_share {
	char *base; /* NULL: no memory */
	size_t len;
	int fd; /* of the file; -1: no file (weft_share_find_data()) */
};

/* The alignment of shared memory of len bytes: the largest power of two up to
 * len, but at least 2 MiB and at most 1 GiB. It depends only on len, so it is
 * the same in every process. */
size_t weft_share_align(size_t len);

/* Creates and maps len bytes of zeros, rounded up to pages, aligned to
 * weft_share_align(). 0, or a described WEFT_ERR_NOMEM with *share_out
 * unchanged. */
int weft_share_create(size_t len, struct weft_share *share_out);
void weft_share_destroy(struct weft_share *share);

/* Creates a file of len bytes of zeros, rounded up to pages, but does not map
 * it. This process and others map the file with weft_share_map(). The caller
 * closes *fd_out; mappings stay valid. 0, or a described WEFT_ERR_NOMEM. */
int weft_share_file(size_t len, int *fd_out);

/* Moves the writable data of the main program (.data and .bss, whole pages)
 * into shared memory at the same address. The data stays there until the
 * process ends. Later calls return the same memory. A child of fork() gets a
 * private copy before fork() returns in the child. Other threads must not write
 * to the program's variables during the call. 0 or a described
 * WEFT_ERR_UNSUPPORTED: the program has no such data, or the kernel refuses;
 * the data is not moved. */
int weft_share_data(struct weft_share *share_out);

/* Finds the data that weft_share_data() would move, but does not move it.
 * share_out->fd is -1. 0 or a described WEFT_ERR_UNSUPPORTED: the program has
 * no such data. */
int weft_share_find_data(struct weft_share *share_out);

/* The domain of this process: a hash of its machine, its pid and user
 * namespace, its user and its capabilities. Two processes can open each other's
 * descriptors only if their domains are equal. If no other process can open the
 * descriptors of this process, the hash includes its pid, too. The reason is
 * that its program file is not readable, or that /proc belongs to another pid
 * namespace. */
uint32_t weft_share_domain(void);

/* A hash of the number that the kernel draws when the machine boots. 0 without
 * /proc. */
uint32_t weft_share_machine(void);

/* Identifies this process as the owner of descriptors. The lower half is the
 * pid, the upper half is the domain. Never 0. */
uint64_t weft_share_owner(void);

/* Maps len bytes of the file that is descriptor fd of process `owner`. offset
 * is a multiple of the page size. 0 or a described WEFT_ERR_PEER: the owner is
 * in another domain, the file is too short, or the kernel refuses. */
int weft_share_map(
	uint64_t owner, int fd, size_t offset, size_t len, char **base_out);
void weft_share_unmap(char *base, size_t len);

#endif
