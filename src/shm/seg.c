/* SPDX-License-Identifier: BSD-3-Clause */
/* seg: creates a segment, maps a ring of another process, polls this process's
 * rings
 *
 * Layout: the header, n_writers rings, n_writers buffers. The header, the first
 * ring and each buffer begin at a multiple of 64 KiB, which every page size
 * divides. Rings follow each other without gaps, because a ring of few slots is
 * smaller than a page. A writer maps its buffer and the pages of its ring,
 * which may contain parts of other rings. No process writes to a ring or buffer
 * that has no writer. Writers announce themselves in the header with a write to
 * the file, and do not map the header.
 *
 * weft_shm_add_extra() appends a table of claims and n_extra extra rings. Each
 * extra ring and its buffer begin at a multiple of 64 KiB, so that their memory
 * can be returned to the kernel when the writer has ended. Owner and writers
 * map the table, and only the extra rings that they use. */
#include "shm/seg.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/memfd.h"
#include "shm/budget.h"
#include "shm/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SEG_MAGIC = 0x77656674, /* "weft" */
	SEG_PAGE = 65536,	/* the largest page size of 64-bit Linux */
	SEG_BUF_MIN = 4096,
	SEG_BUF_MAX = 1 << 30,
	POLL_BATCH = 64, /* messages read from one ring before the next */
};

/* The state of an extra ring. A writer changes it from FREE to CLAIMED to
 * READY, the owner from READY to USED to FREE. */
enum { EXTRA_FREE, EXTRA_CLAIMED, EXTRA_READY, EXTRA_USED };

/* The first pages of a segment. */
struct seg_header {
	uint32_t magic;
	uint32_t n_writers;
	uint64_t n_slots;  /* of a ring */
	uint64_t buf_len;  /* bytes of the payload buffer of a ring */
	uint64_t identity; /* probe_value of the business card */
	struct weft_wakeup_at wakeup; /* address of the owner's wakeup */
	_Atomic uint32_t is_asleep;   /* the owner sleeps until a message
					 arrives or a writer attaches */
	uint32_t n_extra;	      /* number of extra rings; mostly 0 */
	/* each writer stores a different value each time it attaches; the owner
	 * searches for new writers when the value changes */
	_Alignas(WEFT_CACHE_LINE) _Atomic uint64_t last_writer;
	_Atomic uint8_t has_writer[]; /* by index of the ring */
};

/* An extra ring with a writer, and the mapping of the owner. */
struct seg_extra {
	struct weft_ring_rx rx;
	uint32_t index;
	void *map; /* ring and buffer */
};

/* Created by weft_shm_open, destroyed by weft_shm_close; used under the
 * VCI's lock. */
struct weft_shm {
	struct seg_header *header;
	size_t len;	  /* without extra rings: the offset of their
			   * claims */
	size_t extra_len; /* bytes of an extra ring and its buffer */
	int fd;
	weft_shm_recv_fn *recv;
	void *arg;
	uint64_t probe;
	/* Copies of header fields. The owner reads only the copies, because
	 * other processes can write to the header. */
	uint32_t n_writers;
	uint64_t n_slots;
	uint64_t buf_len;
	uint64_t seen;	   /* header->last_writer at the last search for writers
			    */
	uint32_t n_active; /* number of rings with a writer */
	struct weft_ring_rx *active; /* rings with a writer; space for n_writers
				      */
	struct weft_ring_rx *first;  /* the rings to poll: those of `active` and
					extra rings */
	struct weft_ring_rx **end;   /* where the next ring is linked */
	_Atomic uint32_t *claims; /* the states of WEFT_SHM_EXTRA rings; NULL:
				     there are no extra rings */
};

static size_t header_bytes(uint32_t n_writers)
{
	return weft_round_up(
		offsetof(struct seg_header, has_writer) + n_writers, SEG_PAGE);
}

/* The distance from one buffer to the next, in bytes. */
static size_t buf_bytes(uint64_t buf_len)
{
	return weft_round_up(buf_len, SEG_PAGE);
}

static size_t ring_offset(uint32_t n_writers, uint64_t n_slots, uint32_t index)
{
	return header_bytes(n_writers) + index * weft_ring_bytes(n_slots);
}

