/* SPDX-License-Identifier: BSD-3-Clause */
/* syscall: system calls for files, with retries and error texts */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* open file description locks, fallocate */
#endif
#include "io/syscall.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/yield.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
	MOVE_MAX = 1 << 30, /* bytes of one call; the kernel's limit is higher
			     */
	AGAIN_MS = 10,	    /* longest wait after EAGAIN, ms */
	AGAIN_MAX = 6000,   /* EAGAIN in succession before an error: a minute */
	NAME_LEN = 90,
	LOCK_YIELDS = 30,	 /* polls for a lock before the first sleep */
	LOCK_EARLY_POLLS = 1000, /* polls before the sleeps become longer */
	LOCK_POLL_NS = 30000,	 /* a sleep between early polls */
	LOCK_POLL_MAX_NS = 1000000, /* a sleep between later polls */
	BLOCK_MIN = 4096,
	BLOCK_MAX = 1 << 26,
};

static int err_of_errno(int number)
{
	switch (number) {
	case ENOENT:
		return WEFT_ERR_NO_SUCH_FILE;
	case EEXIST:
		return WEFT_ERR_FILE_EXISTS;
	case ENAMETOOLONG:
	case ENOTDIR:
	case EISDIR:
	case ELOOP:
		return WEFT_ERR_BAD_FILE;
	case EACCES:
	case EPERM:
		return WEFT_ERR_ACCESS;
	case ENOSPC:
		return WEFT_ERR_NO_SPACE;
	case EDQUOT:
		return WEFT_ERR_QUOTA;
	case EROFS:
		return WEFT_ERR_READ_ONLY;
	case ETXTBSY:
	case EBUSY:
		return WEFT_ERR_FILE_IN_USE;
	case ENOMEM:
		return WEFT_ERR_NOMEM;
	default:
		return WEFT_ERR_IO;
	}
}

const char *weft_syscall_short_name(const char *name)
{
	size_t len = strlen(name);

	return len > NAME_LEN ? name + len - NAME_LEN : name;
}

/* Sets the error of an errno, with the text: <what> "name": <text>. */
static __attribute__((cold)) int syscall_failed(
	int number, const char *what, const char *name)
{
	return weft_err_set(err_of_errno(number), "%s \"%s\": %s", what,
		weft_syscall_short_name(name), strerror(number));
}

/* ---- opening ---- */

int weft_syscall_open(
	const char *name, int flags, unsigned permissions, int *fd_out)
{
	int fd;

	do
		fd = open(name, flags | O_CLOEXEC, (mode_t)permissions);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return syscall_failed(errno, "cannot open", name);
	*fd_out = fd;
	return 0;
}

int weft_syscall_close(int fd, const char *name)
{
	/* after EINTR the descriptor is closed, too */
	if (close(fd) && errno != EINTR)
		return syscall_failed(
			errno, "written data may be lost, on closing", name);
	return 0;
}

int weft_syscall_unlink(const char *name)
{
	struct stat st;

	if (!lstat(name, &st) && S_ISDIR(st.st_mode))
		return syscall_failed(EISDIR, "cannot delete", name);
	if (unlink(name))
		return syscall_failed(errno, "cannot delete", name);
	return 0;
}

static const char *base_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

int weft_syscall_parent(const char *name, int *folder_out)
{
	size_t len = (size_t)(base_name(name) - name);
	char *folder = len ? strndup(name, len) : strdup(".");
	int err;

	if (!folder)
		return syscall_failed(ENOMEM, "no memory to open", name);
	err = weft_syscall_open(folder, O_PATH | O_DIRECTORY, 0, folder_out);
	free(folder);
	return err;
}

int weft_syscall_unlink_opened(int folder, const char *name, int fd)
{
	struct stat mine, there;

	if (fstat(fd, &mine) || fstatat(folder, base_name(name), &there, 0))
		return syscall_failed(errno, "cannot delete", name);
	if (mine.st_dev != there.st_dev || mine.st_ino != there.st_ino)
		return weft_err_set(WEFT_ERR_NO_SUCH_FILE,
			"cannot delete \"%s\": the name is now that of another "
			"file",
			weft_syscall_short_name(name));
	if (unlinkat(folder, base_name(name), 0))
		return syscall_failed(errno, "cannot delete", name);
	return 0;
}

/* ---- moving ---- */

static ssize_t move_once(
	const struct weft_syscall_move *m, size_t done, size_t some)
{
	off_t at = (off_t)(m->at + (int64_t)done);

	return m->is_write ? pwrite(m->fd, m->buf + done, some, at)
			   : pread(m->fd, m->buf + done, some, at);
}

