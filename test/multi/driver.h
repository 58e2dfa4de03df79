/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver: device memory for tests, through the driver of a vendor
 *
 * The profiles "dev", "rocm" and "ze" of run-multi supply the stand-ins of
 * drivers (../fake/dev/README.md). The same programs run with the drivers
 * themselves. WEFT_TEST_DEVICE is the kind of memory, by default "cuda". A call
 * of the driver that fails ends the program.
 */
#ifndef DRIVER_H
#define DRIVER_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions of CUDA's driver. */
static struct {
	int (*init)(unsigned flags);
	int (*retain)(void **context, int device);
	int (*set)(void *context);
	int (*get)(void **context);
	int (*alloc)(uint64_t *at, size_t len);
	int (*managed)(uint64_t *at, size_t len, unsigned flags);
	int (*free)(uint64_t at);
	int (*copy)(uint64_t dst, uint64_t src, size_t len);
	int (*reset)(int device);
} device_cuda;

/* The functions of ROCm's runtime. */
static struct {
	int (*init)(void);
	int (*iterate_agents)(int (*fn)(uint64_t agent, void *arg), void *arg);
	int (*agent_info)(uint64_t agent, int attr, void *value);
	int (*iterate_pools)(
		uint64_t agent, int (*fn)(uint64_t pool, void *arg), void *arg);
	int (*pool_info)(uint64_t pool, int attr, void *value);
	int (*alloc)(uint64_t pool, size_t len, uint32_t flags, void **at);
	int (*free)(void *at);
	int (*copy)(void *dst, const void *src, size_t len);
	uint64_t pools[2]; /* of the first CPU, and of the first GPU */
} device_rocm;

/* The beginning of each structure of Level Zero. */
struct device_ze_desc {
	uint32_t stype;
	const void *next;
	uint32_t words[6];
};

/* The functions of Level Zero's loader. */
static struct {
	int (*init)(uint32_t flags);
	int (*drivers)(uint32_t *n, void **drivers);
	int (*devices)(void *driver, uint32_t *n, void **devices);
	int (*device_desc)(void *device, void *desc);
	int (*context_create)(void *driver, const struct device_ze_desc *desc,
		void **context);
	int (*list_create)(void *context, void *device,
		const struct device_ze_desc *queue, void **list);
	int (*alloc)(void *context, const struct device_ze_desc *desc,
		size_t len, size_t align, void *device, void **at);
	int (*shared)(void *context, const struct device_ze_desc *desc,
		const struct device_ze_desc *host_desc, size_t len,
		size_t align, void *device, void **at);
	int (*free)(void *context, void *at);
	int (*copy)(void *list, void *dst, const void *src, size_t len,
		void *event, uint32_t n_before, void **before);
	void *context, *device, *list; /* of the first GPU */
} device_ze;

static struct {
	/* NULL: not the stand-in */
	long (*queries)(void);
	void (*fail_next)(void);
	long (*pins)(void);
	long (*pinned)(void);	   /* bytes that are registered */
	void (*fail_pin)(long n);  /* the n-th registration fails */
	long (*opens)(void);	   /* IPC handles that were opened, or tried */
	long (*mappings)(void);	   /* IPC mappings */
	void (*fail_open)(long n); /* the n-th opening fails */
	long (*crossed)(void);	   /* bytes copied from or to host memory */
	void (*on_open)(void (*fn)(void)); /* called by each opening */
} device;

struct device_function {
	const char *name;
	void *to;
};

static const struct device_function device_cuda_functions[] = {
	{ "cuInit", &device_cuda.init },
	{ "cuDevicePrimaryCtxRetain", &device_cuda.retain },
	{ "cuCtxSetCurrent", &device_cuda.set },
	{ "cuCtxGetCurrent", &device_cuda.get },
	{ "cuMemAlloc_v2", &device_cuda.alloc },
	{ "cuMemAllocManaged", &device_cuda.managed },
	{ "cuMemFree_v2", &device_cuda.free },
	{ "cuMemcpy", &device_cuda.copy },
	{ "cuDevicePrimaryCtxReset_v2", &device_cuda.reset },
	{ NULL, NULL },
};

