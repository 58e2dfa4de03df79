/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_memory: the memory that each simulated process has for itself
 *
 * It is the stack, the global and thread-local variables of this program and of
 * the library, and the heap of the library (sim_heap.h). Pages of variables and
 * of the heap cannot be written to at first. The first write to a page makes it
 * writable, and adds its parts to the regions. */
#ifndef WEFT_TEST_SIM_MEMORY_H
#define WEFT_TEST_SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Global variables have unused bytes between them for the sanitizer, which
 * reports accesses to them. */
#define SIM_UNCHECKED __attribute__((no_sanitize("address")))

/* With the address sanitizer, each process has a stack at an address of its
 * own, because the sanitizer has data for each address of a stack. */
#ifdef __SANITIZE_ADDRESS__
#define SIM_OWN_STACKS true
#else
#define SIM_OWN_STACKS false
#endif

enum {
	SIM_STACK_LEN = 256 * 1024,
	SIM_PART = 4096, /* a divisor of every size of a page */
};

/* At most SIM_PART bytes that the processes write to. */
struct sim_region {
	char *at;
	const char *initial; /* their values when a process starts */
	size_t len;
};

struct sim_memory {
	struct sim_region *regions;
	size_t n_regions;
	size_t n_stack;	   /* the first regions are the stack, if all processes
			      have the same */
	size_t most_bytes; /* of all regions, ever */
};

/* Finds the memory, and reserves stacks for n processes. Exits with a message
 * if there is too little memory. */
const struct sim_memory *sim_memory_create(uint32_t n);

/* The lowest byte of a stack. */
char *sim_stack_of(uint32_t rank);

/* Returns zero bytes, or exits with a message. */
void *sim_map(size_t len);

/* memcpy() without the checks of the sanitizer */
void sim_copy(char *to, const char *from, size_t len);

#endif
