/* SPDX-License-Identifier: BSD-3-Clause */
/* input: opens files that the user names, for reading */
#ifndef WEFT_INPUT_H
#define WEFT_INPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Opens a file for reading. Never waits for the writer of a FIFO. Accepts only
 * regular files, and with accepts_pipe also character devices and unnamed
 * pipes, as a shell passes for <(command). On failure, returns NULL and sets
 * *why_out to a clause that the caller prints after the file's name. The clause
 * is valid until the next call of strerror(). */
FILE *weft_input_open(
	const char *path, bool accepts_pipe, const char **why_out);

#endif