static size_t buf_offset(
	uint32_t n_writers, uint64_t n_slots, uint64_t buf_len, uint32_t index)
{
	return weft_round_up(
		       ring_offset(n_writers, n_slots, n_writers), SEG_PAGE) +
	       index * buf_bytes(buf_len);
}

static size_t claims_bytes(uint32_t n_extra)
{
	return weft_round_up(n_extra * sizeof(uint32_t), SEG_PAGE);
}

static size_t extra_ring_bytes(uint64_t n_slots)
{
	return weft_round_up(weft_ring_bytes(n_slots), SEG_PAGE);
}

static size_t extra_bytes(uint64_t n_slots, uint64_t buf_len)
{
	return extra_ring_bytes(n_slots) + buf_bytes(buf_len);
}

/* The offset of an extra ring after the table of claims, which is at claims_at.
 * With index n_extra, the length of the segment. */
static size_t extra_offset(
	size_t claims_at, uint32_t n_extra, size_t extra_len, uint32_t index)
{
	return claims_at + claims_bytes(n_extra) + index * extra_len;
}

/* The offset of an extra ring in this process's segment. */
static off_t extra_start(const struct weft_shm *shm, uint32_t index)
{
	return (off_t)extra_offset(
		shm->len, WEFT_SHM_EXTRA, shm->extra_len, index);
}

static void *seg_at(const struct weft_shm *shm, size_t offset)
{
	return (char *)shm->header + offset;
}

int weft_shm_open(uint32_t n_writers, size_t n_slots, size_t ring_len,
	weft_shm_recv_fn *recv, void *arg, struct weft_shm **shm_out)
{
	struct weft_shm *shm = calloc(1, sizeof(*shm));
	uint64_t buf_len = weft_pow2_up(ring_len);

	if (!shm)
		return WEFT_ERR_NOMEM;
	shm->fd = -1;
	shm->active = calloc(n_writers, sizeof(*shm->active));
	if (!shm->active)
		goto fail;
	shm->len = buf_offset(n_writers, n_slots, buf_len, n_writers);
	shm->fd = weft_memfd_open("weft", MFD_CLOEXEC, shm->len);
	if (shm->fd < 0)
		goto fail;
	shm->header = mmap(
		NULL, shm->len, PROT_READ | PROT_WRITE, MAP_SHARED, shm->fd, 0);
	if (shm->header == MAP_FAILED) {
		shm->header = NULL;
		goto fail;
	}
	shm->end = &shm->first;
	shm->extra_len = extra_bytes(n_slots, buf_len);
	shm->n_writers = n_writers;
	shm->n_slots = n_slots;
	shm->buf_len = buf_len;
	shm->header->magic = SEG_MAGIC;
	shm->header->n_writers = n_writers;
	shm->header->n_slots = n_slots;
	shm->header->buf_len = buf_len;
	shm->recv = recv;
	shm->arg = arg;
	shm->probe = weft_mix(
		weft_now_ns() ^ weft_mix(weft_share_owner()) ^ (uintptr_t)shm);
	shm->header->identity = shm->probe;
	*shm_out = shm;
	return 0;
fail:
	weft_err_set(WEFT_ERR_OTHER, "no shared memory of %zu bytes: %s",
		shm->len, strerror(errno));
	weft_shm_close(shm);
	return WEFT_ERR_OTHER;
}

static struct seg_extra *extra_of(
	const struct weft_shm *shm, struct weft_ring_rx *rx)
{
	bool is_extra = rx < shm->active || rx >= shm->active + shm->n_writers;

	return is_extra ? weft_container_of(rx, struct seg_extra, rx) : NULL;
}

static void extra_free(const struct weft_shm *shm, struct seg_extra *extra)
{
	munmap(extra->map, shm->extra_len);
	free(extra);
}

