/* SPDX-License-Identifier: BSD-3-Clause */
/* top_read: reads the state of a job's processes on this node from outside */
#include "tools/top_read.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/handle.h"
#include "base/plain.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	TRIES = 20,	 /* attempts to read a list that changes meanwhile */
	LIST_MAX = 4096, /* a longer list has changed while it was read */
	ANCESTORS_MAX = 64,
};

/* ---- the memory of another process ---- */

/* Reads len bytes at an address of the process. Each call is a system call, so
 * reads are ordered. */
static bool top_fetch(
	const struct weft_top_proc *proc, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(proc->mem_fd, (char *)buf + done, len - done,
			(off_t)(addr + done));

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* ---- waits ---- */

static void take_wait(struct weft_top_proc *proc, const struct weft_wait *wait)
{
	proc->facts = wait->facts;
	proc->facts.call[sizeof(proc->facts.call) - 1] = '\0';
	proc->facts.object[sizeof(proc->facts.object) - 1] = '\0';
	memcpy(proc->text, wait->text, sizeof(proc->text));
	proc->text[sizeof(proc->text) - 1] = '\0';
	proc->since_ns = wait->begun_ns;
	proc->epoch = wait->epoch;
	proc->edges_ns = wait->edges_ns;
	proc->is_sure = true;
}

/* Adds the edges of one more wait of the call, with clauses of their own. */
static bool take_edges(struct weft_top_proc *proc, const struct weft_wait *wait,
	uint16_t clause)
{
	uint32_t n = weft_min(wait->n_edges, WEFT_WIRE_EDGES - proc->n_edges);
	struct weft_wire_edge *to = &proc->edges[proc->n_edges];

	proc->is_sure = proc->is_sure && wait->is_sure;
	proc->edges_ns = weft_min(proc->edges_ns, wait->edges_ns);
	if (!wait->edges || !n)
		return true;
	if (!top_fetch(proc, (uintptr_t)wait->edges, to, n * sizeof(*to)))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		to[i].clause = (uint16_t)(to[i].clause + clause);
		to[i].label[WEFT_WIRE_LABEL - 1] = '\0';
	}
	proc->n_edges += n;
	return true;
}

static bool take_waits(
	struct weft_top_proc *proc, const struct weft_wait_registry *registry)
{
	const uint64_t head = proc->page.registry +
			      offsetof(struct weft_wait_registry, waits);
	uint64_t at = (uintptr_t)registry->waits.next;
	uint16_t clause = 0;
	struct weft_wait wait;

	proc->is_waiting = proc->is_polling = false;
	proc->n_edges = 0;
	for (int n = 0; at != head; n++) {
		uint64_t from = at - offsetof(struct weft_wait, link);

		if (n == LIST_MAX ||
			!top_fetch(proc, from, &wait, sizeof(wait)))
			return false;
		at = (uintptr_t)wait.link.next;
		if (wait.is_poll && !proc->is_waiting) {
			proc->is_polling = true;
			take_wait(proc, &wait);
		}
		if (wait.is_poll ||
			(proc->is_waiting && wait.epoch != proc->epoch))
			continue;
		if (!proc->is_waiting)
			take_wait(proc, &wait);
		proc->is_waiting = true;
		if (!take_edges(proc, &wait, clause))
			return false;
		clause += 1000;
	}
	return true;
}

/* A loop that polls a word of memory publishes a note instead of a wait. */
static void take_note(
	struct weft_top_proc *proc, const struct weft_wait_registry *registry)
{
	const struct weft_wait note = {
		.begun_ns = registry->note_since_ns,
		.facts = { .peer = WEFT_WAIT_NONE, .tag = WEFT_WAIT_NONE },
	};

	if (proc->is_waiting || !registry->noted_ns ||
		weft_now_ns() > registry->noted_ns + WEFT_NS_PER_S)
		return;
	take_wait(proc, &note);
	proc->is_waiting = true;
	proc->is_polling = false;
	memcpy(proc->text, registry->note, sizeof(proc->text));
	proc->text[sizeof(proc->text) - 1] = '\0';
	snprintf(proc->facts.call, sizeof(proc->facts.call), "%.60s",
		proc->text + (strncmp(proc->text, "in ", 3) ? 0 : 3));
}

/* False: the registry could not be read. If it changes during every reading,
 * the last reading is used. */
