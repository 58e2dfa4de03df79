/* SPDX-License-Identifier: BSD-3-Clause */
/* zestand: a stand-in for the Level Zero loader, libze_loader.so.1; README.md
 */
#include "../dev/devstand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUCCESS = 0,
	OUT_OF_HOST_MEMORY = 0x70000002,
	UNINITIALIZED = 0x78000001,
	INVALID_ARGUMENT = 0x78000004,
	UNKNOWN = 0x7ffffffe,

	DESC_DEVICE = 0x3,
	DESC_GROUP = 0x6,
	DESC_CONTEXT = 0xd,
	DESC_QUEUE = 0xe,
	DESC_DEVICE_ALLOC = 0x15,
	DESC_HOST_ALLOC = 0x16,
	DESC_MEMORY = 0x17,

	TYPE_GPU = 1,
	TYPE_VPU = 5,
	GROUP_COMPUTES = 1,
	GROUP_COPIES = 2,

	MEMORY_UNKNOWN = 0,
	MEMORY_HOST = 1,
	MEMORY_DEVICE = 2,
	MEMORY_SHARED = 3,

	MODE_SYNCHRONOUS = 1,
	MODE_ASYNCHRONOUS = 2,

	N_TILES = 2,
	N_GROUPS = 2,
	MAX_GPUS = 8,
};

/* The beginning of each structure. */
struct desc {
	uint32_t stype;
	const void *next;
};

struct device_desc {
	struct desc head;
	uint32_t type;
	uint8_t other[348];
};

struct group {
	struct desc head;
	uint32_t flags;
	size_t max_pattern;
	uint32_t n_queues;
};

struct queue {
	struct desc head;
	uint32_t group, index, flags, mode, priority;
};

struct memory {
	struct desc head;
	uint32_t type;
	uint64_t id, page_size;
};

struct region {
	uint32_t x, y, z, width, height, depth;
};

struct context {
	struct context *self;
};

/* A device or a tile. */
struct device {
	struct device *self;
	int number; /* of the GPU; -1: no GPU */
	bool is_tile;
};

struct list {
	struct list *self;
	int number; /* of the GPU */
	bool is_synchronous;
	pthread_t user; /* of the copies in the queue */
	struct stand_queue queue;
};

static struct {
	bool is_started;
	int driver; /* its address is the handle */
	struct device gpus[MAX_GPUS], tiles[MAX_GPUS][N_TILES];
	struct device vpu;
	void *owner[STAND_MAX_ALLOCS]; /* the device or tile of the memory */
} ze;

static _Noreturn void end_program(const char *call, const char *why)
{
	fprintf(stderr, "%s: %s\n", call, why);
	abort();
}

static int begin(bool is_counted)
{
	if (!ze.is_started || !stand_is_started())
		return UNINITIALIZED;
	return is_counted && stand_fails() ? UNKNOWN : SUCCESS;
}

/* The driver's errors for the results of devstand. */
static const int errors[] = { [STAND_OK] = SUCCESS,
	[STAND_INVALID] = INVALID_ARGUMENT,
	[STAND_NO_MEMORY] = OUT_OF_HOST_MEMORY,
	[STAND_CONFLICT] = INVALID_ARGUMENT };

/* The first field of each object is its own address. */
static void check_handle(const char *call, const void *handle)
{
	if (!handle || *(const void *const *)handle != handle)
		end_program(call, "the handle is unknown");
}

static void check_driver(const char *call, const void *driver)
{
	if (driver != &ze.driver)
		end_program(call, "the driver is unknown");
}

static void check_desc(
	const char *call, const struct desc *desc, uint32_t stype)
{
	if (!desc || desc->stype != stype || desc->next)
		end_program(call, "the structure has another type");
}

/* Writes up to *n of the handles. */
static int list_handles(
	uint32_t *n, void **handles_out, void *const *all, uint32_t n_all)
{
	if (!*n || *n > n_all)
		*n = n_all;
	else
		n_all = *n;
	for (uint32_t i = 0; handles_out && i < n_all; i++)
		handles_out[i] = all[i];
	return SUCCESS;
}