void weft_shm_close(struct weft_shm *shm)
{
	struct weft_ring_rx *next;

	if (!shm)
		return;
	for (struct weft_ring_rx *rx = shm->first; rx; rx = next) {
		struct seg_extra *extra = extra_of(shm, rx);

		next = rx->next;
		if (rx->wakeup >= 0)
			close(rx->wakeup);
		if (extra)
			extra_free(shm, extra);
	}
	if (shm->claims)
		munmap(shm->claims, claims_bytes(WEFT_SHM_EXTRA));
	if (shm->header)
		munmap(shm->header, shm->len);
	if (shm->fd >= 0)
		close(shm->fd);
	free(shm->active);
	free(shm);
}

/* A longer file must not exceed the limit of the process: the kernel would send
 * SIGXFSZ. */
static bool may_have_len(size_t len)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) ||
	       limit.rlim_cur == RLIM_INFINITY || len <= limit.rlim_cur;
}

bool weft_shm_add_extra(struct weft_shm *shm)
{
	size_t len = (size_t)extra_start(shm, WEFT_SHM_EXTRA);
	struct stat st;
	void *map;

	if (shm->claims)
		return true;
	/* a file whose memory was allocated in advance has none for extra rings
	 */
	if (fstat(shm->fd, &st) || st.st_blocks * 512 >= st.st_size ||
		!may_have_len(len) || ftruncate(shm->fd, (off_t)len))
		return false;
	map = mmap(NULL, claims_bytes(WEFT_SHM_EXTRA), PROT_READ | PROT_WRITE,
		MAP_SHARED, shm->fd, (off_t)shm->len);
	if (map == MAP_FAILED)
		return false;
	shm->claims = map;
	shm->header->n_extra = WEFT_SHM_EXTRA;
	return true;
}

void weft_shm_free_extra(struct weft_shm *shm, struct weft_ring_rx *rx)
{
	struct seg_extra *extra = extra_of(shm, rx);
	struct weft_ring_rx **link = &shm->first;
	_Atomic uint32_t *claim;

	if (!extra)
		return;
	while (*link != rx)
		link = &(*link)->next;
	*link = rx->next;
	if (shm->end == &rx->next)
		shm->end = link;
	if (rx->wakeup >= 0)
		close(rx->wakeup);
	claim = &shm->claims[extra->index];
	/* The next writer needs a ring of zeros. A ring whose memory cannot be
	 * returned is not used again. */
	if (!fallocate(shm->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		    extra_start(shm, extra->index), (off_t)shm->extra_len))
		/* release: orders the zeros before the claim of the next
		 * writer; pairs with the acquire in claim_extra() */
		atomic_store_explicit(claim, EXTRA_FREE, memory_order_release);
	extra_free(shm, extra);
}

size_t weft_shm_len(const struct weft_shm *shm)
{
	return shm->len;
}

void weft_shm_describe(struct weft_shm *shm, struct weft_shm_bc *bc_out)
{
	bc_out->pid = getpid();
	bc_out->fd = shm->fd;
	bc_out->domain = weft_share_domain();
	bc_out->node = 0;
	bc_out->probe_addr = (uintptr_t)&shm->probe;
	bc_out->probe_value = shm->probe;
}

void weft_shm_set_wakeup(struct weft_shm *shm, const struct weft_wakeup *wakeup)
{
	weft_wakeup_describe(wakeup, &shm->header->wakeup);
}

void weft_shm_watch(struct weft_shm *shm)
{
	/* weft_wakeup_fence() orders these stores before the following poll,
	 * and pairs with the compiler fence in weft_ring_commit, and with the
	 * calls in wake_owner */
	atomic_store_explicit(&shm->header->is_asleep, 1, memory_order_relaxed);
	for (struct weft_ring_rx *rx = shm->first; rx; rx = rx->next)
		atomic_store_explicit(
			&rx->ring->is_reader_asleep, 1, memory_order_relaxed);
}

/* The offset of an extra ring in the segment of another process. */
static size_t extra_offset_in(const struct seg_header *header, uint32_t index)
{
	return extra_offset(buf_offset(header->n_writers, header->n_slots,
				    header->buf_len, header->n_writers),
		header->n_extra, extra_bytes(header->n_slots, header->buf_len),
		index);
}

/* True if the header is a valid header of a segment, and the file is long
 * enough for that segment. An access beyond the end of the file would raise
 * SIGBUS. */
