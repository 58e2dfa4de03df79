/* SPDX-License-Identifier: BSD-3-Clause */
/* node_memory: memory shared by the processes of a node, and mappings of it */
#include "win/node_memory.h"

#include "base/knob.h"
#include "core/comm.h"
#include "dev/dev.h"
#include "shm/copy.h"
#include "shm/share.h"
#include "transport/foreign.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SLOTS = 65536,
	POOLED = 16384, /* longest data, in bytes, that shares a file */
};

/* The shared memory of a process: the stripes and the states of its windows. */
struct states {
	weft_win_stripes stripes;
	struct weft_win_state slots[SLOTS];
};

/* The states of this process, kept for later windows. `lock` guards all
 * fields. */
static struct {
	pthread_mutex_t lock;
	struct weft_share share;
	struct states *states; /* in `share`; private memory if there is no
				  shared memory */
	uint8_t *is_used;      /* by slot */
	uint32_t n_used, next;
	pid_t pid; /* of this process */
} own_states = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct weft_win_memory {
	uint32_t slot;
	bool has_slot;
	struct weft_share share; /* memory of this process; SHARED, rank 0:
				    memory of all members */
	void *pooled;		 /* data in a shared file; or NULL */
	struct weft_win_mapped **kept; /* mapped states and data of others */
	uint32_t n_kept;
	bool is_abandoned; /* members may still access the memory */
};

/* --- states -------------------------------------------------------- */

weft_win_stripes *weft_win_my_stripes(void)
{
	return &own_states.states->stripes;
}

pid_t weft_win_my_pid(void)
{
	return own_states.pid;
}