static bool read_waits(struct weft_top_proc *proc)
{
	const uint64_t changes = proc->page.registry +
				 offsetof(struct weft_wait_registry, changes);
	struct weft_wait_registry registry;
	uint32_t before, after;
	bool is_whole = false;

	for (int i = 0; i < TRIES && !is_whole; i++) {
		/* a separate read, because the words of one read have no order
		 */
		if (!top_fetch(proc, changes, &before, sizeof(before)) ||
			!top_fetch(proc, proc->page.registry, &registry,
				sizeof(registry)))
			return false;
		is_whole = take_waits(proc, &registry) &&
			   top_fetch(proc, changes, &after, sizeof(after)) &&
			   !(before & 1) && before == after;
	}
	take_note(proc, &registry);
	return true;
}

/* ---- counters ---- */

enum { CLOSED_MAX = WEFT_COUNTER_OWNERS * WEFT_TOP_COUNTERS };

static bool fetch_closed(
	const struct weft_top_proc *proc, uint64_t closed[CLOSED_MAX])
{
	return top_fetch(proc, proc->page.counters_closed, closed,
		WEFT_COUNTER_OWNERS * weft_counter_count() * sizeof(*closed));
}

/* Adds the counters of all open objects. */
static bool add_open_counters(
	const struct weft_top_proc *proc, uint64_t sums[WEFT_TOP_COUNTERS])
{
	const size_t n = weft_counter_count();
	struct weft_link link;
	uint64_t at;

	if (!top_fetch(proc, proc->page.counters_open, &link, sizeof(link)))
		return false;
	at = (uintptr_t)link.next;
	for (int k = 0; at != proc->page.counters_open; k++) {
		uint64_t from = at - offsetof(struct weft_counters, link);
		struct weft_counters one;

		if (k == LIST_MAX || !top_fetch(proc, from, &one, sizeof(one)))
			return false;
		for (size_t i = 0; i < n; i++)
			sums[i] += ((const uint64_t *)&one)[i];
		at = (uintptr_t)one.link.next;
	}
	return true;
}

/* An object that closes meanwhile adds its counters to the sums of closed
 * objects. If these sums change, the reading is repeated. Without a consistent
 * reading, the values of the previous call remain. */
static bool read_counters(struct weft_top_proc *proc)
{
	const size_t n = weft_counter_count();
	uint64_t closed[CLOSED_MAX] = { 0 }, after[CLOSED_MAX] = { 0 };
	bool is_whole = false;

	for (int k = 0; k < TRIES && !is_whole; k++) {
		uint64_t sums[WEFT_TOP_COUNTERS] = { 0 };

		if (!fetch_closed(proc, closed))
			return false;
		is_whole = add_open_counters(proc, sums) &&
			   fetch_closed(proc, after) &&
			   !memcmp(closed, after, sizeof(closed));
		for (size_t i = 0; i < WEFT_COUNTER_OWNERS * n; i++)
			sums[i % n] += closed[i];
		if (is_whole)
			memcpy(proc->now.counters, sums, sizeof(sums));
	}
	return true;
}

/* ---- communicators ---- */

static void take_comm(struct weft_top_proc *proc, struct weft_comm *comm)
{
	struct weft_top_comm *to = &proc->comms[proc->n_comms];

	if (!(comm->obj.gen & 1))
		return;
	comm->name[sizeof(comm->name) - 1] = '\0';
	comm->tag[sizeof(comm->tag) - 1] = '\0';
	snprintf(to->name, sizeof(to->name), "%.31s", weft_comm_label(comm));
	to->size = comm->size;
	to->n_posted = comm->match.n_posted;
	to->n_unexpected = comm->match.n_unexpected;
	proc->now.n_collectives += comm->coll.seq;
	proc->n_comms++;
}

static bool read_comms(struct weft_top_proc *proc)
{
	const uint64_t table = proc->page.comms;
	struct weft_comm comm;
	uint64_t chunk = 0;
	uint32_t n;

	proc->n_comms = 0;
	proc->now.n_collectives = 0;
	if (!proc->comms)
		proc->comms = calloc(WEFT_TOP_COMMS, sizeof(*proc->comms));
	if (!proc->comms ||
		!top_fetch(proc, table + offsetof(struct weft_table, n_used),
			&n, sizeof(n)))
		return false;
	for (uint32_t i = 0; i < weft_min(n, WEFT_TOP_COMMS); i++) {
		uint32_t k = i % WEFT_TABLE_CHUNK;

		if (k == 0 &&
			!top_fetch(proc,
				table + offsetof(struct weft_table, chunk) +
					i / WEFT_TABLE_CHUNK * sizeof(char *),
				&chunk, sizeof(chunk)))
			return false;
		if (chunk && top_fetch(proc, chunk + k * weft_comms.size, &comm,
				     sizeof(comm)))
			take_comm(proc, &comm);
	}
	return true;
}