static bool seg_is_valid(const struct seg_header *header, uint64_t file_len)
{
	return header->magic == SEG_MAGIC && header->buf_len >= SEG_BUF_MIN &&
	       header->buf_len <= SEG_BUF_MAX &&
	       !(header->buf_len & (header->buf_len - 1)) &&
	       header->n_slots >= WEFT_RING_SLOTS_MIN &&
	       header->n_slots <= WEFT_RING_SLOTS_MAX &&
	       !(header->n_slots & (header->n_slots - 1)) &&
	       header->n_extra <= WEFT_SHM_EXTRA &&
	       file_len >= extra_offset_in(header, header->n_extra);
}

/* Reads the first len bytes of the file. Returns the number of bytes read,
 * which is below len only at the end of the file or after an error. */
static size_t read_first(int fd, void *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	do {
		n = pread(fd, (char *)buf + done, len - done, (off_t)done);
		done += n > 0 ? (size_t)n : 0;
	} while (done < len && (n > 0 || (n < 0 && errno == EINTR)));
	return done;
}

/* Reads the geometry of the segment with that identity, and whether its memory
 * was allocated in advance. 0 or -1 with errno. */
static int read_header(int fd, uint64_t identity, struct seg_header *header_out,
	bool *is_reserved_out)
{
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	errno = EPROTO;
	if (!S_ISREG(st.st_mode))
		return -1;
	*is_reserved_out = st.st_blocks * 512 >= st.st_size;
	if (read_first(fd, header_out, sizeof(*header_out)) ==
			sizeof(*header_out) &&
		seg_is_valid(header_out, (uint64_t)st.st_size) &&
		header_out->identity == identity)
		return 0;
	errno = EPROTO;
	return -1;
}

/* Uses the system call directly, because a program or tool may replace the C
 * library's pwrite(). */
static bool write_at(int fd, const void *data, size_t len, size_t at)
{
	return syscall(SYS_pwrite64, (long)fd, data, len, (long)at) ==
	       (long)len;
}

/* Announces the writer of ring `index` in the segment's header. claim is the
 * state of the extra ring; NULL: it is no extra ring. */
static bool announce(int fd, uint32_t index, _Atomic uint32_t *claim)
{
	const uint8_t yes = 1;
	const uint64_t last = weft_now_ns() << 16 | index;

	/* orders the writer's fields of the ring before the announcement; pairs
	 * with the acquire in weft_shm_poll */
	atomic_thread_fence(memory_order_release);
	if (claim)
		atomic_store_explicit(claim, EXTRA_READY, memory_order_relaxed);
	else if (!write_at(fd, &yes, sizeof(yes),
			 offsetof(struct seg_header, has_writer) + index))
		return false;
	return write_at(fd, &last, sizeof(last),
		offsetof(struct seg_header, last_writer));
}

/* Opens the segment's file. -1 and *err_out on failure. */
static int seg_open(const struct weft_shm_bc *bc, int *err_out)
{
	char path[64];
	int fd;

	if (bc->domain != weft_share_domain()) {
		*err_out = weft_err_set(WEFT_ERR_ACCESS,
			"process %d is in another pid or user namespace, has "
			"other capabilities, or its program may not be read "
			"(%s)",
			(int)bc->pid, strerror(EACCES));
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)bc->pid,
		(int)bc->fd);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		*err_out = weft_err_set(
			errno == ENOENT ? WEFT_ERR_PEER : WEFT_ERR_ACCESS,
			"cannot open the shared memory of process %d: %s",
			(int)bc->pid, strerror(errno));
	return fd;
}

/* Maps a ring and its buffer, which are at these offsets. 0 or -1 with errno.
 */
static int map_ring(struct weft_ring_tx *tx, int fd,
	const struct seg_header *header, size_t at, size_t buf_at)
{
	size_t first = at & ~(size_t)(SEG_PAGE - 1);

	tx->map_len = at + weft_ring_bytes(header->n_slots) - first;
	tx->buf_map_len = buf_bytes(header->buf_len);
	tx->map = mmap(NULL, tx->map_len, PROT_READ | PROT_WRITE, MAP_SHARED,
		fd, (off_t)first);
	if (tx->map == MAP_FAILED)
		return -1;
	tx->buf = mmap(NULL, tx->buf_map_len, PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, (off_t)buf_at);
	if (tx->buf == MAP_FAILED) {
		int reason = errno;

		munmap(tx->map, tx->map_len);
		errno = reason;
		return -1;
	}
	tx->ring = (struct weft_ring *)(void *)((char *)tx->map + at - first);
	return 0;
}

