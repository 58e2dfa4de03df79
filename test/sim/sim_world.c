/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_world: time, events and turns of the simulated processes */
#include "test/sim/sim.h"
#include "test/sim/sim_image.h"
#include "transport/proc.h"
#include "transport/progress.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	STALL_NS = 100000000, /* if there is no event, the idle processes
				 continue after this time */
	STALLS = 3000,	      /* in a row; then the run fails */
	READ_CLOCK_NS = 20,   /* time of a call of clock_gettime() */
	NAMED = 8,
};

/* An event or the turn of a process. */
struct entry {
	uint64_t time;
	uint64_t order; /* of its creation; orders entries of one time */
	struct sim_event *event;
	uint32_t rank, version; /* of a turn */
};

/* A binary heap of entries by time. */
struct queue {
	struct entry *at;
	size_t n, n_places;
};

struct sim_world {
	struct sim_options options;
	struct sim_proc *procs;
	struct sim_links *links;      /* by group of nodes */
	struct sim_links *interfaces; /* by node */
	struct queue events, turns;
	uint64_t order;
	uint32_t n_living; /* processes that have not ended */
	uint32_t n_synced;
	uint32_t n_stalls;
	void (*run)(uint32_t rank);
	int status;
};

static struct sim_world *world; /* in memory that all processes share */
static uint32_t self = UINT32_MAX;

/* ---- the library's view of time ---- */

/* Replaces the function of the C library. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (self == UINT32_MAX || id != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, id, ts);
	sim_charge(READ_CLOCK_NS);
	ts->tv_sec = (time_t)(sim_self()->clock / SIM_NS_PER_S);
	ts->tv_nsec = (long)(sim_self()->clock % SIM_NS_PER_S);
	return 0;
}

/* The same. */
int nanosleep(const struct timespec *ts, struct timespec *left)
{
	(void)left;
	sim_idle(sim_self()->clock + (uint64_t)ts->tv_sec * SIM_NS_PER_S +
		 (uint64_t)ts->tv_nsec);
	return 0;
}

/* The same. The simulated processes share no core. */
int sched_yield(void)
{
	return self == UINT32_MAX ? (int)syscall(SYS_sched_yield) : 0;
}

/* The same. A simulated process has one thread, which makes progress in
 * sim_sync(). */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
	void *(*run)(void *), void *arg)
{
	int (*create)(
		pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (self != UINT32_MAX)
		return EAGAIN;
	*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	return create(thread, attr, run, arg);
}

/* The same. All simulated processes share the limit for descriptors. */
int pipe2(int ends[2], int flags)
{
	if (self != UINT32_MAX) {
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_pipe2, ends, flags);
}

/* ---- memory ---- */

bool sim_world_create(const struct sim_options *options)
{
	world = calloc(1, sizeof(*world));
	if (world) {
		world->options = *options;
		world->procs = calloc(options->n_procs, sizeof(*world->procs));
		world->links = calloc(options->n_procs, sizeof(*world->links));
		world->interfaces =
			calloc(options->n_procs, sizeof(*world->interfaces));
	}
	if (!world || !world->procs || !world->links || !world->interfaces) {
		perror("weft-sim: memory for the simulation");
		return false;
	}
	world->n_living = options->n_procs;
	return true;
}

const struct sim_options *sim_options(void)
{
	return &world->options;
}

uint32_t sim_rank(void)
{
	return self;
}

struct sim_links *sim_links(uint32_t rank)
{
	return &world->links[sim_node(rank) / world->options.topology.n_nodes];
}

struct sim_links *sim_interface(uint32_t rank)
{
	return &world->interfaces[sim_node(rank)];
}

struct sim_proc *sim_proc(uint32_t rank)
{
	return &world->procs[rank];
}

struct sim_proc *sim_self(void)
{
	return &world->procs[self];
}

void *sim_alloc(size_t n)
{
	void *at = malloc(n);

	if (!at)
		sim_fail("no memory for %zu bytes of the simulation", n);
	return at;
}

struct sim_event *sim_event_create(enum sim_kind kind, uint32_t to, size_t len)
{
	struct sim_event *event = sim_alloc(sizeof(*event) + len);

	memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->from = self;
	event->to = to;
	event->len = len;
	return event;
}

void sim_event_free(struct sim_event *event)
{
	free(event);
}

/* ---- queues ---- */

static bool is_earlier(const struct entry *a, const struct entry *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void queue_push(struct queue *queue, struct entry entry)
{
	size_t at = queue->n++;

	if (queue->n > queue->n_places) {
		queue->n_places = 2 * queue->n + 1024;
		queue->at = realloc(queue->at, queue->n_places * sizeof(entry));
		if (!queue->at)
			sim_fail("no memory for %zu events", queue->n);
	}
	entry.order = world->order++;
	for (; at && is_earlier(&entry, &queue->at[(at - 1) / 2]);
		at = (at - 1) / 2)
		queue->at[at] = queue->at[(at - 1) / 2];
	queue->at[at] = entry;
}

static struct entry queue_pop(struct queue *queue)
{
	struct entry *entries = queue->at, top = entries[0];
	struct entry last = entries[--queue->n];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < queue->n &&
			is_earlier(&entries[child + 1], &entries[child]))
			child++;
		if (child >= queue->n || !is_earlier(&entries[child], &last))
			break;
		entries[at] = entries[child];
		at = child;
	}
	entries[at] = last;
	return top;
}

