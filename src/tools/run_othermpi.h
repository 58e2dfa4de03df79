/* SPDX-License-Identifier: BSD-3-Clause */
/* run_othermpi: options of other launchers, and the remedy for each */
#ifndef WEFT_RUN_OTHERMPI_H
#define WEFT_RUN_OTHERMPI_H

#include <stdbool.h>

struct weft_run_othermpi {
	const char *name;
	int n_values;	 /* words that are the values of the option */
	bool is_refused; /* an error: without the option, the job would run
			    differently than the user meant */
	const char *remedy;
};

/* Finds the entry of an option as written on the command line, or NULL. */
const struct weft_run_othermpi *weft_run_othermpi_find(const char *option);

#endif