static int states_open(void)
{
	if (own_states.states)
		return 0;
	own_states.share.fd = -1;
	own_states.is_used = calloc(SLOTS, 1);
	if (!own_states.is_used)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for windows");
	if (!weft_share_create(sizeof(*own_states.states), &own_states.share))
		own_states.states = (void *)own_states.share.base;
	else
		own_states.states = mmap(NULL, sizeof(*own_states.states),
			PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (own_states.states == MAP_FAILED) {
		own_states.states = NULL;
		free(own_states.is_used);
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for windows");
	}
	own_states.pid = getpid();
	return 0;
}

static int slot_take(struct weft_win *win)
{
	int err = states_open();
	uint32_t i;

	if (err)
		return err;
	i = own_states.next;
	if (own_states.n_used == SLOTS)
		return weft_err_set(WEFT_ERR_NOMEM,
			"all %d slots for windows of this process are in use, "
			"or belonged to windows with failed members, whose "
			"slots are not used again; free windows, or restart "
			"the process",
			SLOTS);
	while (own_states.is_used[i])
		i = (i + 1) % SLOTS;
	own_states.is_used[i] = 1;
	own_states.n_used++;
	own_states.next = (i + 1) % SLOTS;
	win->memory->slot = i;
	win->memory->has_slot = true;
	win->state = &own_states.states->slots[i];
	memset(win->state, 0, sizeof(*win->state));
	return 0;
}

static void slot_drop(uint32_t slot)
{
	pthread_mutex_lock(&own_states.lock);
	own_states.is_used[slot] = 0;
	if (!--own_states.n_used)
		own_states.next = 0;
	pthread_mutex_unlock(&own_states.lock);
}

/* --- memory of this process ---------------------------------------- */

/* Creates memory that only this window uses. */
static int memory_create(struct weft_win *win, size_t len)
{
	struct weft_share *share = &win->memory->share;
	int err = weft_share_create(len, share);

	if (!err)
		weft_counter_add(
			&weft_proc.counters.window_memory, (int64_t)share->len);
	return err;
}

/* Allocates short data in a file that several windows share. False: the data
 * needs memory of its own. */
static bool pooled_open(struct weft_win *win,
	const struct weft_win_config *config, struct weft_win_record *record)
{
	size_t align = weft_max(config->align, (size_t)WEFT_CACHE_LINE);
	void *base;

	if (config->size > POOLED)
		return false;
	base = weft_win_mem_alloc(config->size, align);
	if (!base)
		return false;
	weft_win_mem_find(base, weft_max(config->size, (size_t)1), record);
	if (record->data_fd < 0) {
		weft_win_mem_free(base);
		return false;
	}
	memset(base, 0, config->size);
	win->memory->pooled = win->base = base;
	return true;
}

static int data_open(struct weft_win *win, const struct weft_win_config *config,
	struct weft_win_record *record)
{
	struct weft_share *share = &win->memory->share;
	bool is_shared = win->comm->vci->shm;
	size_t len = weft_max(config->size, (size_t)1);
	struct weft_dev_where where;
	int err;

	win->base = config->base;
	win->size = config->size;
	if (config->flavor == WEFT_WIN_CREATE && is_shared)
		weft_win_mem_find(win->base, win->size, record);
	win->is_dev = config->flavor == WEFT_WIN_CREATE && win->size &&
		      win->comm->may_dev && record->data_fd < 0 &&
		      weft_dev_find(win->base, &where);
	record->is_dev = win->is_dev;
	if (config->flavor != WEFT_WIN_ALLOCATE ||
		(is_shared && pooled_open(win, config, record)))
		return 0;
	/* longer memory has a larger alignment */
	if (config->align > weft_share_align(len))
		len = weft_max(len, config->align);
	err = memory_create(win, len);
	if (err)
		return err;
	win->base = share->base;
	record->data_fd = is_shared ? share->fd : -1;
	return 0;
}

int weft_win_memory_open(struct weft_win *win,
	const struct weft_win_config *config, struct weft_win_record *record)
{
	struct weft_shm_bc bc = { .pid = getpid() };
	int err;

	win->memory = calloc(1, sizeof(*win->memory));
	if (!win->memory)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a window");
	win->memory->share.fd = -1;
	pthread_mutex_lock(&own_states.lock);
	err = slot_take(win);
	if (!err) {
		record->state_fd = own_states.share.fd;
		record->slot = win->memory->slot;
	}
	pthread_mutex_unlock(&own_states.lock);
	if (!err)
		err = data_open(win, config, record);
	if (win->comm->vci->shm)
		weft_shm_describe(win->comm->vci->shm, &bc);
	record->pid = bc.pid;
	record->owner = weft_share_owner();
	record->probe_addr = bc.probe_addr;
	record->probe_value = bc.probe_value;
	record->base = (uintptr_t)win->base;
	record->size = win->size;
	record->disp_unit = win->disp_unit;
	return err;
}

/* --- memory of other members --------------------------------------- */

/* True if this process may access the member's memory. SHARED windows share
 * memory even if messages do not use shared memory (WEFT_SHM=off). */
static bool is_node_local(const struct weft_win *win, uint32_t rank)
{
	struct weft_vci *vci = win->comm->vci;
	bool is_local;

	if ((int32_t)rank == win->comm->rank)
		return true;
	if (!vci->shm && win->flavor != WEFT_WIN_SHARED)
		return false;
	weft_vci_lock(vci);
	is_local =
		weft_foreign_is_local(weft_group_proc(win->comm->group, rank));
	weft_vci_unlock(vci);
	return is_local;
}

/* Keeps a mapping until the window is freed, and returns its address. NULL if m
 * is NULL. */
static char *keep_mapped(struct weft_win *win, struct weft_win_mapped *m)
{
	struct weft_win_memory *memory = win->memory;

	if (!m)
		return NULL;
	memory->kept[memory->n_kept++] = m;
	return m->base;
}

/* Maps a file that its owner keeps open until it exits. The cache keeps the
 * mapping only if the owner is of this job. Otherwise the memory of jobs that
 * have ended would stay in use. */
static struct weft_win_mapped *kept_map(
	uint64_t proc, uint64_t owner, int fd, size_t len)
{
	return weft_foreign_is(proc)
		       ? weft_win_mapped_once(owner, fd, 0, len)
		       : weft_win_mapped_get(proc, owner, fd, len);
}

static char *data_map(struct weft_win *win, uint32_t rank,
	const struct weft_win_record *record)
{
	uint64_t proc = weft_group_proc(win->comm->group, rank);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), start = 0;
	struct weft_win_mapped *m = NULL;
	char *base;

	if (record->kept_len && record->data_at <= record->kept_len &&
		record->size <= record->kept_len - record->data_at)
		m = kept_map(
			proc, record->owner, record->data_fd, record->kept_len);
	if (!m) {
		start = record->data_at / page * page;
		m = weft_win_mapped_once(record->owner, record->data_fd, start,
			record->data_at - start + weft_max(record->size, 1));
	}
	if (!m)
		weft_log_info("WIN-MAP", "%s; copied by the kernel instead",
			weft_err_detail_peek(WEFT_ERR_PEER));
	base = keep_mapped(win, m);
	return base ? base + (record->data_at - start) : NULL;
}

