/* SPDX-License-Identifier: BSD-3-Clause */
/* datarep: how numbers look in a file
 *
 * native and internal: as in memory. external32: big-endian with fixed sizes.
 * Others are the program's, by name, and live as long as the process. MPI-5.0,
 * 14.5. */
#ifndef WEFT_DATAREP_H
#define WEFT_DATAREP_H

#include "dt/type.h"

#include <stdbool.h>
#include <stdint.h>

enum weft_datarep_kind {
	WEFT_DATAREP_NATIVE,
	WEFT_DATAREP_EXTERNAL,
	WEFT_DATAREP_USER,
};

enum { WEFT_DATAREP_NAME_MAX = 128 };

/* The program's functions, as the interface has them; a type is a handle. */
typedef int weft_datarep_move_fn(void *userbuf, void *type, int count,
	void *filebuf, int64_t position, void *extra);
typedef int weft_datarep_move_large_fn(void *userbuf, void *type, int64_t count,
	void *filebuf, int64_t position, void *extra);
typedef int weft_datarep_extent_fn(void *type, intptr_t *extent, void *extra);

/* read and write: one of the two, or neither where data is as in memory. */
struct weft_datarep {
	enum weft_datarep_kind kind;
	char name[WEFT_DATAREP_NAME_MAX];
	weft_datarep_move_fn *read, *write;
	weft_datarep_move_large_fn *read_large, *write_large;
	weft_datarep_extent_fn *extent;
	void *extra;
	const struct weft_datarep *next;
};

/* The one of this name, for ever, or NULL. */
const struct weft_datarep *weft_datarep_find(const char *name);

/* A copy becomes known by its name. WEFT_ERR_DUP_DATAREP when one is. */
int weft_datarep_register(const struct weft_datarep *rep);

/* The type as it lies in a file: of bytes only, displacements scaled but for
 * those in bytes. *type_out has a reference of the caller's. */
int weft_datarep_layout(const struct weft_datarep *rep, struct weft_type *type,
	struct weft_type **type_out);

/* Bytes that one item's data takes in a file. */
int weft_datarep_size(const struct weft_datarep *rep,
	const struct weft_type *type, int64_t *size_out);

/* Bytes in memory of the whole elements that len bytes of a file hold. */
int weft_datarep_in_memory(const struct weft_datarep *rep,
	const struct weft_type *type, int64_t len, int64_t *len_out);

/* Between count items at buf, which are items first to first + count of an
 * access that begins there, and the data of a file. */
struct weft_datarep_move {
	struct weft_type *type;
	void *buf; /* of item 0 */
	int64_t first, count;
	void *data; /* of item first */
};
int weft_datarep_write(
	const struct weft_datarep *rep, const struct weft_datarep_move *move);

/* data_len says how much of data is there: no element beyond is touched. */
int weft_datarep_read(const struct weft_datarep *rep,
	const struct weft_datarep_move *move, int64_t data_len);

#endif
