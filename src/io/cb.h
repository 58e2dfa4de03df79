/* SPDX-License-Identifier: BSD-3-Clause */
/* cb: collective buffering for accesses with many short runs
 *
 * The range of the file that a collective access covers is divided into file
 * domains, one for each aggregator. By default, one member of each node is an
 * aggregator. It moves its domain one buffer at a time. Members of the same
 * node map the buffer and copy between it and their memory; members of other
 * nodes send and receive messages.
 *
 * An aggregator writes only bytes that members have filled. If holes are
 * expected, the members send their runs, and the aggregator writes around the
 * holes. If a window has unexpected holes, each member writes its own runs of
 * the window. */
#ifndef WEFT_CB_H
#define WEFT_CB_H

#include "io/move.h"

#include <stdbool.h>
#include <stdint.h>

struct weft_cb;

/* Collective. Called only if weft_cb_is_possible() is true, and for one access
 * of the file at a time. err is an error of the caller, or 0. If a member has
 * an error, no data is transferred and *done_out is true. If *done_out is
 * false, no data was transferred, and each member must transfer its own data.
 * The members have not agreed on the returned error. */
int weft_cb_move(struct weft_move *m, int err, bool *done_out);

/* True if collective buffering can be tried. The result is the same at all
 * members. It changes only with the hints, the view or the atomic mode. */
bool weft_cb_is_possible(const struct weft_file *file, bool is_write);

/* The number of aggregators, or 0 if it is not known yet. */
int weft_cb_nodes(const struct weft_file *file);

/* Returns the bytes of a slot of an aggregator's buffer, the value of
 * cb_buffer_size. */
int64_t weft_cb_len(const struct weft_file *file);

/* Releases the aggregators and buffers of a file. Called between collective
 * calls, when hints change or the file is closed. is_complete is false if a
 * member may not have finished the last collective call. */
void weft_cb_close(struct weft_file *file, bool is_complete);

#endif
