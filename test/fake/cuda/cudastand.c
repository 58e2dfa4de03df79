/* SPDX-License-Identifier: BSD-3-Clause */
/* cudastand: a stand-in for the CUDA driver, libcuda.so.1; README.md */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	ALREADY_MAPPED = 208,
	INVALID_HANDLE = 400,
	ILLEGAL_ADDRESS = 700,
	CONTEXT_IS_DESTROYED = 709,
	ALREADY_REGISTERED = 712,
	NOT_REGISTERED = 713,

	MAX_DEVICES = 8,
	MAX_ALLOCS = 1024,
	MAX_STREAMS = 1024,
	MAX_STACK = 16,
	PAGE = 4096,
};

typedef uint64_t addr;

enum kind { DEVICE, MANAGED, PINNED, REGISTERED, IMPORTED };

/* An IPC handle: 64 bytes, which the calls take by value. */
struct handle {
	uint64_t id;   /* of the allocation in its process */
	uint64_t base; /* its address there */
	uint64_t len;
	int32_t pid, fd;
	char unused[32];
};
_Static_assert(sizeof(struct handle) == 64, "layout of the driver");

struct alloc {
	char *base;  /* as the program knows it; DEVICE: no access */
	char *alias; /* the same memory for the stand-in */
	size_t len, mapped;
	enum kind kind;
	int device;
	uint64_t id;
	int fd;		     /* DEVICE: its memory file */
	struct handle owner; /* IMPORTED */
	int n_opened;	     /* IMPORTED: calls that opened it */
};

struct copy {
	struct copy *next;
	addr dst, src;
	size_t len;
};

struct stream {
	int device; /* of its context */
	bool is_destroyed;
	struct copy *first, **last;
};

struct context {
	int device;
	bool is_retained;
};

static struct {
	pthread_mutex_t lock;
	bool is_init, owns_all, has_no_context;
	int n_devices;
	long n_queries, n_calls, fail_at;
	struct context contexts[MAX_DEVICES];
	struct alloc allocs[MAX_ALLOCS];
	int n_allocs;
	struct stream *streams[MAX_STREAMS];
	int n_streams;
	long n_pins, pin_fails_at;
	uint64_t n_allocated;
	bool has_no_ipc;
	long n_opens, open_fails_at;
	void (*on_open)(void);
	long n_crossed; /* bytes copied between device and host */
	pid_t pid;
} cuda = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct context *stack[MAX_STACK];
static _Thread_local int depth;
static _Thread_local int capture;

static long number_of(const char *name, long otherwise)
{
	const char *value = getenv(name);

	return value ? atol(value) : otherwise;
}

/* ---- the checks of each call ---- */

static struct context *current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

/* Fails before cuInit, in a forked child, and at the call that CUDASTAND_FAIL
 * numbers. Lock held. */
static int begin(bool needs_context)
{
	if (!cuda.is_init || cuda.pid != getpid())
		return NOT_INITIALIZED;
	if (needs_context && !current())
		return INVALID_CONTEXT;
	if (needs_context && !current()->is_retained)
		return CONTEXT_IS_DESTROYED;
	if (needs_context && ++cuda.n_calls == cuda.fail_at)
		return ILLEGAL_ADDRESS;
	return SUCCESS;
}

static struct alloc *alloc_of(addr at)
{
	for (int i = 0; i < cuda.n_allocs; i++) {
		struct alloc *a = &cuda.allocs[i];

		if (a->base && at >= (addr)(uintptr_t)a->base &&
			at < (addr)(uintptr_t)a->base + a->len)
			return a;
	}
	return NULL;
}

static bool has_bytes_of(const struct alloc *a, addr at, size_t len)
{
	addr base = (addr)(uintptr_t)a->base;

	return a->base && at < base + a->len && base < at + len;
}

/* The first allocation with one of these bytes. */
static struct alloc *alloc_among(addr at, size_t len)
{
	for (int i = 0; i < cuda.n_allocs; i++)
		if (has_bytes_of(&cuda.allocs[i], at, len))
			return &cuda.allocs[i];
	return NULL;
}

/* Sets *at_out to where the stand-in can access len bytes. */
static int access_of(addr at, size_t len, char **at_out)
{
	struct alloc *a = alloc_among(at, len);

	*at_out = (char *)(uintptr_t)at;
	if (!a)
		return SUCCESS; /* pageable host memory */
	if (at < (addr)(uintptr_t)a->base ||
		at + len > (addr)(uintptr_t)a->base + a->len)
		return INVALID_VALUE;
	*at_out = a->alias + (at - (addr)(uintptr_t)a->base);
	return SUCCESS;
}

