/* SPDX-License-Identifier: BSD-3-Clause */
/* shadow: a copy in host memory of a buffer in device memory
 *
 * A shadow has the layout of its buffer, so an operation uses it with the same
 * counts and datatypes. Bytes between the runs of a datatype are never written
 * back, because the program or another operation may change them meanwhile. */
#ifndef WEFT_SHADOW_H
#define WEFT_SHADOW_H

#include "base/list.h"
#include "dev/dev.h"
#include "dt/type.h"

/* Items of one datatype. */
struct weft_shadow_part {
	void *buf;
	int64_t count;
	struct weft_type *type;
};

/* Empty if zeroed. Opened by weft_shadow_open(), and emptied by
 * weft_shadow_close(). The owner excludes concurrent calls. */
struct weft_shadow {
	struct weft_dev_where where;
	char *low;	  /* first byte of the parts in device memory */
	char *host;	  /* the copy of that byte; NULL: the shadow is empty */
	size_t len;	  /* from the first to the last byte */
	bool is_message;  /* it has the data of one message of a collective */
	bool is_bypassed; /* the operation wrote the device memory itself */
	struct weft_link link; /* only shadow.c */
	void *memory;
	int32_t n;
	struct weft_shadow_part *parts; /* with references to the types */
};

/* Sets *is_dev_out if the parts are in device memory. WEFT_ERR_BUFFER if some
 * parts, or some runs of a datatype with absolute addresses, are in device
 * memory and others are not. Tests each part if has_types, else only the first
 * one with data. */
int weft_shadow_look(const struct weft_shadow_part *parts, int32_t n,
	bool has_types, bool *is_dev_out);

/* Allocates the shadow of parts in device memory, with undefined contents. 0,
 * WEFT_ERR_NOMEM or WEFT_ERR_BUFFER; after an error the shadow is empty. */
int weft_shadow_open(struct weft_shadow *shadow,
	const struct weft_shadow_part *parts, int32_t n);

/* Returns the address that an operation uses in place of buf. */
static inline void *weft_shadow_buf(
	const struct weft_shadow *shadow, const void *buf)
{
	return (void *)((uintptr_t)buf - (uintptr_t)shadow->low +
			(uintptr_t)shadow->host);
}

/* Copies the data of all parts from device memory to the shadow. Empty: no
 * effect. */
int weft_shadow_read(const struct weft_shadow *shadow);

/* Copies the first len bytes of the packed data of all parts from the shadow to
 * device memory. INT64_MAX: all. Empty: no effect. If is_bypassed is set, only
 * clears it. */
int weft_shadow_write(struct weft_shadow *shadow, int64_t len);

/* Finds the shadow that has this byte of host memory. NULL: none. Valid while
 * the operation that uses the shadow is active. Any thread. */
struct weft_shadow *weft_shadow_of(const void *host);

/* Returns the device memory of a byte of the shadow. */
static inline void *weft_shadow_device(
	const struct weft_shadow *shadow, const void *host)
{
	return shadow->low + ((const char *)host - shadow->host);
}

/* Copy len bytes of the packed data of all parts, from byte `at` on: from
 * device memory to the shadow, or back. Empty: no effect. */
int weft_shadow_read_range(
	const struct weft_shadow *shadow, int64_t at, int64_t len);
int weft_shadow_write_range(
	const struct weft_shadow *shadow, int64_t at, int64_t len);

/* Frees the memory. */
void weft_shadow_close(struct weft_shadow *shadow);

#endif