/* Sets the writer's position behind the last message of an earlier writer. */
static void continue_ring(struct weft_ring_tx *tx)
{
	/* acquire: pairs with the release in weft_ring_publish */
	tx->n_read =
		atomic_load_explicit(&tx->ring->n_read, memory_order_acquire);
	tx->n = tx->n_read;
	while (tx->n - tx->n_read <= tx->mask &&
		(uint8_t)atomic_load_explicit(
			&tx->ring->slots[tx->n & tx->mask].word,
			memory_order_relaxed) == (uint8_t)(tx->n + 1))
		tx->n++;
}

/* Claims the first free extra ring. Returns its index, or n. */
static uint32_t claim_extra(_Atomic uint32_t *claims, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint32_t is_free = EXTRA_FREE;

		/* acquire: pairs with the release in weft_shm_free_extra() */
		if (atomic_compare_exchange_strong_explicit(&claims[i],
			    &is_free, EXTRA_CLAIMED, memory_order_acquire,
			    memory_order_relaxed))
			break;
	}
	return i;
}

/* Maps ring `index`, or the extra ring with that index if claim is not NULL,
 * and announces the writer. 0 or -1 with errno. */
static int attach_ring(struct weft_ring_tx *tx, int fd,
	const struct seg_header *header, uint32_t index,
	_Atomic uint32_t *claim, const uint64_t writer[2])
{
	size_t at, buf_at;

	if (claim) {
		at = extra_offset_in(header, index);
		buf_at = at + extra_ring_bytes(header->n_slots);
	} else {
		at = ring_offset(header->n_writers, header->n_slots, index);
		buf_at = buf_offset(header->n_writers, header->n_slots,
			header->buf_len, index);
	}
	if (map_ring(tx, fd, header, at, buf_at))
		return -1;
	tx->is_taken_over = tx->ring->writer_cookie != 0;
	if (tx->is_taken_over)
		continue_ring(tx);
	tx->ring->writer_proc = writer[0];
	tx->ring->writer_cookie = writer[1];
	if (announce(fd, index, claim))
		return 0;
	tx->ring->writer_cookie = 0;
	weft_ring_detach(tx);
	return -1;
}

/* Claims an extra ring and maps it. 0 or -1 with errno. */
static int attach_extra(struct weft_ring_tx *tx, int fd,
	const struct seg_header *header, const uint64_t writer[2])
{
	size_t len = claims_bytes(header->n_extra);
	_Atomic uint32_t *claims;
	uint32_t i;
	int rc = -1;

	errno = ENOSPC;
	if (!header->n_extra)
		return -1;
	claims = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		(off_t)(extra_offset_in(header, 0) - len));
	if (claims == MAP_FAILED)
		return -1;
	i = claim_extra(claims, header->n_extra);
	errno = ENOSPC;
	if (i < header->n_extra) {
		rc = attach_ring(tx, fd, header, i, &claims[i], writer);
		if (rc)
			atomic_store_explicit(
				&claims[i], EXTRA_FREE, memory_order_release);
	}
	munmap(claims, len);
	return rc;
}

/* Wakes the owner of the segment if it sleeps, because it does not watch the
 * ring yet. Called after the writer has announced itself. */
static void wake_owner(struct weft_ring_tx *tx, int fd)
{
	const off_t at = offsetof(struct seg_header, is_asleep);
	uint32_t is_asleep = 0;

	if (pread(fd, &is_asleep, sizeof(is_asleep), at) < 0 || !is_asleep)
		return;
	is_asleep = 0;
	write_at(fd, &is_asleep, sizeof(is_asleep), (size_t)at);
	weft_ring_wake_reader(tx);
}

