/* SPDX-License-Identifier: BSD-3-Clause */
/* share: creates and maps shared memory, and moves the program's data into it
 *
 * To move the data, the library writes the pages to a file and maps the file
 * over them with one mmap. Some system calls are made with syscall(). If they
 * were made through the C library's functions, sanitizers would treat the pages
 * as new memory.
 *
 * A child of fork() must not share the program's variables, so it makes a
 * private copy before fork() returns in it. The parent waits inside fork()
 * until the copy is complete; otherwise the child would see later stores of the
 * parent. A pipe reports the end of the copy: the child closes the writing end
 * after the copy, or the kernel closes it when the child dies. After vfork() or
 * posix_spawn(), the child makes no copy, because it shares all memory with the
 * parent until exec. */
#include "shm/share.h"

#include "base/bits.h"
#include "base/err.h"
#include "base/log.h"
#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALIGN_MIN = 2 << 20, ALIGN_MAX = 1 << 30 };

/* The moved data and the state of a fork. data is set once. The thread that
 * calls fork() holds `lock` during the call. Only this thread and the child use
 * `pipe`. */
static struct {
	pthread_mutex_t lock;
	struct weft_share data;
	int pipe[2];
} moved = { .lock = PTHREAD_MUTEX_INITIALIZER, .pipe = { -1, -1 } };

/* Caches the value of weft_share_owner(): the system calls take about 20 us. */
static _Atomic uint64_t share_own;

/* Caches the value of weft_share_machine(); 0: not read yet. */
static _Atomic uint32_t share_boot;

static size_t page_len(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int make_file(size_t len, int *fd_out)
{
	int fd = weft_memfd_open("weft", MFD_CLOEXEC, len);

	if (fd < 0)
		return -1;
	*fd_out = fd;
	return 0;
}

int weft_share_file(size_t len, int *fd_out)
{
	if (!make_file(weft_round_up(len, page_len()), fd_out))
		return 0;
	return weft_err_set(WEFT_ERR_NOMEM, "no shared memory of %zu bytes: %s",
		len, strerror(errno));
}

size_t weft_share_align(size_t len)
{
	size_t align = ALIGN_MIN;

	while (align < ALIGN_MAX && align <= len / 2)
		align *= 2;
	return align;
}

/* Maps the file at the alignment that every process uses, so that an aligned
 * offset is an aligned address in every process. Returns NULL and sets errno on
 * failure. */
static char *map_aligned(int fd, size_t len)
{
	size_t align = weft_share_align(len);
	char *room = mmap(NULL, len + align, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (room == MAP_FAILED)
		return NULL;
	before = (size_t)(-(uintptr_t)room % align);
	if (mmap(room + before, len, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		munmap(room, len + align);
		return NULL;
	}
	if (before)
		munmap(room, before);
	munmap(room + before + len, align - before);
	return room + before;
}

int weft_share_create(size_t len, struct weft_share *share_out)
{
	struct weft_share share = { .len = weft_round_up(len, page_len()) };

	if (share.len < len || make_file(share.len, &share.fd))
		goto fail;
	share.base = map_aligned(share.fd, share.len);
	if (!share.base) {
		close(share.fd);
		goto fail;
	}
	*share_out = share;
	return 0;
fail:
	return weft_err_set(WEFT_ERR_NOMEM, "no shared memory of %zu bytes: %s",
		len, strerror(errno));
}

void weft_share_destroy(struct weft_share *share)
{
	if (!share->base)
		return;
	munmap(share->base, share->len);
	close(share->fd);
	share->base = NULL;
	share->len = 0;
}

/* The inode number of a namespace of this process; 0 without /proc. */
static uint64_t namespace_ino(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

/* True if other processes of the same user can open this process's descriptors.
 */
static bool is_open_to_others(void)
{
	char pid[24] = "";

	if (readlink("/proc/self", pid, sizeof(pid) - 1) > 0 &&
		atol(pid) != getpid())
		return false; /* /proc belongs to another pid namespace */
	return !geteuid() || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
}

/* The permitted capabilities. The kernel does not permit a process to open
 * descriptors of a process with more capabilities. */
static uint64_t capabilities(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3,
		0 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0, 0,
		0 } };

	syscall(SYS_capget, &head, data);
	return (uint64_t)data[1].permitted << 32 | data[0].permitted;
}

static uint32_t find_domain(void)
{
	const uint64_t what[] = { weft_share_machine(),
		namespace_ino("/proc/self/ns/pid"),
		namespace_ino("/proc/self/ns/user"),
		(uint64_t)getuid() << 32 | geteuid(), capabilities(),
		is_open_to_others() ? 0 : (uint64_t)getpid() };
	uint64_t number = 0;

	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++)
		number = weft_mix(number ^ what[i]);
	return (uint32_t)number;
}

uint64_t weft_share_owner(void)
{
	uint64_t owner = atomic_load_explicit(&share_own, memory_order_relaxed);

	if (owner && (pid_t)(uint32_t)owner == getpid())
		return owner;
	owner = (uint64_t)find_domain() << 32 | (uint32_t)getpid();
	atomic_store_explicit(&share_own, owner, memory_order_relaxed);
	return owner;
}

uint32_t weft_share_domain(void)
{
	return (uint32_t)(weft_share_owner() >> 32);
}

uint32_t weft_share_machine(void)
{
	uint32_t found =
		atomic_load_explicit(&share_boot, memory_order_relaxed);
	uint64_t hash = 0;
	char id[64];
	ssize_t len;
	int fd;

	if (found)
		return found;
	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, id, sizeof(id));
	close(fd);
	for (ssize_t i = 0; i < len; i++)
		hash = weft_mix(hash ^ (uint8_t)id[i]);
	atomic_store_explicit(
		&share_boot, (uint32_t)hash, memory_order_relaxed);
	return (uint32_t)hash;
}

