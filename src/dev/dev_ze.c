/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_ze: Level Zero device memory, through the loader libze_loader.so.1
 *
 * The types, numbers and layouts here are those of the loader's binary
 * interface, so no header of Level Zero is needed to build.
 *
 * The loader has drivers, a driver has devices, and a device may have tiles.
 * The library makes one context for each driver. The context of a copy is its
 * device or tile. The stream is an immediate command list, which one thread at
 * a time may use. So each copy takes a list that is idle, and returns it. */
#include "dev/dev_priv.h"

#include "base/bits.h"
#include "base/err.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
	DESC_GROUP = 0x6,
	DESC_DEVICE = 0x3,
	DESC_CONTEXT = 0xd,
	DESC_QUEUE = 0xe,
	DESC_MEMORY = 0x17,

	DEVICE_IS_GPU = 1,
	GROUP_COMPUTES = 1,
	GROUP_COPIES = 2,
	QUEUE_ASYNCHRONOUS = 2,

	MEMORY_DEVICE = 2,
	MEMORY_SHARED = 3,

	MAX_DRIVERS = 8,
	MAX_DEVICES = 64, /* of a driver, and tiles of a device */
	MAX_ENTRIES = 256,
	MAX_GROUPS = 16,
	MAX_IDLE = 8,
};

/* ze_context_desc_t */
struct ze_context_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags;
};

/* ze_device_properties_t */
struct ze_device_desc {
	uint32_t stype;
	void *next;
	uint32_t type;
	uint8_t other[348];
};

/* ze_command_queue_group_properties_t */
struct ze_group {
	uint32_t stype;
	void *next;
	uint32_t flags;
	size_t max_pattern;
	uint32_t n_queues;
};

/* ze_command_queue_desc_t */
struct ze_queue {
	uint32_t stype;
	const void *next;
	uint32_t group, index, flags, mode, priority;
};

/* ze_memory_allocation_properties_t */
struct ze_memory {
	uint32_t stype;
	void *next;
	uint32_t type;
	uint64_t id, page_size;
};

/* ze_copy_region_t */
struct ze_region {
	uint32_t x, y, z, width, height, depth;
};

static_assert(sizeof(struct ze_device_desc) == 368, "layout");
static_assert(sizeof(struct ze_group) == 40, "layout");
static_assert(sizeof(struct ze_queue) == 40, "layout");
static_assert(sizeof(struct ze_memory) == 40, "layout");

/* The functions of the loader. Set once, before the loader is open. */
static struct {
	int (*init)(uint32_t flags);
	int (*drivers)(uint32_t *n, void **drivers_out);
	int (*extension)(void *driver, const char *name, void **function_out);
	int (*context_create)(void *driver, const struct ze_context_desc *desc,
		void **context_out);
	int (*devices)(void *driver, uint32_t *n, void **devices_out);
	int (*tiles)(void *device, uint32_t *n, void **tiles_out);
	int (*device_desc)(void *device, struct ze_device_desc *desc);
	int (*groups)(void *device, uint32_t *n, struct ze_group *groups_out);
	int (*memory)(void *context, const void *ptr, struct ze_memory *memory,
		void **device_out);
	int (*list_create)(void *context, void *device,
		const struct ze_queue *queue, void **list_out);
	int (*list_destroy)(void *list);
	int (*list_wait)(void *list, uint64_t timeout_ns);
	int (*copy)(void *list, void *dst, const void *src, size_t len,
		void *event, uint32_t n_before, void **before);
	int (*copy_region)(void *list, void *dst, const struct ze_region *to,
		uint32_t dst_pitch, uint32_t dst_slice, const void *src,
		const struct ze_region *from, uint32_t src_pitch,
		uint32_t src_slice, void *event, uint32_t n_before,
		void **before);
} ze;

