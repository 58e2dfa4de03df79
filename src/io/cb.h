/* SPDX-License-Identifier: BSD-3-Clause */
/* cb: collective buffering for accesses with many short runs
 *
 * The range of the file that a collective access covers is divided into file
 * domains, one for each aggregator. By default, one member of each node is an
 * aggregator. An aggregator moves its domain one window at a time through a
 * slot of its buffer. Members of the same node map the buffer and copy between
 * it and their memory; members of other nodes send and receive messages.
 *
 * An aggregator writes only bytes that members have filled. If it expects
 * holes, the members send their runs, and the aggregator writes around the
 * holes. If a window has unexpected holes, each member writes its own runs of
 * the window. */
#ifndef WEFT_CB_H
#define WEFT_CB_H

#include "io/move.h"

#include <stdbool.h>
#include <stdint.h>

struct weft_cb;

/* Collective. Called only if weft_cb_is_possible() is true, and for one access
 * of the file at a time. err is an error of the caller, or 0. *done_out is
 * false if no data was transferred; each member without an error must then
 * transfer its own data. *done_out is true if the data was transferred, or a
 * member has an error. Returns err or a new error of this process. The members
 * have not agreed on the returned errors. */
int weft_cb_move(struct weft_move *m, int err, bool *done_out);

/* True if collective buffering can be tried. The result is the same at all
 * members. It changes only with the hints, the view or the atomic mode. */
bool weft_cb_is_possible(const struct weft_file *file, bool is_write);

/* Returns the number of aggregators, or 0 if it is not known yet. */
int weft_cb_nodes(const struct weft_file *file);

/* Returns the bytes of a slot of an aggregator's buffer. The hint
 * cb_buffer_size requests this number. */
int64_t weft_cb_len(const struct weft_file *file);

/* Releases the buffers of a file and forgets its aggregators. Called between
 * collective calls, when hints change or the file is closed. is_complete is
 * false if a member may not have finished the last collective call. */
void weft_cb_close(struct weft_file *file, bool is_complete);

#endif