static bool is_device(addr at)
{
	const struct alloc *a = alloc_of(at);

	return a && (a->kind == DEVICE || a->kind == IMPORTED);
}

static int move(addr dst, addr src, size_t len)
{
	char *to, *from;
	int err = access_of(dst, len, &to);

	if (!err)
		err = access_of(src, len, &from);
	if (err)
		return err;
	memmove(to, from, len);
	if (is_device(dst) != is_device(src))
		cuda.n_crossed += (long)len;
	return SUCCESS;
}

#define LOCKED(body)                              \
	do {                                      \
		int err_;                         \
		pthread_mutex_lock(&cuda.lock);   \
		err_ = (body);                    \
		pthread_mutex_unlock(&cuda.lock); \
		return err_;                      \
	} while (0)

/* ---- start, devices, contexts ---- */

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
	int err = flags ? INVALID_VALUE : SUCCESS;

	pthread_mutex_lock(&cuda.lock);
	if (!err && !cuda.is_init) {
		cuda.n_devices = (int)number_of("CUDASTAND_DEVICES", 1);
		cuda.fail_at = number_of("CUDASTAND_FAIL", 0);
		cuda.owns_all = number_of("CUDASTAND_ALL", 0);
		cuda.has_no_context = number_of("CUDASTAND_NO_CONTEXT", 0);
		cuda.has_no_ipc = number_of("CUDASTAND_NO_IPC", 0);
		cuda.open_fails_at = number_of("CUDASTAND_FAIL_OPEN", 0);
		cuda.pid = getpid();
		for (int i = 0; i < MAX_DEVICES; i++)
			cuda.contexts[i].device = i;
		if (cuda.n_devices < 1)
			err = NO_DEVICE;
		cuda.is_init = !err;
	}
	pthread_mutex_unlock(&cuda.lock);
	return err;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
	*version = 12000;
	return SUCCESS;
}

int cuGetErrorName(int err, const char **name);
int cuGetErrorName(int err, const char **name)
{
	switch (err) {
	case SUCCESS:
		*name = "CUDA_SUCCESS";
		break;
	case INVALID_VALUE:
		*name = "CUDA_ERROR_INVALID_VALUE";
		break;
	case OUT_OF_MEMORY:
		*name = "CUDA_ERROR_OUT_OF_MEMORY";
		break;
	case NOT_INITIALIZED:
		*name = "CUDA_ERROR_NOT_INITIALIZED";
		break;
	case NO_DEVICE:
		*name = "CUDA_ERROR_NO_DEVICE";
		break;
	case INVALID_CONTEXT:
		*name = "CUDA_ERROR_INVALID_CONTEXT";
		break;
	case ALREADY_MAPPED:
		*name = "CUDA_ERROR_ALREADY_MAPPED";
		break;
	case INVALID_HANDLE:
		*name = "CUDA_ERROR_INVALID_HANDLE";
		break;
	case ILLEGAL_ADDRESS:
		*name = "CUDA_ERROR_ILLEGAL_ADDRESS";
		break;
	case CONTEXT_IS_DESTROYED:
		*name = "CUDA_ERROR_CONTEXT_IS_DESTROYED";
		break;
	case ALREADY_REGISTERED:
		*name = "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED";
		break;
	case NOT_REGISTERED:
		*name = "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED";
		break;
	default:
		*name = NULL;
		return INVALID_VALUE;
	}
	return SUCCESS;
}

static int device_get_count(int *n)
{
	int err = begin(false);

	if (!err)
		*n = cuda.n_devices;
	return err;
}

int cuDeviceGetCount(int *n);
int cuDeviceGetCount(int *n)
{
	LOCKED(device_get_count(n));
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
	if (ordinal < 0 || ordinal >= cuda.n_devices)
		return INVALID_DEVICE;
	*device = ordinal;
	return SUCCESS;
}

static int primary_retain(struct context **context, int device)
{
	int err = begin(false);

	if (!err && (device < 0 || device >= cuda.n_devices))
		err = INVALID_DEVICE;
	if (!err) {
		*context = &cuda.contexts[device];
		(*context)->is_retained = true;
	}
	return err;
}

