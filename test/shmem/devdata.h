/* SPDX-License-Identifier: BSD-3-Clause */
/* devdata: the data of PEs, in host and device memory */
#ifndef DEVDATA_H
#define DEVDATA_H

#include "../multi/driver.h"

#include <shmemx.h>

enum { GUARD = 16 }; /* zeros after the data */

static unsigned char *host; /* of the program: the longest data and GUARD */

static inline unsigned char byte_of(size_t i, int pe)
{
	return (unsigned char)(i * 7 + (i >> 8) * 3 + (size_t)pe * 31 + 1);
}

static inline void fill(unsigned char *buf, size_t len, int pe)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = byte_of(i, pe);
}

/* True if buf has len bytes of the PE, and zeros after them. */
static inline bool has(const unsigned char *buf, size_t len, int pe)
{
	for (size_t i = 0; i < len; i++)
		if (buf[i] != byte_of(i, pe))
			return false;
	for (size_t i = len; i < len + GUARD; i++)
		if (buf[i])
			return false;
	return true;
}

/* As has(), for device memory. Overwrites host. */
static inline bool dev_has(const void *dev, size_t len, int pe)
{
	device_get(host, dev, len + GUARD);
	return has(host, len, pe);
}

/* The type of the device, for shmemx_heap_create(). */
static inline int heap_type(void)
{
	static const int types[DEVICE_N] = {
		[DEVICE_CUDA] = SHMEMX_EXTERNAL_HEAP_CUDA,
		[DEVICE_ROCM] = SHMEMX_EXTERNAL_HEAP_ROCM,
		[DEVICE_ZE] = SHMEMX_EXTERNAL_HEAP_ZE,
	};

	return types[device_id()];
}

#endif
