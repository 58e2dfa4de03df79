/* SPDX-License-Identifier: BSD-3-Clause */
/* devdata: the data of PEs, in host and device memory */
#ifndef DEVDATA_H
#define DEVDATA_H

#include "../multi/driver.h"

enum { GUARD = 16 }; /* zeros after the data */

static unsigned char *host; /* of the program: the longest data and GUARD */

static unsigned char byte_of(size_t i, int pe)
{
	return (unsigned char)(i * 7 + (i >> 8) * 3 + (size_t)pe * 31 + 1);
}

static void fill(unsigned char *buf, size_t len, int pe)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = byte_of(i, pe);
}

/* True if buf has len bytes of the PE, and zeros after them. */
static bool has(const unsigned char *buf, size_t len, int pe)
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
static bool dev_has(const void *dev, size_t len, int pe)
{
	device_get(host, dev, len + GUARD);
	return has(host, len, pe);
}

#endif