static const struct device_function device_rocm_functions[] = {
	{ "hsa_init", &device_rocm.init },
	{ "hsa_iterate_agents", &device_rocm.iterate_agents },
	{ "hsa_agent_get_info", &device_rocm.agent_info },
	{ "hsa_amd_agent_iterate_memory_pools", &device_rocm.iterate_pools },
	{ "hsa_amd_memory_pool_get_info", &device_rocm.pool_info },
	{ "hsa_amd_memory_pool_allocate", &device_rocm.alloc },
	{ "hsa_amd_memory_pool_free", &device_rocm.free },
	{ "hsa_memory_copy", &device_rocm.copy },
	{ NULL, NULL },
};

static const struct device_function device_ze_functions[] = {
	{ "zeInit", &device_ze.init },
	{ "zeDriverGet", &device_ze.drivers },
	{ "zeDeviceGet", &device_ze.devices },
	{ "zeDeviceGetProperties", &device_ze.device_desc },
	{ "zeContextCreate", &device_ze.context_create },
	{ "zeCommandListCreateImmediate", &device_ze.list_create },
	{ "zeMemAllocDevice", &device_ze.alloc },
	{ "zeMemAllocShared", &device_ze.shared },
	{ "zeMemFree", &device_ze.free },
	{ "zeCommandListAppendMemoryCopy", &device_ze.copy },
	{ NULL, NULL },
};

static const struct device_function device_stand_functions[] = {
	{ "devstandQueries", &device.queries },
	{ "devstandFailNext", &device.fail_next },
	{ "devstandPins", &device.pins },
	{ "devstandPinned", &device.pinned },
	{ "devstandFailPin", &device.fail_pin },
	{ "devstandOpens", &device.opens },
	{ "devstandMappings", &device.mappings },
	{ "devstandFailOpen", &device.fail_open },
	{ "devstandCrossed", &device.crossed },
	{ "devstandOnOpen", &device.on_open },
	{ NULL, NULL },
};

/* Ends the program if a call of the driver has failed. */
static inline void device_ok(int err, const char *call)
{
	if (!err)
		return;
	fprintf(stderr, "%s fails with %d\n", call, err);
	exit(1);
}

static inline bool device_start_cuda(void);
static inline bool device_start_rocm(void);
static inline bool device_start_ze(void);

enum device_id { DEVICE_CUDA, DEVICE_ROCM, DEVICE_ZE, DEVICE_N };

static const struct device_vendor {
	const char *name;  /* in messages */
	const char *kind;  /* of memory */
	const char *node;  /* a file that exists on a node with a device */
	const char *error; /* of a call that the stand-in lets fail */
	const char *library;
	const struct device_function *functions;
	bool (*start)(void); /* initialises the driver */
} device_vendors[DEVICE_N] = {
	[DEVICE_CUDA] = { "CUDA", "cuda", "/dev/nvidiactl",
		"CUDA_ERROR_ILLEGAL_ADDRESS", "libcuda.so.1",
		device_cuda_functions, device_start_cuda },
	[DEVICE_ROCM] = { "ROCm", "rocm", "/dev/kfd", "HSA_STATUS_ERROR",
		"libhsa-runtime64.so.1", device_rocm_functions,
		device_start_rocm },
	[DEVICE_ZE] = { "Level Zero", "level_zero", "/dev/dri/renderD128",
		"ZE_RESULT_ERROR_UNKNOWN", "libze_loader.so.1",
		device_ze_functions, device_start_ze },
};

static inline enum device_id device_id(void)
{
	const char *kind = getenv("WEFT_TEST_DEVICE");
	int id = DEVICE_N - 1;

	while (id > 0 && (!kind || strcmp(kind, device_vendors[id].kind) != 0))
		id--;
	return (enum device_id)id;
}

static inline const struct device_vendor *device_vendor(void)
{
	return &device_vendors[device_id()];
}

/* Loads the driver's library, and does not initialise it. NULL: there is none.
 */
static inline void *device_library(void)
{
	return dlopen(device_vendor()->library, RTLD_NOW | RTLD_LOCAL);
}

static inline void device_resolve(void *lib, const struct device_function *f)
{
	for (; f->name; f++)
		*(void **)f->to = dlsym(lib, f->name);
}

/* ---- CUDA ---- */

