/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_record: the tables of this process, in a mapped file
 *
 * The first call after initialization opens the file. A thread maps its table
 * at its first call. When the thread ends, another thread may reuse the table.
 * If the file cannot be used, nothing is recorded. */
#include "profile/profile_record.h"

#include "base/knob.h"
#include "base/log.h"
#include "coll/coll_algo.h"
#include "profile/profile_finish.h"
#include "profile/profile_report.h"
#include "transport/proc.h"
#include "transport/sleep.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	SITE_OTHERS = 1, /* address of the site for calls beyond the table */
	CALIBRATE_NS = 1000000,
	FRAME_MAX = 16384,
	/* Only short calls are sampled, because the times of long calls vary
	 * more. SAMPLE untimed calls and one timed call are 61 calls. 61 is
	 * prime, so that the timed calls of a loop over neighbours are not all
	 * for the same neighbour. */
	SHORT_NS = 1000,
	SHORT_RUN = 64,
	SAMPLE = 60,
};

/* The record of this process. Written with the lock held, except is_off. */
static struct {
	pthread_mutex_t lock;
	atomic_bool is_off; /* nothing is recorded (any more) */
	bool is_traced;	    /* a timeline is requested */
	bool is_temporary;  /* dir was created for this job */
	char dir[4096];	    /* directory of the records */
	int fd;
	struct weft_profile_head *head; /* NULL: not opened yet */
	struct weft_profile_table *free[WEFT_PROFILE_THREADS];
	uint32_t n_free;
	pthread_key_t key;    /* its destructor moves a table to free[] */
	uint64_t short_ticks; /* SHORT_NS in ticks */
	/* code of libweft_fortran and of this library; call sites are outside
	 * both */
	struct {
		uintptr_t address;
		size_t len;
	} skipped[2];
} recorder = { .lock = PTHREAD_MUTEX_INITIALIZER };

__thread struct weft_profile_thread weft_profile_thread;

/* The entry of the peer that this thread used last. */
static __thread struct {
	MPI_Comm comm;
	int rank;
	struct weft_profile_peer *entry; /* NULL: none */
} my_peer __attribute__((tls_model("initial-exec")));

/* ---- opening ---- */

static weft_slept_fn add_sleep;

/* Turns recording off. Warns once per node. */
static void recorder_fail(const char *what, const char *name)
{
	if (weft_proc.facts.local_rank == 0)
		weft_log_warn("PROFILE-FILE",
			"no profile of this process: cannot %s %s: %s "
			"(WEFT_PROFILE_DIR must name a directory that can be "
			"written)",
			what, name, strerror(errno));
	atomic_store_explicit(&recorder.is_off, true, memory_order_relaxed);
}

static void table_release(void *table)
{
	pthread_mutex_lock(&recorder.lock);
	recorder.free[recorder.n_free++] = table;
	pthread_mutex_unlock(&recorder.lock);
	weft_profile_thread.table = NULL;
	weft_profile_thread.site = NULL;
	my_peer.entry = NULL;
}

static int find_skipped(struct dl_phdr_info *info, size_t len, void *unused)
{
	int i = strstr(info->dlpi_name, "libweft_fortran.")   ? 0
		: strstr(info->dlpi_name, "libweft_profile.") ? 1
							      : -1;

	(void)len;
	(void)unused;
	for (int p = 0; i >= 0 && p < info->dlpi_phnum; p++) {
		if (info->dlpi_phdr[p].p_type != PT_LOAD ||
			!(info->dlpi_phdr[p].p_flags & PF_X))
			continue;
		recorder.skipped[i].address =
			info->dlpi_addr + info->dlpi_phdr[p].p_vaddr;
		recorder.skipped[i].len = info->dlpi_phdr[p].p_memsz;
	}
	return 0;
}

/* Returns the seconds of one tick, measured for a millisecond. */
static double measure_tick(void)
{
	uint64_t ns = weft_now_ns(), ticks = weft_profile_now();

	while (weft_now_ns() - ns < CALIBRATE_NS)
		;
	ns = weft_now_ns() - ns;
	return (double)ns * 1e-9 / (double)(weft_profile_now() - ticks);
}

