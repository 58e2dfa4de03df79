/* SPDX-License-Identifier: BSD-3-Clause */
/* cb: collective buffering, of what members scatter in small runs
 *
 * The stretch of the file that a collective access covers is dealt to a few
 * members, the aggregators, one per node unless hints say otherwise, in
 * domains. Each moves its domain a buffer at a time: what is written is put
 * together there first, what is read is taken from there. On a node the buffer
 * is mapped by the others, which copy straight between it and their memory;
 * others send and receive.
 *
 * A buffer is written where members have filled it, around holes that were
 * expected. Where there are others each writes its own runs, so that here, too,
 * nobody writes a byte that the program did not ask for. */
#ifndef WEFT_CB_H
#define WEFT_CB_H

#include "io/move.h"

#include <stdbool.h>
#include <stdint.h>

struct weft_cb;

/* Collective, one at a time of a file, if weft_cb_is_possible() at one member
 * and so at all; err is the caller's own, which then reaches everybody and
 * nothing is moved. Otherwise *done_out is false where each had better move its
 * own, and nothing was moved. Of its return value the members have yet to
 * agree. */
int weft_cb_move(struct weft_move *m, int err, bool *done_out);

/* Whether to ask. The same at all members, and until other hints, another view
 * or another mode are in effect. */
bool weft_cb_is_possible(const struct weft_file *file, bool is_write);

/* Aggregators as far as they are known, or 0. */
int weft_cb_nodes(const struct weft_file *file);

/* Bytes of an aggregator's buffer. */
int64_t weft_cb_len(const struct weft_file *file);

/* Gives up what was set up for a file, at the latest when it is closed: other
 * hints are in effect from now on. Between collective calls; unless is_complete
 * not all members may have come to the end of the last. */
void weft_cb_close(struct weft_file *file, bool is_complete);

#endif