static bool can_copy(const struct weft_win_record *record)
{
	struct weft_shm_bc bc = { .pid = record->pid,
		.probe_addr = record->probe_addr,
		.probe_value = record->probe_value };

	return weft_knob_is_on(weft_knobs.cma) && weft_copy_can_read(&bc);
}

/* Maps the states of the windows of another process. NULL on failure. */
static struct states *reach_states(struct weft_win *win, uint32_t rank,
	const struct weft_win_record *record)
{
	uint64_t proc = weft_group_proc(win->comm->group, rank);

	if (record->state_fd < 0 || record->slot >= SLOTS)
		return NULL;
	return (void *)keep_mapped(
		win, kept_map(proc, record->owner, record->state_fd,
			     sizeof(struct states)));
}

int64_t weft_win_message_max(bool shares_cores)
{
	return shares_cores ? 0 : WEFT_WIN_LONG;
}

static void reach_data(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_record *record)
{
	target->there = record->base;
	if (win->flavor == WEFT_WIN_DYNAMIC || win->flavor == WEFT_WIN_SHARED ||
		record->is_dev)
		return;
	if (record->data_fd >= 0 &&
		(target->base = data_map(win, target->am.rank, record))) {
		target->method = WEFT_WIN_MAPPED;
	} else if (can_copy(record)) {
		target->method = WEFT_WIN_COPIED;
		target->pid = record->pid;
		target->message_max =
			weft_win_message_max(weft_proc.node.shares_cores);
	}
}

static int reach(struct weft_win *win, uint32_t rank,
	const struct weft_win_record *record)
{
	struct weft_win_target *target = weft_win_target_of(win, rank);
	struct states *states;

	if (!target)
		return WEFT_ERR_NOMEM;
	target->size = record->size;
	target->disp_unit = record->disp_unit;
	target->is_known = target->is_me || !record->is_dev;
	if (target->is_me) {
		target->method = weft_win_may_be_device(win) ? WEFT_WIN_BY_AM
							     : WEFT_WIN_MAPPED;
		target->base = win->base;
		target->there = (uintptr_t)win->base;
		target->state = win->state;
		target->stripes = weft_win_my_stripes();
		return 0;
	}
	states = reach_states(win, rank, record);
	if (!states)
		return 0;
	target->state = &states->slots[record->slot];
	target->stripes = &states->stripes;
	reach_data(win, target, record);
	return 0;
}

int weft_win_memory_reach(
	struct weft_win *win, const struct weft_win_record *records)
{
	struct weft_win_memory *memory = win->memory;
	uint32_t n = 0;
	int err = 0;

	for (uint32_t i = 0; i < (uint32_t)win->comm->size; i++)
		n += is_node_local(win, i);
	memory->kept = calloc(2 * (size_t)n, sizeof(*memory->kept));
	if (!memory->kept)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a window");
	win->is_uniform = win->flavor != WEFT_WIN_DYNAMIC;
	for (uint32_t i = 0; i < (uint32_t)win->comm->size && !err; i++) {
		if (is_node_local(win, i))
			err = reach(win, i, &records[i]);
		else
			win->has_remote = true;
		if (records[i].size != win->size ||
			records[i].disp_unit != win->disp_unit ||
			records[i].is_dev)
			win->is_uniform = false;
	}
	for (uint32_t i = 0; i < (uint32_t)win->comm->size && !err; i++) {
		const struct weft_win_target *t = weft_win_target_at(win, i);

		/* win_share() maps the memory of a SHARED window */
		if (!t || (win->flavor != WEFT_WIN_SHARED &&
				  t->method != WEFT_WIN_MAPPED))
			win->has_remote = true;
	}
	return err;
}

