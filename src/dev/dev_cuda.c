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
#include "dev/dev.h"

#include "base/bits.h"
#include "base/err.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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
	N_ATTRS = 4,

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

/* The functions of the driver. Set once, before WEFT_DEV_ON. */
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

static const struct {
	const char *name;
	void *function;
} cuda_names[] = {
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

static const char library[] = "libcuda.so.1";

atomic_int weft_dev_state;

/* The results of loading the driver's library, and of initialising the driver.
 * Each is set once. */
static struct {
	pthread_once_t load_once, open_once;
	bool is_loaded;
	int n_devices;
	char why[160];
} driver = { .load_once = PTHREAD_ONCE_INIT, .open_once = PTHREAD_ONCE_INIT };

/* The last library in the loader's list at the last test for the driver's
 * library. Libraries that are loaded later follow it. It stays loaded, so that
 * any thread may read its entry. NULL: unknown. */
static struct link_map *_Atomic last_library;

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

static bool find_functions(void *lib)
{
	for (size_t i = 0; i < sizeof(cuda_names) / sizeof(cuda_names[0]);
		i++) {
		void *function = dlsym(lib, cuda_names[i].name);

		if (!function) {
			snprintf(driver.why, sizeof(driver.why),
				"libcuda.so.1 has no function %s: it needs a "
				"driver of CUDA 11 or later",
				cuda_names[i].name);
			return false;
		}
		memcpy(cuda_names[i].function, &function, sizeof(function));
	}
	return true;
}

static void load_driver(void)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		const char *why = dlerror();

		snprintf(driver.why, sizeof(driver.why), "%s",
			why ? why : "libcuda.so.1 cannot be opened");
		return;
	}
	driver.is_loaded = find_functions(lib);
}

static void set_on(void)
{
	/* pairs with the acquire in weft_dev_is_on(): the functions are set */
	atomic_store_explicit(
		&weft_dev_state, WEFT_DEV_ON, memory_order_release);
}

static void open_driver(void)
{
	int err, n = 0;

	pthread_once(&driver.load_once, load_driver);
	if (!driver.is_loaded)
		return;
	err = cuda.init(0);
	if (!err)
		err = cuda.device_count(&n);
	if (err || n < 1) {
		snprintf(driver.why, sizeof(driver.why),
			"the CUDA driver has no device: %s",
			err ? error_name(err) : "0 devices");
		return;
	}
	driver.n_devices = n;
	set_on();
}

int weft_dev_open(const char **why_out)
{
	pthread_once(&driver.open_once, open_driver);
	if (!driver.n_devices && why_out)
		*why_out = driver.why;
	return driver.n_devices;
}

/* ---- a driver that the program loads ---- */

struct last {
	struct link_map *map;
	char name[PATH_MAX];
};

/* Finds the last library. The loader's lock is held, so its list is constant.
 */
static int find_last(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct last *last = arg;

	(void)info;
	(void)size;
	while (last->map->l_next)
		last->map = last->map->l_next;
	snprintf(last->name, sizeof(last->name), "%s", last->map->l_name);
	return 1; /* no further call */
}

static __attribute__((noinline)) void note_last(void)
{
	void *self = dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map = NULL;
	struct last last;

	if (!self || dlinfo(self, RTLD_DI_LINKMAP, &last.map))
		return;
	dl_iterate_phdr(find_last, &last);
	/* a reference, which is never dropped */
	self = dlopen(last.name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (self && !dlinfo(self, RTLD_DI_LINKMAP, &map) && map == last.map)
		/* pairs with the acquire in is_loaded_meanwhile() */
		atomic_store_explicit(&last_library, map, memory_order_release);
}

/* Opens the driver if the process has loaded its library. */
static bool open_loaded(void)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	if (!lib)
		return false;
	dlclose(lib);
	pthread_once(&driver.load_once, load_driver);
	if (driver.is_loaded)
		set_on();
	return driver.is_loaded;
}

/* Tests for the driver's library after the process has loaded libraries. */
static bool is_loaded_meanwhile(void)
{
	/* pairs with the release in note_last() */
	struct link_map *last =
		atomic_load_explicit(&last_library, memory_order_acquire);

	/* relaxed: memory of a device comes from a thread that has loaded the
	 * driver, or has synchronized with that thread */
	if (weft_likely(
		    last && !__atomic_load_n(&last->l_next, __ATOMIC_RELAXED)))
		return false;
	note_last();
	return open_loaded();
}

bool weft_dev_watch(void)
{
	int off = WEFT_DEV_OFF;

	if (weft_dev_is_on() || open_loaded())
		return true;
	if (access("/dev/nvidiactl", F_OK))
		return false;
	/* no effect if another thread has opened the driver */
	(void)atomic_compare_exchange_strong_explicit(&weft_dev_state, &off,
		WEFT_DEV_WATCH, memory_order_relaxed, memory_order_relaxed);
	return true;
}

static bool is_cuda_restrictor(const char *word, size_t len)
{
	static const char *const known[] = { "host", "device", "managed" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i]) == len &&
			!strncasecmp(word, known[i], len))
			return true;
	return false;
}

bool weft_dev_has_kind(const char *kind)
{
	size_t len = strcspn(kind, ":");

	if (len != 4 || strncasecmp(kind, "cuda", len) != 0)
		return false;
	for (kind += len; *kind; kind += len) {
		kind++;
		len = strcspn(kind, ":");
		if (!is_cuda_restrictor(kind, len))
			return false;
	}
	return weft_dev_open(NULL) > 0;
}

/* ---- addresses ---- */