/* ---- start, drivers, devices ---- */

static void make_device(struct device *d, int number, bool is_tile)
{
	*d = (struct device){ d, number, is_tile };
}

static int init(void)
{
	stand_start();
	if (stand.n_devices < 1 || stand.n_devices > MAX_GPUS ||
		!stand_is_started())
		return UNINITIALIZED;
	make_device(&ze.vpu, -1, false);
	for (int i = 0; i < stand.n_devices; i++) {
		make_device(&ze.gpus[i], i, false);
		for (int k = 0; k < N_TILES; k++)
			make_device(&ze.tiles[i][k], i, true);
	}
	ze.is_started = true;
	return SUCCESS;
}

int zeInit(uint32_t flags);
int zeInit(uint32_t flags)
{
	if (flags > 3)
		end_program("zeInit", "unknown flags");
	return LOCKED(init());
}

int zeDriverGet(uint32_t *n, void **drivers);
int zeDriverGet(uint32_t *n, void **drivers)
{
	void *const all[] = { &ze.driver };
	int err = begin(false);

	return err ? err : list_handles(n, drivers, all, 1);
}

int zeDeviceGet(void *driver, uint32_t *n, void **devices);
int zeDeviceGet(void *driver, uint32_t *n, void **devices)
{
	void *all[MAX_GPUS + 1] = { &ze.vpu };

	check_driver("zeDeviceGet", driver);
	for (int i = 0; i < stand.n_devices; i++)
		all[1 + i] = &ze.gpus[i];
	return list_handles(n, devices, all, 1 + (uint32_t)stand.n_devices);
}

int zeDeviceGetSubDevices(struct device *device, uint32_t *n, void **tiles);
int zeDeviceGetSubDevices(struct device *device, uint32_t *n, void **tiles)
{
	void *all[N_TILES];

	check_handle("zeDeviceGetSubDevices", device);
	if (device->number < 0 || device->is_tile) {
		*n = 0;
		return SUCCESS;
	}
	for (int k = 0; k < N_TILES; k++)
		all[k] = &ze.tiles[device->number][k];
	return list_handles(n, tiles, all, N_TILES);
}

int zeDeviceGetProperties(
	const struct device *device, struct device_desc *desc);
int zeDeviceGetProperties(const struct device *device, struct device_desc *desc)
{
	check_handle("zeDeviceGetProperties", device);
	check_desc("zeDeviceGetProperties", &desc->head, DESC_DEVICE);
	desc->type = device->number < 0 ? TYPE_VPU : TYPE_GPU;
	memset(desc->other, 1, sizeof(desc->other));
	return SUCCESS;
}

int zeDeviceGetCommandQueueGroupProperties(
	const struct device *device, uint32_t *n, struct group *groups);
int zeDeviceGetCommandQueueGroupProperties(
	const struct device *device, uint32_t *n, struct group *groups)
{
	const char *call = "zeDeviceGetCommandQueueGroupProperties";

	check_handle(call, device);
	if (!*n || *n > N_GROUPS)
		*n = N_GROUPS;
	for (uint32_t i = 0; groups && i < *n; i++) {
		check_desc(call, &groups[i].head, DESC_GROUP);
		groups[i].flags =
			i ? GROUP_COPIES : GROUP_COPIES | GROUP_COMPUTES;
		groups[i].n_queues = 1;
	}
	return SUCCESS;
}

int zeContextCreate(
	void *driver, const struct desc *desc, struct context **context);
int zeContextCreate(
	void *driver, const struct desc *desc, struct context **context)
{
	int err = begin(false);

	check_driver("zeContextCreate", driver);
	check_desc("zeContextCreate", desc, DESC_CONTEXT);
	if (err)
		return err;
	*context = malloc(sizeof(**context));
	if (!*context)
		return OUT_OF_HOST_MEMORY;
	(*context)->self = *context;
	return SUCCESS;
}

/* ---- memory ---- */

static int mem_alloc(
	enum stand_kind kind, size_t len, struct device *device, void **at)
{
	struct stand_alloc *a;
	int err = begin(true);

