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

/* Of a name, what an error shows: at most 90 characters, the end of a long one,
 * as that says more than its beginning. */
const char *weft_syscall_short_name(const char *name);

/* flags and permissions as open(2) has them. */
int weft_syscall_open(
	const char *name, int flags, unsigned permissions, int *fd_out);

/* An error of close(2) is one of what was written before. */
int weft_syscall_close(int fd, const char *name);

int weft_syscall_unlink(const char *name);

/* The folder that a name is in, as a descriptor, for
 * weft_syscall_unlink_opened(): the program may change its folder meanwhile. */
int weft_syscall_parent(const char *name, int *folder_out);

/* Deletes the name in its folder if it still names the file that fd is open
 * on; WEFT_ERR_NO_SUCH_FILE if it names another one. */
int weft_syscall_unlink_opened(int folder, const char *name, int fd);

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

/* Is the byte at `at` of a file in memory, still on a disk, or beyond its end?
 */
enum weft_syscall_page {
	WEFT_SYSCALL_CACHED,
	WEFT_SYSCALL_NOT_CACHED,
	WEFT_SYSCALL_PAST_EOF,
};

enum weft_syscall_page weft_syscall_page(int fd, int64_t at);

/* Locks [first, last) for this open of the file against others, until unlocked
 * or the process ends. Waits, and says so when that takes long: looks again and
 * again, as the kernel would not come back. */
int weft_syscall_lock(int fd, const char *name, bool is_exclusive,
	int64_t first, int64_t last);
int weft_syscall_unlock(int fd, const char *name, int64_t first, int64_t last);

/* The same, but a process's own lock (fcntl(2), lockf(3)) is not waited for,
 * also one that comes meanwhile: *locked_out is false then. */
int weft_syscall_lock_unless_posix(int fd, const char *name, bool is_exclusive,
	int64_t first, int64_t last, bool *locked_out);
/* Waits for nobody; false where it is not had. */
bool weft_syscall_try_lock(
	int fd, bool is_exclusive, int64_t first, int64_t last);
/* Whether another open of the file, or a process, has a lock there. */
bool weft_syscall_is_locked(int fd, int64_t first, int64_t last);

/* Where a regular file is; what is none is elsewhere. */
enum weft_syscall_fs {
	WEFT_SYSCALL_FS_UNKNOWN, /* not asked for yet */
	WEFT_SYSCALL_FS_MEMORY,	 /* a file system of this host: tmpfs */
	WEFT_SYSCALL_FS_LOCAL,	 /* or another of this host */
	WEFT_SYSCALL_FS_OTHER,
};
enum weft_syscall_fs weft_syscall_fs(int fd);

/* The folder of a file, opened for reading, and a place that is this file's of
 * all of this host: two bytes. -1 where it cannot be had, or the file is in
 * several or is a mount point. */
int weft_syscall_folder(int fd, int64_t *place_out);

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