int cuDevicePrimaryCtxRetain(struct context **context, int device);
int cuDevicePrimaryCtxRetain(struct context **context, int device)
{
	LOCKED(primary_retain(context, device));
}

int cuCtxGetCurrent(struct context **context);
int cuCtxGetCurrent(struct context **context)
{
	*context = current();
	return SUCCESS;
}

int cuCtxSetCurrent(struct context *context);
int cuCtxSetCurrent(struct context *context)
{
	depth = depth ? depth : 1;
	stack[depth - 1] = context;
	return SUCCESS;
}

int cuCtxPushCurrent_v2(struct context *context);
int cuCtxPushCurrent_v2(struct context *context)
{
	if (!context || !context->is_retained || depth == MAX_STACK)
		return INVALID_CONTEXT;
	stack[depth++] = context;
	return SUCCESS;
}

int cuCtxPopCurrent_v2(struct context **context);
int cuCtxPopCurrent_v2(struct context **context)
{
	if (!depth)
		return INVALID_CONTEXT;
	*context = stack[--depth];
	return SUCCESS;
}

int cuThreadExchangeStreamCaptureMode(int *mode);
int cuThreadExchangeStreamCaptureMode(int *mode)
{
	int before = capture;

	if (*mode < 0 || *mode > 2)
		return INVALID_VALUE;
	capture = *mode;
	*mode = before;
	return SUCCESS;
}

/* ---- memory ---- */

