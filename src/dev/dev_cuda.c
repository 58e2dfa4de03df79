/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_cuda: CUDA device memory, through the driver's library libcuda.so.1
 *
 * The types, numbers and layouts here are those of the driver's binary
 * interface, so no CUDA header is needed to build. Function names with a suffix
 * are those that the driver exports for these layouts.
 *
 * All copies use a stream of the library, one for each context. The stream does
 * not block, so a copy neither waits for the program's streams nor stalls them.
 * A stream is never destroyed: the program may have destroyed its context. */
#include "dev/dev_priv.h"

#include "base/err.h"
#include "dev/gdr.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
	SUCCESS = 0,
	CONTEXT_IS_DESTROYED = 709,
	INVALID_HANDLE = 400,
	INVALID_CONTEXT = 201,

	ATTR_CONTEXT = 1,
	ATTR_MEMORY_TYPE = 2,
	ATTR_BUFFER_ID = 7,
	ATTR_IS_MANAGED = 8,
	ATTR_DEVICE_ORDINAL = 9,
	N_ATTRS = 5,

	TYPE_HOST = 1,
	TYPE_DEVICE = 2,
	TYPE_UNIFIED = 4,

	STREAM_NON_BLOCKING = 1,
	REGISTER_PORTABLE = 1,
	CAPTURE_RELAXED = 2,
	IPC_LAZY_PEER_ACCESS = 1,

	MAX_DEVICES = 64,
	MAX_CONTEXTS = 64,
	MAX_PITCH = 0x7fffffff,
};

typedef uint64_t cuda_addr; /* CUdeviceptr */

/* CUDA_MEMCPY2D */
struct cuda_rows {
	size_t src_x, src_y;
	unsigned src_type;
	const void *src_host;
	cuda_addr src_device;
	void *src_array;
	size_t src_pitch;
	size_t dst_x, dst_y;
	unsigned dst_type;
	void *dst_host;
	cuda_addr dst_device;
	void *dst_array;
	size_t dst_pitch;
	size_t width, height;
};

/* CUipcMemHandle, which the driver takes by value */
struct cuda_handle {
	uint8_t bytes[WEFT_DEV_HANDLE];
};

/* The functions of the driver. Set once, before the driver is open. */
static struct {
	int (*init)(unsigned flags);
	int (*error_name)(int err, const char **name_out);
	int (*device_count)(int *n_out);
	int (*device_get)(int *device_out, int ordinal);
	int (*primary_retain)(void **context_out, int device);
	int (*push)(void *context);
	int (*pop)(void **context_out);
	int (*attributes)(
		unsigned n, const int *attrs, void **data, cuda_addr ptr);
	int (*stream_create)(void **stream_out, unsigned flags);
	int (*stream_wait)(void *stream);
	int (*copy)(cuda_addr dst, cuda_addr src, size_t len, void *stream);
	int (*copy_rows)(const struct cuda_rows *rows, void *stream);
	int (*capture_mode)(int *mode);
	int (*host_register)(void *at, size_t len, unsigned flags);
	int (*host_unregister)(void *at);
	int (*range)(cuda_addr *base_out, size_t *len_out, cuda_addr ptr);
	int (*ipc_get)(struct cuda_handle *handle_out, cuda_addr base);
	int (*ipc_open)(
		cuda_addr *at_out, struct cuda_handle handle, unsigned flags);
	int (*ipc_close)(cuda_addr at);
} cuda;