static void head_fill(struct weft_profile_head *head)
{
	ssize_t len = readlink(
		"/proc/self/exe", head->program, sizeof(head->program) - 1);
	struct timespec now;

	memcpy(head->magic, WEFT_PROFILE_MAGIC, sizeof(head->magic));
	head->head_len = sizeof(*head);
	head->table_len = sizeof(struct weft_profile_table);
	head->proc = weft_proc.proc;
	head->tick_s = measure_tick();
	clock_gettime(CLOCK_REALTIME, &now);
	head->epoch_ticks = weft_profile_now();
	head->epoch_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
	head->pid = (uint32_t)getpid();
	head->program[len > 0 ? len : 0] = '\0';
	snprintf(head->host, sizeof(head->host), "%s", weft_proc.facts.host);
	if (weft_knobs.nodes > 1) { /* WEFT_NODES: simulated nodes */
		const struct weft_boot_facts *facts = &weft_proc.facts;
		uint64_t n = weft_min((uint64_t)weft_knobs.nodes, facts->size);
		uint64_t node = facts->max_procs
					? facts->rank % n
					: facts->rank * n / facts->size;

		snprintf(head->host, sizeof(head->host), "%.240s/%u",
			weft_proc.facts.host, (unsigned)node);
	}
}

/* Writes the name of this job as a file name. Returns buf. */
static const char *job_name(char buf[WEFT_BOOT_JOB_MAX])
{
	snprintf(buf, WEFT_BOOT_JOB_MAX, "%s", weft_proc.facts.job);
	for (char *c = buf; *c; c++)
		if (*c == '/')
			*c = '_';
	return buf;
}

/* As job_name() if this job was spawned, otherwise "". Also "" under Weft's
 * mpiexec, which itself separates the records of jobs. */
static const char *spawned_name(char buf[WEFT_BOOT_JOB_MAX])
{
	const char *parent = weft_knob_getenv("WEFT_PARENT");

	return parent && *parent && strcmp(weft_proc.facts.manager, "mpiexec")
		       ? job_name(buf)
		       : "";
}

/* Sets the directory of the records: WEFT_PROFILE_DIR, with a subdirectory for
 * a spawned job. Without that variable, creates a directory with the job's name
 * in weft_knob_folder() or the current directory. */
static void find_dir(void)
{
	char job[WEFT_BOOT_JOB_MAX];
	const char *spawned = spawned_name(job);

	if (*weft_knobs.profile_dir) {
		snprintf(recorder.dir, sizeof(recorder.dir), "%s%s%s",
			weft_knobs.profile_dir, *spawned ? "/" : "", spawned);
		if (*spawned)
			mkdir(recorder.dir, 0700);
		return;
	}
	snprintf(recorder.dir, sizeof(recorder.dir), "%s/weft-profile.%s",
		weft_knob_folder() ? weft_knob_folder() : ".", job_name(job));
	mkdir(recorder.dir, 0700);
	recorder.is_temporary = true;
}

/* Lock held. */
static void recorder_open(void)
{
	char path[sizeof(recorder.dir) + 32];
	void *head;

	if (!strcmp(weft_knobs.profile, "off") ||
		!strcmp(weft_knobs.profile, "0")) {
		atomic_store_explicit(
			&recorder.is_off, true, memory_order_relaxed);
		return;
	}
	find_dir();
	snprintf(path, sizeof(path), "%s/profile.%u", recorder.dir,
		weft_proc.facts.rank);
	recorder.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (recorder.fd < 0 || ftruncate(recorder.fd, sizeof(*recorder.head))) {
		recorder_fail("create", path);
		return;
	}
	head = mmap(NULL, sizeof(*recorder.head), PROT_READ | PROT_WRITE,
		MAP_SHARED, recorder.fd, 0);
	if (head == MAP_FAILED ||
		pthread_key_create(&recorder.key, table_release)) {
		recorder_fail("map", path);
		return;
	}
	dl_iterate_phdr(find_skipped, NULL);
	head_fill(head);
	recorder.is_traced = weft_profile_is_trace(weft_knobs.profile);
	recorder.head = head;
	recorder.short_ticks =
		(uint64_t)(SHORT_NS * 1e-9 / recorder.head->tick_s);
	weft_sleep_on_slept(add_sleep);
}