/* Maps the memory file fd twice. */
static int map_twice(struct alloc *a, int fd)
{
	a->alias = mmap(
		NULL, a->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	a->base = mmap(NULL, a->mapped, PROT_NONE, MAP_SHARED, fd, 0);
	return a->alias == MAP_FAILED || a->base == MAP_FAILED ? OUT_OF_MEMORY
							       : SUCCESS;
}

static int map_device(struct alloc *a)
{
	char name[32];
	int err;

	snprintf(name, sizeof(name), "cudastand-%lu", (unsigned long)a->id);
	a->fd = memfd_create(name, MFD_CLOEXEC);
	if (a->fd < 0)
		return OUT_OF_MEMORY;
	err = ftruncate(a->fd, (off_t)a->mapped) ? OUT_OF_MEMORY
						 : map_twice(a, a->fd);
	if (err)
		close(a->fd);
	return err;
}

/* An entry without an allocation. NULL: there are too many. */
static struct alloc *free_entry(void)
{
	struct alloc *a = cuda.allocs;

	while (a < cuda.allocs + cuda.n_allocs && a->base)
		a++;
	if (a == cuda.allocs + MAX_ALLOCS)
		return NULL;
	if (a == cuda.allocs + cuda.n_allocs)
		cuda.n_allocs++;
	return a;
}

static int make(void **at, size_t len, enum kind kind)
{
	struct alloc *a;
	int err = begin(true);

	if (!err && !len)
		err = INVALID_VALUE;
	if (err)
		return err;
	a = free_entry();
	if (!a)
		return OUT_OF_MEMORY;
	*a = (struct alloc){ .len = len,
		.mapped = (len + PAGE - 1) / PAGE * PAGE,
		.kind = kind,
		.device = current()->device,
		.id = ++cuda.n_allocated };
	if (kind == DEVICE) {
		err = map_device(a);
	} else {
		a->base = mmap(NULL, a->mapped, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		a->alias = a->base;
		err = a->base == MAP_FAILED ? OUT_OF_MEMORY : SUCCESS;
	}
	if (err) {
		a->base = NULL;
		return err;
	}
	*at = a->base;
	return SUCCESS;
}

static void unmap(struct alloc *a)
{
	if (a->alias != a->base)
		munmap(a->alias, a->mapped);
	munmap(a->base, a->mapped);
	if (a->kind == DEVICE)
		close(a->fd);
	a->base = NULL;
}

static int unmake(addr at, bool is_host)
{
	struct alloc *a = alloc_of(at);
	int err = begin(false);

	if (!err && (!a || at != (addr)(uintptr_t)a->base ||
			    a->kind == REGISTERED || a->kind == IMPORTED ||
			    (a->kind == PINNED) != is_host))
		err = INVALID_VALUE;
	if (err)
		return err;
	unmap(a);
	return SUCCESS;
}

int cuMemAlloc_v2(addr *at, size_t len);
int cuMemAlloc_v2(addr *at, size_t len)
{
	LOCKED(make((void **)at, len, DEVICE));
}

int cuMemAllocManaged(addr *at, size_t len, unsigned flags);
int cuMemAllocManaged(addr *at, size_t len, unsigned flags)
{
	(void)flags;
	LOCKED(make((void **)at, len, MANAGED));
}

int cuMemAllocHost_v2(void **at, size_t len);
int cuMemAllocHost_v2(void **at, size_t len)
{
	LOCKED(make(at, len, PINNED));
}

int cuMemFree_v2(addr at);
int cuMemFree_v2(addr at)
{
	LOCKED(unmake(at, false));
}

int cuMemFreeHost(void *at);
int cuMemFreeHost(void *at)
{
	LOCKED(unmake((uintptr_t)at, true));
}

/* ---- registered host memory ---- */

/* True if the process has mapped these pages. */
static bool is_mapped(char *at, size_t len)
{
	unsigned char in_core[1024];
	size_t now;

	for (; len; at += now, len -= now) {
		now = len < sizeof(in_core) * PAGE ? len
						   : sizeof(in_core) * PAGE;
		if (mincore(at, now, in_core))
			return false;
	}
	return true;
}

static int host_register(char *at, size_t len, unsigned flags)
{
	struct alloc *a;
	int err = begin(true);

	if (err)
		return err;
	if (++cuda.n_pins == cuda.pin_fails_at)
		return OUT_OF_MEMORY;
	if (!at || !len || flags > 15 || (uintptr_t)at % PAGE || len % PAGE ||
		!is_mapped(at, len))
		return INVALID_VALUE;
	a = alloc_among((uintptr_t)at, len);
	if (a)
		return a->kind == REGISTERED ? ALREADY_REGISTERED
					     : INVALID_VALUE;
	a = free_entry();
	if (!a)
		return OUT_OF_MEMORY;
	*a = (struct alloc){ .base = at,
		.alias = at,
		.len = len,
		.mapped = len,
		.kind = REGISTERED,
		.device = current()->device };
	return SUCCESS;
}

int cuMemHostRegister_v2(void *at, size_t len, unsigned flags);
int cuMemHostRegister_v2(void *at, size_t len, unsigned flags)
{
	LOCKED(host_register(at, len, flags));
}

/* Ends the program if a copy that is under way needs the memory. */
static void check_unused(const char *call, const struct alloc *a)
{
	for (int i = 0; i < cuda.n_streams; i++)
		for (struct copy *c = cuda.streams[i]->first; c; c = c->next)
			if (has_bytes_of(a, c->dst, c->len) ||
				has_bytes_of(a, c->src, c->len)) {
				fprintf(stderr, "%s: a copy uses the memory\n",
					call);
				abort();
			}
}

/* Needs no context, and fails if that of the memory has been destroyed. */
static int host_unregister(addr at)
{
	struct alloc *a = alloc_of(at);
	int err = begin(false);

	if (err)
		return err;
	if (!a || a->kind != REGISTERED || at != (addr)(uintptr_t)a->base)
		return NOT_REGISTERED;
	check_unused("cuMemHostUnregister", a);
	a->base = NULL;
	return SUCCESS;
}

int cuMemHostUnregister(void *at);
int cuMemHostUnregister(void *at)
{
	LOCKED(host_unregister((uintptr_t)at));
}

/* Extensions: the number of calls that registered host memory, or tried; the
 * bytes that are registered. */
long cudastandPins(void);
long cudastandPins(void)
{
	return cuda.n_pins;
}

/* The n-th registration from now on fails. */
void cudastandFailPin(long n);
void cudastandFailPin(long n)
{
	pthread_mutex_lock(&cuda.lock);
	cuda.pin_fails_at = cuda.n_pins + n;
	pthread_mutex_unlock(&cuda.lock);
}

long cudastandPinned(void);
long cudastandPinned(void)
{
	long n = 0;

	pthread_mutex_lock(&cuda.lock);
	for (int i = 0; i < cuda.n_allocs; i++)
		if (cuda.allocs[i].base && cuda.allocs[i].kind == REGISTERED)
			n += (long)cuda.allocs[i].len;
	pthread_mutex_unlock(&cuda.lock);
	return n;
}

/* ---- attributes ---- */

static bool is_host(const struct alloc *a)
{
	return a->kind == PINNED || a->kind == REGISTERED;
}

static void attribute(const struct alloc *a, int attr, void *to)
{
	static const uint64_t none;
	uint32_t number = 0;
	struct context *context = NULL;

	switch (attr) {
	case 1: /* the context */
		if (a && a->base && !cuda.has_no_context)
			context = &cuda.contexts[a->device];
		memcpy(to, &context, sizeof(context));
		return;
	case 2: /* the type of memory: 1 host, 2 device, 0 unknown */
		number = a ? (is_host(a) ? 1 : 2) : 0;
		break;
	case 7: /* the number of the allocation; eight bytes */
		memcpy(to, a ? &a->id : &none, sizeof(none));
		return;
	case 8: /* is it managed; one byte */
		*(uint8_t *)to = a && a->kind == MANAGED;
		return;
	case 9: /* the number of the device */
		number = a ? (uint32_t)a->device : (uint32_t)-2;
		break;
	}
	memcpy(to, &number, sizeof(number));
}

static int pointer_get_attributes(
	unsigned n, const int *attrs, void **data, addr at)
{
	static const struct alloc any = { .kind = DEVICE };
	const struct alloc *a = alloc_of(at);
	int err = begin(false);

	cuda.n_queries++;
	if (!a && cuda.owns_all)
		a = &any;
	for (unsigned i = 0; !err && i < n; i++)
		attribute(a, attrs[i], data[i]);
	return err;
}

int cuPointerGetAttributes(unsigned n, const int *attrs, void **data, addr at);
int cuPointerGetAttributes(unsigned n, const int *attrs, void **data, addr at)
{
	LOCKED(pointer_get_attributes(n, attrs, data, at));
}

/* An extension of the stand-in: the number of questions about addresses. */
long cudastandQueries(void);
long cudastandQueries(void)
{
	return cuda.n_queries;
}

/* Another extension: the next call that needs a context fails. */
void cudastandFailNext(void);
void cudastandFailNext(void)
{
	pthread_mutex_lock(&cuda.lock);
	cuda.fail_at = cuda.n_calls + 1;
	pthread_mutex_unlock(&cuda.lock);
}

static int get_address_range(addr *base, size_t *len, addr at)
{
	const struct alloc *a = alloc_of(at);
	int err = begin(false);

	if (!err && (!a || is_host(a)))
		err = INVALID_VALUE;
	if (!err) {
		*base = (uintptr_t)a->base;
		*len = a->len;
	}
	return err;
}

int cuMemGetAddressRange_v2(addr *base, size_t *len, addr at);
int cuMemGetAddressRange_v2(addr *base, size_t *len, addr at)
{
	LOCKED(get_address_range(base, len, at));
}

/* ---- memory of other processes ---- */

/* Managed and imported memory has no handle. */
static int ipc_get(struct handle *handle, addr at)
{
	const struct alloc *a = alloc_of(at);
	int err = begin(true);

	if (!err &&
		(!a || a->kind != DEVICE || cuda.has_no_ipc ||
			cuda.has_no_context || at != (addr)(uintptr_t)a->base))
		err = INVALID_VALUE;
	if (!err)
		*handle = (struct handle){ .id = a->id,
			.base = (uintptr_t)a->base,
			.len = a->len,
			.pid = cuda.pid,
			.fd = a->fd };
	return err;
}

int cuIpcGetMemHandle(struct handle *handle, addr at);
int cuIpcGetMemHandle(struct handle *handle, addr at)
{
	LOCKED(ipc_get(handle, at));
}

/* Opens the memory file. -1: the owner has freed the memory, or has ended, or
 * this process may not open its files. */
static int open_memory(const struct handle *handle)
{
	char path[64], name[64], wanted[64] = "";
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->pid, handle->fd);
	snprintf(wanted, sizeof(wanted), "/memfd:cudastand-%lu (deleted)",
		(unsigned long)handle->id);
	len = readlink(path, name, sizeof(name) - 1);
	if (len < 0)
		return -1;
	name[len] = '\0';
	return strcmp(name, wanted) ? -1 : open(path, O_RDWR | O_CLOEXEC);
}

/* Finds the mapping of a handle. ALREADY_MAPPED if another allocation with
 * addresses of this one in its process is mapped. */
static int find_imported(const struct handle *handle, struct alloc **found)
{
	for (int i = 0; i < cuda.n_allocs; i++) {
		struct alloc *a = &cuda.allocs[i];

		if (!a->base || a->kind != IMPORTED ||
			a->owner.pid != handle->pid ||
			a->owner.base >= handle->base + handle->len ||
			handle->base >= a->owner.base + a->owner.len)
			continue;
		if (a->owner.id != handle->id || a->device != current()->device)
			return ALREADY_MAPPED;
		*found = a;
	}
	return SUCCESS;
}

static int ipc_open(addr *at, const struct handle *handle, unsigned flags)
{
	struct alloc *a = NULL;
	int fd, err = begin(true);

	if (!err && flags != 1)
		err = INVALID_VALUE;
	if (!err && handle->pid == cuda.pid)
		err = INVALID_CONTEXT;
	if (!err && ++cuda.n_opens == cuda.open_fails_at)
		err = INVALID_VALUE;
	if (!err)
		err = find_imported(handle, &a);
	if (err)
		return err;
	if (!a) {
		fd = open_memory(handle);
		a = free_entry();
		if (fd < 0 || !a) {
			if (fd >= 0)
				close(fd);
			return fd < 0 ? INVALID_VALUE : OUT_OF_MEMORY;
		}
		*a = (struct alloc){ .len = handle->len,
			.mapped = (handle->len + PAGE - 1) / PAGE * PAGE,
			.kind = IMPORTED,
			.device = current()->device,
			.id = ++cuda.n_allocated,
			.owner = *handle };
		err = map_twice(a, fd);
		close(fd);
		if (err) {
			a->base = NULL;
			return err;
		}
	}
	if (cuda.on_open)
		cuda.on_open();
	a->n_opened++;
	*at = (uintptr_t)a->base;
	return SUCCESS;
}

int cuIpcOpenMemHandle_v2(addr *at, struct handle handle, unsigned flags);
int cuIpcOpenMemHandle_v2(addr *at, struct handle handle, unsigned flags)
{
	LOCKED(ipc_open(at, &handle, flags));
}

static int ipc_close(addr at)
{
	struct alloc *a = alloc_of(at);
	int err = begin(true);

	if (!err &&
		(!a || a->kind != IMPORTED || at != (addr)(uintptr_t)a->base))
		err = INVALID_VALUE;
	if (!err && !--a->n_opened) {
		check_unused("cuIpcCloseMemHandle", a);
		unmap(a);
	}
	return err;
}

int cuIpcCloseMemHandle(addr at);
int cuIpcCloseMemHandle(addr at)
{
	LOCKED(ipc_close(at));
}

/* Extensions: the number of handles that were opened, or tried; the number of
 * mappings. */
long cudastandOpens(void);
long cudastandOpens(void)
{
	return cuda.n_opens;
}

long cudastandMappings(void);
long cudastandMappings(void)
{
	long n = 0;

	pthread_mutex_lock(&cuda.lock);
	for (int i = 0; i < cuda.n_allocs; i++)
		n += cuda.allocs[i].base && cuda.allocs[i].kind == IMPORTED;
	pthread_mutex_unlock(&cuda.lock);
	return n;
}

/* The bytes that were copied between device memory and host memory. */
long cudastandCrossed(void);
long cudastandCrossed(void)
{
	return cuda.n_crossed;
}

/* Calls fn when a handle is opened. */
void cudastandOnOpen(void (*fn)(void));
void cudastandOnOpen(void (*fn)(void))
{
	cuda.on_open = fn;
}

/* The n-th handle that is opened from now on is refused. */
void cudastandFailOpen(long n);
void cudastandFailOpen(long n)
{
	pthread_mutex_lock(&cuda.lock);
	cuda.open_fails_at = cuda.n_opens + n;
	pthread_mutex_unlock(&cuda.lock);
}

/* ---- the end of a context ---- */

/* Destroys the primary context: its memory, streams and registrations. */
static int primary_reset(int device)
{
	int err = begin(false);

	if (!err && (device < 0 || device >= cuda.n_devices))
		err = INVALID_DEVICE;
	for (int i = 0; !err && i < cuda.n_allocs; i++) {
		struct alloc *a = &cuda.allocs[i];

		if (!a->base || a->device != device)
			continue;
		if (a->kind == REGISTERED)
			a->base = NULL;
		else
			unmap(a);
	}
	for (int i = 0; !err && i < cuda.n_streams; i++)
		if (cuda.streams[i]->device == device)
			cuda.streams[i]->is_destroyed = true;
	if (!err)
		cuda.contexts[device].is_retained = false;
	return err;
}

int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxReset_v2(int device)
{
	LOCKED(primary_reset(device));
}

/* ---- copies ---- */

static int memcpy_now(addr dst, addr src, size_t len)
{
	int err = begin(true);

	return err ? err : move(dst, src, len);
}

int cuMemcpy(addr dst, addr src, size_t len);
int cuMemcpy(addr dst, addr src, size_t len)
{
	LOCKED(memcpy_now(dst, src, len));
}

static int stream_create(struct stream **stream)
{
	struct stream *s;
	int err = begin(true);

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s || cuda.n_streams == MAX_STREAMS) {
		free(s);
		return OUT_OF_MEMORY;
	}
	s->device = current()->device;
	s->last = &s->first;
	cuda.streams[cuda.n_streams++] = s;
	*stream = s;
	return SUCCESS;
}