bool weft_dev_is_open(void)
{
	int state = atomic_load_explicit(&weft_dev_state, memory_order_acquire);

	return state == WEFT_DEV_ON ||
	       (state == WEFT_DEV_WATCH && is_loaded_meanwhile());
}

/* One call asks for all attributes. For an address that the driver does not
 * know, the call succeeds and leaves the memory type 0. */
bool weft_dev_find(const void *ptr, struct weft_dev_where *where_out)
{
	static const int attrs[N_ATTRS] = { ATTR_MEMORY_TYPE, ATTR_IS_MANAGED,
		ATTR_DEVICE_ORDINAL, ATTR_CONTEXT };
	uint64_t type = 0, is_managed = 0, device = 0;
	void *context = NULL;
	void *data[N_ATTRS] = { &type, &is_managed, &device, &context };

	if (!weft_dev_is_open())
		return false;
	if (cuda.attributes(N_ATTRS, attrs, data, (uintptr_t)ptr) != SUCCESS)
		return false;
	/* the driver writes 4 bytes or 1 byte of these numbers */
	if ((uint32_t)type != TYPE_DEVICE && (uint32_t)type != TYPE_UNIFIED &&
		!(uint8_t)is_managed)
		return false;
	*where_out = (struct weft_dev_where){ .context = context,
		.device = (int32_t)(uint32_t)device };
	return true;
}

int weft_dev_refuse(const void *ptr, const char *name, const char *remedy)
{
	struct weft_dev_where where;

	if (!weft_dev_find(ptr, &where))
		return 0;
	return weft_err_set(WEFT_ERR_BUFFER,
		"%s %p is CUDA device memory (device %d), which this procedure "
		"does not support; %s",
		name, ptr, where.device, remedy);
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

int weft_dev_begin(const struct weft_dev_where *where, bool is_to_host,
	struct weft_dev_copies *copies_out)
{
	struct weft_dev_copies copies = { .is_to_host = is_to_host,
		.capture_mode = CAPTURE_RELAXED };
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

int weft_dev_add(const struct weft_dev_copies *copies, void *dst,
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

int weft_dev_add_rows(
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
	int err = 0;

	if (rows->n > 1 && is_pitch(rows->dst_stride, rows->len) &&
		is_pitch(rows->src_stride, rows->len)) {
		err = cuda.copy_rows(&r, copies->stream);
		return err ? copy_fault(copies, "cuMemcpy2DAsync", err) : 0;
	}
	for (size_t i = 0; !err && i < rows->n; i++)
		err = weft_dev_add(copies,
			(char *)rows->dst + (ptrdiff_t)i * rows->dst_stride,
			(const char *)rows->src +
				(ptrdiff_t)i * rows->src_stride,
			rows->len);
	return err;
}

int weft_dev_end(const struct weft_dev_copies *copies, int err)
{
	int waited = cuda.stream_wait(copies->stream);

	if (waited && !err)
		err = copy_fault(copies, "cuStreamSynchronize", waited);
	leave(copies);
	return err;
}

/* ---- pinned memory ---- */

bool weft_dev_pin(const struct weft_dev_where *where, void *at, size_t len)
{
	struct weft_dev_copies copies;
	int err;

	if (weft_dev_begin(where, false, &copies))
		return false;
	err = cuda.host_register(at, len, REGISTER_PORTABLE);
	leave(&copies);
	return !err;
}

/* The call needs no context. It fails if the program has destroyed the context
 * in which the memory was pinned. Then the driver does not know the address. */
bool weft_dev_unpin(void *at)
{
	static const int attr = ATTR_MEMORY_TYPE;
	uint32_t type = 0;
	void *data = &type;

	return !cuda.host_unregister(at) ||
	       (!cuda.attributes(1, &attr, &data, (uintptr_t)at) && !type);
}

/* ---- memory of other processes ---- */

bool weft_dev_range(const void *ptr, struct weft_dev_range *range_out)
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

bool weft_dev_export(const struct weft_dev_where *where, uint64_t base,
	uint8_t handle_out[WEFT_DEV_HANDLE])
{
	struct weft_dev_copies copies;
	struct cuda_handle handle;
	int err;

	if (weft_dev_begin(where, true, &copies))
		return false;
	err = cuda.ipc_get(&handle, base);
	leave(&copies);
	if (!err)
		memcpy(handle_out, handle.bytes, sizeof(handle.bytes));
	return !err;
}

int weft_dev_map(const uint8_t handle[WEFT_DEV_HANDLE], void **at_out)
{
	struct cuda_handle copy;
	cuda_addr at = 0;
	int err;

	memcpy(copy.bytes, handle, sizeof(copy.bytes));
	err = cuda.ipc_open(&at, copy, IPC_LAZY_PEER_ACCESS);
	if (err)
		return weft_err_set(WEFT_ERR_ACCESS,
			"cuIpcOpenMemHandle failed with %s (%d)",
			error_name(err), err);
	*at_out = (void *)(uintptr_t)at;
	return 0;
}

void weft_dev_unmap(void *context, void *at)
{
	if (cuda.push(context))
		return;
	(void)cuda.ipc_close((uintptr_t)at);
	cuda.pop(&context);
}

bool weft_dev_used(struct weft_dev_where *where_out)
{
	bool is_any;

	if (!weft_dev_is_open())
		return false;
	pthread_mutex_lock(&streams.lock);
	is_any = streams.n > 0;
	if (is_any)
		*where_out = (struct weft_dev_where){
			.context = streams.of[0].context
		};
	pthread_mutex_unlock(&streams.lock);
	return is_any;
}
