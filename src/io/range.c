/* SPDX-License-Identifier: BSD-3-Clause */
/* range: byte-range locks, so that data sieving loses no byte of other writers
 */
#include "io/range.h"

#include "base/err.h"
#include "io/file.h"
#include "io/syscall.h"

#include <fcntl.h>
#include <pthread.h>

/* A writer announces itself by a lock on one byte: LOCKING if it locks its
 * ranges, UNLOCKED if it does not. For each inode, two bytes in each of two
 * files are used: in its directory and in /dev/null. The bytes are not in the
 * file itself, so that a program can lock the whole file. All containers that
 * share the directory share the locks on the directory. The locks on /dev/null
 * are found even after the file was moved to another directory. */
enum range_byte { LOCKING, UNLOCKED };

static int64_t byte_place(const struct weft_file *file, enum range_byte byte)
{
	return file->range_offset + (int64_t)byte;
}

static bool byte_lock(const struct weft_file *file, enum range_byte byte)
{
	int64_t at = byte_place(file, byte);
	bool is_locked = true;

	for (int i = 0; i < WEFT_FILE_RANGE_FDS && is_locked; i++)
		is_locked = weft_syscall_try_lock(
			file->range_fds[i], false, at, at + 1);
	return is_locked;
}

static void byte_unlock(const struct weft_file *file, enum range_byte byte)
{
	int64_t at = byte_place(file, byte);

	for (int i = 0; i < WEFT_FILE_RANGE_FDS; i++)
		weft_syscall_unlock(file->range_fds[i], file->name, at, at + 1);
}

/* True if another open file description holds a lock of the byte. */
static bool byte_is_held_by_others(
	const struct weft_file *file, enum range_byte byte)
{
	int64_t at = byte_place(file, byte);

	for (int i = 0; i < WEFT_FILE_RANGE_FDS; i++)
		if (weft_syscall_is_locked(file->range_fds[i], at, at + 1))
			return true;
	return false;
}

/* ---- announcements ---- */

static bool range_is_locking(const struct weft_file *file)
{
	return atomic_load_explicit(
		&file->range_is_locking, memory_order_relaxed);
}

static void range_set_is_locking(struct weft_file *file, bool locks)
{
	atomic_store_explicit(
		&file->range_is_locking, locks, memory_order_relaxed);
}

static bool range_is_announced(const struct weft_file *file)
{
	/* acquire: reads range_is_locking, range_fds and range_offset as
	 * range_announce() wrote them before its store (release) */
	return atomic_load_explicit(
		&file->range_is_announced, memory_order_acquire);
}

static void range_set_announced(struct weft_file *file, bool is_announced)
{
	atomic_store_explicit(
		&file->range_is_announced, is_announced, memory_order_release);
}

/* True if both descriptors for announcements are open. */
static bool range_can_announce(const struct weft_file *file)
{
	return file->range_fds[0] >= 0 && file->range_fds[1] >= 0;
}

static void range_set_locking(struct weft_file *file, bool locks)
{
	range_set_is_locking(file, locks);
	if (byte_lock(file, locks ? LOCKING : UNLOCKED))
		byte_unlock(file, locks ? UNLOCKED : LOCKING);
	else
		weft_range_close(file);
}

/* Announces this writer, then checks for announcements of other writers. A
 * writer that cannot announce itself locks its ranges and does not sieve. One
 * thread at a time. */
static void range_announce(struct weft_file *file)
{
	bool locks = range_is_locking(file);

	file->range_fds[0] = weft_syscall_folder(file->fd, &file->range_offset);
	if (weft_syscall_open("/dev/null", O_RDONLY, 0, &file->range_fds[1]))
		file->range_fds[1] = -1;
	if (range_can_announce(file))
		range_set_locking(file, locks);
	if (range_can_announce(file) && !locks &&
		byte_is_held_by_others(file, LOCKING))
		range_set_locking(file, true);
	if (!range_can_announce(file)) {
		range_set_is_locking(file, true);
		weft_range_close(file);
	}
	range_set_announced(file, true);
}

void weft_range_close(struct weft_file *file)
{
	for (int i = 0; i < WEFT_FILE_RANGE_FDS; i++) {
		if (file->range_fds[i] >= 0)
			weft_syscall_close(file->range_fds[i], file->name);
		file->range_fds[i] = -1;
	}
}

enum weft_syscall_fs weft_range_fs(struct weft_file *file)
{
	enum weft_syscall_fs fs =
		atomic_load_explicit(&file->fs, memory_order_relaxed);

	if (fs == WEFT_SYSCALL_FS_UNKNOWN) {
		fs = weft_syscall_fs(file->fd);
		atomic_store_explicit(&file->fs, fs, memory_order_relaxed);
	}
	return fs;
}

void weft_range_open(struct weft_file *file)
{
	/* A shared lock needs read permission. Without it, ranges are locked
	 * exclusively, and no announcement is necessary. */
	file->range_fds[0] = file->range_fds[1] = -1;
	range_set_is_locking(file, !file->is_readable);
	range_set_announced(file, !file->is_readable);
}

void weft_range_start_locking(struct weft_file *file)
{
	if (range_is_locking(file) || !weft_range_is_local(file))
		return;
	if (range_is_announced(file))
		range_set_locking(file, true);
	else
		range_set_is_locking(file, true);
}

/* ---- ranges ---- */

static bool is_atomic(const struct weft_file *file)
{
	/* acquire: accesses before weft_file_set_atomic() happen before this
	 * access */
	return atomic_load_explicit(&file->is_atomic, memory_order_acquire);
}

/* Announces this writer, unless it is announced. In atomic mode, the caller's
 * access holds range_lock already. */
static void range_announce_once(struct weft_file *file)
{
	bool has_range_lock = is_atomic(file);

	if (range_is_announced(file))
		return;
	if (!has_range_lock)
		pthread_mutex_lock(&file->range_lock);
	if (!range_is_announced(file))
		range_announce(file);
	if (!has_range_lock)
		pthread_mutex_unlock(&file->range_lock);
}

bool weft_range_must_lock(struct weft_file *file)
{
	if (!weft_range_is_local(file))
		return false;
	range_announce_once(file);
	return range_is_locking(file);
}

int weft_range_lock(struct weft_file *file, enum weft_range_kind kind,
	int64_t first, int64_t end, bool *is_locked)
{
	bool is_exclusive = kind == WEFT_RANGE_EXCLUSIVE;
	int err = 0;

	*is_locked = false;
	if (!weft_range_must_lock(file))
		return 0;
	if (is_exclusive && (!range_can_announce(file) ||
				    byte_is_held_by_others(file, UNLOCKED)))
		return 0;
	if (is_atomic(file)) {
		*is_locked = true;
		return 0;
	}
	pthread_mutex_lock(&file->range_lock);
	err = weft_syscall_lock_unless_posix(file->fd, file->name,
		is_exclusive || !file->is_readable, first, end, is_locked);
	if (!*is_locked)
		pthread_mutex_unlock(&file->range_lock);
	return err;
}

void weft_range_unlock(struct weft_file *file, int64_t first, int64_t end)
{
	if (is_atomic(file))
		return;
	weft_syscall_unlock(file->fd, file->name, first, end);
	pthread_mutex_unlock(&file->range_lock);
}
