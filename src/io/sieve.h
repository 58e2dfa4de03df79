/* SPDX-License-Identifier: BSD-3-Clause */
/* sieve: short runs are moved with what is around them
 *
 * A stretch of the file is read, and the runs are taken out; or put in, and all
 * of it is written back: a call or two instead of thousands. Everybody else who
 * writes to the file is kept out while it is written (range.h). */
#ifndef WEFT_SIEVE_H
#define WEFT_SIEVE_H

#include "io/move.h"

#include <stdint.h>

/* Writes bytes [at, at + len) of the stream, or the first of them, from buf;
 * *tried_out of them, 0 where runs are long or far apart, or others cannot be
 * kept out. *moved_out of those are there, all unless an error is returned.
 * *sieve_buf_out is memory that the next call uses again, to be freed; NULL at
 * first. */
int weft_sieve_write(const struct weft_move *m, const char *buf, int64_t at,
	int64_t len, char **sieve_buf_out, int64_t *tried_out,
	int64_t *moved_out);

/* The same of what is read, which nobody is kept out of; fewer bytes are moved
 * than tried also where the file ends. */
int weft_sieve_read(const struct weft_move *m, char *buf, int64_t at,
	int64_t len, char **sieve_buf_out, int64_t *tried_out,
	int64_t *moved_out);

#endif