static const struct weft_dev_symbol cuda_symbols[] = {
	{ "cuInit", &cuda.init },
	{ "cuGetErrorName", &cuda.error_name },
	{ "cuDeviceGetCount", &cuda.device_count },
	{ "cuDeviceGet", &cuda.device_get },
	{ "cuDevicePrimaryCtxRetain", &cuda.primary_retain },
	{ "cuCtxPushCurrent_v2", &cuda.push },
	{ "cuCtxPopCurrent_v2", &cuda.pop },
	{ "cuPointerGetAttributes", &cuda.attributes },
	{ "cuStreamCreate", &cuda.stream_create },
	{ "cuStreamSynchronize", &cuda.stream_wait },
	{ "cuMemcpyAsync", &cuda.copy },
	{ "cuMemcpy2DAsync_v2", &cuda.copy_rows },
	{ "cuThreadExchangeStreamCaptureMode", &cuda.capture_mode },
	{ "cuMemHostRegister_v2", &cuda.host_register },
	{ "cuMemHostUnregister", &cuda.host_unregister },
	{ "cuMemGetAddressRange_v2", &cuda.range },
	{ "cuIpcGetMemHandle", &cuda.ipc_get },
	{ "cuIpcOpenMemHandle_v2", &cuda.ipc_open },
	{ "cuIpcCloseMemHandle", &cuda.ipc_close },
};

/* Streams and primary contexts in use. */
static struct {
	pthread_mutex_t lock;
	void *primary[MAX_DEVICES]; /* by number of the device */
	int n;
	struct {
		void *context, *stream;
	} of[MAX_CONTEXTS];
	int next; /* entry to replace when the table is full */
} streams = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the driver ---- */

static const char *error_name(int err)
{
	const char *name = NULL;

	if (cuda.error_name(err, &name) || !name)
		return "unknown error";
	return name;
}

static int cuda_open(char *why, size_t len)
{
	int n = 0;
	int err = cuda.init(0);

	if (!err)
		err = cuda.device_count(&n);
	if (!err && n > 0)
		return n;
	snprintf(why, len, "the CUDA driver has no device: %s",
		err ? error_name(err) : "0 devices");
	return 0;
}

/* ---- addresses ---- */

/* One call asks for all attributes. For an address that the driver does not
 * know, the call succeeds and leaves the memory type 0. */
static bool cuda_find(const void *ptr, struct weft_dev_where *where_out)
{
	static const int attrs[N_ATTRS] = { ATTR_MEMORY_TYPE, ATTR_IS_MANAGED,
		ATTR_DEVICE_ORDINAL, ATTR_CONTEXT, ATTR_BUFFER_ID };
	uint64_t type = 0, is_managed = 0, device = 0, id = 0;
	void *context = NULL;
	void *data[N_ATTRS] = { &type, &is_managed, &device, &context, &id };

	if (cuda.attributes(N_ATTRS, attrs, data, (uintptr_t)ptr) != SUCCESS)
		return false;
	/* the driver writes 4 bytes or 1 byte of these numbers */
	if ((uint32_t)type != TYPE_DEVICE && (uint32_t)type != TYPE_UNIFIED &&
		!(uint8_t)is_managed)
		return false;
	where_out->id = id;
	where_out->context = context;
	where_out->device = (int32_t)(uint32_t)device;
	return true;
}

/* ---- copies ---- */

static int cuda_fault(const char *call, int err)
{
	return weft_err_set(WEFT_ERR_BUFFER,
		"%s failed with %s (%d); check that the device memory is "
		"allocated and that its context exists",
		call, error_name(err), err);
}

/* Returns the context of the memory. Its device's primary context stays
 * retained. Lock of streams held. */
static int context_of(const struct weft_dev_where *where, void **context_out)
{
	int device, err;

	*context_out = where->context;
	if (where->context)
		return 0;
	if (where->device < 0 || where->device >= MAX_DEVICES)
		return weft_err_set(WEFT_ERR_BUFFER,
			"the memory is on CUDA device %d; the library handles "
			"devices 0 to %d",
			where->device, MAX_DEVICES - 1);
	if (!streams.primary[where->device]) {
		err = cuda.device_get(&device, where->device);
		if (!err)
			err = cuda.primary_retain(
				&streams.primary[where->device], device);
		if (err)
			return cuda_fault("cuDevicePrimaryCtxRetain", err);
	}
	*context_out = streams.primary[where->device];
	return 0;
}

/* Returns the stream of the current context. Lock of streams held. */
static int stream_of(void *context, void **stream_out)
{
	int err, i = 0;

	while (i < streams.n && streams.of[i].context != context)
		i++;
	if (i == streams.n) {
		err = cuda.stream_create(stream_out, STREAM_NON_BLOCKING);
		if (err)
			return cuda_fault("cuStreamCreate", err);
		if (streams.n < MAX_CONTEXTS)
			streams.n++;
		else
			i = streams.next++ % MAX_CONTEXTS;
		streams.of[i].context = context;
		streams.of[i].stream = *stream_out;
	}
	*stream_out = streams.of[i].stream;
	return 0;
}

