/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_heap: the memory that the library allocates in a simulated process
 *
 * Replaces malloc(), calloc(), realloc() and free(). A block that the library
 * allocates in a simulated process is in the heap of this process, which has
 * the same address in all processes. Other blocks are in the heap of the C
 * library: those of this program, of other libraries, and large ones. */
#ifndef WEFT_TEST_SIM_HEAP_H
#define WEFT_TEST_SIM_HEAP_H

#include <stddef.h>

/* Reserves the heap of the running process: zero bytes that cannot be written
 * to yet. NULL if there is no room. With the address sanitizer, there is no
 * heap, and the length is 0. */
char *sim_heap_create(size_t *len_out);

/* Calls of code in this range allocate in the heap from now on. */
void sim_heap_add_caller(const char *at, size_t len);

#endif
