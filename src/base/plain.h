/* SPDX-License-Identifier: BSD-3-Clause */
/* plain: text that may be printed to a terminal
 *
 * Values of variables, names of files and words of other processes may hold
 * control characters, which a terminal would obey. */
#ifndef WEFT_PLAIN_H
#define WEFT_PLAIN_H

#include <stddef.h>

/* Replaces each control character of a string by \xNN: those below a blank,
 * DEL, and those of C1, alone or as UTF-8 has them. size is that of the array;
 * what no longer fits is cut at the end. Returns the new length. */
size_t weft_plain(char *text, size_t size);

#endif
