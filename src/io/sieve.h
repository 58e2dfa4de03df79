/* SPDX-License-Identifier: BSD-3-Clause */
/* sieve: data sieving: short runs are moved together with the gaps between them
 *
 * A read reads a range of the file by one call and copies the runs out of it. A
 * write reads the range by one call, copies the runs into it, and writes it
 * back by one call. Meanwhile a lock excludes all other writers of the range
 * (range.h). One or two calls replace thousands. */
#ifndef WEFT_SIEVE_H
#define WEFT_SIEVE_H

#include "io/move.h"

#include <stdint.h>

/* Writes the first *tried_out of stream bytes [at, at + len) from buf.
 * *tried_out is 0 if data sieving does not pay or other writers cannot be
 * excluded; the caller then writes by other means. The first *moved_out of the
 * tried bytes were written: all of them unless an error is returned.
 * *sieve_buf_out must be NULL at the first call. It receives a buffer that
 * later calls reuse and that the caller frees. */
int weft_sieve_write(const struct weft_move *m, const char *buf, int64_t at,
	int64_t len, char **sieve_buf_out, int64_t *tried_out,
	int64_t *moved_out);

/* As weft_sieve_write(), but reads to buf, and uses no lock. At the end of the
 * file, *moved_out is less than *tried_out without an error. */
int weft_sieve_read(const struct weft_move *m, char *buf, int64_t at,
	int64_t len, char **sieve_buf_out, int64_t *tried_out,
	int64_t *moved_out);

#endif
