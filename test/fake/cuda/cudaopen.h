/* SPDX-License-Identifier: BSD-3-Clause */
/* cudaopen: loads the stand-in for CUDA into a test */
#ifndef CUDAOPEN_H
#define CUDAOPEN_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	int (*alloc)(uint64_t *at, size_t len);
	int (*free)(uint64_t at);
	int (*read)(void *to, const void *at, size_t len);
	int (*write)(void *at, const void *from, size_t len);
	long (*crossed)(void);
} cuda;

/* Loads CUDA's stand-in under its own name, and makes a context. False: it is
 * missing. */
static inline bool cuda_open(void)
{
	const char *top = getenv("TEST_BUILDDIR");
	int (*init)(unsigned), (*retain)(void **, int), (*set)(void *);
	char path[4096];
	void *context, *lib;

	snprintf(path, sizeof(path), "%s/test/fake/cuda/.libs/libcuda.so.1",
		top ? top : ".");
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return false;
	*(void **)&init = dlsym(lib, "cuInit");
	*(void **)&retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&set = dlsym(lib, "cuCtxSetCurrent");
	*(void **)&cuda.alloc = dlsym(lib, "cuMemAlloc_v2");
	*(void **)&cuda.free = dlsym(lib, "cuMemFree_v2");
	*(void **)&cuda.read = dlsym(lib, "devstandRead");
	*(void **)&cuda.write = dlsym(lib, "devstandWrite");
	*(void **)&cuda.crossed = dlsym(lib, "devstandCrossed");
	return !init(0) && !retain(&context, 0) && !set(context);
}

#endif