static int move_failed(
	const struct weft_syscall_move *m, size_t done, int number)
{
	return weft_err_set(err_of_errno(number),
		"%s %zu bytes at offset %lld of \"%s\": %s, after %zu bytes",
		m->is_write ? "writing" : "reading", m->len, (long long)m->at,
		weft_syscall_short_name(m->name), strerror(number), done);
}

static void poll_ready(const struct weft_syscall_move *m)
{
	struct pollfd fd = { .fd = m->fd };

	fd.events = m->is_write ? POLLOUT : POLLIN;
	poll(&fd, 1, AGAIN_MS);
}

int weft_syscall_move(const struct weft_syscall_move *move, size_t *moved_out)
{
	size_t done = 0;
	int n_agains = 0, err = 0;

	if (move->len && move->at > INT64_MAX - (int64_t)move->len)
		err = move_failed(move, 0, EFBIG);
	while (!err && done < move->len) {
		size_t left = move->len - done;
		ssize_t n = move_once(
			move, done, left < MOVE_MAX ? left : MOVE_MAX);

		if (n > 0) {
			done += (size_t)n;
			n_agains = 0;
		} else if (n == 0 && !move->is_write) {
			break;
		} else if (n == 0) {
			err = move_failed(move, done, EIO);
		} else if (errno == EAGAIN && n_agains++ < AGAIN_MAX) {
			poll_ready(move);
		} else if (errno != EINTR) {
			err = move_failed(move, done, errno);
		}
	}
	*moved_out = done;
	return err;
}

enum weft_syscall_page weft_syscall_page(int fd, int64_t at)
{
	char byte;
	struct iovec to = { &byte, 1 };
	ssize_t n = preadv2(fd, &to, 1, (off_t)at, RWF_NOWAIT);

	if (n < 0 && errno == EAGAIN)
		return WEFT_SYSCALL_NOT_CACHED;
	return n == 0 ? WEFT_SYSCALL_PAST_EOF : WEFT_SYSCALL_CACHED;
}

/* ---- locks ---- */

static struct flock flock_of(short type, int64_t first, int64_t last)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET };

	lock.l_start = (off_t)first;
	lock.l_len = (off_t)(last - first);
	return lock;
}

/* The holder of a lock that overlaps: a process, -1 for an open file
 * description, or 0 if there is none. */
static pid_t lock_holder(int fd, int64_t first, int64_t last)
{
	struct flock lock = flock_of(F_WRLCK, first, last);

	if (fcntl(fd, F_OFD_GETLK, &lock) || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid;
}

bool weft_syscall_try_lock(
	int fd, bool is_exclusive, int64_t first, int64_t last)
{
	struct flock lock =
		flock_of(is_exclusive ? F_WRLCK : F_RDLCK, first, last);

	return !fcntl(fd, F_OFD_SETLK, &lock);
}

/* A wait for the lock of a range. */
struct range_wait {
	int fd;
	const char *name;
	int64_t first, last;
	int n; /* polls without success */
	uint64_t since;
	bool is_reported;
};

static __attribute__((cold)) void lock_report_wait(struct range_wait *wait)
{
	pid_t holder = lock_holder(wait->fd, wait->first, wait->last);
	char who[40] = "another open of it";

	wait->is_reported = true;
	if (holder > 0)
		snprintf(who, sizeof(who), "process %d", (int)holder);
	weft_log_warn("FILE-LOCK",
		"an access to \"%s\" has waited %lld s for a lock of bytes "
		"%lld to %lld, which %s holds; a stopped process keeps its "
		"locks (WEFT_STALL_WARN)",
		weft_syscall_short_name(wait->name),
		(long long)weft_knobs.stall_warn, (long long)wait->first,
		(long long)wait->last - 1, who);
}

/* Waits between two polls. The holder usually moves some hundred kilobytes, so
 * the first waits are short. */
static void lock_back_off(struct range_wait *wait)
{
	struct timespec some = { .tv_nsec = wait->n < LOCK_EARLY_POLLS
						    ? LOCK_POLL_NS
						    : LOCK_POLL_MAX_NS };

	if (wait->n++ < LOCK_YIELDS && weft_yield())
		return;
	nanosleep(&some, NULL);
	if (!wait->since)
		wait->since = weft_now_ns();
	else if (!wait->is_reported && weft_knobs.stall_warn &&
		 weft_now_ns() - wait->since >=
			 (uint64_t)weft_knobs.stall_warn * WEFT_NS_PER_S)
		lock_report_wait(wait);
}

/* Locks the range. With skips_posix, returns 0 with *locked false if a process
 * lock overlaps. */
static int lock_range(int fd, const char *name, bool is_exclusive,
	bool skips_posix, int64_t first, int64_t last, bool *locked)
{
	struct range_wait wait = {
		.fd = fd, .name = name, .first = first, .last = last
	};

	*locked = false;
	while (!weft_syscall_try_lock(fd, is_exclusive, first, last)) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return syscall_failed(
				errno, "cannot lock a stretch of", name);
		if (skips_posix && lock_holder(fd, first, last) > 0)
			return 0;
		lock_back_off(&wait);
	}
	*locked = true;
	return 0;
}