	if (device)
		check_handle("zeMemAlloc", device);
	if (!err)
		err = errors[stand_make(
			len, kind, device ? device->number : 0, &a)];
	if (err)
		return err;
	ze.owner[a - stand.allocs] = device;
	*at = a->base;
	return SUCCESS;
}

int zeMemAllocDevice(const struct context *context, const struct desc *desc,
	size_t len, size_t align, struct device *device, void **at);
int zeMemAllocDevice(const struct context *context, const struct desc *desc,
	size_t len, size_t align, struct device *device, void **at)
{
	check_handle("zeMemAllocDevice", context);
	check_desc("zeMemAllocDevice", desc, DESC_DEVICE_ALLOC);
	if (!device || align > STAND_PAGE)
		return INVALID_ARGUMENT;
	return LOCKED(mem_alloc(STAND_DEVICE, len, device, at));
}

int zeMemAllocShared(const struct context *context, const struct desc *desc,
	const struct desc *host, size_t len, size_t align,
	struct device *device, void **at);
int zeMemAllocShared(const struct context *context, const struct desc *desc,
	const struct desc *host, size_t len, size_t align,
	struct device *device, void **at)
{
	check_handle("zeMemAllocShared", context);
	check_desc("zeMemAllocShared", desc, DESC_DEVICE_ALLOC);
	check_desc("zeMemAllocShared", host, DESC_HOST_ALLOC);
	if (align > STAND_PAGE)
		return INVALID_ARGUMENT;
	return LOCKED(mem_alloc(STAND_MANAGED, len, device, at));
}

int zeMemAllocHost(const struct context *context, const struct desc *host,
	size_t len, size_t align, void **at);
int zeMemAllocHost(const struct context *context, const struct desc *host,
	size_t len, size_t align, void **at)
{
	check_handle("zeMemAllocHost", context);
	check_desc("zeMemAllocHost", host, DESC_HOST_ALLOC);
	if (align > STAND_PAGE)
		return INVALID_ARGUMENT;
	return LOCKED(mem_alloc(STAND_PINNED, len, NULL, at));
}

static int mem_free(uint64_t at)
{
	struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(false);

	if (!err &&
		(!a || at != (uintptr_t)a->base || a->kind == STAND_REGISTERED))
		err = INVALID_ARGUMENT;
	if (err)
		return err;
	stand_check_unused("zeMemFree", a);
	stand_unmake(a);
	return SUCCESS;
}

int zeMemFree(const struct context *context, void *at);
int zeMemFree(const struct context *context, void *at)
{
	check_handle("zeMemFree", context);
	return LOCKED(mem_free((uintptr_t)at));
}

static void describe(
	const struct stand_alloc *a, struct memory *memory, void **device)
{
	static const uint32_t types[] = { [STAND_DEVICE] = MEMORY_DEVICE,
		[STAND_MANAGED] = MEMORY_SHARED,
		[STAND_PINNED] = MEMORY_HOST,
		[STAND_REGISTERED] = MEMORY_UNKNOWN };

	memory->type = types[a->kind];
	if (memory->type == MEMORY_UNKNOWN)
		return;
	memory->id = a->id;
	memory->page_size = STAND_PAGE;
	if (device)
		*device = ze.owner[a - stand.allocs];
}

/* Imported and other host memory is unknown. */
static int alloc_properties(uint64_t at, struct memory *memory, void **device)
{
	const struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(false);

	stand.n_queries++;
	if (err)
		return err;
	memory->type = MEMORY_UNKNOWN;
	if (a) {
		describe(a, memory, device);
	} else if (stand.owns_all && at) {
		memory->type = MEMORY_DEVICE;
		if (device)
			*device = &ze.gpus[0];
	}
	return SUCCESS;
}

int zeMemGetAllocProperties(const struct context *context, const void *at,
	struct memory *memory, void **device);
int zeMemGetAllocProperties(const struct context *context, const void *at,
	struct memory *memory, void **device)
{
	check_handle("zeMemGetAllocProperties", context);
	check_desc("zeMemGetAllocProperties", &memory->head, DESC_MEMORY);
	return LOCKED(alloc_properties((uintptr_t)at, memory, device));
}

