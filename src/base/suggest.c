/* SPDX-License-Identifier: BSD-3-Clause */
/* suggest: the edit distance of two words, for "did you mean" */
#include "base/suggest.h"

#include "base/bits.h"

#include <string.h>

size_t weft_edit_distance(const char *a, const char *b)
{
	size_t row[64];
	size_t nb = weft_min(strlen(b), 63);

	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diag = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= nb; j++) {
			size_t up = row[j];
			size_t sub = diag + (a[i] != b[j - 1]);

			row[j] = weft_min(weft_min(up, row[j - 1]) + 1, sub);
			diag = up;
		}
	}
	return row[nb];
}