int weft_share_map(
	uint64_t owner, int fd, size_t offset, size_t len, char **base_out)
{
	pid_t pid = (pid_t)(uint32_t)owner;
	char path[64];
	struct stat st;
	void *map;
	int mine;

	if (owner >> 32 != weft_share_domain())
		return weft_err_set(WEFT_ERR_PEER,
			"process %d is in another pid or user namespace, has "
			"other capabilities, or its program may not be read",
			(int)pid);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	mine = open(path, O_RDWR | O_CLOEXEC);
	if (mine < 0)
		return weft_err_set(WEFT_ERR_PEER,
			"cannot open the shared memory of process %d: %s",
			(int)pid, strerror(errno));
	/* an access beyond the end of the file raises SIGBUS */
	if (fstat(mine, &st) || !S_ISREG(st.st_mode) ||
		(size_t)st.st_size < offset ||
		(size_t)st.st_size - offset < len) {
		close(mine);
		return weft_err_set(WEFT_ERR_PEER,
			"the shared memory of process %d is shorter than the "
			"%zu bytes it published",
			(int)pid, offset + len);
	}
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, mine,
		(off_t)offset);
	close(mine);
	if (map == MAP_FAILED)
		return weft_err_set(WEFT_ERR_PEER,
			"cannot map %zu bytes of process %d: %s", len, (int)pid,
			strerror(errno));
	*base_out = map;
	return 0;
}

void weft_share_unmap(char *base, size_t len)
{
	if (base)
		munmap(base, len);
}

/* --- the program's data ------------------------------------------------ */

struct extent {
	uintptr_t start; /* of whole pages */
	uintptr_t end;
};

/* Callback of dl_iterate_phdr(). The first object is the program. Its last
 * writable segment has .data and .bss. Pages that are read-only after
 * relocation are excluded. */
static int find_data(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct extent *x = arg;
	uintptr_t relro_end = 0;
	size_t page = page_len();

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_RELRO)
			relro_end = (at + p->p_memsz) & ~(page - 1);
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
			continue;
		x->start = at & ~(page - 1);
		x->end = weft_round_up(at + p->p_memsz, page);
	}
	if (x->start < relro_end && relro_end <= x->end)
		x->start = relro_end;
	return 1;
}

__attribute__((no_sanitize("address", "thread"))) static bool is_zero(
	const uint64_t *word, size_t len)
{
	for (size_t i = 0; i < len / sizeof(*word); i++)
		if (((const volatile uint64_t *)word)[i])
			return false;
	return true;
}

/* The casts are needed because syscall() reads each argument as a long. The
 * upper half of an int argument would be undefined. */
static long map_pages(uintptr_t at, size_t len, long flags, int fd)
{
	return syscall(SYS_mmap, at, len, (long)(PROT_READ | PROT_WRITE), flags,
		(long)fd, 0L);
}

/* Writes the pages to the file. Pages of zeros are skipped, so that they occupy
 * no memory in the file. */