/* The time of the first entry. */
static uint64_t first_time(const struct queue *queue)
{
	return queue->n ? queue->at[0].time : UINT64_MAX;
}

void sim_event_post_take(struct sim_event *event, uint64_t at)
{
	queue_push(
		&world->events, (struct entry){ .time = at, .event = event });
}

static void push_turn(uint32_t rank, uint64_t at)
{
	queue_push(
		&world->turns, (struct entry){ .time = at,
				       .rank = rank,
				       .version = world->procs[rank].version });
}

/* ---- turns ---- */

/* Ends the run. */
static void __attribute__((noreturn)) sim_over(int status)
{
	world->status = status;
	sim_image_switch(world->options.n_procs);
	abort(); /* no process switches back */
}

static void give_turn(uint32_t rank, uint64_t at)
{
	struct sim_proc *p = &world->procs[rank];

	if (p->clock < at)
		p->clock = at;
	p->state = SIM_RUNS;
	p->version++;
	if (rank != self)
		sim_image_switch(rank);
}

static void list_append(struct sim_proc *p, struct sim_event *event)
{
	event->next = NULL;
	if (p->first)
		p->last->next = event;
	else
		p->first = event;
	p->last = event;
}

/* Continues all processes of sim_sync() at the latest of their clocks. */
static void release_synced(void)
{
	uint64_t latest = 0;

	for (uint32_t i = 0; i < world->options.n_procs; i++)
		if (world->procs[i].is_synced && world->procs[i].clock > latest)
			latest = world->procs[i].clock;
	for (uint32_t i = 0; i < world->options.n_procs; i++) {
		if (world->procs[i].is_synced)
			push_turn(i, latest);
		world->procs[i].is_synced = false;
	}
	world->n_synced = 0;
}

/* There is no event. The idle processes continue later, so that their timers
 * can expire. */
static void on_stall(void)
{
	uint32_t waiting[NAMED], n = 0;

	if (world->n_synced && world->n_synced == world->n_living) {
		release_synced();
		return;
	}
	for (uint32_t i = 0; i < world->options.n_procs; i++) {
		struct sim_proc *p = &world->procs[i];

		if (p->state != SIM_IDLE)
			continue;
		push_turn(i, p->clock + STALL_NS);
		if (n < NAMED)
			waiting[n] = i;
		n++;
	}
	if (++world->n_stalls < STALLS && n)
		return;
	sim_fail("%u of %u processes wait, and no event is left; the first is "
		 "%u",
		n, world->n_living, n ? waiting[0] : 0);
}

/* Takes the first event. */
static void deliver(void)
{
	struct entry e = queue_pop(&world->events);
	struct sim_proc *p = &world->procs[e.event->to];

	if (e.event->stage) {
		sim_fabric_move_take(e.event, e.time);
		return;
	}
	if (p->state == SIM_DEAD || p->state == SIM_ENDED) {
		sim_event_free(e.event);
		return;
	}
	list_append(p, e.event);
	world->n_stalls = 0;
	if (p->state != SIM_IDLE)
		return;
	p->state = SIM_READY;
	push_turn(e.event->to, e.time);
}