int weft_syscall_lock(int fd, const char *name, bool is_exclusive,
	int64_t first, int64_t last)
{
	bool locked;

	return lock_range(fd, name, is_exclusive, false, first, last, &locked);
}

int weft_syscall_lock_unless_posix(int fd, const char *name, bool is_exclusive,
	int64_t first, int64_t last, bool *locked)
{
	return lock_range(fd, name, is_exclusive, true, first, last, locked);
}

int weft_syscall_unlock(int fd, const char *name, int64_t first, int64_t last)
{
	struct flock lock = flock_of(F_UNLCK, first, last);
	int rc;

	do
		rc = fcntl(fd, F_OFD_SETLK, &lock);
	while (rc && errno == EINTR);
	return rc ? syscall_failed(errno, "cannot unlock a stretch of", name)
		  : 0;
}

bool weft_syscall_is_locked(int fd, int64_t first, int64_t last)
{
	return lock_holder(fd, first, last) != 0;
}

/* ---- kinds of files ---- */

enum weft_syscall_fs weft_syscall_fs(int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || fstatfs(fd, &fs))
		return WEFT_SYSCALL_FS_OTHER;
	switch ((uint32_t)fs.f_type) {
	case TMPFS_MAGIC:
		return WEFT_SYSCALL_FS_MEMORY;
	case EXT4_SUPER_MAGIC: /* also that of ext2 and ext3 */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
		return WEFT_SYSCALL_FS_LOCAL;
	default:
		return WEFT_SYSCALL_FS_OTHER;
	}
}

/* True if the file is a mount point. Such a file may also be mounted in other
 * directories. */
static bool is_mounted(int fd, int folder)
{
	struct statx file, in;

	return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &file) ||
	       statx(folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &in) ||
	       (file.stx_mask & in.stx_mask & STATX_MNT_ID &&
		       file.stx_mnt_id != in.stx_mnt_id);
}

int weft_syscall_folder(int fd, int64_t *place_out)
{
	char link[32], path[PATH_MAX];
	struct stat st;
	ssize_t len;
	int folder;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0 || fstat(fd, &st) || st.st_nlink != 1)
		return -1;
	while (len > 1 && path[len - 1] != '/')
		len--;
	path[len] = 0;
	*place_out =
		(int64_t)((st.st_ino ^ st.st_dev << 40) & INT64_MAX >> 2) * 2;
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder >= 0 && is_mounted(fd, folder)) {
		close(folder);
		folder = -1;
	}
	return folder;
}

/* ---- size and storage ---- */

int weft_syscall_size(int fd, const char *name, int64_t *size_out)
{
	struct stat st;

	if (fstat(fd, &st))
		return syscall_failed(errno, "no size of", name);
	*size_out = st.st_size;
	return 0;
}

int64_t weft_syscall_block(int fd)
{
	int64_t block = BLOCK_MIN;
	struct stat st;

	if (!fstat(fd, &st))
		while (block < st.st_blksize && block < BLOCK_MAX)
			block *= 2;
	return block;
}

int weft_syscall_resize(int fd, const char *name, int64_t size)
{
	int rc;

	do
		rc = ftruncate(fd, (off_t)size);
	while (rc && errno == EINTR);
	return rc ? syscall_failed(errno, "cannot set the size of", name) : 0;
}

int weft_syscall_allocate(int fd, const char *name, int64_t size)
{
	int64_t now = 0;
	int rc, err;

	if (size == 0)
		return 0;
	do
		rc = fallocate(fd, 0, 0, (off_t)size);
	while (rc && errno == EINTR);
	if (!rc)
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return syscall_failed(
			errno, "cannot preallocate storage of", name);
	err = weft_syscall_size(fd, name, &now);
	if (!err && now < size)
		err = weft_syscall_resize(fd, name, size);
	return err;
}

int weft_syscall_sync(int fd, const char *name)
{
	int rc;

	do
		rc = fsync(fd);
	while (rc && errno == EINTR);
	if (rc && errno != EINVAL && errno != EROFS)
		return syscall_failed(
			errno, "written data may be lost, on syncing", name);
	return 0;
}
