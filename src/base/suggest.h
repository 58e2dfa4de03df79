/* SPDX-License-Identifier: BSD-3-Clause */
/* suggest: the edit distance of two words, for "did you mean" */
#ifndef WEFT_SUGGEST_H
#define WEFT_SUGGEST_H

#include <stddef.h>

/* Returns the number of edits that turn a into b. Only the first 63 characters
 * of b count. */
size_t weft_edit_distance(const char *a, const char *b);

#endif
