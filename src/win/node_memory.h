/* SPDX-License-Identifier: BSD-3-Clause */
/* node_memory: where windows' memory lies, and how the node's others reach it
 *
 * A process that has had a window keeps one piece of shared memory for what the
 * node's others need of each besides its data: locks; and what it has mapped
 * of theirs. Short data that the library allocates lies with that of
 * MPI_Alloc_mem; long data is shared memory of its own, whose file is closed
 * once all have mapped it, so that nothing is left behind whatever happens to
 * anybody. */
#ifndef WEFT_NODE_MEMORY_H
#define WEFT_NODE_MEMORY_H

#include "win/win_priv.h"

/* The record that a member publishes to the others about its window. */
struct weft_win_record {
	int32_t err; /* 0, or why it cannot take part */
	int32_t pid;
	int32_t state_fd;  /* -1: no shared memory */
	int32_t data_fd;   /* -1: not shared */
	uint64_t owner;	   /* of both, as weft_share_owner() */
	uint64_t data_at;  /* where in that the data begins */
	uint64_t kept_len; /* of a file that lasts; 0: it may be closed */
	uint64_t probe_addr, probe_value; /* as in struct weft_shm_bc */
	uint64_t base;
	uint64_t size;
	int64_t disp_unit;
	uint32_t slot; /* of the window's state */
};

/* Takes a slot for the window's state; allocates its memory where config says
 * so. Fills the record. On an error the window is unchanged. */
int weft_win_memory_open(struct weft_win *win,
	const struct weft_win_config *config, struct weft_win_record *record);

/* Creates the targets of this node's members. It is no error if memory cannot
 * be mapped: another way is used. */
int weft_win_memory_reach(
	struct weft_win *win, const struct weft_win_record *records);

/* SHARED: rank 0 allocates the data of all in one piece (_make), publishes
 * *fd_out, and all members map it (_map). */
int weft_win_memory_make(struct weft_win *win,
	const struct weft_win_config *config,
	const struct weft_win_record *records, int *fd_out);
int weft_win_memory_map(struct weft_win *win,
	const struct weft_win_config *config,
	const struct weft_win_record *records, int fd);

/* All members have mapped my data: closes its file. */
void weft_win_memory_settle(struct weft_win *win);

/* Members may still access the memory, as they were not waited for. No other
 * window of this process uses it. */
void weft_win_memory_abandon(struct weft_win *win);

void weft_win_memory_close(struct weft_win *win);

/* alloc_mem.c: where memory of weft_win_mem_alloc() lies in a file, which
 * others may map: data_fd, data_at and kept_len, which stay as they are for
 * other memory. */
void weft_win_mem_find(
	const void *base, size_t len, struct weft_win_record *record);

/* map_cache.c: a file of another process that lasts as long as this. NULL: it
 * cannot be mapped. Each is put once. Any thread. */
struct weft_win_mapped {
	char *base;
	/* ---- below: only map_cache.c ---- */
	size_t len;
	uint64_t key; /* 0: is not in the cache */
	uint64_t owner;
	uint32_t n_users;
};
struct weft_win_mapped *weft_win_mapped_get(
	uint64_t proc, uint64_t owner, int fd, size_t len);
/* The same for any file, from a multiple of the page size on: a mapping of its
 * own. NULL with WEFT_ERR_PEER described. */
struct weft_win_mapped *weft_win_mapped_once(
	uint64_t owner, int fd, size_t at, size_t len);
void weft_win_mapped_put(struct weft_win_mapped *mapped);

#endif
