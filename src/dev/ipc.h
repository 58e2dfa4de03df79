/* SPDX-License-Identifier: BSD-3-Clause */
/* ipc: device memory of other processes of the node
 *
 * A process exports an allocation as a handle of the driver. Another process
 * maps the allocation with it, and copies from the mapping. Opening a handle
 * takes as long as copying 2 MiB to the host, so mappings are cached.
 *
 * A mapping keeps the physical memory of its allocation, even if the owner
 * frees the allocation. So the number of mappings is bounded. A mapping is
 * also removed when its owner exports another allocation at its addresses.
 * Any thread may call these functions, and none acquires a VCI's lock. */
#ifndef WEFT_IPC_H
#define WEFT_IPC_H

#include "dev/dev.h"

/* An allocation that a process exports. */
struct weft_ipc_memory {
	uint8_t handle[WEFT_DEV_HANDLE];
	struct weft_dev_range range; /* in the owner */
};

/* Exports the allocation of an address in device memory. False: the driver has
 * no handle for it. */
bool weft_ipc_export(const void *ptr, struct weft_ipc_memory *memory_out);

/* Copies len bytes, from byte `offset` of the allocation on, to dst. The
 * process with number `owner` has exported the allocation. dst is device memory
 * at `where`, or host memory, and `where` names the context that copies. Maps
 * the allocation if it is not mapped.
 *
 * 0, or: WEFT_ERR_ACCESS: the driver does not map it; WEFT_ERR_BUFFER: the
 * copy failed, and the contents of dst are undefined; WEFT_ERR_NOMEM: all
 * mappings are in use; WEFT_ERR_UNSUPPORTED: `where` has another vendor. */
int weft_ipc_copy(uint64_t owner, const struct weft_ipc_memory *memory,
	uint64_t offset, const struct weft_dev_where *where, void *dst,
	size_t len);

/* Removes all mappings, and forgets all handles. No copy is under way. */
void weft_ipc_close(void);

#endif
