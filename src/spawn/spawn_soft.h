/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_soft: the numbers of processes that a spawn may start
 *
 * The value of the info key soft is a list of numbers and ranges, for example
 * "2,4:16:4". The range a:b:c contains a, a + c, a + 2c, ... up to b, or down
 * to b if c is negative. c is 1 if it is missing. */
#ifndef WEFT_SPAWN_SOFT_H
#define WEFT_SPAWN_SOFT_H

#include <stdint.h>

/* Stores the largest number of the list that is at most limit and at least 1,
 * or 0 if the list has no such number. If text is not a valid list, returns
 * WEFT_ERR_INFO_VALUE and stores nothing. */
int weft_spawn_soft_max(const char *text, uint32_t limit, uint32_t *n_out);

#endif
