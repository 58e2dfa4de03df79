/* SPDX-License-Identifier: BSD-3-Clause */
/* datarep: data representations of files
 *
 * native and internal store data as in memory. external32 is big-endian and has
 * fixed sizes. The program can register further representations by name, which
 * exist until the process ends. MPI-5.0, 14.5. */
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

/* Functions of the program, as MPI declares them; a type is a handle. */
typedef int weft_datarep_move_fn(void *userbuf, void *type, int count,
	void *filebuf, int64_t position, void *extra);
typedef int weft_datarep_move_large_fn(void *userbuf, void *type, int64_t count,
	void *filebuf, int64_t position, void *extra);
typedef int weft_datarep_extent_fn(void *type, intptr_t *extent, void *extra);

/* The program registers one function for reads and one for writes, each with an
 * int or an MPI_Count for the count. Without a function for a direction, data
 * is moved unchanged in that direction. */
struct weft_datarep {
	enum weft_datarep_kind kind;
	char name[WEFT_DATAREP_NAME_MAX];
	weft_datarep_move_fn *read, *write;
	weft_datarep_move_large_fn *read_large, *write_large;
	weft_datarep_extent_fn *extent;
	void *extra;
	const struct weft_datarep *next;
};

/* The representation of this name, which is never destroyed, or NULL. */
const struct weft_datarep *weft_datarep_find(const char *name);

/* Registers a copy. WEFT_ERR_DUP_DATAREP if the name is in use. */
int weft_datarep_register(const struct weft_datarep *rep);

/* Creates the layout of a type in a file. For native and internal, this is the
 * type itself. Otherwise it is a type of bytes: displacements in items are
 * scaled to the sizes in the file, displacements in bytes are not. The caller
 * owns the reference of *type_out. */
int weft_datarep_layout(const struct weft_datarep *rep, struct weft_type *type,
	struct weft_type **type_out);

/* Sets *size_out to the bytes of the data of one item in a file. */
int weft_datarep_size(const struct weft_datarep *rep,
	const struct weft_type *type, int64_t *size_out);

/* Sets *len_out to the bytes in memory of the complete elements in len bytes of
 * a file. */
int weft_datarep_in_memory(const struct weft_datarep *rep,
	const struct weft_type *type, int64_t len, int64_t *len_out);

/* A conversion of items [first, first + count) of an access, whose item 0 is at
 * buf, to or from the data of a file. */
struct weft_datarep_move {
	struct weft_type *type;
	void *buf; /* of item 0 */
	int64_t first, count;
	void *data; /* of item first */
};
/* Converts the items in memory to the data of the file. */
int weft_datarep_write(
	const struct weft_datarep *rep, const struct weft_datarep_move *move);

/* Converts the data of the file to items in memory. Stores only the complete
 * elements in the first data_len bytes of the data. */
int weft_datarep_read(const struct weft_datarep *rep,
	const struct weft_datarep_move *move, int64_t data_len);

#endif