/* Makes device 0 current in this thread. */
static inline bool device_start_cuda(void)
{
	void *context;

	if (device_cuda.init(0))
		return false;
	device_ok(device_cuda.retain(&context, 0), "cuDevicePrimaryCtxRetain");
	device_ok(device_cuda.set(context), "cuCtxSetCurrent");
	return true;
}

/* Destroys the context and the memory of device 0. CUDA only. */
static inline void device_reset(void)
{
	device_ok(device_cuda.reset(0), "cuDevicePrimaryCtxReset");
}

/* ---- ROCm ---- */

enum {
	DEVICE_ROCM_AGENT_TYPE = 17,
	DEVICE_ROCM_POOL_SEGMENT = 0,
	DEVICE_ROCM_POOL_MAY_ALLOCATE = 5,
};

/* Sets the pool to the first one of global memory that permits allocations. */
static inline int device_use_pool(uint64_t pool, void *arg)
{
	uint32_t segment = 1;
	bool may_allocate = false;

	device_ok(
		device_rocm.pool_info(pool, DEVICE_ROCM_POOL_SEGMENT, &segment),
		"hsa_amd_memory_pool_get_info");
	device_ok(device_rocm.pool_info(
			  pool, DEVICE_ROCM_POOL_MAY_ALLOCATE, &may_allocate),
		"hsa_amd_memory_pool_get_info");
	if (!*(uint64_t *)arg && segment == 0 && may_allocate)
		*(uint64_t *)arg = pool;
	return 0;
}

static inline int device_use_agent(uint64_t agent, void *arg)
{
	uint32_t type = 0;

	(void)arg;
	device_ok(device_rocm.agent_info(agent, DEVICE_ROCM_AGENT_TYPE, &type),
		"hsa_agent_get_info");
	if (type < 2 && !device_rocm.pools[type])
		device_ok(device_rocm.iterate_pools(agent, device_use_pool,
				  &device_rocm.pools[type]),
			"hsa_amd_agent_iterate_memory_pools");
	return 0;
}

static inline bool device_start_rocm(void)
{
	if (device_rocm.init())
		return false;
	device_ok(device_rocm.iterate_agents(device_use_agent, NULL),
		"hsa_iterate_agents");
	return device_rocm.pools[1] != 0;
}

/* ---- Level Zero ---- */

enum {
	DEVICE_ZE_PROPERTIES = 0x3,
	DEVICE_ZE_CONTEXT = 0xd,
	DEVICE_ZE_QUEUE = 0xe,
	DEVICE_ZE_ALLOC = 0x15,
	DEVICE_ZE_HOST_ALLOC = 0x16,
	DEVICE_ZE_GPU = 1,
};

/* True if it is a GPU. */
static inline bool device_ze_is_gpu(void *handle)
{
	union {
		struct device_ze_desc head;
		char bytes[368];
	} desc = { .head = { .stype = DEVICE_ZE_PROPERTIES } };

	device_ok(
		device_ze.device_desc(handle, &desc), "zeDeviceGetProperties");
	return desc.head.words[0] == DEVICE_ZE_GPU;
}

/* Makes a context of the driver, if it has a GPU, and a command list of which
 * each copy is complete when its call returns. */
static inline void device_use_driver(void *driver)
{
	const struct device_ze_desc context = { .stype = DEVICE_ZE_CONTEXT };
	const struct device_ze_desc queue = { .stype = DEVICE_ZE_QUEUE,
		.words = { 0, 0, 0, 1 } };
	void *devices[8];
	uint32_t n = 8;

	device_ok(device_ze.devices(driver, &n, devices), "zeDeviceGet");
	for (uint32_t i = 0; i < n && !device_ze.device; i++)
		if (device_ze_is_gpu(devices[i]))
			device_ze.device = devices[i];
	if (!device_ze.device)
		return;
	device_ok(
		device_ze.context_create(driver, &context, &device_ze.context),
		"zeContextCreate");
	device_ok(device_ze.list_create(device_ze.context, device_ze.device,
			  &queue, &device_ze.list),
		"zeCommandListCreateImmediate");
}