/* ---- imported host memory ---- */

static int import(void *at, size_t len)
{
	struct stand_alloc *a;
	int err = begin(false);

	return err ? err : errors[stand_register(at, len, 0, &a)];
}

static int import_pointer(void *driver, void *at, size_t len)
{
	check_driver("zexDriverImportExternalPointer", driver);
	return LOCKED(import(at, len));
}

static int release(uint64_t at)
{
	struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(false);

	if (!err &&
		(!a || a->kind != STAND_REGISTERED || at != (uintptr_t)a->base))
		err = INVALID_ARGUMENT;
	if (err)
		return err;
	stand_check_unused("zexDriverReleaseImportedPointer", a);
	stand_unmake(a);
	return SUCCESS;
}

static int release_pointer(void *driver, void *at)
{
	check_driver("zexDriverReleaseImportedPointer", driver);
	return LOCKED(release((uintptr_t)at));
}

static int base_of(uint64_t at, void **base)
{
	const struct stand_alloc *a = stand_alloc_of(at);

	*base = a && a->kind == STAND_REGISTERED ? a->base : NULL;
	return begin(false);
}

static int base_address(void *driver, void *at, void **base)
{
	check_driver("zexDriverGetHostPointerBaseAddress", driver);
	return LOCKED(base_of((uintptr_t)at, base));
}

/* DEVSTAND_NO_IMPORT=1: a driver without the extension. */
int zeDriverGetExtensionFunctionAddress(
	void *driver, const char *name, void **function);
int zeDriverGetExtensionFunctionAddress(
	void *driver, const char *name, void **function)
{
	check_driver("zeDriverGetExtensionFunctionAddress", driver);
	if (stand_number("DEVSTAND_NO_IMPORT", 0))
		return INVALID_ARGUMENT;
	if (!strcmp(name, "zexDriverImportExternalPointer"))
		*(int (**)(void *, void *, size_t))function = import_pointer;
	else if (!strcmp(name, "zexDriverReleaseImportedPointer"))
		*(int (**)(void *, void *))function = release_pointer;
	else if (!strcmp(name, "zexDriverGetHostPointerBaseAddress"))
		*(int (**)(void *, void *, void **))function = base_address;
	else
		return INVALID_ARGUMENT;
	return SUCCESS;
}

/* ---- command lists ---- */

static int list_create(const struct device *device, const struct queue *queue,
	struct list **list)
{
	int err = begin(true);

	if (device->number < 0 || queue->group >= N_GROUPS || queue->index ||
		queue->flags || queue->priority ||
		(queue->mode != MODE_SYNCHRONOUS &&
			queue->mode != MODE_ASYNCHRONOUS))
		end_program("zeCommandListCreateImmediate", "invalid queue");
	if (err)
		return err;
	*list = calloc(1, sizeof(**list));
	if (!*list)
		return OUT_OF_HOST_MEMORY;
	(*list)->self = *list;
	(*list)->number = device->number;
	(*list)->is_synchronous = queue->mode == MODE_SYNCHRONOUS;
	stand_queue_init(&(*list)->queue);
	return SUCCESS;
}

int zeCommandListCreateImmediate(const struct context *context,
	const struct device *device, const struct queue *queue,
	struct list **list);
int zeCommandListCreateImmediate(const struct context *context,
	const struct device *device, const struct queue *queue,
	struct list **list)
{
	check_handle("zeCommandListCreateImmediate", context);
	check_handle("zeCommandListCreateImmediate", device);
	check_desc("zeCommandListCreateImmediate", &queue->head, DESC_QUEUE);
	return LOCKED(list_create(device, queue, list));
}

static int list_destroy(struct list *list)
{
	if (list->queue.first)
		end_program("zeCommandListDestroy", "the list has copies");
	stand_queue_fini(&list->queue);
	list->self = NULL;
	free(list);
	return SUCCESS;
}