/* Called when the process exits. Weft's mpiexec reads the records itself. */
__attribute__((destructor)) static void recorder_close(void)
{
	char job[WEFT_BOOT_JOB_MAX], spawned[WEFT_BOOT_JOB_MAX];
	char file[PATH_MAX];

	if (!recorder.head || recorder.head->pid != (uint32_t)getpid() ||
		!strcmp(weft_proc.facts.manager, "mpiexec"))
		return;
	atomic_store_explicit(&recorder.is_off, true, memory_order_relaxed);
	fsync(recorder.fd);
	weft_profile_job_file(
		file, sizeof(file), weft_knobs.profile, spawned_name(spawned));
	weft_profile_finish(file, recorder.dir, job_name(job),
		weft_proc.facts.rank, weft_proc.facts.world_size,
		recorder.is_temporary);
}

/* Maps a new table. NULL if there are WEFT_PROFILE_THREADS tables, or if the
 * table cannot be mapped. Lock held. */
static struct weft_profile_table *table_map(void)
{
	size_t len = sizeof(struct weft_profile_table);
	size_t n = recorder.head->n_tables;
	size_t start = sizeof(*recorder.head) + n * len;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), at = start / page * page;
	struct weft_profile_table *table;
	char *map;

	if (n == WEFT_PROFILE_THREADS ||
		ftruncate(recorder.fd, (off_t)(start + len)))
		return NULL;
	map = mmap(NULL, start - at + len, PROT_READ | PROT_WRITE, MAP_SHARED,
		recorder.fd, (off_t)at);
	if (map == MAP_FAILED)
		return NULL;
	table = (void *)(map + (start - at));
	if (recorder.is_traced)
		table->max_events = WEFT_PROFILE_EVENTS;
	recorder.head->n_tables++;
	return table;
}

/* Finds or maps a table for a thread without a table. */
static struct weft_profile_table *table_take(uint64_t start)
{
	struct weft_profile_table *table = NULL;

	if (atomic_load_explicit(&recorder.is_off, memory_order_relaxed) ||
		!weft_proc.is_open)
		return NULL;
	pthread_mutex_lock(&recorder.lock);
	if (!recorder.head)
		recorder_open();
	if (recorder.head && recorder.n_free)
		table = recorder.free[--recorder.n_free];
	else if (recorder.head)
		table = table_map();
	if (table && !table->first)
		table->first = start;
	if (table)
		pthread_setspecific(recorder.key, table);
	pthread_mutex_unlock(&recorder.lock);
	weft_profile_thread.table = table;
	return table;
}

struct weft_profile_head *weft_profile_traced(void)
{
	return recorder.is_traced ? recorder.head : NULL;
}

void weft_profile_find_next(const struct weft_profile_slot *slots, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		void *function = dlsym(RTLD_NEXT, slots[i].name);

		if (!function && !i)
			return; /* the library is not loaded */
		if (function)
			memcpy(slots[i].function, &function, sizeof(function));
	}
}

/* ---- sites ---- */

/* Returns the index of an object's path in the head, and adds a new path.
 * WEFT_PROFILE_OBJECTS if the head has no space for it. */
static uint32_t object_index(const char *path)
{
	struct weft_profile_head *head = recorder.head;
	uint32_t i;

	if (!*path)
		path = head->program;
	pthread_mutex_lock(&recorder.lock);
	for (i = 0; i < head->n_objects; i++)
		if (!strcmp(head->objects[i], path))
			break;
	if (i == head->n_objects && i < WEFT_PROFILE_OBJECTS) {
		snprintf(
			head->objects[i], sizeof(head->objects[i]), "%s", path);
		head->n_objects++;
	}
	pthread_mutex_unlock(&recorder.lock);
	return i;
}