/* ---- the kernel's files ---- */

static FILE *open_proc_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

/* False: the process has ended. */
static bool read_kernel_state(pid_t pid, char *state_out, pid_t *parent_out)
{
	FILE *file = open_proc_file(pid, "stat");
	char line[512];
	const char *at;
	size_t n;

	if (!file)
		return false;
	n = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[n] = '\0';
	at = strrchr(line, ')'); /* the end of the name */
	return at && sscanf(at + 1, " %c %d", state_out, parent_out) == 2;
}

static void read_memory(struct weft_top_proc *proc)
{
	FILE *file = open_proc_file(proc->pid, "statm");
	unsigned long long all = 0, resident = 0, shared = 0;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!file)
		return;
	if (fscanf(file, "%llu %llu %llu", &all, &resident, &shared) == 3) {
		proc->memory = resident * page;
		proc->shared_memory = shared * page;
	}
	fclose(file);
}

static uid_t user_of(pid_t pid, bool *is_there_out)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	*is_there_out = !stat(path, &st);
	return *is_there_out ? st.st_uid : (uid_t)-1;
}

/* ---- find ---- */

/* True if a link of /proc/PID/fd can refer to a page. The page is a memfd, or
 * an unnamed file where memfd_create is forbidden. */
static bool is_page_link(const char *path)
{
	char to[128];
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	if (n < 0)
		return false;
	to[n] = '\0';
	return !strncmp(to, "/memfd:" WEFT_MONITOR_FILE, 19) ||
	       !strncmp(to, "/dev/shm/#", 10);
}

/* Reads the page behind a descriptor of a process. */
static int open_page(
	const char *path, pid_t pid, struct weft_monitor_page *page_out)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -1;
	if (pread(fd, page_out, sizeof(*page_out), 0) ==
			(ssize_t)sizeof(*page_out) &&
		page_out->magic == WEFT_MONITOR_MAGIC && page_out->pid == pid) {
		page_out->job[sizeof(page_out->job) - 1] = '\0';
		page_out->build[sizeof(page_out->build) - 1] = '\0';
		/* both strings are printed later */
		weft_plain(page_out->job, sizeof(page_out->job));
		weft_plain(page_out->build, sizeof(page_out->build));
		return fd;
	}
	close(fd);
	return -1;
}

/* Finds the page of a process. -1: it has none, or this user has no permission
 * to read its descriptors. */
