/* SPDX-License-Identifier: BSD-3-Clause */
/* view: which bytes of a file a process sees
 *
 * The bytes that the filetype selects, tiled from the displacement on, are a
 * stream; offsets count etypes of it. Nothing is flattened: the runs of any
 * stretch are found from the filetype's loops. Does not change once made. */
#ifndef WEFT_VIEW_H
#define WEFT_VIEW_H

#include "dt/type.h"
#include "io/datarep.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct weft_view_config {
	int64_t disp;
	struct weft_type *etype, *filetype;
	const struct weft_datarep *rep;
	bool is_writable; /* then nothing may overlap */
};

/* Made with one reference, destroyed with the last. */
struct weft_view {
	_Atomic uint32_t refs;
	int64_t disp;
	struct weft_type *etype, *filetype; /* the user's; references */
	const struct weft_datarep *rep;
	struct weft_type *tile; /* the filetype as it lies in the file */
	int64_t etype_size;	/* in the file */
	bool is_disjoint;	/* places of a tile rise, and never meet */
};

/* WEFT_ERR_ARG where disp is negative or the filetype is not made of etypes,
 * WEFT_ERR_IO where a type goes back or begins before disp. */
int weft_view_make(
	const struct weft_view_config *config, struct weft_view **view_out);
struct weft_view *weft_view_get(struct weft_view *view);
void weft_view_put(struct weft_view *view); /* NULL is accepted */

/* All of the file from the displacement on. */
static inline bool weft_view_is_contig(const struct weft_view *view)
{
	return view->tile->is_contig && view->tile->size > 0;
}

/* Place in the file of byte `at` of the stream; of an empty view, the
 * displacement. */
int64_t weft_view_byte_offset(const struct weft_view *view, int64_t at);

/* Whether places rise all through stream bytes [at, at + len): also from one
 * tile to the next. */
bool weft_view_is_monotone(
	const struct weft_view *view, int64_t at, int64_t len);

/* Of these bytes, which are monotone, the first at this place of the file or
 * behind; at + len if there is none. */
int64_t weft_view_find(
	const struct weft_view *view, int64_t at, int64_t len, int64_t place);

/* Bytes of the stream that lie before this place of the file. */
int64_t weft_view_bytes_before(const struct weft_view *view, int64_t place);

/* The runs of stream bytes [at, at + len), n_iov at most, each as where it is
 * in the file and how long. Returns how many; *len_out bytes are in them. */
size_t weft_view_runs(const struct weft_view *view, int64_t at, int64_t len,
	struct iovec *iov, size_t n_iov, int64_t *len_out);

/* Where such a run begins in the file, and where it ends. */
static inline int64_t weft_view_run_begin(const struct iovec *run)
{
	return (int64_t)(uintptr_t)run->iov_base;
}

static inline int64_t weft_view_run_end(const struct iovec *run)
{
	return weft_view_run_begin(run) + (int64_t)run->iov_len;
}

#endif