int weft_ring_attach(struct weft_ring_tx *tx, const struct weft_shm_bc *bc,
	uint32_t index, uint64_t my_proc, uint64_t cookie)
{
	const uint64_t writer[2] = { my_proc, cookie };
	struct weft_ring_tx ring;
	struct seg_header header;
	bool is_reserved;
	int err = 0;
	int fd = seg_open(bc, &err);
	int rc;

	if (fd < 0)
		return err;
	if (read_header(fd, bc->probe_value, &header, &is_reserved))
		goto fail_close;
	errno = EPROTO;
	if (index >= header.n_writers && index != WEFT_SHM_ANY)
		goto fail_close;
	ring = (struct weft_ring_tx){ .mask = header.n_slots - 1,
		.buf_len = header.buf_len,
		.open_len = header.buf_len,
		.n_occupied = header.buf_len,
		.is_reserved = is_reserved,
		.wakeup = -1,
		.wakeup_at = header.wakeup };
	rc = index == WEFT_SHM_ANY
		     ? attach_extra(&ring, fd, &header, writer)
		     : attach_ring(&ring, fd, &header, index, NULL, writer);
	if (rc)
		goto fail_close;
	*tx = ring;
	weft_list_init(&tx->link);
	wake_owner(tx, fd);
	close(fd);
	return 0;
fail_close:
	err = weft_err_set(errno == EPROTO ? WEFT_ERR_PEER : WEFT_ERR_ACCESS,
		"cannot map the shared memory of process %d: %s", (int)bc->pid,
		strerror(errno));
	close(fd);
	return err;
}

void weft_ring_set_wakeup(
	struct weft_ring_tx *tx, const struct weft_wakeup_at *wakeup)
{
	tx->ring->writer_wakeup = *wakeup;
}

void weft_ring_watch(struct weft_ring_tx *tx)
{
	/* The release publishes the writer's wakeup; it pairs with the acquire
	 * in wake_writer. */
	atomic_store_explicit(
		&tx->ring->is_writer_asleep, 1, memory_order_release);
}

/* The kernel's lock of the pipe orders this store of the flag before the reader
 * sets the flag again (test/litmus/wake-clear.litmus). */
void weft_ring_wake_reader(struct weft_ring_tx *tx)
{
	atomic_store_explicit(
		&tx->ring->is_reader_asleep, 0, memory_order_relaxed);
	if (!tx->knows_wakeup)
		tx->wakeup = weft_wakeup_find(&tx->wakeup_at);
	tx->knows_wakeup = true;
	weft_wakeup_signal(tx->wakeup);
}

void weft_ring_close_wakeups(struct weft_ring_tx *tx, struct weft_ring_rx *rx)
{
	if (tx->map && tx->wakeup >= 0)
		close(tx->wakeup);
	tx->wakeup = -1;
	tx->knows_wakeup = false;
	if (rx && rx->wakeup >= 0)
		close(rx->wakeup);
	if (rx)
		rx->wakeup = -1;
}

void weft_ring_detach(struct weft_ring_tx *tx)
{
	if (tx->map) {
		weft_budget_leave(tx);
		munmap(tx->map, tx->map_len);
		munmap(tx->buf, tx->buf_map_len);
		if (tx->wakeup >= 0)
			close(tx->wakeup);
	}
	*tx = (struct weft_ring_tx){ 0 };
}

static bool seg_is_active(
	const struct weft_shm *shm, const struct weft_ring *ring)
{
	for (uint32_t i = 0; i < shm->n_active; i++)
		if (shm->active[i].ring == ring)
			return true;
	return false;
}

/* Adds a ring to those that weft_shm_poll() reads. */
static void add_ring(struct weft_shm *shm, struct weft_ring_rx *rx,
	struct weft_ring *ring, const uint8_t *buf)
{
	*rx = (struct weft_ring_rx){
		.ring = ring,
		.buf = buf,
		.mask = shm->n_slots - 1,
		.most_late = shm->n_slots / 4 - 1,
		.buf_len = shm->buf_len,
		.wakeup = -1,
	};
	*shm->end = rx;
	shm->end = &rx->next;
}