static int find_page(pid_t pid, struct weft_monitor_page *page_out)
{
	char dir_name[64], path[352];
	const struct dirent *entry;
	int fd = -1;
	DIR *dir;

	snprintf(dir_name, sizeof(dir_name), "/proc/%d/fd", (int)pid);
	dir = opendir(dir_name);
	while (dir && fd < 0 && (entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", dir_name, entry->d_name);
		if (is_page_link(path))
			fd = open_page(path, pid, page_out);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/* True if pid is the process, or one of its ancestors. */
static bool is_within(pid_t proc, pid_t pid)
{
	char state;

	for (int i = 0; i < ANCESTORS_MAX && proc > 1; i++) {
		if (proc == pid)
			return true;
		if (!read_kernel_state(proc, &state, &proc))
			return false;
	}
	return false;
}

/* A process with a page. */
struct found {
	struct weft_monitor_page page;
	pid_t pid;
	int page_fd;
};

struct found_list {
	size_t n;
	struct found *all;
};

static bool is_of_want(
	const struct found *found, uid_t user, const struct weft_top_want *want)
{
	if (want->pid)
		return is_within(found->pid, want->pid);
	if (want->name)
		return !strcmp(found->page.job, want->name);
	return user == geteuid();
}

static void find_pages(
	const struct weft_top_want *want, struct found_list *list)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		struct found found = { .pid = atoi(entry->d_name) };
		struct found *all;
		bool is_there;
		uid_t user;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		user = user_of(found.pid, &is_there);
		found.page_fd = find_page(found.pid, &found.page);
		if (found.page_fd < 0)
			continue;
		all = is_of_want(&found, user, want)
			      ? realloc(list->all, (list->n + 1) * sizeof(*all))
			      : NULL;
		if (!all) {
			close(found.page_fd);
			continue;
		}
		list->all = all;
		list->all[list->n++] = found;
	}
	if (dir)
		closedir(dir);
}

/* Writes to why the reason why no process was found. */
static void explain_none(
	const struct weft_top_want *want, char why[WEFT_TOP_WHY])
{
	const struct passwd *me = getpwuid(geteuid()), *other;
	char mine[64], theirs[64] = "?";
	bool is_there = false;
	uid_t user = want->pid ? user_of(want->pid, &is_there) : 0;

	snprintf(mine, sizeof(mine), "%.63s", me ? me->pw_name : "?");
	if (want->pid && is_there && user != geteuid() && geteuid()) {
		other = getpwuid(user);
		if (other)
			snprintf(theirs, sizeof(theirs), "%.63s",
				other->pw_name);
		snprintf(why, WEFT_TOP_WHY,
			"process %d belongs to user %s (%u), and the kernel "
			"shows its state only to that user and to root; this "
			"is user %s (%u)",
			(int)want->pid, theirs, (unsigned)user, mine,
			(unsigned)geteuid());
	} else if (want->pid) {
		snprintf(why, WEFT_TOP_WHY,
			"process %d %s: give the pid of a launcher, or of a "
			"process that has called MPI_Init, MPI_Session_init or "
			"shmem_init (weft-top --list)",
			(int)want->pid,
			is_there ? "belongs to no job of Weft on this node"
				 : "does not exist");
	} else {
		snprintf(why, WEFT_TOP_WHY,
			"user %s has no job%s%.200s%s with a process in MPI or "
			"OpenSHMEM on this node (weft-top --list)",
			mine, want->name ? " \"" : "",
			want->name ? want->name : "", want->name ? "\"" : "");
	}
}

/* Returns the process that opened its first session last. */
static const struct found *newest_of(const struct found_list *list)
{
	const struct found *newest = &list->all[0];

	for (size_t i = 1; i < list->n; i++)
		if (list->all[i].page.opened_ns > newest->page.opened_ns)
			newest = &list->all[i];
	return newest;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct weft_top_proc *pa = a, *pb = b;

	return (pa->rank > pb->rank) - (pa->rank < pb->rank);
}

static void set_size(struct weft_top_job *job)
{
	if (job->n)
		job->size = job->procs[0].page.size ? job->procs[0].page.size
						    : (uint32_t)job->n;
}

void weft_top_job_sort(struct weft_top_job *job)
{
	qsort(job->procs, job->n, sizeof(*job->procs), compare_ranks);
	set_size(job);
}

/* Adds a found process to the job. Does not open its memory if the process is
 * of another build. */
static void take_proc(struct weft_top_job *job, struct found *found)
{
	struct weft_top_proc *proc = &job->procs[job->n++];
	char path[64], build[WEFT_MONITOR_BUILD];

	weft_monitor_print_build(build);
	*proc = (struct weft_top_proc){ .page = found->page,
		.pid = found->pid,
		.rank = (uint32_t)found->page.proc,
		.page_fd = found->page_fd };
	found->page_fd = -1;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)proc->pid);
	proc->mem_fd = -1;
	if (strcmp(proc->page.build, build) != 0)
		return;
	proc->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	proc->mem_errno = proc->mem_fd < 0 ? errno : 0;
}

static bool take_job(struct weft_top_job *job, const struct found_list *list)
{
	const struct found *newest = newest_of(list);

	job->procs = calloc(list->n, sizeof(*job->procs));
	if (!job->procs)
		return false;
	snprintf(job->name, sizeof(job->name), "%s", newest->page.job);
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->all[i].page.job, job->name))
			take_proc(job, &list->all[i]);
	weft_top_job_sort(job);
	return true;
}

/* True if at least one process can be read. Otherwise writes the reason to why:
 * its build, or a missing permission. */
static bool check_job(const struct weft_top_job *job, char why[WEFT_TOP_WHY])
{
	const struct weft_top_proc *proc = &job->procs[0];
	bool is_refused = proc->mem_errno == EACCES || proc->mem_errno == EPERM;
	char build[WEFT_MONITOR_BUILD];

	for (size_t i = 0; i < job->n; i++)
		if (job->procs[i].mem_fd >= 0)
			return true;
	if (!proc->mem_errno) {
		weft_monitor_print_build(build);
		snprintf(why, WEFT_TOP_WHY,
			"process %d uses Weft %s, but this weft-top is of Weft "
			"%s: use the weft-top of the installation that the job "
			"uses",
			(int)proc->pid, proc->page.build, build);
		return false;
	}
	snprintf(why, WEFT_TOP_WHY,
		"cannot open the memory of process %d: %s%s", (int)proc->pid,
		strerror(proc->mem_errno),
		is_refused ? ". With kernel.yama.ptrace_scope 2 or 3 only root "
			     "may read it; with 1, the process must use shared "
			     "memory (WEFT_SHM)"
			   : "");
	return false;
}