/* Gives the turn to the process with the earliest turn. Returns when it is this
 * process's turn again. */
static void next_turn(void)
{
	for (;;) {
		uint64_t turn = first_time(&world->turns);
		const struct sim_proc *p;
		struct entry e;

		if (world->events.n && first_time(&world->events) <= turn) {
			deliver();
			continue;
		}
		if (!world->turns.n) {
			if (!world->n_living)
				sim_over(0);
			on_stall();
			continue;
		}
		e = queue_pop(&world->turns);
		p = &world->procs[e.rank];
		if (p->version != e.version || p->state == SIM_DEAD ||
			p->state == SIM_ENDED)
			continue;
		give_turn(e.rank, e.time);
		return;
	}
}

void sim_charge(uint64_t ns)
{
	sim_self()->clock += ns;
}

/* A message of a process whose turn is at a time `turn` leaves after
 * `overhead`, and arrives later. So events up to turn + overhead can be taken
 * before that turn. */
struct sim_event *sim_peek(void)
{
	struct sim_proc *p = sim_self();
	uint64_t overhead = world->options.between.overhead;

	for (;;) {
		uint64_t event = first_time(&world->events);
		uint64_t turn = first_time(&world->turns);

		if (event >= p->clock && turn >= p->clock - overhead)
			return p->first;
		if (event <= turn || event - turn <= overhead) {
			deliver();
			continue;
		}
		push_turn(self, p->clock);
		next_turn();
		return p->first;
	}
}

void sim_drop(void)
{
	sim_self()->first = sim_self()->first->next;
}

void sim_idle(uint64_t until)
{
	struct sim_proc *p = sim_self();

	if (p->first)
		return;
	p->state = SIM_IDLE;
	if (until)
		push_turn(self, until);
	next_turn();
}

void sim_sync(void)
{
	struct sim_proc *p = sim_self();

	p->synced_at = p->clock;
	p->is_synced = true;
	world->n_synced++;
	while (p->is_synced) {
		weft_vci_lock(&weft_proc.vci);
		weft_progress(&weft_proc.vci);
		weft_vci_unlock(&weft_proc.vci);
	}
}

static void sim_end(enum sim_state state)
{
	sim_self()->state = state;
	world->n_synced -= sim_self()->is_synced;
	sim_self()->is_synced = false;
	world->n_living--;
	next_turn();
	abort(); /* no process gives it the turn */
}

void sim_die(void)
{
	for (uint32_t i = 0; i < world->options.n_procs; i++)
		if (i != self && world->procs[i].state != SIM_DEAD)
			sim_event_post_take(sim_event_create(SIM_DIED, i, 0),
				sim_self()->clock + world->options.detect_ns);
	sim_end(SIM_DEAD);
	abort();
}

uint64_t sim_random(uint64_t a, uint64_t b)
{
	uint64_t x = world->options.seed * 0x9e3779b97f4a7c15 + a;

	for (int i = 0; i < 2; i++) {
		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
		x = (x ^ x >> 27) * 0x94d049bb133111eb;
		x = (x ^ x >> 31) + b;
	}
	return x;
}

void sim_fail(const char *format, ...)
{
	va_list ap;

	fputs("weft-sim: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	if (self == UINT32_MAX) {
		fputc('\n', stderr);
		_exit(1);
	}
	fprintf(stderr, ", at %.3f ms\n",
		(double)(sim_self()->clock - SIM_START_NS) / 1e6);
	sim_over(1);
}

/* ---- start and end ---- */

static void proc_main(uint32_t rank)
{
	self = rank;
	world->run(rank);
	sim_end(SIM_ENDED);
}

static void on_deadline(int sig)
{
	(void)sig;
	fprintf(stderr, "weft-sim: not finished after %u s (--deadline)\n",
		world->options.deadline_s);
	_exit(1);
}

int sim_world_run(void (*run)(uint32_t rank))
{
	uint32_t n = world->options.n_procs;

	world->run = run;
	for (uint32_t i = 0; i < n; i++) {
		world->procs[i].clock = SIM_START_NS;
		if (i)
			push_turn(i, SIM_START_NS);
	}
	sim_images_create(n, proc_main);
	signal(SIGALRM, on_deadline);
	alarm(world->options.deadline_s);
	sim_images_run(0);
	return world->status;
}