/* Creates a site in a free entry of the table. */
static void site_create(struct weft_profile_table *table,
	struct weft_profile_site *site, uint32_t procedure, uint64_t address)
{
	struct link_map *map = NULL;
	Dl_info info;

	table->n_sites++;
	site->procedure = procedure;
	site->object = WEFT_PROFILE_OBJECTS;
	site->offset = address;
	site->shortest = UINT64_MAX;
	site->key_size = WEFT_PROFILE_SIZES;
	site->key_peer = WEFT_PROFILE_NONE;
	if (address != SITE_OTHERS &&
		dladdr1((void *)(uintptr_t)address, &info, (void **)&map,
			RTLD_DL_LINKMAP) &&
		map) {
		site->object = object_index(map->l_name);
		site->offset = address - map->l_addr;
	}
	site->address = address;
}

static struct weft_profile_site *site_find(
	struct weft_profile_table *table, uint32_t procedure, uint64_t address)
{
	uint32_t at = (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 32);

	for (uint32_t i = at;; i++) {
		struct weft_profile_site *site =
			&table->sites[i % WEFT_PROFILE_SITES];

		if (weft_likely(site->address == address &&
				site->procedure == procedure))
			return site;
		if (site->address)
			continue;
		if (table->n_sites < WEFT_PROFILE_SITES / 4 * 3 ||
			address == SITE_OTHERS) {
			site_create(table, site, procedure, address);
			return site;
		}
		/* a quarter of the entries is free: all further sites share one
		 * of these */
		return site_find(table, 0, SITE_OTHERS);
	}
}

static bool is_skipped(void *address)
{
	for (int i = 0; i < 2; i++)
		if ((uintptr_t)address - recorder.skipped[i].address <
			recorder.skipped[i].len)
			return true;
	return false;
}

/* Returns the first return address outside the Fortran library and this
 * library. The search ends at a frame that is not closely above the previous
 * frame. */
static uint64_t call_address(void *const *frame)
{
	while (weft_unlikely(is_skipped(frame[1]))) {
		void *const *next = *frame;

		if ((uintptr_t)next - (uintptr_t)frame - 1 >= FRAME_MAX ||
			(uintptr_t)next % sizeof(void *))
			break;
		frame = next;
	}
	return (uintptr_t)frame[1];
}

/* ---- calls ---- */

/* Appends a call to the timeline. If the table has no space, counts the call as
 * dropped and returns NULL. */
static struct weft_profile_event *event_append(struct weft_profile_table *table,
	uint32_t procedure, uint64_t start, uint64_t end)
{
	struct weft_profile_event *event = &table->events[table->n_events];

	if (table->n_events == table->max_events) {
		table->n_dropped++;
		return NULL;
	}
	event->start = start;
	event->end = end;
	event->procedure = procedure;
	table->n_events++;
	return event;
}

/* Finds the site of a call, and makes it the latest site of the procedure. */
static struct weft_profile_site *call_site(const struct weft_profile_call *call)
{
	struct weft_profile_table *table = weft_profile_thread.table;
	struct weft_profile_site *site;

	site = site_find(table, call->procedure, call_address(call->frame));
	weft_profile_site_settle(table, site);
	site->key_size = WEFT_PROFILE_SIZES;
	table->latest[call->procedure] =
		(uint32_t)((char *)site - (char *)table);
	return site;
}

void weft_profile_begin(struct weft_profile_call *call, uint32_t procedure,
	void *const *frame, bool must_time)
{
	call->procedure = procedure;
	call->frame = frame;
	call->event = NULL;
	call->site = NULL;
	call->outer = weft_profile_thread.site;
	call->waits = call->slept = 0;
	if (weft_likely(weft_profile_thread.table))
		call->site = call_site(call);
	call->is_timed = must_time || !call->site || !call->site->left;
	weft_profile_thread.site = call->site;
	call->outer_slept = weft_profile_thread.slept;
	weft_profile_thread.slept = 0;
	call->start = call->is_timed ? weft_profile_now() : 0;
}

/* Subtracts this call's sleeps from its duration. 0 if the sum of the sleeps,
 * which is rounded, is larger. */