static const struct weft_dev_symbol ze_symbols[] = {
	{ "zeInit", &ze.init },
	{ "zeDriverGet", &ze.drivers },
	{ "zeDriverGetExtensionFunctionAddress", &ze.extension },
	{ "zeContextCreate", &ze.context_create },
	{ "zeDeviceGet", &ze.devices },
	{ "zeDeviceGetSubDevices", &ze.tiles },
	{ "zeDeviceGetProperties", &ze.device_desc },
	{ "zeDeviceGetCommandQueueGroupProperties", &ze.groups },
	{ "zeMemGetAllocProperties", &ze.memory },
	{ "zeCommandListCreateImmediate", &ze.list_create },
	{ "zeCommandListDestroy", &ze.list_destroy },
	{ "zeCommandListHostSynchronize", &ze.list_wait },
	{ "zeCommandListAppendMemoryCopy", &ze.copy },
	{ "zeCommandListAppendMemoryCopyRegion", &ze.copy_region },
};

/* The extensions of a driver are NULL if it does not have them. */
struct ze_driver {
	void *handle;
	void *context;
	int (*import)(void *driver, void *at, size_t len);
	int (*release)(void *driver, void *at);
	int (*base)(void *driver, void *at, void **base_out);
};

/* A device or a tile. */
struct ze_device {
	const struct ze_driver *driver;
	void *handle;
	int number; /* of the device */
	uint32_t group;
	void *idle[MAX_IDLE]; /* lists; lock of idle_lists */
	int n_idle;
};

/* The GPUs of this process. Set once, when the loader is initialised. */
static struct {
	pthread_once_t once;
	atomic_bool is_set;
	int err;
	struct ze_driver drivers[MAX_DRIVERS];
	int n_drivers;
	struct ze_device devices[MAX_ENTRIES];
	int n_devices;
	int n_numbers;
} gpus = { .once = PTHREAD_ONCE_INIT };

static pthread_mutex_t idle_lists = PTHREAD_MUTEX_INITIALIZER;

/* ---- the loader ---- */

