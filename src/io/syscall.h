/* SPDX-License-Identifier: BSD-3-Clause */
/* syscall: system calls for files, with retries and error texts
 *
 * A transfer continues after a short count, a signal or EAGAIN until all bytes
 * are transferred, the file ends or an error occurs. An errno is converted to
 * the error class of the standard. The description of an error has the file,
 * the offset, the length and the text of errno. */
#ifndef WEFT_SYSCALL_H
#define WEFT_SYSCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last 90 characters of a name, for error texts. */
const char *weft_syscall_short_name(const char *name);

/* flags and permissions are those of open(2). */
int weft_syscall_open(
	const char *name, int flags, unsigned permissions, int *fd_out);

/* Closes fd. An error of close(2) concerns data that was written before. */
int weft_syscall_close(int fd, const char *name);

int weft_syscall_unlink(const char *name);

/* Opens the directory of a name for weft_syscall_unlink_opened(). A later
 * chdir(2) of the program then has no effect. */
int weft_syscall_parent(const char *name, int *folder_out);

/* Deletes the name in its directory, if it still names the file of descriptor
 * fd. WEFT_ERR_NO_SUCH_FILE if it names another file. */
int weft_syscall_unlink_opened(int folder, const char *name, int fd);

/* A contiguous transfer between a file and memory. */
struct weft_syscall_move {
	int fd;
	bool is_write;
	const char *name;
	char *buf;
	size_t len;
	int64_t at;
};

/* Transfers all bytes. Sets *moved_out to the number of bytes moved, also after
 * an error. Without an error, a read moves less than len only at the end of the
 * file. */
int weft_syscall_move(const struct weft_syscall_move *move, size_t *moved_out);

/* The state of a byte of a file in the page cache. */
enum weft_syscall_page {
	WEFT_SYSCALL_CACHED,
	WEFT_SYSCALL_NOT_CACHED,
	WEFT_SYSCALL_PAST_EOF,
};

enum weft_syscall_page weft_syscall_page(int fd, int64_t at);

/* Locks [first, last) for this open file description until it is unlocked or
 * closed, or the process ends. Waits for conflicting locks. Polls for the lock,
 * so that it can warn after WEFT_STALL_WARN seconds. */
int weft_syscall_lock(int fd, const char *name, bool is_exclusive,
	int64_t first, int64_t last);
int weft_syscall_unlock(int fd, const char *name, int64_t first, int64_t last);

/* As weft_syscall_lock(), but does not wait for a process lock (fcntl(2),
 * lockf(3)). If such a lock overlaps, sets *locked_out to false and returns 0.
 */
int weft_syscall_lock_unless_posix(int fd, const char *name, bool is_exclusive,
	int64_t first, int64_t last, bool *locked_out);
/* Tries to lock the range without a wait. False if another lock overlaps. */
bool weft_syscall_try_lock(
	int fd, bool is_exclusive, int64_t first, int64_t last);
/* True if another open file description or a process holds a lock that overlaps
 * the range. */
bool weft_syscall_is_locked(int fd, int64_t first, int64_t last);

/* Kinds of file systems. */
enum weft_syscall_fs {
	WEFT_SYSCALL_FS_UNKNOWN, /* not determined yet */
	WEFT_SYSCALL_FS_MEMORY,	 /* tmpfs */
	WEFT_SYSCALL_FS_LOCAL,	 /* a disk's file system on this host */
	WEFT_SYSCALL_FS_OTHER,	 /* any other, or not a regular file */
};
enum weft_syscall_fs weft_syscall_fs(int fd);

/* Opens the directory of a file for reading. Returns the descriptor. Sets
 * *place_out to the byte offset at which range.c locks two bytes for the file:
 * a hash of device and inode. Returns -1 if the directory cannot be opened, or
 * the file has several names or is a mount point. */
int weft_syscall_folder(int fd, int64_t *place_out);

/* The preferred transfer size of the file system in bytes, a power of two from
 * 4096 to 2^26. It is often the stripe of a striped file system, or the message
 * size of a remote file system. */
int64_t weft_syscall_block(int fd);

int weft_syscall_size(int fd, const char *name, int64_t *size_out);
int weft_syscall_resize(int fd, const char *name, int64_t size);

/* Allocates storage for the first size bytes; the file grows to that size and
 * never shrinks. If the file system cannot allocate, the file only grows. */
int weft_syscall_allocate(int fd, const char *name, int64_t size);

/* Writes cached data to storage. No effect on files without storage (pipes). */
int weft_syscall_sync(int fd, const char *name);

#endif
