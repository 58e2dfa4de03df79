/* SPDX-License-Identifier: BSD-3-Clause */
/* suggest: "did you mean" */
#ifndef WEFT_SUGGEST_H
#define WEFT_SUGGEST_H

#include <stddef.h>

/* Edits that make a of b; what is beyond 63 characters of b does not count. */
size_t weft_distance(const char *a, const char *b);

#endif
