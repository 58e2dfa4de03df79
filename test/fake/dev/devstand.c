/* SPDX-License-Identifier: BSD-3-Clause */
/* devstand: memory of devices for the stand-ins of drivers; README.md */
#include "devstand.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct stand stand = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- start ---- */

long stand_number(const char *name, long otherwise)
{
	const char *value = getenv(name);

	return value ? atol(value) : otherwise;
}

void stand_start(void)
{
	if (stand.pid)
		return;
	stand.n_devices = (int)stand_number("DEVSTAND_DEVICES", 1);
	stand.fail_at = stand_number("DEVSTAND_FAIL", 0);
	stand.owns_all = stand_number("DEVSTAND_ALL", 0);
	stand.has_no_ipc = stand_number("DEVSTAND_NO_IPC", 0);
	stand.open_fails_at = stand_number("DEVSTAND_FAIL_OPEN", 0);
	stand.pid = getpid();
}

bool stand_is_started(void)
{
	return stand.pid == getpid();
}

bool stand_fails(void)
{
	return ++stand.n_calls == stand.fail_at;
}

/* ---- memory ---- */

static bool has_bytes_of(const struct stand_alloc *a, uint64_t at, size_t len)
{
	uint64_t base = (uintptr_t)a->base;

	return a->base && at < base + a->len && base < at + len;
}

struct stand_alloc *stand_alloc_among(uint64_t at, size_t len)
{
	for (int i = 0; i < stand.n_allocs; i++)
		if (has_bytes_of(&stand.allocs[i], at, len))
			return &stand.allocs[i];
	return NULL;
}

struct stand_alloc *stand_alloc_of(uint64_t at)
{
	return stand_alloc_among(at, 1);
}

bool stand_is_host(const struct stand_alloc *a)
{
	return a->kind == STAND_PINNED || a->kind == STAND_REGISTERED ||
	       a->kind == STAND_ALIAS;
}

struct stand_alloc *stand_free_entry(void)
{
	struct stand_alloc *a = stand.allocs;

	while (a < stand.allocs + stand.n_allocs && a->base)
		a++;
	if (a == stand.allocs + STAND_MAX_ALLOCS)
		return NULL;
	if (a == stand.allocs + stand.n_allocs)
		stand.n_allocs++;
	return a;
}