static uint64_t ticks_awake(uint64_t ticks)
{
	uint64_t slept = weft_profile_thread.slept;

	return ticks > slept ? ticks - slept : 0;
}

/* Adds the time of a timed call, also for the untimed calls since the last
 * timed call. Sets the number of calls before the next timed call. */
static void add_time(struct weft_profile_site *site, uint64_t ticks)
{
	site->ticks += ticks_awake(ticks) * (1 + site->period - site->left);
	if (ticks < site->shortest)
		site->shortest = ticks;
	if (ticks > site->longest)
		site->longest = ticks;
	site->n_timed++;
	site->n_short = ticks < recorder.short_ticks ? site->n_short + 1 : 0;
	site->period =
		site->n_short >= SHORT_RUN && !recorder.is_traced ? SAMPLE : 0;
	site->left = site->mark = site->period;
}

void weft_profile_end(struct weft_profile_call *call)
{
	uint64_t end = call->is_timed ? weft_profile_now() : 0;
	struct weft_profile_site *site = call->site;
	struct weft_profile_table *table = weft_profile_thread.table;

	if (weft_unlikely(!site)) {
		if (!table)
			table = table_take(call->start);
		if (!table)
			return;
		site = call->site = call_site(call);
	}
	site->calls++;
	if (call->is_timed) {
		table->last = end;
		call->waits = ticks_awake(end - call->start) *
			      (1 + site->period - site->left);
		add_time(site, end - call->start);
		if (weft_unlikely(table->max_events))
			call->event = event_append(
				table, call->procedure, call->start, end);
	} else if (site->left) {
		site->mark = --site->left;
	} else { /* a sleep ended the sampling: the time of the next timed call
		    also counts for this call */
		site->period++;
	}
	weft_profile_thread.site = call->outer;
	call->slept = weft_profile_thread.slept;
	weft_profile_thread.slept = call->outer_slept;
}

/* ---- messages ---- */

void weft_profile_bytes(struct weft_profile_call *call, uint64_t bytes)
{
	uint32_t class = bytes ? 64 - (uint32_t)__builtin_clzll(bytes) : 0;
	struct weft_profile_site *site = call->site;

	if (!site)
		return;
	if (class >= WEFT_PROFILE_SIZES)
		class = WEFT_PROFILE_SIZES - 1;
	site->bytes += bytes;
	site->sizes[class]++;
	site->key_bytes = bytes;
	site->key_size = class;
	site->key_peer = WEFT_PROFILE_NONE;
}

/* Finds or creates the entry of a process. key: process number + 1. If the
 * table is full, returns the entry for all further processes. */
static struct weft_profile_peer *peer_find(
	struct weft_profile_table *table, uint64_t key)
{
	uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32);

	for (uint32_t i = at;; i++) {
		struct weft_profile_peer *peer =
			&table->peers[i % WEFT_PROFILE_PEERS];

		if (weft_likely(peer->proc == key))
			return peer;
		if (peer->proc)
			continue;
		if (table->n_peers < WEFT_PROFILE_PEERS / 4 * 3 ||
			key == WEFT_PROFILE_OTHERS) {
			table->n_peers++;
			peer->proc = key;
			return peer;
		}
		return peer_find(table, WEFT_PROFILE_OTHERS);
	}
}

/* Returns the entry of the process to which a rank of comm refers; NULL: there
 * is none. */
static struct weft_profile_peer *peer_of(const struct weft_comm *comm, int rank)
{
	if (!weft_profile_thread.table || !comm || rank < 0 ||
		rank >= comm->remote_size)
		return NULL;
	return peer_find(weft_profile_thread.table,
		weft_group_proc(comm->remote, (uint32_t)rank) + 1);
}

/* As peer_of(), for a handle. The last result is cached. It stays valid,
 * because a handle is never reused for another communicator. */
static struct weft_profile_peer *peer_at(MPI_Comm comm, int rank)
{
	if (weft_likely(my_peer.entry && my_peer.comm == comm &&
			my_peer.rank == rank))
		return my_peer.entry;
	my_peer.comm = comm;
	my_peer.rank = rank;
	my_peer.entry = peer_of(weft_mpi_comm(comm), rank);
	return my_peer.entry;
}