int cuStreamCreate(struct stream **stream, unsigned flags);
int cuStreamCreate(struct stream **stream, unsigned flags)
{
	if (flags > 1)
		return INVALID_VALUE;
	LOCKED(stream_create(stream));
}

/* A stream of the current context that exists. */
static int stream_check(const struct stream *stream)
{
	int err = begin(true);

	for (int i = 0; !err && i < cuda.n_streams; i++)
		if (cuda.streams[i] == stream && !stream->is_destroyed)
			return stream->device == current()->device
				       ? SUCCESS
				       : INVALID_HANDLE;
	return err ? err : INVALID_HANDLE;
}

/* Adds a copy, which nothing but a wait for the stream carries out. */
static int stream_add(struct stream *stream, addr dst, addr src, size_t len)
{
	struct copy *copy;
	char *at;
	int err = access_of(dst, len, &at);

	if (!err)
		err = access_of(src, len, &at);
	if (err)
		return err;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return OUT_OF_MEMORY;
	*copy = (struct copy){ .dst = dst, .src = src, .len = len };
	*stream->last = copy;
	stream->last = &copy->next;
	return SUCCESS;
}

static int memcpy_async(addr dst, addr src, size_t len, struct stream *stream)
{
	int err = stream_check(stream);

	return err ? err : stream_add(stream, dst, src, len);
}