/* Forgets the stream of a context whose stream is stale: the program has
 * destroyed the context, and another one has the same address. */
static void forget_stream(const struct weft_dev_copies *copies)
{
	pthread_mutex_lock(&streams.lock);
	for (int i = 0; i < streams.n; i++)
		if (streams.of[i].stream == copies->stream)
			streams.of[i] = streams.of[--streams.n];
	for (int i = 0; i < MAX_DEVICES; i++)
		if (streams.primary[i] == copies->context)
			streams.primary[i] = NULL;
	pthread_mutex_unlock(&streams.lock);
}

static int copy_fault(
	const struct weft_dev_copies *copies, const char *call, int err)
{
	if (err == INVALID_HANDLE || err == INVALID_CONTEXT ||
		err == CONTEXT_IS_DESTROYED)
		forget_stream(copies);
	return cuda_fault(call, err);
}

static void leave(const struct weft_dev_copies *copies)
{
	void *context;
	int mode = copies->capture_mode;

	cuda.pop(&context);
	cuda.capture_mode(&mode);
}

static int cuda_begin(
	const struct weft_dev_where *where, struct weft_dev_copies *copies_out)
{
	struct weft_dev_copies copies = { .capture_mode = CAPTURE_RELAXED };
	int err, result;

	pthread_mutex_lock(&streams.lock);
	result = context_of(where, &copies.context);
	if (!result) {
		err = cuda.push(copies.context);
		if (err)
			result = cuda_fault("cuCtxPushCurrent", err);
	}
	if (result) {
		pthread_mutex_unlock(&streams.lock);
		return result;
	}
	/* the thread may be capturing a stream; the copies are not part of the
	 * capture */
	if (cuda.capture_mode(&copies.capture_mode))
		copies.capture_mode = CAPTURE_RELAXED;
	result = stream_of(copies.context, &copies.stream);
	pthread_mutex_unlock(&streams.lock);
	if (result)
		leave(&copies);
	else
		*copies_out = copies;
	return result;
}

static int cuda_add(const struct weft_dev_copies *copies, void *dst,
	const void *src, size_t len)
{
	int err =
		cuda.copy((uintptr_t)dst, (uintptr_t)src, len, copies->stream);

	return err ? copy_fault(copies, "cuMemcpyAsync", err) : 0;
}

/* True if the driver accepts the stride as the pitch of its rows. */
static bool is_pitch(ptrdiff_t stride, size_t len)
{
	return stride >= 0 && (size_t)stride >= len && stride <= MAX_PITCH;
}

static int cuda_add_rows(
	const struct weft_dev_copies *copies, const struct weft_dev_rows *rows)
{
	const struct cuda_rows r = {
		.src_type = copies->is_to_host ? TYPE_DEVICE : TYPE_HOST,
		.src_host = rows->src,
		.src_device = (uintptr_t)rows->src,
		.src_pitch = (size_t)rows->src_stride,
		.dst_type = copies->is_to_host ? TYPE_HOST : TYPE_DEVICE,
		.dst_host = rows->dst,
		.dst_device = (uintptr_t)rows->dst,
		.dst_pitch = (size_t)rows->dst_stride,
		.width = rows->len,
		.height = rows->n,
	};
	int err;

	if (rows->n <= 1 || !is_pitch(rows->dst_stride, rows->len) ||
		!is_pitch(rows->src_stride, rows->len))
		return weft_dev_add_runs(copies, rows);
	err = cuda.copy_rows(&r, copies->stream);
	return err ? copy_fault(copies, "cuMemcpy2DAsync", err) : 0;
}

static int cuda_end(const struct weft_dev_copies *copies, int err)
{
	int waited = cuda.stream_wait(copies->stream);

	if (waited && !err)
		err = copy_fault(copies, "cuStreamSynchronize", waited);
	leave(copies);
	return err;
}

