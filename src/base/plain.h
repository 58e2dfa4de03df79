/* SPDX-License-Identifier: BSD-3-Clause */
/* plain: text that is safe to print to a terminal
 *
 * Values of variables, file names and text from other processes may hold
 * control characters, which a terminal would execute. */
#ifndef WEFT_PLAIN_H
#define WEFT_PLAIN_H

#include <stddef.h>

/* Replaces each control character of a string by \xNN: characters below a
 * blank, DEL, and C1 characters as single bytes or in UTF-8. size is the size
 * of the array; text that no longer fits is cut. Returns the new length. */
size_t weft_plain(char *text, size_t size);

#endif
