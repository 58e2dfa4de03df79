/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_priv: what a vendor of devices supplies to dev.c
 *
 * dev.c loads the vendor's library and resolves its functions, once. The
 * functions of the table are called after that. Their contracts are those of
 * the functions of the same name in dev.h; where they differ, the table says
 * so. */
#ifndef WEFT_DEV_PRIV_H
#define WEFT_DEV_PRIV_H

#include "dev/dev.h"

/* A function of the driver, and the address of the pointer to it. */
struct weft_dev_symbol {
	const char *name;
	void *function;
};

struct weft_dev_vendor {
	const char *name;    /* in messages */
	const char *kind;    /* of memory, for mpi_memory_alloc_kinds */
	const char *common;  /* restrictor: memory of the device and the CPU */
	const char *library; /* the driver's library */
	const char *needs;   /* the first release with all its functions */
	const char *node;    /* a file that exists on nodes with a device */
	const char *alloc;   /* a function that allocates exportable memory */
	size_t pin_min; /* bytes; shorter copies are as fast if not pinned */
	enum weft_dev_id id;
	const struct weft_dev_symbol *symbols;
	size_t n_symbols;

	/* Initialises the driver. Returns the number of devices. 0: why has the
	 * reason. Called once. */
	int (*open)(char *why, size_t len);

	/* May be called before open(). Sets all fields but the vendor. */
	bool (*find)(const void *ptr, struct weft_dev_where *where_out);

	/* Sets all fields but the vendor and is_to_host. */
	int (*begin)(const struct weft_dev_where *where,
		struct weft_dev_copies *copies_out);
	int (*add)(const struct weft_dev_copies *copies, void *dst,
		const void *src, size_t len);
	int (*add_rows)(const struct weft_dev_copies *copies,
		const struct weft_dev_rows *rows);
	int (*end)(const struct weft_dev_copies *copies, int err);

	bool (*pin)(const struct weft_dev_where *where, void *at, size_t len);
	bool (*unpin)(void *at);

	/* The highest byte of the id is 0. */
	bool (*range)(const void *ptr, struct weft_dev_range *range_out);
	bool (*export)(const struct weft_dev_where *where, uint64_t base,
		uint8_t handle_out[WEFT_DEV_HANDLE]);
	int (*map)(const struct weft_dev_copies *copies,
		const uint8_t handle[WEFT_DEV_HANDLE], size_t len,
		void **at_out);
	void (*unmap)(void *context, void *at);

	/* Sets all fields but the vendor. */
	bool (*used)(struct weft_dev_where *where_out);

	void (*close)(void);
};

extern const struct weft_dev_vendor weft_dev_cuda;
extern const struct weft_dev_vendor weft_dev_rocm;
extern const struct weft_dev_vendor weft_dev_ze;

/* weft_dev_add_rows() by one copy for each run. */
int weft_dev_add_runs(
	const struct weft_dev_copies *copies, const struct weft_dev_rows *rows);

#endif