/* Maps the memory file fd twice. */
static int map_twice(struct stand_alloc *a, int fd)
{
	a->alias = mmap(
		NULL, a->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	a->base = mmap(NULL, a->mapped, PROT_NONE, MAP_SHARED, fd, 0);
	return a->alias == MAP_FAILED || a->base == MAP_FAILED ? STAND_NO_MEMORY
							       : STAND_OK;
}

static int map_device(struct stand_alloc *a)
{
	char name[32];
	int err;

	snprintf(name, sizeof(name), "devstand-%lu", (unsigned long)a->id);
	a->fd = memfd_create(name, MFD_CLOEXEC);
	if (a->fd < 0)
		return STAND_NO_MEMORY;
	err = ftruncate(a->fd, (off_t)a->mapped) ? STAND_NO_MEMORY
						 : map_twice(a, a->fd);
	if (err)
		close(a->fd);
	return err;
}

static size_t pages_of(size_t len)
{
	return (len + STAND_PAGE - 1) / STAND_PAGE * STAND_PAGE;
}

int stand_make(
	size_t len, enum stand_kind kind, int device, struct stand_alloc **out)
{
	struct stand_alloc *a = stand_free_entry();
	int err = STAND_OK;

	if (!len)
		return STAND_INVALID;
	if (!a)
		return STAND_NO_MEMORY;
	*a = (struct stand_alloc){ .len = len,
		.mapped = pages_of(len),
		.kind = kind,
		.device = device,
		.id = ++stand.n_allocated };
	if (kind == STAND_DEVICE) {
		err = map_device(a);
	} else {
		a->base = mmap(NULL, a->mapped, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		a->alias = a->base;
		err = a->base == MAP_FAILED ? STAND_NO_MEMORY : STAND_OK;
	}
	if (err)
		a->base = NULL;
	else
		*out = a;
	return err;
}

void stand_unmake(struct stand_alloc *a)
{
	if (a->n_held) {
		fprintf(stderr, "devstand: a network card has registered the "
				"memory that is freed\n");
		abort();
	}
	if (a->alias != a->base && a->kind != STAND_ALIAS)
		munmap(a->alias, a->mapped);
	if (a->kind != STAND_REGISTERED)
		munmap(a->base, a->mapped);
	if (a->kind == STAND_DEVICE)
		close(a->fd);
	a->base = NULL;
}

/* ---- registered host memory ---- */

/* True if the process has mapped these pages. */
static bool is_mapped(char *at, size_t len)
{
	unsigned char in_core[1024];
	size_t now;

	for (; len; at += now, len -= now) {
		now = len < sizeof(in_core) * STAND_PAGE
			      ? len
			      : sizeof(in_core) * STAND_PAGE;
		if (mincore(at, now, in_core))
			return false;
	}
	return true;
}

int stand_register(char *at, size_t len, int device, struct stand_alloc **out)
{
	struct stand_alloc *a;

	if (++stand.n_pins == stand.pin_fails_at)
		return STAND_NO_MEMORY;
	if (!at || !len || (uintptr_t)at % STAND_PAGE || len % STAND_PAGE ||
		!is_mapped(at, len))
		return STAND_INVALID;
	a = stand_alloc_among((uintptr_t)at, len);
	if (a)
		return a->kind == STAND_REGISTERED ? STAND_CONFLICT
						   : STAND_INVALID;
	a = stand_free_entry();
	if (!a)
		return STAND_NO_MEMORY;
	*a = (struct stand_alloc){ .base = at,
		.alias = at,
		.len = len,
		.mapped = len,
		.kind = STAND_REGISTERED,
		.device = device };
	*out = a;
	return STAND_OK;
}

void stand_check_unused(const char *call, const struct stand_alloc *a)
{
	for (struct stand_queue *q = stand.queues; q; q = q->next)
		for (struct stand_copy *c = q->first; c; c = c->next)
			if (has_bytes_of(a, c->dst, c->len) ||
				has_bytes_of(a, c->src, c->len)) {
				fprintf(stderr, "%s: a copy uses the memory\n",
					call);
				abort();
			}
}

/* ---- copies ---- */

/* Sets *at_out to where the stand-in can access len bytes. */
static int access_of(uint64_t at, size_t len, char **at_out)
{
	struct stand_alloc *a = stand_alloc_among(at, len);

	*at_out = (char *)(uintptr_t)at;
	if (!a)
		return STAND_OK; /* pageable host memory */
	if (at < (uintptr_t)a->base || at + len > (uintptr_t)a->base + a->len)
		return STAND_INVALID;
	*at_out = a->alias + (at - (uintptr_t)a->base);
	return STAND_OK;
}

static bool is_device(uint64_t at)
{
	const struct stand_alloc *a = stand_alloc_of(at);

	return a && (a->kind == STAND_DEVICE || a->kind == STAND_IMPORTED);
}

int stand_move(uint64_t dst, uint64_t src, size_t len)
{
	char *to, *from;
	int err = access_of(dst, len, &to);

	if (!err)
		err = access_of(src, len, &from);
	if (err)
		return err;
	memmove(to, from, len);
	if (is_device(dst) != is_device(src))
		stand.n_crossed += (long)len;
	return STAND_OK;
}

void stand_queue_init(struct stand_queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
	queue->next = stand.queues;
	stand.queues = queue;
}

void stand_queue_fini(struct stand_queue *queue)
{
	struct stand_queue **link = &stand.queues;

	while (*link != queue)
		link = &(*link)->next;
	*link = queue->next;
}

int stand_add(struct stand_queue *queue, uint64_t dst, uint64_t src, size_t len)
{
	struct stand_copy *copy;
	char *at;
	int err = access_of(dst, len, &at);

	if (!err)
		err = access_of(src, len, &at);
	if (err)
		return err;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return STAND_NO_MEMORY;
	*copy = (struct stand_copy){ .dst = dst, .src = src, .len = len };
	*queue->last = copy;
	queue->last = &copy->next;
	return STAND_OK;
}

int stand_run(struct stand_queue *queue, bool is_dropped)
{
	struct stand_copy *copy;
	int err = STAND_OK;

	while ((copy = queue->first) != NULL) {
		queue->first = copy->next;
		if (!err && !is_dropped)
			err = stand_move(copy->dst, copy->src, copy->len);
		free(copy);
	}
	queue->last = &queue->first;
	return err;
}

/* ---- memory of other processes ---- */

int stand_export(const struct stand_alloc *a, struct stand_handle *handle)
{
	if (a->kind != STAND_DEVICE || stand.has_no_ipc)
		return STAND_INVALID;
	*handle = (struct stand_handle){ .id = a->id,
		.base = (uintptr_t)a->base,
		.len = a->len,
		.pid = stand.pid,
		.fd = a->fd };
	return STAND_OK;
}

/* Opens the memory file. -1: the owner has freed the memory, or has ended, or
 * this process may not open its files. */
static int open_memory(const struct stand_handle *handle)
{
	char path[64], name[64], wanted[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->pid, handle->fd);
	snprintf(wanted, sizeof(wanted), "/memfd:devstand-%lu (deleted)",
		(unsigned long)handle->id);
	len = readlink(path, name, sizeof(name) - 1);
	if (len < 0)
		return -1;
	name[len] = '\0';
	if (handle->id ? strcmp(name, wanted) != 0
		       : strncmp(name, "/memfd:devstand-", 16) != 0)
		return -1;
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Finds the mapping of a handle. CONFLICT if another allocation with addresses
 * of this one in its process is mapped. */
static int find_imported(const struct stand_handle *handle, int device,
	struct stand_alloc **found)
{
	for (int i = 0; i < stand.n_allocs; i++) {
		struct stand_alloc *a = &stand.allocs[i];

		if (!a->base || a->kind != STAND_IMPORTED ||
			a->owner.pid != handle->pid ||
			a->owner.base >= handle->base + handle->len ||
			handle->base >= a->owner.base + a->owner.len)
			continue;
		if (a->owner.id != handle->id || a->device != device)
			return STAND_CONFLICT;
		*found = a;
	}
	return STAND_OK;
}

static int map_imported(
	const struct stand_handle *handle, int device, struct stand_alloc **out)
{
	struct stand_alloc *a = stand_free_entry();
	int fd = open_memory(handle);
	int err;

	if (fd < 0)
		return STAND_INVALID;
	if (!a) {
		close(fd);
		return STAND_NO_MEMORY;
	}
	*a = (struct stand_alloc){ .len = handle->len,
		.mapped = pages_of(handle->len),
		.kind = STAND_IMPORTED,
		.device = device,
		.id = ++stand.n_allocated,
		.owner = *handle };
	err = map_twice(a, fd);
	close(fd);
	if (err)
		a->base = NULL;
	else
		*out = a;
	return err;
}

int stand_import(const struct stand_handle *handle, int device, bool is_shared,
	struct stand_alloc **out)
{
	struct stand_alloc *a = NULL;
	int err = STAND_OK;

	if (handle->pid == stand.pid || ++stand.n_opens == stand.open_fails_at)
		return STAND_INVALID;
	if (is_shared)
		err = find_imported(handle, device, &a);
	if (!err && !a)
		err = map_imported(handle, device, &a);
	if (err)
		return err;
	if (stand.on_open)
		stand.on_open();
	a->n_opened++;
	*out = a;
	return STAND_OK;
}

void stand_drop(const char *call, struct stand_alloc *a)
{
	if (--a->n_opened)
		return;
	stand_check_unused(call, a);
	stand_unmake(a);
}

/* ---- for the stand-in of a network card ---- */

/* The device memory with all of these bytes. NULL: none. */
static struct stand_alloc *device_memory(uint64_t at, size_t len)
{
	struct stand_alloc *a = stand_alloc_among(at, len);

	return a && !stand_is_host(a) && at >= (uintptr_t)a->base &&
			       at + len <= (uintptr_t)a->base + a->len
		       ? a
		       : NULL;
}

int devstandHold(const void *at, size_t len, int *device_out);
int devstandHold(const void *at, size_t len, int *device_out)
{
	struct stand_alloc *a;
	bool is_other;

	pthread_mutex_lock(&stand.lock);
	a = device_memory((uintptr_t)at, len);
	if (a)
		a->n_held++;
	*device_out = a ? a->device : 0;
	is_other = !a &&
		   (!stand.owns_all || stand_alloc_among((uintptr_t)at, len));
	pthread_mutex_unlock(&stand.lock);
	return is_other ? -1 : 0;
}

void devstandDrop(const void *at);
void devstandDrop(const void *at)
{
	struct stand_alloc *a;

	pthread_mutex_lock(&stand.lock);
	a = stand_alloc_of((uintptr_t)at);
	if (a)
		a->n_held--;
	pthread_mutex_unlock(&stand.lock);
}

bool devstandHas(const void *at, size_t len);
bool devstandHas(const void *at, size_t len)
{
	const struct stand_alloc *a;
	bool has;

	pthread_mutex_lock(&stand.lock);
	a = stand_alloc_among((uintptr_t)at, len);
	has = a && (a->kind == STAND_DEVICE || a->kind == STAND_IMPORTED);
	pthread_mutex_unlock(&stand.lock);
	return has;
}

/* The card is no copy of the process, so stand.n_crossed stays. */
int devstandRead(void *to, const void *at, size_t len);
int devstandRead(void *to, const void *at, size_t len)
{
	char *from;
	int err;

	pthread_mutex_lock(&stand.lock);
	err = access_of((uintptr_t)at, len, &from);
	if (!err)
		memcpy(to, from, len);
	pthread_mutex_unlock(&stand.lock);
	return err ? -1 : 0;
}

int devstandWrite(void *at, const void *from, size_t len);
int devstandWrite(void *at, const void *from, size_t len)
{
	char *to;
	int err;

	pthread_mutex_lock(&stand.lock);
	err = access_of((uintptr_t)at, len, &to);
	if (!err)
		memcpy(to, from, len);
	pthread_mutex_unlock(&stand.lock);
	return err ? -1 : 0;
}

/* ---- for tests ---- */

long devstandQueries(void);
long devstandQueries(void)
{
	return stand.n_queries;
}

void devstandFailNext(void);
void devstandFailNext(void)
{
	pthread_mutex_lock(&stand.lock);
	stand.fail_at = stand.n_calls + 1;
	pthread_mutex_unlock(&stand.lock);
}

long devstandPins(void);
long devstandPins(void)
{
	return stand.n_pins;
}

void devstandFailPin(long n);
void devstandFailPin(long n)
{
	pthread_mutex_lock(&stand.lock);
	stand.pin_fails_at = stand.n_pins + n;
	pthread_mutex_unlock(&stand.lock);
}

long devstandPinned(void);
long devstandPinned(void)
{
	long n = 0;

	pthread_mutex_lock(&stand.lock);
	for (int i = 0; i < stand.n_allocs; i++)
		if (stand.allocs[i].base &&
			stand.allocs[i].kind == STAND_REGISTERED)
			n += (long)stand.allocs[i].len;
	pthread_mutex_unlock(&stand.lock);
	return n;
}

long devstandOpens(void);
long devstandOpens(void)
{
	return stand.n_opens;
}

long devstandMappings(void);
long devstandMappings(void)
{
	long n = 0;

	pthread_mutex_lock(&stand.lock);
	for (int i = 0; i < stand.n_allocs; i++)
		n += stand.allocs[i].base &&
		     stand.allocs[i].kind == STAND_IMPORTED;
	pthread_mutex_unlock(&stand.lock);
	return n;
}

long devstandCrossed(void);
long devstandCrossed(void)
{
	return stand.n_crossed;
}

void devstandOnOpen(void (*fn)(void));
void devstandOnOpen(void (*fn)(void))
{
	stand.on_open = fn;
}

void devstandFailOpen(long n);
void devstandFailOpen(long n)
{
	pthread_mutex_lock(&stand.lock);
	stand.open_fails_at = stand.n_opens + n;
	pthread_mutex_unlock(&stand.lock);
}
