/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_record: the tables of this process, in a mapped file
 *
 * The first call after initialization opens the file. A thread maps its table
 * at its first call, and the table is free for another thread when the thread
 * ends. If the file cannot be used, nothing is recorded. */
#include "profile/profile_record.h"

#include "base/knob.h"
#include "base/log.h"
#include "coll/coll_algo.h"
#include "profile/profile_finish.h"
#include "transport/proc.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
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

enum { SITE_OTHERS = 1, CALIBRATE_NS = 1000000, FRAME_MAX = 16384 };

/* The record of this process. Guarded by lock, except is_off. */
static struct {
	pthread_mutex_t lock;
	atomic_bool is_off; /* nothing is recorded (any more) */
	bool is_traced;	    /* with a timeline */
	bool is_temporary;  /* dir was created for this job */
	char dir[4096];	    /* of the records */
	int fd;
	struct weft_profile_head *head; /* NULL: not opened yet */
	struct weft_profile_table *free[WEFT_PROFILE_THREADS];
	uint32_t n_free;
	pthread_key_t key; /* its destructor frees the table of a thread */
	/* code of libweft_fortran, whose callers are the call sites */
	uintptr_t fortran;
	size_t fortran_len;
} recorder = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The table of this thread. NULL: none yet, or the recorder is off. */
static __thread struct weft_profile_table *my_table
	__attribute__((tls_model("initial-exec")));

/* The entry of this thread's table that was used last. */
static __thread struct {
	MPI_Comm comm;
	int rank;
	struct weft_profile_peer *entry; /* NULL: none */
} my_peer __attribute__((tls_model("initial-exec")));

/* ---- opening ---- */

/* One warning per node. */
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
	my_table = NULL;
	my_peer.entry = NULL;
}

static int find_fortran(struct dl_phdr_info *info, size_t len, void *unused)
{
	(void)len;
	(void)unused;
	if (!strstr(info->dlpi_name, "libweft_fortran."))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_LOAD ||
			!(info->dlpi_phdr[i].p_flags & PF_X))
			continue;
		recorder.fortran = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		recorder.fortran_len = info->dlpi_phdr[i].p_memsz;
	}
	return 1;
}

/* Seconds of one tick, measured for a millisecond. */
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
}

/* The directory of the records. Without one, a directory of this job in the
 * current directory is created. */
static void find_dir(void)
{
	char job[WEFT_BOOT_JOB_MAX];

	if (*weft_knobs.profile_dir) {
		snprintf(recorder.dir, sizeof(recorder.dir), "%s",
			weft_knobs.profile_dir);
		return;
	}
	snprintf(job, sizeof(job), "%s", weft_proc.facts.job);
	for (char *c = job; *c; c++)
		if (*c == '/')
			*c = '_';
	snprintf(recorder.dir, sizeof(recorder.dir), "%s/weft-profile.%s",
		weft_knob_folder() ? weft_knob_folder() : ".", job);
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
	dl_iterate_phdr(find_fortran, NULL);
	head_fill(head);
	recorder.is_traced = weft_profile_is_trace(weft_knobs.profile);
	recorder.head = head;
}

/* When the process exits. Weft's mpiexec reads the records itself. */
__attribute__((destructor)) static void recorder_close(void)
{
	if (!recorder.head || recorder.head->pid != (uint32_t)getpid() ||
		!strcmp(weft_proc.facts.manager, "mpiexec"))
		return;
	atomic_store_explicit(&recorder.is_off, true, memory_order_relaxed);
	fsync(recorder.fd);
	weft_profile_finish(weft_knobs.profile, recorder.dir,
		weft_proc.facts.rank, weft_proc.facts.size,
		recorder.is_temporary);
}

/* Lock held. NULL: no space. */
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

/* The table of a thread that has none; it sets my_table. */
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
	my_table = table;
	return table;
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

/* The index of an object's path in the head. */
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

/* A new site in a free place of the table. */
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
		/* an entry for each procedure fits into the last quarter */
		return site_find(table, 0, SITE_OTHERS);
	}
}

/* The return address beyond the frames of the Fortran library. A frame that
 * does not lie closely above the one before ends the search. */
static uint64_t call_address(void *const *frame)
{
	while (weft_unlikely((uintptr_t)frame[1] - recorder.fortran <
			     recorder.fortran_len)) {
		void *const *next = *frame;

		if ((uintptr_t)next - (uintptr_t)frame - 1 >= FRAME_MAX ||
			(uintptr_t)next % sizeof(void *))
			break;
		frame = next;
	}
	return (uintptr_t)frame[1];
}