int cuMemcpyAsync(addr dst, addr src, size_t len, struct stream *stream);
int cuMemcpyAsync(addr dst, addr src, size_t len, struct stream *stream)
{
	LOCKED(memcpy_async(dst, src, len, stream));
}

/* CUDA_MEMCPY2D */
struct rows {
	size_t src_x, src_y;
	unsigned src_type;
	const void *src_host;
	addr src_device;
	void *src_array;
	size_t src_pitch;
	size_t dst_x, dst_y;
	unsigned dst_type;
	void *dst_host;
	addr dst_device;
	void *dst_array;
	size_t dst_pitch;
	size_t width, height;
};

static int memcpy_rows(const struct rows *r, struct stream *stream)
{
	addr src = r->src_type == 1 ? (uintptr_t)r->src_host : r->src_device;
	addr dst = r->dst_type == 1 ? (uintptr_t)r->dst_host : r->dst_device;
	int err = stream_check(stream);

	if (!err &&
		(r->src_pitch < r->width || r->dst_pitch < r->width ||
			r->src_pitch > 0x7fffffff || r->src_type < 1 ||
			r->src_type > 2 || r->dst_type < 1 || r->dst_type > 2))
		err = INVALID_VALUE;
	for (size_t i = 0; !err && i < r->height; i++)
		err = stream_add(stream, dst + i * r->dst_pitch,
			src + i * r->src_pitch, r->width);
	return err;
}

int cuMemcpy2DAsync_v2(const struct rows *rows, struct stream *stream);
int cuMemcpy2DAsync_v2(const struct rows *rows, struct stream *stream)
{
	LOCKED(memcpy_rows(rows, stream));
}

static int stream_wait(struct stream *stream)
{
	struct copy *copy;
	int err = stream_check(stream);

	if (err == INVALID_HANDLE)
		return err;
	while ((copy = stream->first) != NULL) {
		stream->first = copy->next;
		if (!err)
			err = move(copy->dst, copy->src, copy->len);
		free(copy);
	}
	stream->last = &stream->first;
	return err;
}

int cuStreamSynchronize(struct stream *stream);
int cuStreamSynchronize(struct stream *stream)
{
	LOCKED(stream_wait(stream));
}