/* --- the memory of SHARED windows ---------------------------------- */

/* The offset at which the part of `rank` begins in the memory of a SHARED
 * window. If rank is the number of members, the length of this memory. */
static size_t part_at(const struct weft_win *win,
	const struct weft_win_config *config,
	const struct weft_win_record *records, uint32_t rank)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), at = 0;

	(void)win;
	for (uint32_t i = 0; i < rank; i++) {
		at += records[i].size;
		if (config->is_noncontig)
			at = weft_round_up(at, page);
	}
	return at;
}

int weft_win_memory_make(struct weft_win *win,
	const struct weft_win_config *config,
	const struct weft_win_record *records, int *fd_out)
{
	size_t len = part_at(win, config, records, (uint32_t)win->comm->size);
	int err;

	*fd_out = -1;
	for (uint32_t i = 0; i < (uint32_t)win->comm->size; i++) {
		const struct weft_win_target *t = weft_win_target_at(win, i);

		if (!t || (!t->state && win->comm->size > 1))
			return weft_err_set(WEFT_ERR_RMA_SHARED,
				"rank %u shares no memory with rank %d, "
				"because it %s; MPI_Comm_split_type with "
				"MPI_COMM_TYPE_SHARED creates communicators "
				"whose members share memory",
				i, win->comm->rank,
				is_node_local(win, i)
					? "is in another container, or of "
					  "another user"
					: "is on another node");
	}
	if (win->comm->rank)
		return 0;
	err = memory_create(win, weft_max(len, 1));
	if (!err)
		*fd_out = win->memory->share.fd;
	return err;
}

int weft_win_memory_map(struct weft_win *win,
	const struct weft_win_config *config,
	const struct weft_win_record *records, int fd)
{
	size_t len = part_at(win, config, records, (uint32_t)win->comm->size);
	char *base = win->memory->share.base;

	if (win->comm->rank)
		base = keep_mapped(win, weft_win_mapped_once(records[0].owner,
						fd, 0, weft_max(len, 1)));
	if (!base)
		return WEFT_ERR_PEER;
	for (uint32_t i = 0; i < (uint32_t)win->comm->size; i++) {
		struct weft_win_target *target = weft_win_target_at(win, i);

		target->method = WEFT_WIN_MAPPED;
		target->base = base + part_at(win, config, records, i);
		if (config->is_noncontig && !target->size)
			target->base = NULL; /* size 0: programs expect NULL */
		/* an offset, equal at all members: it selects the stripe */
		target->there = part_at(win, config, records, i);
		target->stripes = weft_win_target_at(win, 0)->stripes;
		if (target->is_me)
			win->base = target->base;
	}
	return 0;
}

void weft_win_memory_settle(struct weft_win *win)
{
	struct weft_share *share = &win->memory->share;

	if (share->fd >= 0)
		close(share->fd);
	share->fd = -1;
}

void weft_win_memory_abandon(struct weft_win *win)
{
	if (win->memory)
		win->memory->is_abandoned = true;
}

void weft_win_memory_close(struct weft_win *win)
{
	struct weft_win_memory *memory = win->memory;

	if (!memory)
		return;
	weft_win_memory_settle(win);
	weft_share_unmap(memory->share.base, memory->share.len);
	weft_counter_add(
		&weft_proc.counters.window_memory, -(int64_t)memory->share.len);
	for (uint32_t i = 0; i < memory->n_kept; i++)
		weft_win_mapped_put(memory->kept[i]);
	if (!memory->is_abandoned)
		weft_win_mem_free(memory->pooled);
	if (!memory->is_abandoned && memory->has_slot)
		slot_drop(memory->slot);
	free(memory->kept);
	free(memory);
	win->memory = NULL;
}
