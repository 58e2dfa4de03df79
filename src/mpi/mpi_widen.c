/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_widen: arrays of the int form of a procedure, widened */
#include "mpi_widen.h"

#include <stdlib.h>

const int64_t weft_widen_no_memory[1];

const int64_t *weft_widen_array(int n, const int *from)
{
	int64_t *wide;

	if (n <= 0 || !weft_widen_is_there(from))
		return (const int64_t *)(const void *)from;
	wide = malloc((size_t)n * sizeof(*wide));
	for (int i = 0; wide && i < n; i++)
		wide[i] = from[i];
	return wide ? wide : weft_widen_no_memory;
}

void weft_widen_free(const int *from, const int64_t *wide)
{
	if ((const void *)wide != from && wide != weft_widen_no_memory)
		free((void *)(uintptr_t)wide);
}
