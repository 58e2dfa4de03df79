/* SPDX-License-Identifier: BSD-3-Clause */
/* syscall: what the kernel does for files, to the end and with words
 *
 * A transfer goes on where the kernel stopped short, after a signal and after
 * EAGAIN, until all is moved, the file ends or an error comes. Errors are of
 * the class that the standard has for errno, and their words name the file, the
 * place, the length and errno's text. */
#ifndef WEFT_SYSCALL_H
#define WEFT_SYSCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* flags and permissions as open(2) has them. */
int weft_syscall_open(
	const char *name, int flags, unsigned permissions, int *fd_out);

/* An error of close(2) is one of what was written before. */
int weft_syscall_close(int fd, const char *name);

int weft_syscall_unlink(const char *name);

/* A stretch of a file and the memory it goes to or comes from. */
struct weft_syscall_move {
	int fd;
	bool is_write;
	const char *name;
	char *buf;
	size_t len;
	int64_t at;
};

/* *moved_out is what was moved, also after an error; a read moves less than
 * len only where the file ends. */
int weft_syscall_move(const struct weft_syscall_move *move, size_t *moved_out);

/* Locks [first, last) for this open of the file against others, until unlocked
 * or the process ends; waits. */
int weft_syscall_lock(int fd, const char *name, bool is_exclusive,
	int64_t first, int64_t last);
int weft_syscall_unlock(int fd, const char *name, int64_t first, int64_t last);

/* Bytes that the file system likes to move at once: of a striped or a remote
 * one mostly its stripe or message; a power of two from 4096 to 2^26. */
int64_t weft_syscall_block(int fd);

int weft_syscall_size(int fd, const char *name, int64_t *size_out);
int weft_syscall_resize(int fd, const char *name, int64_t size);

/* Storage for the first size bytes; the file grows to that, and never shrinks.
 * Where the file system cannot say what it will have, the file only grows. */
int weft_syscall_allocate(int fd, const char *name, int64_t size);

/* To storage. What has none (a pipe) is there already. */
int weft_syscall_sync(int fd, const char *name);

#endif