static int save(const struct extent *x, int fd)
{
	size_t page = page_len();

	for (uintptr_t at = x->start; at < x->end; at += page) {
		if (is_zero((const uint64_t *)at, page))
			continue;
		if (syscall(SYS_pwrite64, (long)fd, at, page, at - x->start) !=
			(long)page)
			return -1;
	}
	return 0;
}

/* Replaces the pages by a mapping of the file. Signals are blocked, so that no
 * signal handler of this thread changes a page after it was saved. */
static int share_move(const struct extent *x, int fd)
{
	sigset_t all, old;
	long map = -1;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (save(x, fd) == 0)
		map = map_pages(x->start, x->end - x->start,
			MAP_SHARED | MAP_FIXED, fd);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return map == -1 ? -1 : 0;
}

static void before_fork(void)
{
	pthread_mutex_lock(&moved.lock);
	if (!pipe2(moved.pipe, O_CLOEXEC))
		return;
	moved.pipe[0] = moved.pipe[1] = -1;
	weft_log_warn("SHM-FORK",
		"fork: no pipe: %s; the child may see values that this process "
		"stores into its variables after the fork (ulimit -n)",
		strerror(errno));
}

static void after_fork_in_parent(void)
{
	char byte;

	if (moved.pipe[1] >= 0) {
		close(moved.pipe[1]);
		while (read(moved.pipe[0], &byte, 1) < 0 && errno == EINTR)
			;
		close(moved.pipe[0]);
	}
	pthread_mutex_unlock(&moved.lock);
}

/* Does not use memcpy(), because sanitizers would report accesses to the red
 * zones around variables. */
__attribute__((no_sanitize("address", "thread"))) static void copy_page(
	uint64_t *to, const uint64_t *from, size_t len)
{
	for (size_t i = 0; i < len / sizeof(*to); i++)
		((volatile uint64_t *)to)[i] = from[i];
}

/* Replaces the shared pages by a private copy, in the child. Calls only
 * functions that are permitted between fork and exec in a program with threads.
 */
static void make_private(void)
{
	const struct weft_share *data = &moved.data;
	size_t page = page_len();
	long copy = map_pages(0, data->len, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (size_t at = 0; copy != -1 && at < data->len; at += page) {
		const uint64_t *from = (void *)(data->base + at);

		if (!is_zero(from, page))
			copy_page((void *)(copy + (long)at), from, page);
	}
	if (copy == -1 || syscall(SYS_mremap, copy, data->len, data->len,
				  (long)(MREMAP_MAYMOVE | MREMAP_FIXED),
				  data->base) == -1)
		_exit(127); /* otherwise the child would write to the parent's
			       data */
}

static void after_fork_in_child(void)
{
	int fds[2] = { moved.pipe[0], moved.pipe[1] };

	if (moved.data.base)
		make_private();
	if (fds[1] >= 0) {
		close(fds[1]);
		close(fds[0]);
	}
	pthread_mutex_init(&moved.lock, NULL);
}

/* Finds the pages of the program's writable data. */
static int find_extent(struct extent *x)
{
	*x = (struct extent){ 0 };
	dl_iterate_phdr(find_data, x);
	if (x->end <= x->start)
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"the program has no writable data of its own");
	return 0;
}

static int move_data(void)
{
	struct extent x;
	struct weft_share share;
	int err = find_extent(&x);

	if (err)
		return err;
	share.base = (char *)x.start;
	share.len = x.end - x.start;
	if (make_file(share.len, &share.fd))
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"no shared memory of %zu bytes: %s", share.len,
			strerror(errno));
	if (pthread_atfork(
		    before_fork, after_fork_in_parent, after_fork_in_child) ||
		share_move(&x, share.fd)) {
		close(share.fd);
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"%zu bytes of data cannot be moved: %s", share.len,
			strerror(errno));
	}
	moved.data = share;
	return 0;
}

int weft_share_data(struct weft_share *share_out)
{
	int err = 0;

	pthread_mutex_lock(&moved.lock);
	if (!moved.data.base)
		err = move_data();
	if (!err)
		*share_out = moved.data;
	pthread_mutex_unlock(&moved.lock);
	return err;
}

int weft_share_find_data(struct weft_share *share_out)
{
	struct extent x;
	int err = find_extent(&x);

	if (!err)
		*share_out = (struct weft_share){ (char *)x.start,
			x.end - x.start, -1 };
	return err;
}