static void found_list_fini(struct found_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].page_fd >= 0)
			close(list->all[i].page_fd);
	free(list->all);
}

bool weft_top_job_find(struct weft_top_job *job,
	const struct weft_top_want *want, char why[WEFT_TOP_WHY])
{
	struct found_list list = { 0 };
	bool is_found = false;

	*job = (struct weft_top_job){ 0 };
	find_pages(want, &list);
	if (list.n && !take_job(job, &list))
		snprintf(why, WEFT_TOP_WHY, "out of memory");
	else if (list.n)
		is_found = check_job(job, why);
	else
		explain_none(want, why);
	found_list_fini(&list);
	if (!is_found)
		weft_top_job_fini(job);
	return is_found;
}

static void top_proc_fini(struct weft_top_proc *proc)
{
	if (proc->mem_fd >= 0)
		close(proc->mem_fd);
	if (proc->page_fd >= 0)
		close(proc->page_fd);
	free(proc->comms);
}

void weft_top_job_fini(struct weft_top_job *job)
{
	for (size_t i = 0; i < job->n; i++)
		top_proc_fini(&job->procs[i]);
	free(job->procs);
	*job = (struct weft_top_job){ 0 };
}

void weft_top_jobs_print(FILE *to)
{
	struct weft_top_want want = { 0 };
	struct found_list list = { 0 };

	find_pages(&want, &list);
	for (size_t i = 0; i < list.n; i++) {
		const char *name = list.all[i].page.job;
		uint32_t n = 0;
		size_t first = 0;

		while (strcmp(list.all[first].page.job, name))
			first++;
		for (size_t k = i; first == i && k < list.n; k++)
			n += !strcmp(list.all[k].page.job, name);
		if (n)
			fprintf(to, "%s: %u of %u processes on this node\n",
				name, n,
				list.all[i].page.size ? list.all[i].page.size
						      : n);
	}
	found_list_fini(&list);
}

/* ---- read ---- */

static bool read_proc(struct weft_top_proc *proc)
{
	int n_sessions = 0;
	pid_t parent;

	if (!read_kernel_state(proc->pid, &proc->state, &parent) ||
		proc->state == 'Z')
		return false;
	read_memory(proc);
	proc->before = proc->now;
	proc->now.at_ns = weft_now_ns();
	proc->is_readable = proc->mem_fd >= 0 && read_waits(proc) &&
			    read_counters(proc) && read_comms(proc) &&
			    top_fetch(proc, proc->page.n_sessions, &n_sessions,
				    sizeof(n_sessions));
	proc->has_session = n_sessions > 0;
	return true;
}

static bool has_proc(const struct weft_top_job *job, pid_t pid)
{
	for (size_t i = 0; i < job->n; i++)
		if (job->procs[i].pid == pid)
			return true;
	return false;
}

/* Adds the processes that have opened a session since the last call. */
static void add_new(struct weft_top_job *job)
{
	const struct weft_top_want want = { .name = job->name };
	struct weft_top_proc *procs;
	struct found_list list = { 0 };

	find_pages(&want, &list);
	procs = realloc(job->procs, (job->n + list.n + 1) * sizeof(*procs));
	if (procs)
		job->procs = procs;
	for (size_t i = 0; procs && i < list.n; i++)
		if (!has_proc(job, list.all[i].pid))
			take_proc(job, &list.all[i]);
	weft_top_job_sort(job);
	found_list_fini(&list);
}

void weft_top_job_read(struct weft_top_job *job)
{
	size_t n = 0;

	if (job->n && (!job->procs[0].page.size ||
			      job->n < job->procs[0].page.local_size))
		add_new(job);
	for (size_t i = 0; i < job->n; i++)
		if (read_proc(&job->procs[i]))
			job->procs[n++] = job->procs[i];
		else
			top_proc_fini(&job->procs[i]);
	job->n = n;
	set_size(job);
}

uint64_t weft_top_job_watch(struct weft_top_job *job)
{
	const uint64_t now = weft_now_ns();

	for (size_t i = 0; i < job->n; i++)
		(void)!pwrite(job->procs[i].page_fd, &now, sizeof(now),
			offsetof(struct weft_monitor_page, watched_ns));
	return now;
}
