/* SPDX-License-Identifier: BSD-3-Clause */
/* cudastand: a stand-in for the CUDA driver, libcuda.so.1; README.md */
#include "../dev/devstand.h"

#include <stdlib.h>
#include <string.h>

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
	MAX_STREAMS = 1024,
	MAX_STACK = 16,
};

typedef uint64_t addr;

/* An IPC handle: 64 bytes, which the calls take by value. */
struct handle {
	struct stand_handle memory;
	char unused[32];
};
_Static_assert(sizeof(struct handle) == 64, "layout of the driver");

struct stream {
	int device; /* of its context */
	bool is_destroyed;
	struct stand_queue queue;
};

struct context {
	int device;
	bool is_retained;
};

static struct {
	bool is_init, has_no_context;
	struct context contexts[MAX_DEVICES];
	struct stream *streams[MAX_STREAMS];
	int n_streams;
} cuda;

static _Thread_local struct context *stack[MAX_STACK];
static _Thread_local int depth;
static _Thread_local int capture;

/* ---- the checks of each call ---- */

static struct context *current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

/* Fails before cuInit, in a forked child, and at the call that DEVSTAND_FAIL
 * numbers. Lock held. */
static int begin(bool needs_context)
{
	if (!cuda.is_init || !stand_is_started())
		return NOT_INITIALIZED;
	if (needs_context && !current())
		return INVALID_CONTEXT;
	if (needs_context && !current()->is_retained)
		return CONTEXT_IS_DESTROYED;
	if (needs_context && stand_fails())
		return ILLEGAL_ADDRESS;
	return SUCCESS;
}

/* The driver's errors for the results of devstand. */
static const int errors[] = { [STAND_OK] = SUCCESS,
	[STAND_INVALID] = INVALID_VALUE,
	[STAND_NO_MEMORY] = OUT_OF_MEMORY,
	[STAND_CONFLICT] = ALREADY_MAPPED };

/* ---- start, devices, contexts ---- */

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
	int err = flags ? INVALID_VALUE : SUCCESS;

	pthread_mutex_lock(&stand.lock);
	if (!err && !cuda.is_init) {
		stand_start();
		cuda.has_no_context = stand_number("DEVSTAND_NO_CONTEXT", 0);
		for (int i = 0; i < MAX_DEVICES; i++)
			cuda.contexts[i].device = i;
		if (stand.n_devices < 1)
			err = NO_DEVICE;
		cuda.is_init = !err;
	}
	pthread_mutex_unlock(&stand.lock);
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
		*n = stand.n_devices;
	return err;
}

int cuDeviceGetCount(int *n);
int cuDeviceGetCount(int *n)
{
	return LOCKED(device_get_count(n));
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
	if (ordinal < 0 || ordinal >= stand.n_devices)
		return INVALID_DEVICE;
	*device = ordinal;
	return SUCCESS;
}

static int primary_retain(struct context **context, int device)
{
	int err = begin(false);

	if (!err && (device < 0 || device >= stand.n_devices))
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
	return LOCKED(primary_retain(context, device));
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

static int make(void **at, size_t len, enum stand_kind kind)
{
	struct stand_alloc *a;
	int err = begin(true);

	if (!err)
		err = errors[stand_make(len, kind, current()->device, &a)];
	if (!err)
		*at = a->base;
	return err;
}

static int unmake(addr at, bool is_host)
{
	struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(false);

	if (!err && (!a || at != (addr)(uintptr_t)a->base ||
			    a->kind == STAND_REGISTERED ||
			    a->kind == STAND_IMPORTED ||
			    (a->kind == STAND_PINNED) != is_host))
		err = INVALID_VALUE;
	if (!err)
		stand_unmake(a);
	return err;
}

int cuMemAlloc_v2(addr *at, size_t len);
int cuMemAlloc_v2(addr *at, size_t len)
{
	return LOCKED(make((void **)at, len, STAND_DEVICE));
}

int cuMemAllocManaged(addr *at, size_t len, unsigned flags);
int cuMemAllocManaged(addr *at, size_t len, unsigned flags)
{
	(void)flags;
	return LOCKED(make((void **)at, len, STAND_MANAGED));
}

int cuMemAllocHost_v2(void **at, size_t len);
int cuMemAllocHost_v2(void **at, size_t len)
{
	return LOCKED(make(at, len, STAND_PINNED));
}

int cuMemFree_v2(addr at);
int cuMemFree_v2(addr at)
{
	return LOCKED(unmake(at, false));
}

int cuMemFreeHost(void *at);
int cuMemFreeHost(void *at)
{
	return LOCKED(unmake((uintptr_t)at, true));
}

/* ---- registered host memory ---- */

static int host_register(char *at, size_t len, unsigned flags)
{
	struct stand_alloc *a;
	int err = begin(true);

	if (err || flags > 15)
		return err ? err : INVALID_VALUE;
	err = stand_register(at, len, current()->device, &a);
	return err == STAND_CONFLICT ? ALREADY_REGISTERED : errors[err];
}

int cuMemHostRegister_v2(void *at, size_t len, unsigned flags);
int cuMemHostRegister_v2(void *at, size_t len, unsigned flags)
{
	return LOCKED(host_register(at, len, flags));
}

/* Needs no context, and fails if that of the memory has been destroyed. */
static int host_unregister(addr at)
{
	struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(false);

	if (err)
		return err;
	if (!a || a->kind != STAND_REGISTERED || at != (addr)(uintptr_t)a->base)
		return NOT_REGISTERED;
	stand_check_unused("cuMemHostUnregister", a);
	stand_unmake(a);
	return SUCCESS;
}

int cuMemHostUnregister(void *at);
int cuMemHostUnregister(void *at)
{
	return LOCKED(host_unregister((uintptr_t)at));
}

/* ---- attributes ---- */

static void attribute(const struct stand_alloc *a, int attr, void *to)
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
		number = a ? (stand_is_host(a) ? 1 : 2) : 0;
		break;
	case 7: /* the number of the allocation; eight bytes */
		memcpy(to, a ? &a->id : &none, sizeof(none));
		return;
	case 8: /* is it managed; one byte */
		*(uint8_t *)to = a && a->kind == STAND_MANAGED;
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
	static const struct stand_alloc any = { .kind = STAND_DEVICE };
	const struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(false);

	stand.n_queries++;
	if (!a && stand.owns_all)
		a = &any;
	for (unsigned i = 0; !err && i < n; i++)
		attribute(a, attrs[i], data[i]);
	return err;
}

