/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_soft: the numbers of processes that a spawn may start
 *
 * A list of numbers and ranges, "2,4:16:4", as the info key soft has them:
 * a, a:b or a:b:c is a, a + c, ... up to or down to b. */
#ifndef WEFT_SPAWN_SOFT_H
#define WEFT_SPAWN_SOFT_H

#include <stdint.h>

/* The largest number of the set that is at most limit and at least 1; 0 when
 * there is none. WEFT_ERR_INFO_VALUE when text is no such list; then nothing
 * is written. */
int weft_spawn_soft_max(const char *text, uint32_t limit, uint32_t *n_out);

#endif