/* Maps an extra ring and adds it. False if there is no memory. */
static bool open_extra(struct weft_shm *shm, uint32_t index)
{
	struct seg_extra *extra = malloc(sizeof(*extra));
	char *map;

	if (!extra)
		return false;
	map = mmap(NULL, shm->extra_len, PROT_READ | PROT_WRITE, MAP_SHARED,
		shm->fd, extra_start(shm, index));
	if (map == MAP_FAILED) {
		free(extra);
		return false;
	}
	extra->index = index;
	extra->map = map;
	add_ring(shm, &extra->rx, (struct weft_ring *)(void *)map,
		(uint8_t *)map + extra_ring_bytes(shm->n_slots));
	return true;
}

/* Adds the extra rings whose writer has attached since the last call. False
 * if that must be tried again. */
static bool find_extra(struct weft_shm *shm)
{
	for (uint32_t i = 0; i < WEFT_SHM_EXTRA; i++) {
		/* acquire: pairs with the fence in announce() */
		if (atomic_load_explicit(&shm->claims[i],
			    memory_order_acquire) != EXTRA_READY)
			continue;
		if (!open_extra(shm, i))
			return false;
		atomic_store_explicit(
			&shm->claims[i], EXTRA_USED, memory_order_relaxed);
	}
	return true;
}

/* Adds the rings whose writer has attached since the last call. */
static void find_writers(struct weft_shm *shm)
{
	for (uint32_t i = 0; i < shm->n_writers; i++) {
		struct weft_ring *ring = seg_at(
			shm, ring_offset(shm->n_writers, shm->n_slots, i));

		if (!atomic_load_explicit(&shm->header->has_writer[i],
			    memory_order_relaxed) ||
			seg_is_active(shm, ring))
			continue;
		add_ring(shm, &shm->active[shm->n_active++], ring,
			seg_at(shm, buf_offset(shm->n_writers, shm->n_slots,
					    shm->buf_len, i)));
	}
	if (shm->claims && !find_extra(shm))
		shm->seen--;
}

/* Called when the content of the ring is invalid. Reports this once. */
static void on_broken(struct weft_shm *shm, struct weft_ring_rx *rx)
{
	if (rx->is_broken)
		return;
	rx->is_broken = true;
	shm->recv(shm->arg, rx, NULL, NULL, 0);
}

/* Wakes a writer that sleeps until the ring has space. */
static __attribute__((noinline)) void wake_writer(struct weft_ring_rx *rx)
{
	/* pairs with the release in weft_ring_watch */
	atomic_exchange_explicit(
		&rx->ring->is_writer_asleep, 0, memory_order_acquire);
	if (rx->wakeup < 0)
		rx->wakeup = weft_wakeup_find(&rx->ring->writer_wakeup);
	weft_wakeup_signal(rx->wakeup);
}

static int poll_ring(struct weft_shm *shm, struct weft_ring_rx *rx)
{
	const void *head, *payload;
	size_t len = 0;
	bool has_room;
	int n = 0;

	while (n < POLL_BATCH &&
		(head = weft_ring_peek(rx, &payload, &len)) != NULL) {
		shm->recv(shm->arg, rx, head, payload, len);
		weft_ring_next(rx, len);
		n++;
	}
	/* this call publishes messages of earlier calls, too */
	has_room = n || rx->n != rx->n_published;
	if (n < POLL_BATCH && rx->n != rx->n_published)
		weft_ring_publish(rx);
	/* orders the published position before the load of the flag, which
	 * weft_ring_watch() sets; a compiler fence suffices, as in
	 * weft_ring_commit */
	atomic_signal_fence(memory_order_seq_cst);
	if (has_room &&
		weft_unlikely(atomic_load_explicit(
			&rx->ring->is_writer_asleep, memory_order_relaxed)))
		wake_writer(rx);
	if (weft_unlikely(len == SIZE_MAX))
		on_broken(shm, rx);
	return n;
}

int weft_shm_poll(struct weft_shm *shm)
{
	/* pairs with the release in announce */
	uint64_t last = atomic_load_explicit(
		&shm->header->last_writer, memory_order_acquire);
	int n = 0;

	if (weft_unlikely(last != shm->seen)) {
		shm->seen = last;
		find_writers(shm);
	}
	for (struct weft_ring_rx *rx = shm->first; rx; rx = rx->next)
		n += poll_ring(shm, rx);
	return n;
}
