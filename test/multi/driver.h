/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver: device memory for tests, through the driver of a vendor
 *
 * The profiles "dev" and "rocm" of run-multi supply the stand-ins of drivers
 * (../fake/dev/README.md). The same programs run with the drivers themselves.
 * The vendor is CUDA, or ROCm if WEFT_TEST_DEVICE is "rocm". A call of the
 * driver that fails ends the program.
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

static struct {
	bool is_rocm;
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

static inline bool device_is_rocm(void)
{
	const char *vendor = getenv("WEFT_TEST_DEVICE");

	return vendor && !strcmp(vendor, "rocm");
}

/* The name of the vendor in messages, and the kind of its memory. */
static inline const char *device_name(void)
{
	return device_is_rocm() ? "ROCm" : "CUDA";
}

static inline const char *device_kind(void)
{
	return device_is_rocm() ? "rocm" : "cuda";
}

/* The file that exists on a node with a device. */
static inline const char *device_node(void)
{
	return device_is_rocm() ? "/dev/kfd" : "/dev/nvidiactl";
}

/* The error of a call that the stand-in lets fail. */
static inline const char *device_error(void)
{
	return device_is_rocm() ? "HSA_STATUS_ERROR"
				: "CUDA_ERROR_ILLEGAL_ADDRESS";
}

/* Loads the driver's library, and does not initialise it. NULL: there is none.
 */
static inline void *device_library(void)
{
	return dlopen(
		device_is_rocm() ? "libhsa-runtime64.so.1" : "libcuda.so.1",
		RTLD_NOW | RTLD_LOCAL);
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

/* ---- both ---- */

/* Opens the driver. False if there is none. */
static inline bool device_load(void)
{
	void *lib = device_library();

	if (!lib)
		return false;
	device.is_rocm = device_is_rocm();
	device_resolve(lib, device_stand_functions);
	device_resolve(lib,
		device.is_rocm ? device_rocm_functions : device_cuda_functions);
	return device.is_rocm ? device_start_rocm() : device_start_cuda();
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
	device_ok(device.is_rocm ? device_rocm.copy(to, from, len)
				 : device_cuda.copy(
					   (uintptr_t)to, (uintptr_t)from, len),
		"a copy");
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
	void *memory = NULL;
	uint64_t at = 0;

	if (device.is_rocm) {
		device_ok(device_rocm.alloc(
				  device_rocm.pools[1], len, 0, &memory),
			"hsa_amd_memory_pool_allocate");
	} else {
		device_ok(device_cuda.alloc(&at, len), "cuMemAlloc");
		memory = (void *)(uintptr_t)at;
	}
	if (from)
		device_put(memory, from, len);
	return memory;
}

/* Memory that the CPU may access: managed memory of CUDA, host memory of the
 * ROCm runtime. */
static inline void *device_new_shared(size_t len)
{
	void *memory = NULL;
	uint64_t at = 0;

	if (device.is_rocm) {
		device_ok(device_rocm.alloc(
				  device_rocm.pools[0], len, 0, &memory),
			"hsa_amd_memory_pool_allocate");
		return memory;
	}
	device_ok(device_cuda.managed(&at, len, 1), "cuMemAllocManaged");
	return (void *)(uintptr_t)at;
}

static inline void device_free(void *at)
{
	device_ok(device.is_rocm ? device_rocm.free(at)
				 : device_cuda.free((uintptr_t)at),
		"freeing device memory");
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