int cuPointerGetAttributes(unsigned n, const int *attrs, void **data, addr at);
int cuPointerGetAttributes(unsigned n, const int *attrs, void **data, addr at)
{
	return LOCKED(pointer_get_attributes(n, attrs, data, at));
}

static int get_address_range(addr *base, size_t *len, addr at)
{
	const struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(false);

	if (!err && (!a || stand_is_host(a)))
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
	return LOCKED(get_address_range(base, len, at));
}

/* ---- memory of other processes ---- */

/* Managed and imported memory has no handle. */
static int ipc_get(struct handle *handle, addr at)
{
	const struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(true);

	if (!err &&
		(!a || cuda.has_no_context || at != (addr)(uintptr_t)a->base))
		err = INVALID_VALUE;
	return err ? err : errors[stand_export(a, &handle->memory)];
}

int cuIpcGetMemHandle(struct handle *handle, addr at);
int cuIpcGetMemHandle(struct handle *handle, addr at)
{
	return LOCKED(ipc_get(handle, at));
}

static int ipc_open(addr *at, const struct handle *handle, unsigned flags)
{
	struct stand_alloc *a;
	int err = begin(true);

	if (!err && flags != 1)
		err = INVALID_VALUE;
	if (!err)
		err = errors[stand_import(
			&handle->memory, current()->device, true, &a)];
	if (!err)
		*at = (uintptr_t)a->base;
	return err;
}

int cuIpcOpenMemHandle_v2(addr *at, struct handle handle, unsigned flags);
int cuIpcOpenMemHandle_v2(addr *at, struct handle handle, unsigned flags)
{
	return LOCKED(ipc_open(at, &handle, flags));
}

static int ipc_close(addr at)
{
	struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(true);

	if (!err && (!a || a->kind != STAND_IMPORTED ||
			    at != (addr)(uintptr_t)a->base))
		err = INVALID_VALUE;
	if (!err)
		stand_drop("cuIpcCloseMemHandle", a);
	return err;
}

int cuIpcCloseMemHandle(addr at);
int cuIpcCloseMemHandle(addr at)
{
	return LOCKED(ipc_close(at));
}

/* ---- the end of a context ---- */

/* Destroys the primary context: its memory, streams and registrations. */
static int primary_reset(int device)
{
	int err = begin(false);

	if (!err && (device < 0 || device >= stand.n_devices))
		err = INVALID_DEVICE;
	for (int i = 0; !err && i < stand.n_allocs; i++)
		if (stand.allocs[i].base && stand.allocs[i].device == device)
			stand_unmake(&stand.allocs[i]);
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
	return LOCKED(primary_reset(device));
}

/* ---- copies ---- */

static int memcpy_now(addr dst, addr src, size_t len)
{
	int err = begin(true);

	return err ? err : errors[stand_move(dst, src, len)];
}

int cuMemcpy(addr dst, addr src, size_t len);
int cuMemcpy(addr dst, addr src, size_t len)
{
	return LOCKED(memcpy_now(dst, src, len));
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
	stand_queue_init(&s->queue);
	cuda.streams[cuda.n_streams++] = s;
	*stream = s;
	return SUCCESS;
}

int cuStreamCreate(struct stream **stream, unsigned flags);
int cuStreamCreate(struct stream **stream, unsigned flags)
{
	if (flags > 1)
		return INVALID_VALUE;
	return LOCKED(stream_create(stream));
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

static int memcpy_async(addr dst, addr src, size_t len, struct stream *stream)
{
	int err = stream_check(stream);

	return err ? err : errors[stand_add(&stream->queue, dst, src, len)];
}

int cuMemcpyAsync(addr dst, addr src, size_t len, struct stream *stream);
int cuMemcpyAsync(addr dst, addr src, size_t len, struct stream *stream)
{
	return LOCKED(memcpy_async(dst, src, len, stream));
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
		err = errors[stand_add(&stream->queue, dst + i * r->dst_pitch,
			src + i * r->src_pitch, r->width)];
	return err;
}

int cuMemcpy2DAsync_v2(const struct rows *rows, struct stream *stream);
int cuMemcpy2DAsync_v2(const struct rows *rows, struct stream *stream)
{
	return LOCKED(memcpy_rows(rows, stream));
}

static int stream_wait(struct stream *stream)
{
	int err = stream_check(stream);
	int result;

	if (err == INVALID_HANDLE)
		return err;
	result = stand_run(&stream->queue, err != SUCCESS);
	return err ? err : errors[result];
}

int cuStreamSynchronize(struct stream *stream);
int cuStreamSynchronize(struct stream *stream)
{
	return LOCKED(stream_wait(stream));
}