/* Called when the library has slept in a call of this thread. A sleep within a
 * call that is not timed ends the sampling. */
static void add_sleep(uint64_t ns)
{
	struct weft_profile_thread *me = &weft_profile_thread;
	struct weft_profile_site *site = me->site;
	struct weft_profile_peer *peer;
	uint64_t ticks;

	if (!me->table || !site)
		return;
	ticks = (uint64_t)((double)ns * 1e-9 / recorder.head->tick_s);
	if (site->left || site->mark) {
		weft_profile_site_settle(me->table, site);
		site->period -= site->left;
		site->left = site->mark = 0;
		me->slept = 0;
		me->table->last = weft_profile_now();
	}
	site->n_short = 0;
	site->ticks += ticks;
	me->slept += ticks;
	if (me->slept > site->longest)
		site->longest = me->slept;
	if (!weft_profile_names[site->procedure].receives)
		return;
	peer = peer_at(me->comm, me->source);
	if (peer)
		peer->waits += ticks;
}

static void count_message(struct weft_profile_call *call,
	struct weft_profile_peer *peer, uint64_t bytes)
{
	weft_profile_bytes(call, bytes);
	if (!peer)
		return;
	peer->messages++;
	peer->bytes += bytes;
	call->site->key_peer =
		(uint32_t)(peer - weft_profile_thread.table->peers);
}

void weft_profile_sent(struct weft_profile_call *call, MPI_Comm comm, int rank,
	int tag, uint64_t bytes)
{
	struct weft_profile_event *event = call->event;
	const struct weft_comm *object;

	if (!call->site)
		return;
	count_message(call, peer_at(comm, rank), bytes);
	if (weft_likely(!event) || rank < 0)
		return;
	object = weft_mpi_comm(comm);
	if (!object)
		return;
	event->sends = true;
	event->context = object->ctx;
	event->bytes = bytes;
	event->me = object->rank;
	event->to = rank;
	event->to_tag = tag;
}

void weft_profile_put(
	struct weft_profile_call *call, MPI_Win win, int rank, uint64_t bytes)
{
	struct weft_win *window = weft_mpi_win(win);

	if (call->site)
		count_message(call, peer_of(window ? window->comm : NULL, rank),
			bytes);
}

/* The PEs are the processes of the job. */
void weft_profile_pe(struct weft_profile_call *call, int pe, uint64_t bytes)
{
	uint64_t first = weft_proc_number((uint32_t)(weft_proc.proc >> 32), 0);

	if (call->site && pe >= 0)
		count_message(call,
			peer_find(weft_profile_thread.table,
				first + (uint32_t)pe + 1),
			bytes);
}

void weft_profile_waited(
	struct weft_profile_call *call, MPI_Comm comm, int rank)
{
	struct weft_profile_peer *peer =
		call->site ? peer_at(comm, rank) : NULL;

	if (peer)
		peer->waits += call->waits;
}

void weft_profile_received(struct weft_profile_call *call, MPI_Comm comm,
	int rank, int tag, const MPI_Status *status, bool waits)
{
	struct weft_profile_event *event = call->event;
	const struct weft_comm *object;

	if (status != MPI_STATUS_IGNORE) {
		if (rank < 0) /* add_sleep() did not know the sender */
			call->waits += call->slept;
		rank = status->MPI_SOURCE;
		tag = status->MPI_TAG;
	}
	if (waits)
		weft_profile_waited(call, comm, rank);
	if (weft_likely(!event) || rank < 0 || tag < 0)
		return;
	object = weft_mpi_comm(comm);
	if (!object)
		return;
	event->receives = true;
	event->context = object->ctx;
	event->me = object->rank;
	event->from = rank;
	event->from_tag = tag;
}

uint64_t weft_profile_members(MPI_Comm comm)
{
	const struct weft_comm *object = weft_mpi_comm(comm);

	return object ? (uint64_t)object->remote_size : 0;
}

/* ---- collectives ---- */

