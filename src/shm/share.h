/* SPDX-License-Identifier: BSD-3-Clause */
/* share: memory that the other processes of the node map as well
 *
 * Unnamed files (memfd), which others open through /proc/PID/fd/FD as in
 * seg.h. Either fresh memory, or the writable data of the executable, which is
 * moved into such a file and stays at its address. */
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

/* What the address of such memory is a multiple of, the same in every process:
 * the largest power of two up to len, but from 2 MiB to 1 GiB. */
size_t weft_share_align(size_t len);

/* len bytes of zeros, rounded up to pages, at an address aligned as
 * weft_share_align() says. 0, or WEFT_ERR_NOMEM with a description; *share_out
 * is untouched then. */
int weft_share_create(size_t len, struct weft_share *share_out);
void weft_share_destroy(struct weft_share *share);

/* Only the file, of len bytes of zeros, for weft_share_map() of this process
 * and others; the caller closes it, and who has mapped it keeps it. Same
 * errors. */
int weft_share_file(size_t len, int *fd_out);

/* The writable data of the main program (.data and .bss, whole pages), moved
 * into shared memory at the same address, once per process and for good: later
 * calls return the same. A child made by fork() gets a private copy before its
 * first instruction outside the C library. Other threads must not write to
 * the program's variables meanwhile. WEFT_ERR_UNSUPPORTED with a description
 * when there is none or the kernel refuses; all is as it was then. */
int weft_share_data(struct weft_share *share_out);

/* Only finds it; fd is -1. Same errors. */
int weft_share_find_data(struct weft_share *share_out);

/* Two processes of a node open each other's descriptors only if this number is
 * the same in both: it stands for the pid and user namespace, the user and the
 * capabilities. A process that no other may look into has a number of its own:
 * its program may be executed but not read, or /proc is another namespace's. */
uint32_t weft_share_domain(void);

/* This process as the owner of descriptors: its pid, and the domain that the
 * pid counts in in the upper half. Never 0. */
uint64_t weft_share_owner(void);

/* Maps len bytes of the memory behind a descriptor of another process, from
 * offset, which is whole pages, on. WEFT_ERR_PEER with a description when the
 * owner is in another domain, or when the kernel does not let us. */
int weft_share_map(
	uint64_t owner, int fd, size_t offset, size_t len, char **base_out);
void weft_share_unmap(char *base, size_t len);

#endif