static const char *result_name(int err)
{
	static const struct {
		int err;
		const char *name;
	} known[] = {
		{ 0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST" },
		{ 0x70000002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY" },
		{ 0x70000003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY" },
		{ 0x70000006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET" },
		{ 0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS" },
		{ 0x70010001, "ZE_RESULT_ERROR_NOT_AVAILABLE" },
		{ 0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE" },
		{ 0x78000001, "ZE_RESULT_ERROR_UNINITIALIZED" },
		{ 0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION" },
		{ 0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE" },
		{ 0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT" },
		{ 0x78000005, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE" },
		{ 0x78000007, "ZE_RESULT_ERROR_INVALID_NULL_POINTER" },
		{ 0x78000008, "ZE_RESULT_ERROR_INVALID_SIZE" },
		{ 0x78000009, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE" },
		{ 0x7800001a, "ZE_RESULT_ERROR_OVERLAPPING_REGIONS" },
		{ 0x7ffffffe, "ZE_RESULT_ERROR_UNKNOWN" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].err == err)
			return known[i].name;
	return "another error";
}

static int ze_fault(const char *call, int err)
{
	return weft_err_set(WEFT_ERR_BUFFER,
		"%s failed with %s (0x%x); check that the device memory is "
		"allocated",
		call, result_name(err), (unsigned)err);
}

/* Returns the first group of engines that only copy, so that copies do not
 * wait for the program's kernels. 0, which computes and copies: none. */
static uint32_t copy_group(void *device)
{
	struct ze_group groups[MAX_GROUPS] = { 0 };
	uint32_t n = MAX_GROUPS;

	for (uint32_t i = 0; i < n; i++)
		groups[i].stype = DESC_GROUP;
	if (ze.groups(device, &n, groups))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if ((groups[i].flags & (GROUP_COMPUTES | GROUP_COPIES)) ==
			GROUP_COPIES)
			return i;
	return 0;
}

static void add_device(const struct ze_driver *driver, void *handle)
{
	if (gpus.n_devices == MAX_ENTRIES)
		return;
	gpus.devices[gpus.n_devices++] = (struct ze_device){
		.driver = driver,
		.handle = handle,
		.number = gpus.n_numbers,
		.group = copy_group(handle),
	};
}

/* Adds a GPU and its tiles. */
static void add_gpu(const struct ze_driver *driver, void *handle)
{
	struct ze_device_desc desc = { .stype = DESC_DEVICE };
	void *tiles[MAX_DEVICES];
	uint32_t n = MAX_DEVICES;

	if (ze.device_desc(handle, &desc) || desc.type != DEVICE_IS_GPU)
		return;
	add_device(driver, handle);
	if (ze.tiles(handle, &n, tiles))
		n = 0;
	for (uint32_t i = 0; i < n; i++)
		add_device(driver, tiles[i]);
	gpus.n_numbers++;
}

static void *extension_of(void *driver, const char *name)
{
	void *function = NULL;

	return ze.extension(driver, name, &function) ? NULL : function;
}

/* Adds the driver if it has a GPU. */
static int add_driver(void *handle)
{
	struct ze_driver *driver = &gpus.drivers[gpus.n_drivers];
	const struct ze_context_desc desc = { .stype = DESC_CONTEXT };
	const int n_devices = gpus.n_devices, n_numbers = gpus.n_numbers;
	void *devices[MAX_DEVICES];
	uint32_t n = MAX_DEVICES;
	int err = ze.devices(handle, &n, devices);

	for (uint32_t i = 0; !err && i < n; i++)
		add_gpu(driver, devices[i]);
	if (err || gpus.n_devices == n_devices)
		return err;
	driver->handle = handle;
	*(void **)&driver->import =
		extension_of(handle, "zexDriverImportExternalPointer");
	*(void **)&driver->release =
		extension_of(handle, "zexDriverReleaseImportedPointer");
	*(void **)&driver->base =
		extension_of(handle, "zexDriverGetHostPointerBaseAddress");
	err = ze.context_create(handle, &desc, &driver->context);
	if (err) {
		gpus.n_devices = n_devices;
		gpus.n_numbers = n_numbers;
	} else {
		gpus.n_drivers++;
	}
	return err;
}

/* Initialises the loader for all kinds of devices, because the first call
 * decides this for the process. Later calls have no effect. */
static void find_gpus(void)
{
	void *drivers[MAX_DRIVERS];
	uint32_t n = MAX_DRIVERS;
	int err;

	gpus.err = ze.init(0);
	if (!gpus.err)
		gpus.err = ze.drivers(&n, drivers);
	if (gpus.err)
		n = 0;
	for (uint32_t i = 0; i < n; i++) {
		err = add_driver(drivers[i]);
		gpus.err = err ? err : gpus.err;
	}
	/* pairs with the acquire in is_initialised() */
	atomic_store_explicit(&gpus.is_set, true, memory_order_release);
}

static int ze_open(char *why, size_t len)
{
	pthread_once(&gpus.once, find_gpus);
	if (!gpus.n_numbers)
		snprintf(why, len, "Level Zero has no GPU: %s",
			gpus.err ? result_name(gpus.err) : "0 devices");
	return gpus.n_numbers;
}

/* ---- addresses ---- */

/* True if the GPUs are known. The loader has no drivers until the program has
 * initialised it. */
static inline bool is_initialised(void)
{
	uint32_t n = 0;

	/* pairs with the release in find_gpus() */
	if (weft_likely(
		    atomic_load_explicit(&gpus.is_set, memory_order_acquire)))
		return true;
	if (ze.drivers(&n, NULL) || !n)
		return false;
	pthread_once(&gpus.once, find_gpus);
	return true;
}

/* Returns the device or tile with this handle. Shared memory may have none:
 * then it is the first device of the driver. */
static struct ze_device *gpu_of(
	const struct ze_driver *driver, const void *handle)
{
	struct ze_device *first = NULL;

	for (int i = gpus.n_devices - 1; i >= 0; i--) {
		if (gpus.devices[i].driver != driver)
			continue;
		if (gpus.devices[i].handle == handle)
			return &gpus.devices[i];
		first = &gpus.devices[i];
	}
	return first;
}

/* A driver knows the memory of all contexts of its own, also of those of the
 * program. Host memory of the driver has another type, and imported host memory
 * none. */
static bool ze_find(const void *ptr, struct weft_dev_where *where_out)
{
	struct ze_device *device;

	if (!is_initialised())
		return false;
	for (int i = 0; i < gpus.n_drivers; i++) {
		struct ze_memory memory = { .stype = DESC_MEMORY };
		void *handle = NULL;

		if (ze.memory(gpus.drivers[i].context, ptr, &memory, &handle) ||
			(memory.type != MEMORY_DEVICE &&
				memory.type != MEMORY_SHARED))
			continue;
		device = gpu_of(&gpus.drivers[i], handle);
		where_out->context = device;
		where_out->device = device->number;
		return true;
	}
	return false;
}

/* ---- copies ---- */

static int ze_begin(
	const struct weft_dev_where *where, struct weft_dev_copies *copies_out)
{
	struct ze_device *device = where->context;
	const struct ze_queue queue = { .stype = DESC_QUEUE,
		.group = device->group,
		.mode = QUEUE_ASYNCHRONOUS };
	void *list = NULL;
	int err = 0;

	pthread_mutex_lock(&idle_lists);
	if (device->n_idle)
		list = device->idle[--device->n_idle];
	pthread_mutex_unlock(&idle_lists);
	if (!list)
		err = ze.list_create(
			device->driver->context, device->handle, &queue, &list);
	if (err)
		return ze_fault("zeCommandListCreateImmediate", err);
	*copies_out =
		(struct weft_dev_copies){ .context = device, .stream = list };
	return 0;
}

static int ze_add(const struct weft_dev_copies *copies, void *dst,
	const void *src, size_t len)
{
	int err =
		len ? ze.copy(copies->stream, dst, src, len, NULL, 0, NULL) : 0;

	return err ? ze_fault("zeCommandListAppendMemoryCopy", err) : 0;
}

/* True if the driver accepts the stride as the pitch of its rows. */
static bool is_region_pitch(ptrdiff_t stride, size_t len)
{
	return stride >= 0 && (size_t)stride >= len && stride <= UINT32_MAX;
}

/* True if the driver maps all rows of host memory: they have no gaps, or their
 * memory is imported. Of other memory with gaps, the driver maps as many bytes
 * as the rows have without them. */
static bool is_row_memory(
	const struct weft_dev_copies *copies, const struct weft_dev_rows *rows)
{
	const struct ze_device *device = copies->context;
	void *at =
		copies->is_to_host ? rows->dst : (void *)(uintptr_t)rows->src;
	ptrdiff_t stride =
		copies->is_to_host ? rows->dst_stride : rows->src_stride;
	void *base = NULL;

	return (size_t)stride == rows->len ||
	       (device->driver->base &&
		       !device->driver->base(
			       device->driver->handle, at, &base) &&
		       base);
}

static int ze_add_rows(
	const struct weft_dev_copies *copies, const struct weft_dev_rows *rows)
{
	struct ze_region region;
	int err;

	if (rows->n <= 1 || rows->n > UINT32_MAX || !rows->len ||
		!is_region_pitch(rows->dst_stride, rows->len) ||
		!is_region_pitch(rows->src_stride, rows->len) ||
		!is_row_memory(copies, rows))
		return weft_dev_add_runs(copies, rows);
	/* a depth of 0 is a copy in two dimensions */
	region = (struct ze_region){ .width = (uint32_t)rows->len,
		.height = (uint32_t)rows->n };
	err = ze.copy_region(copies->stream, rows->dst, &region,
		(uint32_t)rows->dst_stride, 0, rows->src, &region,
		(uint32_t)rows->src_stride, 0, NULL, 0, NULL);
	return err ? ze_fault("zeCommandListAppendMemoryCopyRegion", err) : 0;
}

/* A list that has failed is not used again. */
static int ze_end(const struct weft_dev_copies *copies, int err)
{
	struct ze_device *device = copies->context;
	void *list = copies->stream;
	int waited = ze.list_wait(list, UINT64_MAX);

	if (waited && !err)
		err = ze_fault("zeCommandListHostSynchronize", waited);
	pthread_mutex_lock(&idle_lists);
	if (!waited && device->n_idle < MAX_IDLE) {
		device->idle[device->n_idle++] = list;
		list = NULL;
	}
	pthread_mutex_unlock(&idle_lists);
	if (list)
		(void)ze.list_destroy(list);
	return err;
}

/* ---- pinned memory ---- */

static bool ze_pin(const struct weft_dev_where *where, void *at, size_t len)
{
	const struct ze_driver *driver =
		((const struct ze_device *)where->context)->driver;

	return driver->import && driver->release &&
	       !driver->import(driver->handle, at, len);
}

static bool ze_unpin(void *at)
{
	for (int i = 0; i < gpus.n_drivers; i++) {
		const struct ze_driver *driver = &gpus.drivers[i];

		if (driver->release && !driver->release(driver->handle, at))
			return true;
	}
	return false;
}

/* ---- memory of other processes ---- */

/* The library has no IPC handles for this memory; README.md. */
static bool ze_range(const void *ptr, struct weft_dev_range *range_out)
{
	(void)ptr;
	(void)range_out;
	return false;
}

static bool ze_export(const struct weft_dev_where *where, uint64_t base,
	uint8_t handle_out[WEFT_DEV_HANDLE])
{
	(void)where;
	(void)base;
	(void)handle_out;
	return false;
}

static int ze_map(const struct weft_dev_copies *copies,
	const uint8_t handle[WEFT_DEV_HANDLE], size_t len, void **at_out)
{
	(void)copies;
	(void)handle;
	(void)len;
	(void)at_out;
	return weft_err_set(WEFT_ERR_ACCESS,
		"the library maps no Level Zero memory of other processes");
}

static void ze_unmap(void *context, void *at)
{
	(void)context;
	(void)at;
}

static bool ze_used(struct weft_dev_where *where_out)
{
	(void)where_out;
	return false;
}

/* Destroys the lists. The contexts stay, as the initialisation does. */
static void ze_close(void)
{
	pthread_mutex_lock(&idle_lists);
	for (int i = 0; i < gpus.n_devices; i++)
		while (gpus.devices[i].n_idle)
			(void)ze.list_destroy(
				gpus.devices[i].idle[--gpus.devices[i].n_idle]);
	pthread_mutex_unlock(&idle_lists);
}

const struct weft_dev_vendor weft_dev_ze = {
	.name = "Level Zero",
	.kind = "level_zero",
	.common = "shared",
	.library = "libze_loader.so.1",
	.needs = "Level Zero 1.6 or later",
	.node = "/dev/dri/renderD128",
	.alloc = "zeMemAllocDevice",
	.pin_min = 1,
	.id = WEFT_DEV_ZE,
	.symbols = ze_symbols,
	.n_symbols = sizeof(ze_symbols) / sizeof(ze_symbols[0]),
	.open = ze_open,
	.find = ze_find,
	.begin = ze_begin,
	.add = ze_add,
	.add_rows = ze_add_rows,
	.end = ze_end,
	.pin = ze_pin,
	.unpin = ze_unpin,
	.range = ze_range,
	.export = ze_export,
	.map = ze_map,
	.unmap = ze_unmap,
	.used = ze_used,
	.close = ze_close,
};
