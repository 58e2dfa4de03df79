/* SPDX-License-Identifier: BSD-3-Clause */
/* input: opens files that the user names, for reading */
#ifndef WEFT_INPUT_H
#define WEFT_INPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Opens a file for reading; never waits for a writer. Accepts only regular
 * files, and with accepts_pipe also devices and unnamed pipes, as a shell
 * passes for <(command). On failure returns NULL. *why_out is then a clause to
 * print after the file's name, valid until the next call of strerror(). */
FILE *weft_input_open(
	const char *path, bool accepts_pipe, const char **why_out);

#endif