int zeCommandListDestroy(struct list *list);
int zeCommandListDestroy(struct list *list)
{
	check_handle("zeCommandListDestroy", list);
	return LOCKED(list_destroy(list));
}

static int run(struct list *list)
{
	int err = begin(false);

	return err ? err : errors[stand_run(&list->queue, false)];
}

int zeCommandListHostSynchronize(struct list *list, uint64_t timeout);
int zeCommandListHostSynchronize(struct list *list, uint64_t timeout)
{
	check_handle("zeCommandListHostSynchronize", list);
	if (timeout != UINT64_MAX)
		end_program("zeCommandListHostSynchronize", "a short timeout");
	return LOCKED(run(list));
}

/* True if the GPU can access the memory. */
static bool can_reach(const struct list *list, uint64_t at)
{
	const struct stand_alloc *a = stand_alloc_of(at);

	return !a || a->kind != STAND_DEVICE || a->device == list->number;
}

/* Begins a call that appends copies. */
static int begin_append(const char *call, struct list *list)
{
	check_handle(call, list);
	if (list->queue.first && !pthread_equal(list->user, pthread_self()))
		end_program(call, "another thread uses the list");
	list->user = pthread_self();
	return begin(true);
}

static int add_copy(struct list *list, uint64_t dst, uint64_t src, size_t len)
{
	if (!can_reach(list, dst) || !can_reach(list, src))
		return INVALID_ARGUMENT;
	return errors[stand_add(&list->queue, dst, src, len)];
}

static int append_copy(
	struct list *list, uint64_t dst, uint64_t src, size_t len)
{
	int err = begin_append("zeCommandListAppendMemoryCopy", list);

	if (!err)
		err = add_copy(list, dst, src, len);
	return !err && list->is_synchronous ? run(list) : err;
}

int zeCommandListAppendMemoryCopy(struct list *list, void *dst, const void *src,
	size_t len, void *event, uint32_t n_before, void **before);
int zeCommandListAppendMemoryCopy(struct list *list, void *dst, const void *src,
	size_t len, void *event, uint32_t n_before, void **before)
{
	if (event || n_before || before)
		return INVALID_ARGUMENT;
	return LOCKED(append_copy(list, (uintptr_t)dst, (uintptr_t)src, len));
}

static void check_rows(uint64_t at, uint32_t pitch, const struct region *region)
{
	const char *call = "zeCommandListAppendMemoryCopyRegion";

	if (region->x || region->y || region->z || region->depth ||
		!region->width || !region->height || pitch < region->width)
		end_program(call, "invalid rows");
	if (!stand_alloc_of(at) && !stand.owns_all && pitch != region->width)
		end_program(call, "rows of host memory that is not imported");
}

static int append_region(struct list *list, uint64_t dst, uint32_t dst_pitch,
	uint64_t src, uint32_t src_pitch, const struct region *region)
{
	int err = begin_append("zeCommandListAppendMemoryCopyRegion", list);

	check_rows(dst, dst_pitch, region);
	check_rows(src, src_pitch, region);
	for (uint64_t i = 0; !err && i < region->height; i++)
		err = add_copy(list, dst + i * dst_pitch, src + i * src_pitch,
			region->width);
	return !err && list->is_synchronous ? run(list) : err;
}

int zeCommandListAppendMemoryCopyRegion(struct list *list, void *dst,
	const struct region *to, uint32_t dst_pitch, uint32_t dst_slice,
	const void *src, const struct region *from, uint32_t src_pitch,
	uint32_t src_slice, void *event, uint32_t n_before, void **before);
int zeCommandListAppendMemoryCopyRegion(struct list *list, void *dst,
	const struct region *to, uint32_t dst_pitch, uint32_t dst_slice,
	const void *src, const struct region *from, uint32_t src_pitch,
	uint32_t src_slice, void *event, uint32_t n_before, void **before)
{
	if (event || n_before || before || dst_slice || src_slice ||
		memcmp(to, from, sizeof(*to)) != 0)
		return INVALID_ARGUMENT;
	return LOCKED(append_region(list, (uintptr_t)dst, dst_pitch,
		(uintptr_t)src, src_pitch, to));
}
