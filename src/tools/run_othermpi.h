/* SPDX-License-Identifier: BSD-3-Clause */
/* run_othermpi: options of other launchers, and what is said to who uses one */
#ifndef WEFT_RUN_OTHERMPI_H
#define WEFT_RUN_OTHERMPI_H

#include <stdbool.h>

struct weft_run_othermpi {
	const char *name;
	int n_values;	 /* words that belong to it */
	bool is_refused; /* the job would run otherwise than was meant */
	const char *answer;
};

/* The entry of an option as it stands on the command line, or NULL. */
const struct weft_run_othermpi *weft_run_othermpi_find(const char *option);

#endif
