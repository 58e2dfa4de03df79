/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver: device memory for tests, through the CUDA driver
 *
 * The profile "dev" of run-multi supplies the driver's stand-in
 * (../fake/cuda/README.md). The same programs run with the driver itself. A
 * call of the driver that fails ends the program.
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

static struct {
	int (*init)(unsigned flags);
	int (*retain)(void **context, int device);
	int (*set)(void *context);
	int (*alloc)(uint64_t *at, size_t len);
	int (*managed)(uint64_t *at, size_t len, unsigned flags);
	int (*free)(uint64_t at);
	int (*copy)(uint64_t dst, uint64_t src, size_t len);
	long (*queries)(void);	 /* NULL: not the stand-in */
	void (*fail_next)(void); /* as queries */
	int (*get)(void **context);
	int (*reset)(int device);
	long (*pins)(void);	   /* as queries; these three too */
	long (*pinned)(void);	   /* bytes that are registered */
	void (*fail_pin)(long n);  /* the n-th registration fails */
	long (*opens)(void);	   /* IPC handles that were opened, or tried */
	long (*mappings)(void);	   /* IPC mappings */
	void (*fail_open)(long n); /* the n-th opening fails */
	long (*crossed)(void);	   /* bytes copied from or to host memory */
	void (*on_open)(void (*fn)(void)); /* called by each opening */
} device;

/* Ends the program if a call of the driver has failed. */
static inline void device_ok(int err, const char *call)
{
	if (!err)
		return;
	fprintf(stderr, "%s fails with %d\n", call, err);
	exit(1);
}

/* Opens the driver, and makes device 0 current in this thread. False if there
 * is no driver. */
static inline bool device_load(void)
{
	static const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "cuInit", &device.init },
		{ "cuDevicePrimaryCtxRetain", &device.retain },
		{ "cuCtxSetCurrent", &device.set },
		{ "cuCtxGetCurrent", &device.get },
		{ "cuMemAlloc_v2", &device.alloc },
		{ "cuMemAllocManaged", &device.managed },
		{ "cuMemFree_v2", &device.free },
		{ "cuMemcpy", &device.copy },
		{ "devstandQueries", &device.queries },
		{ "devstandFailNext", &device.fail_next },
		{ "cuDevicePrimaryCtxReset_v2", &device.reset },
		{ "devstandPins", &device.pins },
		{ "devstandPinned", &device.pinned },
		{ "devstandFailPin", &device.fail_pin },
		{ "devstandOpens", &device.opens },
		{ "devstandMappings", &device.mappings },
		{ "devstandFailOpen", &device.fail_open },
		{ "devstandCrossed", &device.crossed },
		{ "devstandOnOpen", &device.on_open },
	};
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *context;

	for (size_t i = 0; lib && i < sizeof(functions) / sizeof(functions[0]);
		i++)
		*(void **)functions[i].to = dlsym(lib, functions[i].name);
	if (!lib || device.init(0))
		return false;
	device_ok(device.retain(&context, 0), "cuDevicePrimaryCtxRetain");
	device_ok(device.set(context), "cuCtxSetCurrent");
	return true;
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

/* Fills device memory from host memory. */
static inline void device_put(void *to, const void *from, size_t len)
{
	device_ok(device.copy((uintptr_t)to, (uintptr_t)from, len),
		"cuMemcpy to the device");
}

static inline void device_get(void *to, const void *from, size_t len)
{
	device_ok(device.copy((uintptr_t)to, (uintptr_t)from, len),
		"cuMemcpy from the device");
}

/* Device memory of len > 0 bytes with the contents of `from`. */
static inline void *device_new(const void *from, size_t len)
{
	uint64_t at = 0;

	device_ok(device.alloc(&at, len), "cuMemAlloc");
	if (from)
		device_put((void *)(uintptr_t)at, from, len);
	return (void *)(uintptr_t)at;
}

static inline void device_free(void *at)
{
	device_ok(device.free((uintptr_t)at), "cuMemFree");
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
