/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric: loads the library libfabric when a network is first needed
 *
 * libfabric may depend on libraries that take long to load. The libraries of
 * the PSM family sleep for a tenth of a second before main() to calibrate a
 * clock. A job on one node need not load libfabric.
 *
 * The other files of this room call fi_getinfo() and so on as usual.
 * libfabric.c defines the few functions that are not inline in libfabric's
 * headers. */
#ifndef WEFT_LIBFABRIC_H
#define WEFT_LIBFABRIC_H

#include <rdma/fabric.h>

/* The loaded functions. A test may replace them after loading. */
struct weft_libfabric {
	int (*getinfo)(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct fi_info *hints,
		struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
		void *context);
	const char *(*strerror)(int errnum);
	char *(*tostr_r)(
		char *buf, size_t len, const void *data, enum fi_type datatype);
	uint32_t (*version)(void);
};

extern struct weft_libfabric weft_libfabric;

/* Loads libfabric once. 0, or WEFT_ERR_NOPROV with a description. Any thread.
 */
int weft_libfabric_load(void);

#endif
