/* SPDX-License-Identifier: BSD-3-Clause */
/* dev: device memory: recognises its addresses, and copies it
 *
 * Device memory is memory that the CPU must not touch, managed memory of CUDA
 * and shared memory of Level Zero. The driver of the device copies it. Each
 * vendor has a driver, and a file. The library opens a driver if a session asks
 * for its kind of memory (mpi_memory_alloc_kinds), or when the program has
 * loaded it. Any thread may call these functions, and none acquires a VCI's
 * lock. */
#ifndef WEFT_DEV_H
#define WEFT_DEV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weft_dev_id {
	WEFT_DEV_CUDA,
	WEFT_DEV_ROCM,
	WEFT_DEV_ZE,
	WEFT_DEV_N, /* at most 8 */
};

struct weft_dev_vendor; /* dev_priv.h */

/* The owner of an address in device memory. */
struct weft_dev_where {
	const struct weft_dev_vendor *vendor;
	void *context; /* NULL: the primary context of the device */
	int device;    /* number of the device in this process */
	uint64_t id;   /* of a CUDA allocation, never used again; or 0 */
};

/* Copies that started together. On the stack of one function, from
 * weft_dev_begin() to weft_dev_end(). */
struct weft_dev_copies {
	const struct weft_dev_vendor *vendor;
	void *context;
	void *stream;
	bool is_to_host;
	int capture_mode; /* to restore */
};

/* Runs of len bytes. On each side they begin a stride of bytes apart, which may
 * also be below len or negative. */
struct weft_dev_rows {
	void *dst;
	const void *src;
	size_t n;
	size_t len;
	ptrdiff_t dst_stride, src_stride;
};

/* An allocation of device memory in this process. */
struct weft_dev_range {
	uint64_t base, len;
	uint64_t id; /* unique in this process, and never reused; the highest
			byte is an enum weft_dev_id */
};

enum { WEFT_DEV_ID_SHIFT = 56 };

static inline uint64_t weft_dev_id_of(const struct weft_dev_range *range)
{
	return range->id >> WEFT_DEV_ID_SHIFT;
}

enum { WEFT_DEV_HANDLE = 64 }; /* bytes of an IPC handle */

/* Bit i: the driver of vendor i is open. Bit WEFT_DEV_WATCHED + i: the program
 * may load it. */
enum { WEFT_DEV_WATCHED = 8 };

extern atomic_uint weft_dev_state; /* written by dev.c */

/* True if a buffer may be in device memory: a driver is open, or the program
 * may load one. */
static inline bool weft_dev_is_on(void)
{
	return atomic_load_explicit(&weft_dev_state, memory_order_acquire) != 0;
}

/* Called if the program did not ask for any kinds of memory. True if the
 * process has loaded a driver, or if this node has a device, so that the
 * process may load the driver later. Then weft_dev_find() opens the driver
 * after that. It does not initialise the driver, because memory exists only
 * after the program has done that. */
bool weft_dev_watch(void);

/* True if the memory kind is "cuda", "rocm" or "level_zero", with any of its
 * restrictors, in upper or lower case, and this process can use a device of
 * that vendor. The restrictors are host, device, and managed; for Level Zero,
 * shared in place of managed. The first call with such a kind opens the driver,
 * which may take 0.2 s. It makes no context. */
bool weft_dev_has_kind(const char *kind);

/* Opens the driver as weft_dev_has_kind() does. Returns the number of devices.
 * 0: *why_out, if not NULL, is the reason, a static text. */
int weft_dev_open(enum weft_dev_id id, const char **why_out);

/* True if a driver is open; opens those that the process has loaded. */
bool weft_dev_is_open(void);

/* Returns the vendor of device memory. */
enum weft_dev_id weft_dev_vendor_of(const struct weft_dev_where *where);

/* Returns the name of the vendor for messages: "CUDA". */
const char *weft_dev_name(const struct weft_dev_where *where);

/* True if the address is in device memory; sets *where_out. False for every
 * address until a driver is open and initialised. */
bool weft_dev_find(const void *ptr, struct weft_dev_where *where_out);

/* Returns WEFT_ERR_BUFFER, which names the argument, if the address is in
 * device memory; else 0. `remedy` is a clause: "pass host memory". */
int weft_dev_refuse(const void *ptr, const char *name, const char *remedy);

/* weft_dev_begin() selects the context of the memory for the calling thread.
 * weft_dev_end() waits for the copies that were added, and restores the
 * thread's context. It must be called if weft_dev_begin() succeeded. It returns
 * err if err is not 0. The copies are from device memory at `where` to host
 * memory (is_to_host), or in the other direction. An error is described and has
 * WEFT_ERR_BUFFER; then the destination is undefined. */
int weft_dev_begin(const struct weft_dev_where *where, bool is_to_host,
	struct weft_dev_copies *copies_out);
int weft_dev_add(const struct weft_dev_copies *copies, void *dst,
	const void *src, size_t len);
/* Adds n runs of len bytes each. */
int weft_dev_add_rows(
	const struct weft_dev_copies *copies, const struct weft_dev_rows *rows);
int weft_dev_end(const struct weft_dev_copies *copies, int err);

/* Copies rows between device memory at `where` and host memory, and waits for
 * the copy. 0 or an error as above. */
int weft_dev_copy_rows(const struct weft_dev_where *where,
	const struct weft_dev_rows *rows, bool is_to_host);

/* Pins pages of host memory for the contexts of all devices, through the
 * context of the device memory at `where`. False: not pinned. An implicit
 * unpinning occurs if the program destroys that context. */
bool weft_dev_pin(const struct weft_dev_where *where, void *at, size_t len);

/* Unpins what weft_dev_pin() pinned at this address, for memory of the same
 * vendor. False: the driver still uses the pages. No copy may be under way. */
bool weft_dev_unpin(const struct weft_dev_where *where, void *at);

/* Finds the allocation of an address in device memory at `where`. False if the
 * driver does not know it, or cannot identify it. */
bool weft_dev_range(const struct weft_dev_where *where, const void *ptr,
	struct weft_dev_range *range_out);

/* Returns the IPC handle of the allocation at base, which is in memory at
 * `where`. False if the driver has none: the memory is managed, virtual or of a
 * pool. */
bool weft_dev_export(const struct weft_dev_where *where, uint64_t base,
	uint8_t handle_out[WEFT_DEV_HANDLE]);

/* Maps an allocation of len bytes of another process into the context that
 * weft_dev_begin() has selected; both have the same vendor. WEFT_ERR_ACCESS,
 * which is described: the driver refuses. */
int weft_dev_map(const struct weft_dev_copies *copies,
	const uint8_t handle[WEFT_DEV_HANDLE], size_t len, void **at_out);

/* Removes a mapping from the context in which it was made. No effect if the
 * program has destroyed that context. */
void weft_dev_unmap(enum weft_dev_id id, void *context, void *at);

/* Ends what the drivers would call in the library. No copy is under way. */
void weft_dev_close(void);

/* Finds a context of this vendor in which the library has copied before. False:
 * none. */
bool weft_dev_used(enum weft_dev_id id, struct weft_dev_where *where_out);

#endif
