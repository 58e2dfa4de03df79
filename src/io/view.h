/* SPDX-License-Identifier: BSD-3-Clause */
/* view: the bytes of a file that a process accesses
 *
 * The filetype is tiled from the displacement on. The bytes that the tiles
 * select form the stream. A stream offset counts bytes of the stream; an offset
 * in an MPI call counts etypes. A run is a contiguous piece of the file. The
 * filetype is not flattened: runs are computed from its loops. A view never
 * changes. */
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
	bool is_writable; /* parts of the filetype must not overlap */
};

/* Created with one reference, destroyed with the last. */
struct weft_view {
	_Atomic uint32_t refs;
	int64_t disp;
	struct weft_type *etype, *filetype; /* referenced, the program's */
	const struct weft_datarep *rep;
	struct weft_type *tile; /* the filetype's layout in the file */
	int64_t etype_size;	/* bytes in the file */
	bool is_disjoint;	/* runs of a tile rise without overlap */
};

/* Creates a view with one reference. WEFT_ERR_ARG if disp is negative or the
 * size of the filetype is not a multiple of the etype's; WEFT_ERR_IO if
 * displacements of a type decrease or are negative, or if parts overlap in a
 * writable view. */
int weft_view_make(
	const struct weft_view_config *config, struct weft_view **view_out);
struct weft_view *weft_view_get(struct weft_view *view);
void weft_view_put(struct weft_view *view); /* NULL is accepted */

/* True if the stream is contiguous in the file. */
static inline bool weft_view_is_contig(const struct weft_view *view)
{
	return view->tile->is_contig && view->tile->size > 0;
}

/* Returns the byte offset in the file of stream byte `at`. Returns the
 * displacement if the view is empty. */
int64_t weft_view_byte_offset(const struct weft_view *view, int64_t at);

/* True if byte offsets rise throughout stream bytes [at, at + len), also from
 * one tile to the next. */
bool weft_view_is_monotone(
	const struct weft_view *view, int64_t at, int64_t len);

/* Returns the first of stream bytes [at, at + len) whose byte offset in the
 * file is at least `place`, or at + len if there is none. The range must be
 * monotone. */
int64_t weft_view_find(
	const struct weft_view *view, int64_t at, int64_t len, int64_t place);

/* Returns the number of stream bytes whose byte offset in the file is below
 * `place`. */
int64_t weft_view_bytes_before(const struct weft_view *view, int64_t place);

/* Writes the first runs of stream bytes [at, at + len) to iov, n_iov at most.
 * Each entry has the byte offset and the length of a run. Returns the number of
 * runs, and sets *len_out to their total length. */
size_t weft_view_runs(const struct weft_view *view, int64_t at, int64_t len,
	struct iovec *iov, size_t n_iov, int64_t *len_out);

/* The first runs of an access, a sample of all its runs. */
struct weft_view_sample {
	int64_t n;	    /* number of runs, 64 at most; 0 without data */
	int64_t len;	    /* bytes of the runs */
	int64_t gaps;	    /* bytes between the runs, if offsets rise */
	int64_t begin;	    /* byte offset of the first run */
	int64_t first_end;  /* byte offset after the first run */
	int64_t last_begin; /* byte offset of the last run */
	bool fills_pages;   /* runs begin and end at page boundaries */
};

struct weft_view_sample weft_view_sample(
	const struct weft_view *view, int64_t at, int64_t len);

/* weft_view_run_begin() returns the byte offset of the first byte of a run,
 * weft_view_run_end() that of the byte after the run. */
static inline int64_t weft_view_run_begin(const struct iovec *run)
{
	return (int64_t)(uintptr_t)run->iov_base;
}

static inline int64_t weft_view_run_end(const struct iovec *run)
{
	return weft_view_run_begin(run) + (int64_t)run->iov_len;
}

#endif