static void event_append(struct weft_profile_table *table, uint32_t procedure,
	uint64_t start, uint64_t end)
{
	struct weft_profile_event *event = &table->events[table->n_events];

	if (table->n_events == table->max_events) {
		table->n_dropped++;
		return;
	}
	event->start = start;
	event->end = end;
	event->procedure = procedure;
	table->n_events++;
}

/* The event of the call that was added last; NULL: there is none. */
static struct weft_profile_event *event_last(void)
{
	if (!my_table || !my_table->n_events || my_table->n_dropped)
		return NULL;
	return &my_table->events[my_table->n_events - 1];
}

struct weft_profile_site *weft_profile_add(
	uint32_t procedure, void *const *frame, uint64_t start)
{
	uint64_t end = weft_profile_now(), ticks = end - start;
	struct weft_profile_table *table = my_table;
	struct weft_profile_site *site;

	if (weft_unlikely(!table)) {
		table = table_take(start);
		if (!table)
			return NULL;
	}
	table->last = end;
	site = site_find(table, procedure, call_address(frame));
	site->calls++;
	site->ticks += ticks;
	if (ticks < site->shortest)
		site->shortest = ticks;
	if (ticks > site->longest)
		site->longest = ticks;
	if (weft_unlikely(table->max_events))
		event_append(table, procedure, start, end);
	return site;
}

/* ---- messages ---- */

void weft_profile_bytes(struct weft_profile_site *site, uint64_t bytes)
{
	uint32_t class = bytes ? 64 - (uint32_t)__builtin_clzll(bytes) : 0;

	if (!site)
		return;
	site->bytes += bytes;
	site->sizes
		[class < WEFT_PROFILE_SIZES ? class : WEFT_PROFILE_SIZES - 1]++;
}

/* The entry of a process; that of all others if the table is full. */
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

/* The entry of a rank that messages on comm go to; NULL: there is none. */
static struct weft_profile_peer *peer_of(const struct weft_comm *comm, int rank)
{
	if (!my_table || !comm || rank < 0 || rank >= comm->remote_size)
		return NULL;
	return peer_find(
		my_table, weft_group_proc(comm->remote, (uint32_t)rank) + 1);
}

/* The same for a handle; the last answer is kept. A handle never stands for
 * another communicator later. */
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

static void count_message(struct weft_profile_site *site,
	struct weft_profile_peer *peer, uint64_t bytes)
{
	weft_profile_bytes(site, bytes);
	if (!peer)
		return;
	peer->messages++;
	peer->bytes += bytes;
}

void weft_profile_sent(struct weft_profile_site *site, MPI_Comm comm, int rank,
	int tag, uint64_t bytes)
{
	const struct weft_comm *object;
	struct weft_profile_event *event = event_last();

	count_message(site, peer_at(comm, rank), bytes);
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
	struct weft_profile_site *site, MPI_Win win, int rank, uint64_t bytes)
{
	struct weft_win *window = weft_mpi_win(win);

	count_message(site, peer_of(window ? window->comm : NULL, rank), bytes);
}

/* The PEs are the processes of the job. */
void weft_profile_pe(struct weft_profile_site *site, int pe, uint64_t bytes)
{
	uint64_t first = weft_proc_number((uint32_t)(weft_proc.proc >> 32), 0);

	if (my_table && pe >= 0)
		count_message(site,
			peer_find(my_table, first + (uint32_t)pe + 1), bytes);
}

void weft_profile_waited(MPI_Comm comm, int rank, uint64_t start)
{
	struct weft_profile_peer *peer = peer_at(comm, rank);

	if (peer)
		peer->waits += my_table->last - start;
}

void weft_profile_received(MPI_Comm comm, int rank, int tag,
	const MPI_Status *status, uint64_t start)
{
	const struct weft_comm *object;
	struct weft_profile_event *event = event_last();

	if (status != MPI_STATUS_IGNORE) {
		rank = status->MPI_SOURCE;
		tag = status->MPI_TAG;
	}
	if (start)
		weft_profile_waited(comm, rank, start);
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

/* ---- collectives ---- */

/* The operation of MPI_Allgatherv_c in the rules: "allgather". */
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

void weft_profile_collective(struct weft_profile_site *site, MPI_Comm comm)
{
	const struct weft_comm *object;
	const struct weft_coll_algo *algo;
	enum weft_coll_kind kind;

	if (!site || site->calls & (site->calls - 1))
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