static inline bool device_start_ze(void)
{
	void *drivers[8];
	uint32_t n = 8;

	if (device_ze.init(0))
		return false;
	device_ok(device_ze.drivers(&n, drivers), "zeDriverGet");
	for (uint32_t i = 0; i < n && !device_ze.device; i++)
		device_use_driver(drivers[i]);
	return device_ze.device != NULL;
}

/* ---- all ---- */

/* Opens the driver. False if there is none. */
static inline bool device_load(void)
{
	void *lib = device_library();

	if (!lib)
		return false;
	device_resolve(lib, device_stand_functions);
	device_resolve(lib, device_vendor()->functions);
	return device_vendor()->start();
}

/* Return the number of registrations of host memory, and the bytes that are
 * registered. 0 if the driver is not the stand-in. */
static inline long device_pins(void)
{
	return device.pins ? device.pins() : 0;
}

static inline long device_pinned(void)
{
	return device.pinned ? device.pinned() : 0;
}

static inline void device_copy(void *to, const void *from, size_t len)
{
	int err = 0;

	switch (device_id()) {
	case DEVICE_CUDA:
		err = device_cuda.copy((uintptr_t)to, (uintptr_t)from, len);
		break;
	case DEVICE_ROCM:
		err = device_rocm.copy(to, from, len);
		break;
	default:
		err = len ? device_ze.copy(device_ze.list, to, from, len, NULL,
				    0, NULL)
			  : 0;
	}
	device_ok(err, "a copy");
}

/* Fills device memory from host memory. */
static inline void device_put(void *to, const void *from, size_t len)
{
	device_copy(to, from, len);
}

static inline void device_get(void *to, const void *from, size_t len)
{
	device_copy(to, from, len);
}

/* Device memory of len > 0 bytes with the contents of `from`. */
static inline void *device_new(const void *from, size_t len)
{
	const struct device_ze_desc desc = { .stype = DEVICE_ZE_ALLOC };
	void *memory = NULL;
	uint64_t at = 0;

	switch (device_id()) {
	case DEVICE_CUDA:
		device_ok(device_cuda.alloc(&at, len), "cuMemAlloc");
		memory = (void *)(uintptr_t)at;
		break;
	case DEVICE_ROCM:
		device_ok(device_rocm.alloc(
				  device_rocm.pools[1], len, 0, &memory),
			"hsa_amd_memory_pool_allocate");
		break;
	default:
		device_ok(device_ze.alloc(device_ze.context, &desc, len, 0,
				  device_ze.device, &memory),
			"zeMemAllocDevice");
	}
	if (from)
		device_put(memory, from, len);
	return memory;
}

/* Memory that the CPU may access: managed memory of CUDA, host memory of the
 * ROCm runtime, shared memory of Level Zero. */
static inline void *device_new_shared(size_t len)
{
	const struct device_ze_desc desc = { .stype = DEVICE_ZE_ALLOC };
	const struct device_ze_desc host = { .stype = DEVICE_ZE_HOST_ALLOC };
	void *memory = NULL;
	uint64_t at = 0;

	switch (device_id()) {
	case DEVICE_CUDA:
		device_ok(
			device_cuda.managed(&at, len, 1), "cuMemAllocManaged");
		memory = (void *)(uintptr_t)at;
		break;
	case DEVICE_ROCM:
		device_ok(device_rocm.alloc(
				  device_rocm.pools[0], len, 0, &memory),
			"hsa_amd_memory_pool_allocate");
		break;
	default:
		device_ok(device_ze.shared(device_ze.context, &desc, &host, len,
				  0, device_ze.device, &memory),
			"zeMemAllocShared");
	}
	return memory;
}

static inline void device_free(void *at)
{
	int err = 0;

	switch (device_id()) {
	case DEVICE_CUDA:
		err = device_cuda.free((uintptr_t)at);
		break;
	case DEVICE_ROCM:
		err = device_rocm.free(at);
		break;
	default:
		err = device_ze.free(device_ze.context, at);
	}
	device_ok(err, "freeing device memory");
}

/* True if device memory has the contents of `wanted`. */
static inline bool device_has(const void *at, const void *wanted, size_t len)
{
	char *copy = malloc(len ? len : 1);
	bool is_same;

	device_ok(!copy, "malloc");
	device_get(copy, at, len);
	is_same = !memcmp(copy, wanted, len);
	free(copy);
	return is_same;
}

#endif
