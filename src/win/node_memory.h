/* SPDX-License-Identifier: BSD-3-Clause */
/* node_memory: the memory of windows, and how members on a node share it
 *
 * A process that has created a window keeps shared memory for the state of its
 * windows (locks and counters), and its mappings of the states of other
 * processes. Short data that the library allocates is in a file of
 * MPI_Alloc_mem. Long data has its own file, whose descriptor is closed once
 * all members have mapped it. */
#ifndef WEFT_NODE_MEMORY_H
#define WEFT_NODE_MEMORY_H

#include "win/win_priv.h"

/* The record that a member publishes to the others about its window. */
struct weft_win_record {
	int32_t err; /* 0, or the error of this member */
	int32_t pid;
	int32_t state_fd; /* -1: no shared memory */
	int32_t data_fd;  /* -1: not shared */
	uint64_t owner;	  /* weft_share_owner() of the member, for both files */
	uint64_t data_at; /* offset of the data in data_fd */
	/* length of data_fd, if this member keeps the file open until it exits;
	 * else 0 */
	uint64_t kept_len;
	uint64_t probe_addr, probe_value; /* as in struct weft_shm_bc */
	uint64_t base;
	uint64_t size;
	int64_t disp_unit;
	uint32_t slot; /* slot of the window's state in state_fd */
	bool is_dev;   /* the memory is device memory */
};

/* Reserves a slot for the window's state, and allocates its memory if config
 * requires it. Fills the record. After an error, the caller still calls
 * weft_win_memory_close(). */
int weft_win_memory_open(struct weft_win *win,
	const struct weft_win_config *config, struct weft_win_record *record);

/* Creates the targets of this node's members, and maps their memory. If the
 * memory of a member cannot be mapped, its target gets another access method,
 * and the call returns 0. */
int weft_win_memory_reach(
	struct weft_win *win, const struct weft_win_record *records);

/* Both functions are for a SHARED window. At rank 0, weft_win_memory_make()
 * allocates one contiguous file with the memory of all members, and rank 0
 * publishes *fd_out. All members map the file by weft_win_memory_map(). */
int weft_win_memory_make(struct weft_win *win,
	const struct weft_win_config *config,
	const struct weft_win_record *records, int *fd_out);
int weft_win_memory_map(struct weft_win *win,
	const struct weft_win_config *config,
	const struct weft_win_record *records, int fd);

/* Called when all members have mapped the data: closes its file. */
void weft_win_memory_settle(struct weft_win *win);

/* Called if a member has failed, because other members may then still access
 * the memory. The memory is never reused for another window. */
void weft_win_memory_abandon(struct weft_win *win);

/* Unmaps the memory of the window. Releases its slot and its data in a shared
 * file, unless the window is abandoned. */
void weft_win_memory_close(struct weft_win *win);

/* alloc_mem.c. If base is memory of weft_win_mem_alloc(), sets data_fd, data_at
 * and kept_len. Other processes can then map the memory. */
void weft_win_mem_find(
	const void *base, size_t len, struct weft_win_record *record);

/* map_cache.c. Maps a file that another process keeps open until it exits, or
 * returns the cached mapping. NULL: the file cannot be mapped. The caller
 * releases each result by weft_win_mapped_put(). Any thread. */
struct weft_win_mapped {
	char *base;
	/* ---- private to map_cache.c ---- */
	size_t len;
	uint64_t key; /* 0: not in the cache */
	uint64_t owner;
	uint32_t n_users;
};
struct weft_win_mapped *weft_win_mapped_get(
	uint64_t proc, uint64_t owner, int fd, size_t len);
/* Maps len bytes of any file, without the cache. `at` is the offset in the
 * file, a multiple of the page size. NULL with WEFT_ERR_PEER described. */
struct weft_win_mapped *weft_win_mapped_once(
	uint64_t owner, int fd, size_t at, size_t len);
void weft_win_mapped_put(struct weft_win_mapped *mapped);

#endif
