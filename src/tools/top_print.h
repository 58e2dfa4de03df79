/* SPDX-License-Identifier: BSD-3-Clause */
/* top_print: prints the state of a job as text or as JSON */
#ifndef WEFT_TOP_PRINT_H
#define WEFT_TOP_PRINT_H

#include "tools/top_verdict.h"

/* Prints the sentence of the verdict and a table of the ranks. rows is the
 * number of lines of the terminal, which limits the table; 0: no limit. */
void weft_top_print(const struct weft_top_job *job,
	const struct weft_top_verdict *verdict, unsigned rows, FILE *to);

/* Prints one JSON object. */
void weft_top_print_json(const struct weft_top_job *job,
	const struct weft_top_verdict *verdict, FILE *to);

#endif