/* ---- pinned memory ---- */

static bool cuda_pin(const struct weft_dev_where *where, void *at, size_t len)
{
	struct weft_dev_copies copies;
	int err;

	if (cuda_begin(where, &copies))
		return false;
	err = cuda.host_register(at, len, REGISTER_PORTABLE);
	leave(&copies);
	return !err;
}

/* The call needs no context. It fails if the program has destroyed the context
 * in which the memory was pinned. Then the driver does not know the address. */
static bool cuda_unpin(void *at)
{
	static const int attr = ATTR_MEMORY_TYPE;
	uint32_t type = 0;
	void *data = &type;

	return !cuda.host_unregister(at) ||
	       (!cuda.attributes(1, &attr, &data, (uintptr_t)at) && !type);
}

/* ---- memory of other processes ---- */

static bool cuda_range(const void *ptr, struct weft_dev_range *range_out)
{
	static const int attr = ATTR_BUFFER_ID;
	struct weft_dev_range range = { 0 };
	void *data = &range.id;
	size_t len = 0;

	if (cuda.attributes(1, &attr, &data, (uintptr_t)ptr) ||
		cuda.range(&range.base, &len, (uintptr_t)ptr))
		return false;
	range.len = len;
	*range_out = range;
	return true;
}

static bool cuda_export(const struct weft_dev_where *where, uint64_t base,
	uint8_t handle_out[WEFT_DEV_HANDLE])
{
	struct weft_dev_copies copies;
	struct cuda_handle handle;
	int err;

	if (cuda_begin(where, &copies))
		return false;
	err = cuda.ipc_get(&handle, base);
	leave(&copies);
	if (!err)
		memcpy(handle_out, handle.bytes, sizeof(handle.bytes));
	return !err;
}

static int cuda_map(const struct weft_dev_copies *copies,
	const uint8_t handle[WEFT_DEV_HANDLE], size_t len, void **at_out)
{
	struct cuda_handle copy;
	cuda_addr at = 0;
	int err;

	(void)copies; /* its context is the current one */
	(void)len;
	memcpy(copy.bytes, handle, sizeof(copy.bytes));
	err = cuda.ipc_open(&at, copy, IPC_LAZY_PEER_ACCESS);
	if (err)
		return weft_err_set(WEFT_ERR_ACCESS,
			"cuIpcOpenMemHandle failed with %s (%d)",
			error_name(err), err);
	*at_out = (void *)(uintptr_t)at;
	return 0;
}

static void cuda_unmap(void *context, void *at)
{
	if (cuda.push(context))
		return;
	(void)cuda.ipc_close((uintptr_t)at);
	cuda.pop(&context);
}

static bool cuda_used(struct weft_dev_where *where_out)
{
	bool is_any;

	pthread_mutex_lock(&streams.lock);
	is_any = streams.n > 0;
	if (is_any)
		*where_out = (struct weft_dev_where){
			.context = streams.of[0].context
		};
	pthread_mutex_unlock(&streams.lock);
	return is_any;
}

/* The driver calls nothing in the library. Streams stay; see above. */
const struct weft_dev_vendor weft_dev_cuda = {
	.name = "CUDA",
	.kind = "cuda",
	.common = "managed",
	.library = "libcuda.so.1",
	.needs = "a driver of CUDA 11 or later",
	.node = "/dev/nvidiactl",
	.alloc = "cudaMalloc",
	.pin_min = 32 << 10,
	.id = WEFT_DEV_CUDA,
	.symbols = cuda_symbols,
	.n_symbols = sizeof(cuda_symbols) / sizeof(cuda_symbols[0]),
	.open = cuda_open,
	.find = cuda_find,
	.begin = cuda_begin,
	.add = cuda_add,
	.add_rows = cuda_add_rows,
	.end = cuda_end,
	.pin = cuda_pin,
	.unpin = cuda_unpin,
	.range = cuda_range,
	.export = cuda_export,
	.map = cuda_map,
	.unmap = cuda_unmap,
	.used = cuda_used,
	.close = weft_gdr_close,
};
