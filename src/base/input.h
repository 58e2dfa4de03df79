/* SPDX-License-Identifier: BSD-3-Clause */
/* input: files that the user names, to be read */
#ifndef WEFT_INPUT_H
#define WEFT_INPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Opens a file to be read; never waits for a writer. Only a regular file is
 * taken, or with takes_pipe also a device and a pipe without a name, which is
 * what a shell makes of <(command). NULL if it cannot be: *why_out says why,
 * for after the file's name, and is good until the next call of strerror(). */
FILE *weft_input_open(const char *path, bool takes_pipe, const char **why_out);

#endif