/* Returns the number of entries in the list of neighbours to which this process
 * sends. On a Cartesian grid, an entry may be MPI_PROC_NULL. 0 for an invalid
 * communicator. */
static int neighbor_places(MPI_Comm comm, bool *is_cart)
{
	int kind = MPI_UNDEFINED, n = 0, n_in, is_weighted, rank;

	*is_cart = false;
	if (!weft_mpi_comm(comm) || PMPI_Topo_test(comm, &kind))
		return 0;
	switch (kind) {
	case MPI_CART:
		*is_cart = true;
		PMPI_Cartdim_get(comm, &n);
		return 2 * n;
	case MPI_GRAPH:
		PMPI_Comm_rank(comm, &rank);
		PMPI_Graph_neighbors_count(comm, rank, &n);
		return n;
	case MPI_DIST_GRAPH:
		PMPI_Dist_graph_neighbors_count(comm, &n_in, &n, &is_weighted);
		return n;
	default:
		return 0;
	}
}

/* True if the neighbour at this index on a Cartesian grid is not MPI_PROC_NULL.
 */
static bool cart_has_neighbor(MPI_Comm comm, int place)
{
	int below = MPI_PROC_NULL, above = MPI_PROC_NULL;

	PMPI_Cart_shift(comm, place / 2, 1, &below, &above);
	return (place % 2 ? above : below) != MPI_PROC_NULL;
}

uint64_t weft_profile_neighbors(MPI_Comm comm)
{
	bool is_cart;
	int n = neighbor_places(comm, &is_cart);
	uint64_t neighbors = 0;

	for (int i = 0; i < n; i++)
		neighbors += !is_cart || cart_has_neighbor(comm, i);
	return neighbors;
}

uint64_t weft_profile_sum(bool is_large, uint64_t n, const void *counts,
	const MPI_Datatype *types, MPI_Datatype type)
{
	const MPI_Count *large = counts;
	const int *small = counts;
	uint64_t sum = 0;

	for (uint64_t i = 0; counts && i < n; i++)
		sum += (uint64_t)(is_large ? large[i] : small[i]) *
		       weft_profile_size(types ? types[i] : type);
	return sum;
}

uint64_t weft_profile_neighbor_sum(bool is_large, MPI_Comm comm,
	const void *counts, const MPI_Datatype *types, MPI_Datatype type)
{
	const MPI_Count *large = is_large ? counts : NULL;
	const int *small = is_large ? NULL : counts;
	bool is_cart;
	int n = neighbor_places(comm, &is_cart);
	uint64_t sum = 0;

	for (int i = 0; counts && i < n; i++)
		if (!is_cart || cart_has_neighbor(comm, i))
			sum += (uint64_t)(large ? large[i] : small[i]) *
			       weft_profile_size(types ? types[i] : type);
	return sum;
}

/* Returns the collective operation of a procedure, found by its name in
 * coll_rules.def. MPI_Allgatherv_c is "allgather". */
static enum weft_coll_kind kind_of(const char *name)
{
	char word[64];
	size_t len = 0;
	enum weft_coll_kind kind;

	for (name += strlen("MPI_"); name[len] && len < sizeof(word); len++)
		word[len] = (char)tolower((unsigned char)name[len]);
	if (len > 2 && !memcmp(word + len - 2, "_c", 2))
		len -= 2;
	kind = weft_coll_kind_of(word, len);
	return kind == WEFT_COLL_N ? weft_coll_kind_of(word, len - 1) : kind;
}

void weft_profile_collective(struct weft_profile_call *call, MPI_Comm comm)
{
	struct weft_profile_site *site = call->site;
	const struct weft_comm *object;
	const struct weft_coll_algo *algo;
	enum weft_coll_kind kind;

	if (!site || !call->is_timed || site->n_timed & (site->n_timed - 1))
		return;
	object = weft_mpi_comm(comm);
	kind = kind_of(weft_profile_names[site->procedure].name);
	if (!object || kind == WEFT_COLL_N)
		return;
	algo = object->coll.algo;
	if (algo && algo->kind == kind)
		snprintf(site->algorithm, sizeof(site->algorithm), "%s",
			algo->name);
}
